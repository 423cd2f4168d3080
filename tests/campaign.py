"""Bugs injected wherever a fit or a verdict passes: may it crash, stall or refuse, never lie.

``python -m tests.campaign`` (``--seconds S``, ``--seed N``, ``--only PART OF A NAME``) traces which
functions of solvers/, rows/, kernels/, numerics/, losses/, core/lanes and core/layouts each case
calls, makes one of them give wrong results in one of a dozen ways, and holds what is then said of
the model against the caller's arrays in long double, or in fractions. It reports every false
sentence, and every trial that does not end. A law in the suite tries a few (test_campaign.py).

Trials run in a child process, most without numba, so that every function can be replaced.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import dataclasses
import importlib
import inspect
import itertools
import os
import pkgutil
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
LIMIT = 10.0  # seconds of the processor for one trial; honest ones take a tenth of a second
WALL = 120.0
LAYERS = ("solvers", "rows", "kernels", "numerics", "losses", "core.lanes", "core.layouts")
# what proofs hold the rest against, and what only shows or names things
TRUSTED = {
    "definition", "sums_by_definition", "_definition_by_blocks", "_defined_exponents",
    "sums_of_means", "_over_half_sums", "_columns", "positive_columns", "dot_products",
    "defined_mean", "own_values", "own_products", "_defined_power", "no_tick", "to_dict",
    "from_dict", "power", "_replace", "_make", "_asdict", "PlainRows.origin", "PlainRows.centred",
    "PlainRows.squares",
}  # fmt: skip
L = np.longdouble

# -- the ways to be wrong -------------------------------------------------------------------------


def _every_third(x: Any) -> Any:
    x[::3] = x[::3] + 1 if x.dtype.kind in "iu" else x[::3] * x.dtype.type(1.08)
    return x


def _some_signs(x: Any) -> Any:
    x[::5] = x[::5] if x.dtype.kind == "u" else -x[::5]
    return x


def _last_tenth(x: Any) -> Any:
    x[-max(1, len(x) // 10) :] = 0
    return x


def _one_row(x: Any) -> Any:
    x[len(x) // 2] = 0
    return x


def _neighbours(x: Any) -> Any:
    even = len(x) // 2 * 2
    x[:even:2], x[1:even:2] = x[1:even:2].copy(), x[:even:2].copy()
    return x


def _no_number(x: Any) -> Any:
    if x.dtype.kind == "f":
        x[len(x) // 3] = np.nan
    return x


ARRAYS: dict[str, Callable[[Any], Any]] = {
    "every third 8 % larger": _every_third,
    "all 8 % larger": lambda x: x * x.dtype.type(1.08) if x.dtype.kind == "f" else x,
    "all 8 % smaller": lambda x: x * x.dtype.type(0.92) if x.dtype.kind == "f" else x,
    "all a millionth larger": lambda x: x * x.dtype.type(1.000001) if x.dtype.kind == "f" else x,
    "signs of some": _some_signs,
    "all signs": lambda x: x if x.dtype.kind == "u" else -x,
    "the last tenth lost": _last_tenth,
    "one row lost": _one_row,
    "neighbours swapped": _neighbours,
    "off by one": lambda x: np.roll(x, 1, axis=0),
    "no number": _no_number,
}
NUMBERS: dict[str, Callable[[float], float]] = {
    "all 8 % larger": lambda v: 1.08 * v,
    "all 8 % smaller": lambda v: 0.92 * v,
    "all a millionth larger": lambda v: 1.000001 * v,
    "all signs": lambda v: -v,
    "no number": lambda v: float("nan"),
    "one row lost": lambda v: 0.0,
}
CALLS = ("always the first result", "the result of the call before")
STATUSES = {"the other truth": "CERTIFIED", "all signs": "SEPARATED", "off by one": "CONVERGED"}
WAYS = [*ARRAYS, "the other truth", *CALLS]


def spoiled(way: str, value: Any, depth: int = 3) -> Any:
    """The value, wrong in one way, wherever it holds arrays or numbers."""
    if isinstance(value, Enum) and way in STATUSES:
        known = type(value).__members__
        return known.get(STATUSES[way], value)
    if isinstance(value, bool | np.bool_):
        return not value if way == "the other truth" else value
    if isinstance(value, np.ndarray) and value.ndim and value.size and value.dtype.kind in "fiu":
        return ARRAYS[way](value.copy()) if way in ARRAYS else value
    if isinstance(value, np.ndarray) and value.dtype.kind == "b" and value.size:
        return ~value if way == "the other truth" else value
    if isinstance(value, float | np.floating):
        return type(value)(NUMBERS[way](float(value))) if way in NUMBERS else value
    if isinstance(value, Fraction):
        return -value if way == "all signs" else value
    if isinstance(value, int | np.integer):
        return value + 1 if way == "off by one" else value
    if not depth:
        return value
    if hasattr(value, "tocsr") and hasattr(value, "data"):
        twin = value.copy()
        twin.data = spoiled(way, twin.data)
        return twin
    if isinstance(value, list | tuple):
        parts = [spoiled(way, part, depth - 1) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    judged = type(value).__module__.startswith(("linsep.proofs", "linsep.models"))
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and not judged:
        twin = copy.copy(value)
        _spoil_fields(way, twin, vars(twin), depth)
        return twin
    if isinstance(value, Iterator) and not isinstance(value, itertools.count):
        return iter([spoiled(way, part, depth - 1) for part in list(value)])
    return value


def _spoil_fields(way: str, owner: Any, fields: dict[str, Any], depth: int) -> None:
    for name, part in list(fields.items()):
        if isinstance(part, np.ndarray | float | tuple):
            with contextlib.suppress(AttributeError):
                object.__setattr__(owner, name, spoiled(way, part, depth - 1))


def _written(args: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Arrays among arguments, and in states among them, with copies of what they hold."""
    held: list[Any] = []
    for arg in args:
        held += arg if isinstance(arg, tuple) else [arg]
        if dataclasses.is_dataclass(arg) and type(arg).__name__.endswith("State"):
            held += vars(arg).values()
    arrays = [a for a in held if isinstance(a, np.ndarray) and a.ndim and a.size <= 1 << 20]
    return [(a, a.copy()) for a in arrays if a.flags.writeable]


class Wrong:
    """A function whose results are wrong; those that it writes into arrays, too."""

    def __init__(self, right: Any, way: str, after: int = 0) -> None:
        self.right, self.way, self.hits, self.after = right, way, 0, after
        self.first: list[Any] = []
        self.__name__ = getattr(right, "__name__", "wrong")
        self.__wrapped__ = right

    def __get__(self, one: Any, kind: Any = None) -> Any:
        return self if one is None else types.MethodType(self, one)

    def choose(self, *args: Any, **how: Any) -> Any:
        """A routine is asked for its form."""
        return self.of(self.right.choose(*args, **how))

    def of(self, right: Any) -> Any:
        """The same error in another function."""
        return lambda *args, **how: self._call(right, args, how)

    def __call__(self, *args: Any, **how: Any) -> Any:
        return self._call(self.right, args, how)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.right, name)

    def _call(self, right: Any, args: tuple[Any, ...], how: dict[str, Any]) -> Any:
        before = _written(args)
        found = right(*args, **how)
        self.hits += 1
        if self.hits <= self.after:
            return found
        if self.way in CALLS:
            if isinstance(found, Iterator):
                return found
            self.first.append(copy.deepcopy(found))
            if self.way == CALLS[1] and len(self.first) > 2:
                self.first.pop(0)
            return copy.copy(self.first[0])
        for array, old in before:
            if not np.array_equal(array, old, equal_nan=array.dtype.kind == "f"):
                array[...] = spoiled(self.way, array)
        return spoiled(self.way, found)


# -- the functions there are ----------------------------------------------------------------------


def targets() -> dict[Any, str]:
    """Code of all functions of the layers that bugs are put into, with where they are."""
    import linsep
    from linsep.core.compile import Routine

    found: dict[Any, str] = {}
    for layer in pkgutil.walk_packages(linsep.__path__, "linsep."):
        inside = layer.name.removeprefix("linsep.")
        if not any(inside == one or inside.startswith(one + ".") for one in LAYERS):
            continue
        home = importlib.import_module(layer.name)
        for name, value in vars(home).items():
            if isinstance(value, Routine) and value.python.__module__ == layer.name:
                found[value.python.__code__] = found[value.plain.__code__] = f"{layer.name}:{name}"
            elif inspect.isfunction(value) and value.__module__ == layer.name:
                found.setdefault(value.__code__, f"{layer.name}:{name}")
            elif inspect.isclass(value) and value.__module__ == layer.name:
                for method, one in vars(value).items():
                    code = _code(one)
                    if code is not None and not (method in TRUSTED or method.startswith("__")):
                        found[code] = f"{layer.name}:{name}.{method}"
    return {code: where for code, where in found.items() if where.split(":")[1] not in TRUSTED}


def _code(member: Any) -> Any:
    if isinstance(member, property):
        member = member.fget
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    inner = getattr(member, "func", member)  # cached_property
    return inner.__code__ if inspect.isfunction(inner) else None


def called(run: Callable[[], Any], known: dict[Any, str]) -> list[str]:
    """Which of the functions a call passes."""
    met: set[str] = set()

    def look(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code in known:
            met.add(known[frame.f_code])

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return sorted(met)


@contextlib.contextmanager
def injected(where: str, way: str, after: int = 0) -> Iterator[Wrong]:
    """A bug, for a while."""
    module, _, path = where.partition(":")
    home: Any = importlib.import_module(module)
    undo: list[tuple[Any, str, Any]] = []
    if "." in path:
        kind, name = path.split(".")
        owner = getattr(home, kind)
        right = vars(owner)[name]
        if isinstance(right, property):
            wrong = Wrong(right.fget, way, after)
            put: Any = property(wrong)
        elif isinstance(right, classmethod | staticmethod):
            wrong = Wrong(right.__func__, way, after)
            put = type(right)(wrong)
        elif hasattr(right, "func"):
            wrong = Wrong(right.func, way, after)
            put = type(right)(wrong)
            put.__set_name__(owner, name)
        else:
            put = wrong = Wrong(right, way, after)
        undo.append((owner, name, right))
        setattr(owner, name, put)
    else:
        right = getattr(home, path)
        wrong = Wrong(right, way, after)
        for name, other in list(sys.modules.items()):
            if name.startswith("linsep.") and vars(other).get(path) is right:
                undo.append((other, path, right))
                setattr(other, path, wrong)
    try:
        yield wrong
    finally:
        for owner, name, right in undo:
            setattr(owner, name, right)


# -- what is true ---------------------------------------------------------------------------------


def gram(kernel: Any, X: Any, Z: Any) -> Any:
    """Kernel values by their formulas."""
    X, Z = np.asarray(X, L), np.asarray(Z, L)
    name = kernel if isinstance(kernel, str) else type(kernel).__name__
    if name in ("intersection", "Intersection"):
        return np.minimum(X[:, None], Z[None]).sum(axis=2)
    if name in ("chi2", "ChiSquared"):
        a, b = X[:, None], Z[None]
        return np.where(a + b > 0, 2 * a * b / np.where(a + b > 0, a + b, 1), 0).sum(axis=2)
    if name in ("RBF", "Own", "Function"):
        rate = L(getattr(kernel, "gamma", 0.3))
        return np.exp(-rate * ((X[:, None] - Z[None]) ** 2).sum(axis=2))
    if name == "Polynomial":
        return (L(kernel.gamma) * (X @ Z.T) + L(kernel.coef0)) ** kernel.degree
    raise KeyError(name)


def scored(model: Any, X: Any) -> tuple[Any, Any]:
    """Scores of all rows, one column a machine, and |w|^2 of each, in long double."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    b = np.asarray(model.intercept_, L).ravel()
    if not hasattr(model, "coef_"):
        if hasattr(model, "function_"):
            return _additive(model.function_, model.kernel, X, b)
        some = X[model.support_]
        kernel = getattr(model, "kernel_", None) or model.kernel
        c = np.asarray(model.dual_coef_, L)
        lengths = np.array([v @ gram(kernel, some, some) @ v for v in c])
        return gram(kernel, X, some) @ c.T + b, lengths
    W = np.asarray(model.coef_, L)
    return X.astype(L) @ W.T + b, (W * W).sum(axis=1)


def _additive(function: Any, kernel: str, X: Any, b: Any) -> tuple[Any, Any]:
    """Scores and |w|^2 of a sum of functions of single features, slot by slot."""
    scores, lengths = b + np.zeros((len(X), 1), L), np.zeros(len(b), L)
    for k, (lo, hi) in enumerate(zip(function.start[:-1], function.start[1:])):
        v, c = function.values[lo:hi, None], np.asarray(function.coef[lo:hi], L)
        scores = scores + gram(kernel, X[:, [k]], v) @ c
        lengths += np.array([one @ gram(kernel, v, v) @ one for one in c.T])
    return scores, lengths


def objectives(kind: str, model: Any, X: Any, y: Any, weight: Any) -> list[Any]:
    """What each machine of a model minimises, in long double."""
    f, squared = scored(model, X)
    C = L(getattr(model, "C", 1.0))
    s = np.ones(len(y), L) if weight is None else np.asarray(weight, L)
    K = len(model.classes_)
    if kind == "softmax":
        top = f.max(axis=1)
        each = np.log(np.exp(f - top[:, None]).sum(axis=1)) + top - f[np.arange(len(y)), y]
        return [squared.sum() / 2 + C * (s * each).sum()]
    if kind == "rivals":
        lead = f[np.arange(len(y)), y][:, None] - f
        lead[np.arange(len(y)), y] = 1
        return [squared.sum() / 2 + C * (s * np.maximum(1 - lead, 0).max(axis=1)).sum()]
    signs = [np.where(y == K - 1, 1, -1)] if K == 2 else [np.where(y == k, 1, -1) for k in range(K)]
    out = []
    for k, t in enumerate(signs):
        u = t * f[:, k]
        if kind == "hinge":
            out.append(squared[k] / 2 + C * (s * np.maximum(1 - u, 0)).sum())
        elif kind == "squared hinge":
            out.append(squared[k] / 2 + C * (s * np.maximum(1 - u, 0) ** 2).sum())
        elif kind == "hard":
            least = min(u.min(), 1)  # a shorter machine is judged at the length it needs
            out.append(squared[k] / 2 / least**2 if least > 0 else L(np.inf))
        elif kind == "logistic":
            each = np.log1p(np.exp(-np.abs(u))) + np.maximum(-u, 0)
            out.append((squared[k] / 2 if np.isfinite(C) else 0) + (C if np.isfinite(C) else 1)
                       * (s * each).sum())  # fmt: skip
        elif kind == "squares":
            ridge = 0 if hasattr(model, "coef_") else squared[k] / C
            out.append((s * (u - 1) ** 2).sum() + ridge)
    return out if kind != "squares" or K == 2 else [sum(out)]


def leads(model: Any, X: Any, y: Any) -> Any:
    """y f(x), or by how much the own score leads over every rival, row by row."""
    f, _ = scored(model, X)
    K = len(model.classes_)
    if K == 2:
        return (np.where(y == 1, 1, -1) * f[:, 0])[:, None]
    found = f[np.arange(len(y)), y][:, None] - f
    found[np.arange(len(y)), y] = np.inf
    return found


def lies_of_fit(kind: str, model: Any, clean: Any, X: Any, y: Any, weight: Any) -> list[str]:
    """False sentences about a model; clean is the same model, fitted without a bug."""
    if kind == "gaussian":
        return _gaussian(model, X, y)
    if hasattr(model, "estimators_") and kind != "machine":
        return _scheme(kind, model, clean, X, y)
    function = getattr(model, "function_", None)
    own = getattr(model, "coef_", getattr(model, "dual_coef_", 0.0))
    if not (np.isfinite(own).all() and (function is None or np.isfinite(function.coef).all())):
        right = len(y) - model.certificate_.errors
        out = ["an answer with weights that are no numbers"] if model.status_.ok else []
        blind = hasattr(X, "tocsr") or function is not None  # of rows without an entry there
        return out + [f"{right} rows are right, and weights no numbers"] * (right > 0 and not blind)
    if kind == "pairs":
        return _pair_lies(model, clean, X, y)
    out, c = [], model.certificate_
    found, room = leads(model, X, y), 1e-8
    unsure = np.abs(found) <= room * (1 + np.abs(scored(model, X)[0]).max())
    wrong = ~(found > 0).all(axis=1)
    clear = int((wrong & ~unsure.any(axis=1)).sum()), int((wrong | unsure.any(axis=1)).sum())
    counted = not hasattr(model, "support_") or len(model.classes_) == 2
    if counted and not clear[0] <= c.errors <= clear[1]:
        out.append(f"errors {c.errors}, in truth {clear}")
    if kind in ("machine", "plane"):
        return out + _plane_lies(c, model, clean, X, y)
    due, best = (objectives(kind, m, X, y, weight) for m in (model, clean))
    out += _bound_lies(model, due, best, kind)
    if not getattr(c, "parts", ()) and len(model.classes_) == 2:
        length = np.sqrt(scored(model, X)[1][0])
        least = found.min() / length if length > 0 else -np.inf
        if abs(c.margin - least) > 1e-6 * (abs(least) + 1e-3) and np.isfinite(c.margin):
            out.append(f"margin {c.margin:.9g}, in truth {least:.9g}")
    return out


def _bound_lies(model: Any, due: list[Any], best: list[Any], kind: str) -> list[str]:
    """Of bounds of the objectives of machines; best are those of good ones."""
    out, c = [], model.certificate_
    for k, part in enumerate(list(getattr(c, "parts", ())) or [c]):
        scale = 1e-6 * abs(due[k]) + 1e-9
        if np.isfinite(part.objective) and part.objective < due[k] - scale:
            out.append(f"objective {part.objective:.9g}, in truth {due[k]:.9g}")
        if part.lower_bound > best[k] + 1e-6 * abs(best[k]) + 1e-9:
            out.append(f"lower bound {part.lower_bound:.9g}, a model has {best[k]:.9g}")
        if model.status_.ok and due[k] > best[k] * (1 + 2e-3) + 1e-6 and kind != "hard":
            out.append(f"{model.status_.name} at {due[k]:.9g}, a model has {best[k]:.9g}")
    return out


def _pairs(model: Any, X: Any, y: Any) -> tuple[list[Any], int]:
    """Objectives of a kernel machine for each pair of classes, and errors of their votes; numbers
    are laid out as scikit-learn has them."""
    G, of = gram(model.kernel_, X, X[model.support_]), y[model.support_]
    K, out = len(model.classes_), []
    votes = np.zeros((len(y), K))
    for p, (i, j) in enumerate(itertools.combinations(range(K), 2)):
        coef = np.where(of == i, model.dual_coef_[j - 1], 0) + np.where(
            of == j, model.dual_coef_[i], 0
        ).astype(L)
        f, own = G @ coef, np.isin(y, (i, j))
        squared = coef @ f[model.support_]
        f = f + L(model.intercept_[p])
        votes[:, i] += (f > 0) + np.where(f > 0, f, 0) / (3 * (1 + np.abs(f).max()))
        votes[:, j] += (f <= 0) + np.where(f <= 0, -f, 0) / (3 * (1 + np.abs(f).max()))
        u = np.where(y == i, 1, -1) * f
        out.append(squared / 2 + L(model.C) * np.maximum(1 - u[own], 0).sum())
    whole = np.floor(votes)
    tied = (whole == whole.max(axis=1)[:, None]).sum(axis=1) > 1
    wrong = (votes.argmax(axis=1) != y) & ~tied
    return out, int(wrong.sum()) if not tied.any() else -1


def _pair_lies(model: Any, clean: Any, X: Any, y: Any) -> list[str]:
    (due, errors), (best, _) = _pairs(model, X, y), _pairs(clean, X, y)
    out = _bound_lies(model, due, best, "hinge")
    if errors not in (-1, model.certificate_.errors):
        out.append(f"errors {model.certificate_.errors}, in truth {errors}")
    return out


def _plane_lies(c: Any, model: Any, clean: Any, X: Any, y: Any) -> list[str]:
    """Of certificates about a plane and about the best margin."""
    out, good = [], clean.certificate_
    found = leads(model, X, y)
    if c.errors == 0 and getattr(c, "separable", None) and (found <= 0).any():
        out.append("it does not separate")
    if getattr(c, "separable", None) is False:
        rivals = np.array([list(model.classes_).index(r) for r in c.rivals]) if c.rivals else None
        out += _cancels(X, y, np.array(c.rows), rivals, c.multipliers, model.fit_intercept)
    if len(model.classes_) == 2:
        length = np.sqrt(scored(model, X)[1][0])
        least = found.min() / length if length > 0 else -np.inf
        if np.isfinite(c.margin) and c.margin > least + 1e-6 * (abs(least) + 1e-3):
            out.append(f"margin {c.margin:.9g}, in truth {least:.9g}")
    for low, high in (("margin_low", "margin_high"), ("margin_aug_low", "margin_aug_high")):
        if not hasattr(c, high):
            continue
        if getattr(c, high) < getattr(good, low) * (1 - 1e-9):
            out.append(f"{high} {getattr(c, high):.9g}, a plane has {getattr(good, low):.9g}")
        if getattr(c, low) > getattr(good, high) * (1 + 1e-9):
            out.append(f"{low} {getattr(c, low):.9g}, none has more than {getattr(good, high):.9g}")
    return out


def _scheme(kind: str, model: Any, clean: Any, X: Any, y: Any) -> list[str]:
    """Of several machines, each of its own question."""
    out, K = [], len(model.classes_)
    pairs = getattr(model, "pairs_", None)
    for k, (one, good) in enumerate(zip(model.estimators_, clean.estimators_)):
        if pairs is not None:
            some = np.isin(y, pairs[k])
            rows, told = X[some], np.searchsorted(pairs[k], y[some])
        else:
            assert len(model.estimators_) == K
            rows, told = X, (y == k).astype(int)
        if len(one.classes_) == 2:
            said = copy.copy(one)
            said.certificate_ = model.certificates_[k]
            lies = lies_of_fit(kind, said, good, rows, told, None)
            out += [f"machine {k}: {lie}" for lie in lies]
    return out


def _gaussian(model: Any, X: Any, y: Any) -> list[str]:
    c, total, best = model.certificate_, L(0), L(0)
    d = X.shape[1]
    for k in range(len(model.classes_)):
        rows = np.asarray(X[y == k], L)
        own = [(model.means_[k], model.covariance_[k])]
        own.append((rows.mean(axis=0), np.cov(rows.T.astype(float), bias=True)))
        for at, (mean, cov) in enumerate(own):
            off, cov = rows - mean, np.asarray(cov, float)
            inside = (off.astype(float) @ np.linalg.inv(cov) * off).sum()
            value = (len(rows) * (np.linalg.slogdet(cov)[1] + d * np.log(2 * np.pi)) + inside) / 2
            total, best = (total + value, best) if at == 0 else (total, best + value)
    out = []
    if np.isfinite(c.objective) and abs(c.objective - total) > 1e-6 * abs(total):
        out.append(f"objective {c.objective:.9g}, in truth {float(total):.9g}")
    if c.lower_bound > best + 1e-6 * abs(best):
        out.append(f"lower bound {c.lower_bound:.9g}, parameters have {float(best):.9g}")
    return out


def lies_in_parts(proof: Any, clean: Any, X: Any, y: Any) -> list[str]:
    """False sentences of a verdict about rows in parts; clean is the same without a bug."""
    X = X.toarray() if hasattr(X, "toarray") else X
    if proof.separable not in (None, clean.separable):
        return [f"separable: {proof.separable}"]
    out = []
    if proof.separable:
        f = X.astype(L) @ proof.coef.astype(L) + L(proof.intercept)
        if (np.where(y == 1, f, -f) <= 0).any():
            out.append("the plane does not separate")
        (low, high), (least, most) = proof.margin, clean.margin
        if low > most * (1 + 1e-9) or high < least * (1 - 1e-9):
            out.append(f"margin in {proof.margin}, another run says in {clean.margin}")
    elif proof.separable is False:
        same = np.array_equal(proof.table.X, X[proof.rows])
        if not same or not np.array_equal(proof.table.y, y[proof.rows]):
            out.append("rows that are not those of the stream")
        told = proof.table.X, np.searchsorted(proof.classes, proof.table.y)
        out += _cancels(*told, proof.proof.rows, None, proof.multipliers, proof.fit_intercept)
    return out


def _fractions(X: Any, rows: Any, free: bool) -> list[list[Fraction]]:
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return [[Fraction(float(v)) for v in X[i]] + [Fraction(1)] * free for i in rows]


def _cancels(X: Any, y: Any, rows: Any, rivals: Any, multipliers: Any, free: bool) -> list[str]:
    """Whether rows with multipliers are a proof that nothing separates."""
    if not len(rows) or min(multipliers) < 0 or not any(multipliers):
        return ["multipliers that prove nothing"]
    K = int(np.max(y)) + 1
    total: dict[int, list[Fraction]] = {k: [Fraction(0)] * (X.shape[1] + free) for k in range(K)}
    for at, z in enumerate(_fractions(X, rows, free)):
        own = int(y[rows[at]])
        other = 1 - own if rivals is None else int(rivals[at])
        if own == other:
            return ["a row is its own rival"]
        for k, sign in ((own, 1), (other, -1)):
            total[k] = [t + sign * multipliers[at] * v for t, v in zip(total[k], z)]
    return ["the multipliers do not cancel"] if any(any(t) for t in total.values()) else []


def lies_of_verdict(proof: Any, clean: Any, X: Any, y: Any) -> list[str]:
    """False sentences of a verdict."""
    out = []
    for name in ("separable", "quasi"):
        told, true = getattr(proof, name), getattr(clean, name)
        if told is not None and true is not None and told is not true:
            out.append(f"{name} is {told}, in truth {true}")
    if proof.margin[0] > clean.margin[1] * (1 + 1e-9):
        out.append(f"margin above {proof.margin[0]:.9g}, none is above {clean.margin[1]:.9g}")
    if proof.margin[1] < clean.margin[0] * (1 - 1e-9):
        out.append(f"margin below {proof.margin[1]:.9g}, one is {clean.margin[0]:.9g}")
    if proof.kernel is not None:
        return out + _sums_lies(proof, X, y)
    free = bool(proof.fit_intercept)
    if proof.separable is False and proof.exact:
        out += _cancels(X, y, proof.rows, proof.rivals, proof.multipliers, free)
    if proof.coef is not None:
        least = _least_lead(proof, X, y, free)
        if least < 0 or (proof.separable and least == 0):
            out.append(f"the plane of the verdict has a row at {float(least):.9g}")
        if proof.separable and proof.coef.ndim == 1:
            squared = sum(Fraction(w) ** 2 for w in proof.coef.tolist())
            if Fraction(proof.margin[0]) ** 2 * squared > least * least:
                out.append(f"the plane of the verdict has no margin of {proof.margin[0]:.9g}")
    return out


def _least_lead(proof: Any, X: Any, y: Any, free: bool) -> Fraction:
    W = [[Fraction(v) for v in row] for row in np.atleast_2d(proof.coef).tolist()]
    b = [Fraction(v) for v in np.ravel(proof.intercept).tolist()]
    least = None
    for i, z in enumerate(_fractions(X, range(len(y)), False)):
        f = [sum((p * q for p, q in zip(w, z)), off) for w, off in zip(W, b)]
        own = int(y[i])
        gaps = [f[0] if own else -f[0]] if len(W) == 1 else [
            f[own] - v for k, v in enumerate(f) if k != own]  # fmt: skip
        least = min([*gaps, *([] if least is None else [least])])
    assert least is not None
    return least


def _sums_lies(proof: Any, X: Any, y: Any) -> list[str]:
    if not proof.separable or not len(proof.support):
        return []
    f = gram(proof.kernel, X, X[proof.support]) @ np.atleast_2d(np.asarray(proof.dual_coef, L)).T
    f = f + np.asarray(proof.intercept, L)
    lead = np.where(y == 1, 1, -1)[:, None] * f
    if f.shape[1] > 1:
        lead = f[np.arange(len(y)), y][:, None] - f
        lead[np.arange(len(y)), y] = np.inf
    return [] if (lead > 0).all() else ["the sum of the verdict does not separate"]


# -- the cases ------------------------------------------------------------------------------------


def table(kind: str, n: int, d: int, K: int = 2) -> tuple[Any, Any]:
    """Rows and labels."""
    import scipy.sparse

    rng = np.random.default_rng(n + d + K)
    X, y = rng.normal(size=(n, d)).round(3), np.arange(n) % K
    if kind == "separable":
        return X + 6.0 * rng.normal(size=(K, d)).round(2)[y], y
    if kind == "touching":  # weakly separable: the first column says it, and is 0 for some
        X[:, 0] = np.where(np.arange(n) < n // 2, 0.0, (2 * y - 1) * np.abs(X[:, 0]))
        return X, y
    y = (X @ rng.normal(size=(d, K)) + 0.7 * rng.normal(size=(n, K))).argmax(axis=1)
    y[:K] = np.arange(K)
    if kind == "counts":
        return np.floor(4 * np.abs(X)), y
    if kind == "sparse":
        return scipy.sparse.csr_array(np.where(rng.random((n, d)) < 0.3, X, 0.0)), y
    return X, y


@dataclasses.dataclass(frozen=True)
class Case:
    """A model, or None for a verdict with such options, and the table it is asked about."""

    make: Callable[[], Any]
    table: tuple[Any, ...]
    kind: str
    weights: bool = False
    compiled: bool = False
    """Whether it is so large that machine code is needed."""
    in_parts: bool = False
    """Whether the rows are read part by part."""

    def data(self) -> tuple[Any, Any, Any]:
        """Rows, labels, weights."""
        X, y = table(*self.table)
        return X, y, np.random.default_rng(5).integers(1, 4, len(y)) if self.weights else None

    def run(self) -> Any:
        """A fit, or a verdict."""
        import linsep

        X, y, weight = self.data()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if self.in_parts:
                X, y, weight = parts_of(X, y, weight), None, None
            if self.kind == "verdict":
                return linsep.separability(X, y, **self.make())
            model = self.make()
            inside = model.estimator if hasattr(model, "estimator") else model
            if hasattr(inside, "max_iter"):  # what takes its hundred thousand steps is no hang
                inside.max_iter = min(inside.max_iter, 30 if self.kind == "machine" else 300)
            return model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)

    def lies(self, found: Any, clean: Any) -> list[str]:
        """What is false in the answer."""
        X, y, weight = self.data()
        with np.errstate(all="ignore"):
            if self.kind == "verdict":
                told = lies_in_parts if self.in_parts else lies_of_verdict
                return told(found, clean, X, y)
            return lies_of_fit(self.kind, found, clean, X, y, weight)


def parts_of(X: Any, y: Any, weight: Any) -> Any:
    """A stream that is read again for every pass, however small it is."""
    import linsep

    columns = (X, y) if weight is None else (X, y, weight.astype(float))

    def rows() -> Iterator[tuple[Any, ...]]:
        for lo in range(0, len(y), 17):
            yield tuple(column[lo : lo + 17] for column in columns)

    stream = linsep.data.stream(rows)
    stream.memory = 1  # else it is gathered into a table
    return stream


def own_kernel() -> Any:
    """A Gaussian as a user writes it: of blocks, without a definition."""
    from linsep.kernels import Kernel

    class Own(Kernel):
        positive = True

        def _diagonal(self, rows: Any) -> Any:
            return np.ones(rows.n)

        def block(self, A: Any, B: Any) -> Any:
            apart = A.squares[:, None] + B.squares - 2 * np.asarray(A.centred @ B.centred.T)
            return np.exp(-0.3 * np.maximum(apart, 0.0))

    return Own()


def gaussian(x: Any, z: Any) -> float:
    """The same of two rows."""
    return float(np.exp(-0.3 * ((x - z) ** 2).sum()))


def cases() -> dict[str, Case]:
    """Every estimator, every kind of verdict."""
    import linsep
    from linsep.kernels import RBF, Polynomial

    rbf, poly = RBF(gamma=0.3), Polynomial(2, 1.0, gamma=0.5)
    apart, mixed, counts = ("separable", 40, 3), ("mixed", 60, 3), ("counts", 60, 3)
    three, mixed3, counts3 = ("separable", 45, 3, 3), ("mixed", 60, 3, 3), ("counts", 60, 3, 3)
    svm, log, squares = linsep.LinearSVM, linsep.LogisticRegression, linsep.LeastSquares
    one, replace, gaussians = Case, dataclasses.replace, linsep.GaussianClassifier
    in_parts = {
        "LinearSVM": one(lambda: svm(), ("mixed", 90, 3), "hinge", weights=True),
        "LinearSVM squared": one(lambda: svm(loss="squared_hinge"), mixed, "squared hinge"),
        "LinearSVM 3": one(lambda: svm(), ("mixed", 90, 3, 3), "hinge"),
        "LinearSVM wide": one(lambda: svm(), ("sparse", 60, 100), "hinge"),
        "LogisticRegression": one(lambda: log(), ("mixed", 90, 3), "logistic", weights=True),
        "LogisticRegression 3": one(lambda: log(), mixed3, "softmax"),
        "LogisticRegression wide": one(lambda: log(), ("sparse", 60, 100), "logistic"),
        "LeastSquares": one(lambda: squares(), mixed, "squares", weights=True),
        "LeastSquares 3": one(lambda: squares(), mixed3, "squares"),
        "GaussianClassifier": one(lambda: gaussians(), mixed, "gaussian"),
        "Perceptron": one(lambda: linsep.Perceptron(), apart, "plane"),
        "Perceptron mixed": one(lambda: linsep.Perceptron(max_iter=20), mixed, "plane"),
        "verdict": one(dict, mixed, "verdict"),
        "verdict apart": one(dict, ("separable", 60, 3), "verdict"),
        "verdict touching": one(dict, ("touching", 40, 3), "verdict"),
        "verdict sparse": one(dict, ("sparse", 80, 12), "verdict"),
    }
    return {
        "Perceptron": one(lambda: linsep.Perceptron(), apart, "plane"),
        "Perceptron batch": one(lambda: linsep.Perceptron(update="batch"), apart, "plane"),
        "Perceptron mixed": one(lambda: linsep.Perceptron(max_iter=30), mixed, "plane"),
        "Perceptron 3": one(lambda: linsep.Perceptron(), three, "machine"),
        "KernelPerceptron": one(
            lambda: linsep.KernelPerceptron(rbf, max_iter=50), apart, "machine"
        ),
        "Kozinec": one(lambda: linsep.Kozinec(), apart, "plane"),
        "Kozinec augmented": one(lambda: linsep.Kozinec(space="augmented"), apart, "plane"),
        "Kozinec mixed": one(lambda: linsep.Kozinec(max_iter=2000), mixed, "plane"),
        "Kozinec kernel": one(lambda: linsep.Kozinec(kernel=rbf, eps=0.01), apart, "plane"),
        "HoKashyap": one(lambda: linsep.HoKashyap(), apart, "plane"),
        "HoKashyap mixed": one(lambda: linsep.HoKashyap(), mixed, "plane"),
        "LeastSquares": one(lambda: squares(), mixed, "squares"),
        "LeastSquares weights": one(lambda: squares(), mixed, "squares", weights=True),
        "LeastSquares gradient": one(lambda: squares(solver="gradient"), mixed, "squares"),
        "LeastSquares 3": one(lambda: squares(), mixed3, "squares"),
        "LeastSquares kernel": one(lambda: squares(kernel=rbf), mixed, "squares"),
        "LeastSquares tall": one(lambda: squares(), ("mixed", 30000, 6), "squares", compiled=True),
        "LogisticRegression": one(lambda: log(), mixed, "logistic"),
        "LogisticRegression weights": one(lambda: log(), mixed, "logistic", weights=True),
        "LogisticRegression likelihood": one(lambda: log(C=np.inf), mixed, "logistic"),
        "LogisticRegression sparse": one(lambda: log(), ("sparse", 80, 12), "logistic"),
        "LogisticRegression gradient": one(lambda: log(solver="gradient"), mixed, "logistic"),
        "LogisticRegression 3": one(lambda: log(), mixed3, "softmax"),
        "LogisticRegression kernel": one(lambda: log(kernel=rbf), mixed, "logistic"),
        "LogisticRegression tall": one(
            lambda: log(), ("mixed", 30000, 8), "logistic", compiled=True
        ),
        "GaussianClassifier": one(lambda: linsep.GaussianClassifier(), mixed, "gaussian"),
        "LinearSVM": one(lambda: svm(), mixed, "hinge"),
        "LinearSVM weights": one(lambda: svm(), mixed, "hinge", weights=True),
        "LinearSVM squared": one(lambda: svm(loss="squared_hinge"), mixed, "squared hinge"),
        "LinearSVM newton": one(lambda: svm(solver="newton"), mixed, "hinge"),
        "LinearSVM dual-cd": one(lambda: svm(solver="dual-cd"), ("sparse", 60, 10), "hinge"),
        "LinearSVM hard": one(lambda: svm(C=np.inf), apart, "hard"),
        "LinearSVM 3": one(lambda: svm(), mixed3, "hinge"),
        "LinearSVM rivals": one(lambda: svm(multi_class="crammer-singer"), mixed3, "rivals"),
        "LinearSVM tall": one(lambda: svm(), ("mixed", 30000, 8), "hinge", compiled=True),
        "LinearSVM text": one(lambda: svm(), ("sparse", 5000, 60), "hinge", compiled=True),
        "KernelSVM": one(lambda: linsep.KernelSVM(kernel=rbf), mixed, "hinge"),
        "KernelSVM poly": one(lambda: linsep.KernelSVM(kernel=poly), mixed, "hinge"),
        "KernelSVM chi2": one(lambda: linsep.KernelSVM(kernel="chi2"), counts, "hinge"),
        "KernelSVM hard": one(lambda: linsep.KernelSVM(C=np.inf, kernel=rbf), apart, "hard"),
        "KernelSVM 3": one(lambda: linsep.KernelSVM(kernel=rbf), mixed3, "pairs"),
        "KernelSVM own": one(lambda: linsep.KernelSVM(kernel=own_kernel()), mixed, "hinge"),
        "KernelSVM function": one(lambda: linsep.KernelSVM(kernel=gaussian), mixed, "hinge"),
        "AdditiveSVM": one(lambda: linsep.AdditiveSVM(), counts, "hinge"),
        "AdditiveSVM chi2": one(lambda: linsep.AdditiveSVM(kernel="chi2"), counts, "hinge"),
        "AdditiveSVM 3": one(lambda: linsep.AdditiveSVM(), counts3, "hinge"),
        "OneVsRest": one(lambda: linsep.OneVsRest(svm()), mixed3, "hinge"),
        "OneVsOne": one(lambda: linsep.OneVsOne(log()), mixed3, "logistic"),
        "Kesler": one(lambda: linsep.Kesler(linsep.Perceptron()), three, "machine"),
        "verdict": one(dict, mixed, "verdict"),
        "verdict apart": one(dict, apart, "verdict"),
        "verdict wide": one(dict, ("mixed", 30, 60), "verdict"),
        "verdict no offset": one(lambda: {"fit_intercept": False}, mixed, "verdict"),
        "verdict touching": one(dict, ("touching", 40, 3), "verdict"),
        "verdict tall": one(dict, ("mixed", 30000, 20), "verdict"),
        "verdict sparse": one(dict, ("sparse", 80, 12), "verdict"),
        "verdict 3": one(dict, mixed3, "verdict"),
        "verdict 3 apart": one(dict, three, "verdict"),
        "verdict 3 touching": one(dict, ("touching", 40, 3, 3), "verdict"),
        "verdict rbf": one(lambda: {"kernel": rbf}, mixed, "verdict"),
        "verdict poly": one(lambda: {"kernel": poly}, ("mixed", 30, 2), "verdict"),
        "verdict rbf 3": one(lambda: {"kernel": rbf}, three, "verdict"),
        **{f"parts, {name}": replace(case, in_parts=True) for name, case in in_parts.items()},
    }


# -- one trial after the other --------------------------------------------------------------------


def trial(name: str, where: str, way: str, clean: Any, after: int = 0) -> tuple[str, str]:
    """How it ended, and what was false."""
    case = cases()[name]
    with injected(where, way, after) as bug:
        try:
            found = case.run()
        except Exception as error:
            kind = type(error).__name__
            return ("refused" if kind == "ProofError" else "error"), f"{kind}: {error}"[:150]
        finally:
            hits = bug.hits
    if not hits:
        return "never-met", ""
    lies = case.lies(found, clean)
    if lies:
        return "LIE", "; ".join(lies)
    status = getattr(found, "status_", None)
    return ("true" if status is None or status.ok else "stalled"), ""


def work(seconds: float, seed: int, only: str, compiled: bool) -> None:
    """Trials of one child; a line for each one that is not as it should be, and the counts."""
    begin, rng = time.monotonic(), random.Random(seed)
    known = targets()
    every = [(n, c) for n, c in cases().items() if c.compiled == compiled and only in n]
    chosen = dict(rng.sample(every, min(len(every), 8)))
    clean, met, counts = {}, {}, Counter[str]()
    for name, case in chosen.items():
        clean[name] = case.run()
        met[name] = called(case.run, known)
        assert not case.lies(clean[name], clean[name]), (name, case.lies(clean[name], clean[name]))

    def stuck(number: int, frame: Any) -> None:
        stack = [f for f in traceback.extract_stack(frame) if "linsep" in f.filename]
        places = [f"{Path(f.filename).stem}:{f.lineno} {f.name}" for f in stack[2:]]
        print("HANG", now, "|", " > ".join(places), flush=True)
        os._exit(3)

    signal.signal(signal.SIGPROF, stuck)
    now = ""
    while time.monotonic() - begin < seconds and chosen:
        name = rng.choice(list(chosen))
        where, way = rng.choice(met[name]), rng.choice(WAYS)
        after = rng.choice([0, 0, 0, 1, 3])
        now = f"{name} | {where} | {way} | after {after}"
        print("at", now, flush=True)
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        ended, why = trial(name, where, way, clean[name], after)
        signal.setitimer(signal.ITIMER_PROF, 0)
        counts[ended] += 1
        if ended == "LIE":
            print("LIE", now, "|", why, flush=True)
        elif os.environ.get("CAMPAIGN_ALL"):
            print(ended, now, "|", why, flush=True)
    print("counts", *(f"{kind}={count}" for kind, count in sorted(counts.items())), flush=True)


def campaign(seconds: float, seed: int, only: str = "", *, quiet: bool = True) -> list[str]:
    """Trials for so long; every lie and every hang."""
    found, counts = [], Counter[str]()
    begin, k = time.monotonic(), 0
    while (left := seconds - (time.monotonic() - begin)) > 1 or not k:
        lines = _child(left, seed + 1000 * k, only, compiled=not only and k % 4 == 3)
        bad = [line for line in lines if line.startswith(("LIE", "HANG", "DIED"))]
        found += bad
        for line in lines:
            if line.startswith("counts"):
                counts.update({p.split("=")[0]: int(p.split("=")[1]) for p in line.split()[1:]})
        if not quiet and bad:
            print(*bad, sep="\n", flush=True)
        k += 1
    if not quiet:
        print(dict(counts), f"{len(found)} findings, seed {seed}")
    return found


def _child(seconds: float, seed: int, only: str, *, compiled: bool) -> list[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    env |= {} if compiled else {"LINSEP_NO_NUMBA": "1"}
    stretch = min(seconds, 60.0)
    order = [sys.executable, "-m", "tests.campaign", "--work", str(stretch), "--seed", str(seed)]
    order += ["--only", only] + ["--compiled"] * compiled
    try:
        run = subprocess.run(
            order, cwd=ROOT, env=env, capture_output=True, text=True, timeout=stretch + 2 * WALL
        )
        out, died = run.stdout, run.returncode not in (0, 3)
        why = run.stderr[-2000:]
    except subprocess.TimeoutExpired as error:
        out, died, why = (error.stdout or b"").decode(), True, "no end"
    lines = out.splitlines()
    kept = [line for line in lines if not line.startswith("at ")]
    if died:
        last = [line for line in lines if line.startswith("at ")][-1:] or ["at the start"]
        kept.append(f"DIED {last[0]} | {why}")
    return kept


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--work", type=float)
    parser.add_argument("--compiled", action="store_true")
    told = parser.parse_args()
    if told.work is not None:
        import tests.no_numba  # noqa: F401

        work(told.work, told.seed, told.only, told.compiled)
        return 0
    return 1 if campaign(told.seconds, told.seed, told.only, quiet=False) else 0


if __name__ == "__main__":
    sys.exit(main())
