from fractions import Fraction
import numpy as np
def _vec(problem, v):
    s = v if problem.binary else v//(problem.K-1)
    x = problem.matrix[[s]]; x = np.asarray(x.todense() if problem.sparse else x,float)[0]
    f=[Fraction(t) for t in x]+[Fraction(int(problem.fit_intercept))]
    if problem.binary: return [t*int(problem.sign[s]) for t in f]
    out=[Fraction(0)]*problem.dim; d=problem.d+1; o=int(problem.label[s]); r=problem.rival_of(v)
    for j,t in enumerate(f): out[o*d+j]=t; out[r*d+j]=-t
    return out
def row_signs(problem,a,values):
    return np.sign(values)
def exact_multipliers(problem, rows, multipliers):
    m=[Fraction(float(x)) for x in multipliers]; tot=sum(m); m=[x/tot for x in m]
    acc=[Fraction(0)]*problem.dim
    for v,x in zip(rows.tolist(),m):
        for j,t in enumerate(_vec(problem,v)): acc[j]+=x*t
    return (rows,m) if not any(acc) else None
