"""``linsep check``: are the classes linearly separable?"""

from __future__ import annotations

import shlex
import time
from argparse import Namespace
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.cli import streams
from linsep.cli.common import emit, kept, kernel_parameters, narrate, numbers_of, require_writable
from linsep.cli.lifting import lifted
from linsep.core.files import atomic_write_bytes
from linsep.core.words import count
from linsep.data.table import Table
from linsep.errors import SettingError

if TYPE_CHECKING:
    from linsep.core.problem import Problem

_HOW_FAR_ENTRIES = 20_000  # of X, up to which it is said how far rows are from separable
_SECONDS = 1.0  # for the fewest errors
_MANY_CLASSES, _BUDGET = 100, 30.0  # from so many on the question gets so many seconds


def run(args: Namespace) -> int:
    """Print the verdict and its proof."""
    from linsep.core.problem import Problem
    from linsep.core.validate import refuse_measurements
    from linsep.proofs.plain import require_same
    from linsep.separating.verdict import decide, decide_with

    require_writable(args.save, read=[args.data])
    if streams.wanted(args):
        return streams.check(args)
    _, data = lifted(args, numbers_of(args)[1])
    if args.plane is not None:
        return _given(args, data)
    begin = time.perf_counter()
    problem = Problem(
        data.X, data.y, fit_intercept=not args.no_intercept, feature_names=data.feature_names
    )
    require_same(problem, data.X, data.y)
    if not problem.binary:
        refuse_measurements(problem.classes)
    given, linear = kernel_parameters(args), args.kernel is None
    limit = args.time_limit
    if problem.K >= _MANY_CLASSES and limit is None:
        narrate(f"{problem.K} classes: {_BUDGET:g} s are spent on it; --time-limit gives more")
        limit = _BUDGET
    how = {"exact": not args.no_exact, "time_limit": limit, "begin": begin}
    if linear:
        proof = decide(problem, **how)
    else:
        proof = decide_with(problem, args.kernel, given, **how)
    seconds = time.perf_counter() - begin
    good = True
    if args.save:
        choice = ["--positive", args.positive] if args.positive else []
        choice += ["--lift", args.lift] if args.lift is not None else []
        command = shlex.join(["linsep", "verify", args.save, args.data, *choice])
        text = proof.to_json().encode() + b"\n"
        good = kept(
            args.save, lambda path: atomic_write_bytes(path, text), "proof",
            f"; check it with: {command}",
        )  # fmt: skip
    far = _how_far(problem, args.time_limit) if linear and proof.separable is False else {}
    if args.json:
        emit(proof.to_dict() | far | {"sentence": str(proof), "seconds": seconds}, as_json=True)
    else:
        emit("\n".join([proof.explain(), *_far_words(far)]), as_json=False)
        rows, features = data.X.shape
        narrate(f"{count(rows, 'row')}, {count(features, 'feature')}, {seconds:.3g} s")
    return {True: 0, False: 3, None: 4}[proof.separable] if good else 1


def _how_far(problem: Problem, limit: float | None) -> dict[str, Any]:
    """How far rows are from separable: fewest errors as far as known, least total slack.

    Where that takes long it is left out; --time-limit is for the verdict.
    """
    if not problem.binary or problem.n * problem.d > _HOW_FAR_ENTRIES or limit is not None:
        return {}
    from linsep.risk.least_errors import minimum_errors

    least = minimum_errors(
        problem.matrix, problem.label, fit_intercept=problem.fit_intercept, time_limit=_SECONDS
    )
    low, high = least.bounds
    return {"fewest_errors": [low, high], "least_slack": _least_slack(problem)}


def _least_slack(problem: Problem) -> float | None:
    """The least sum of max(0, 1 - y f(x)), by a linear programme."""
    import scipy.sparse
    from scipy.optimize import linprog

    from linsep.rows.exact import reflected

    Z = reflected(problem, np.arange(problem.n))
    n, width = Z.shape
    A = scipy.sparse.hstack([scipy.sparse.csr_array(-Z), -scipy.sparse.eye_array(n)])
    cost = np.append(np.zeros(width), np.ones(n))
    bounds = [(None, None)] * width + [(0, None)] * n
    found: Any = linprog(cost, A_ub=A, b_ub=-np.ones(n), bounds=bounds)
    return float(found.fun) if found.status == 0 else None


def _far_words(far: dict[str, Any]) -> list[str]:
    if not far:
        return []
    low, high = far["fewest_errors"]
    fewest = f"{high}" if low == high else f"between {low} and {high}"
    words = (
        f"how far from separable: the best plane has {fewest} {'error' if high == 1 else 'errors'}"
    )
    if far["least_slack"] is not None:
        words += f"; the least total slack, sum of max(0, 1 - y f(x)), is {far['least_slack']:.6g}"
    return [words]


def _given(args: Namespace, data: Table) -> int:
    """Print whether the plane of --plane separates; its names are those of the columns."""
    from linsep.models.linear import Linear

    if args.save:
        raise SettingError("--save writes the proof of a verdict; --plane asks about one plane.")
    named = data.feature_names
    if named is None or not any(name in args.plane for name in named):
        named = tuple(f"x{j + 1}" for j in range(data.X.shape[1]))
    plane = Linear.parse(args.plane, named)
    found = plane.separates(data.X, data.y)
    emit(
        found.to_dict() | {"plane": str(plane)} if args.json else f"{plane}: {found}",
        as_json=args.json,
    )
    return 0 if found.strict else 3
