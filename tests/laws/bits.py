"""The bits of some sixty fits, so that moving code about can be seen to move nothing else.

Each fit has three hashes: of the final state, of the answer (weights, dual variables, support)
and of the certificate. They are kept in bits.json for every machine that they were recorded on,
because the last bits depend on BLAS and on the processor.

    python -m tests.laws.bits --write          record the fits of this machine
    python -m tests.laws.bits --check          say what differs; exit 1 if anything does
    python -m tests.laws.bits --show NAME      every number behind the hashes of a fit, by its name

``--write`` and ``--check`` take names of fits, too, or beginnings of them. With LINSEP_NO_NUMBA=1
nothing is compiled, which must not change a bit.

The hashes depend on names of fields and on numbers, not on classes and modules. To see what has
moved in a fit, compare what ``--show`` prints before and after.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import hashlib
import json
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import sklearn.linear_model
import sklearn.svm
import tests.no_numba  # noqa: F401
from threadpoolctl import threadpool_info, threadpool_limits

import linsep
from linsep.core.lanes import at_most

__all__ = ["FITS", "PARTS", "RECORD", "fingerprint", "hashes", "parts"]

RECORD = Path(__file__).with_name("bits.json")
PARTS = ("state", "answer", "certificate")

# What an answer is made of, as far as a model has it.
ANSWER = (
    "classes_", "coef_", "intercept_", "dual_coef_", "support_", "pair_coef_",
    "means_", "covariance_", "priors_", "status_", "n_iter_", "n_updates_",
)  # fmt: skip
TIMES = {"seconds"}  # fields that no two runs share

# -- data -----------------------------------------------------------------------------------


def blobs(
    n: int, d: int, distance: float, classes: int = 2, seed: int = 0, dtype: Any = np.float64
) -> tuple[Any, Any]:
    """Clouds of unit width whose middles have this distance from the origin."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    middles = rng.normal(size=(classes, d))
    middles *= distance / np.linalg.norm(middles, axis=1, keepdims=True)
    return (middles[y] + rng.normal(size=(n, d))).astype(dtype), y


def lecture(name: str) -> tuple[Any, Any]:
    """A table that comes with the package."""
    table = linsep.data.load(name)
    return table.X, table.y


def small() -> tuple[Any, Any]:
    """200 x 5, not separable."""
    return blobs(200, 5, 1.0, seed=1)


def apart() -> tuple[Any, Any]:
    """200 x 5, separable."""
    return blobs(200, 5, 5.0, seed=2)


def three(distance: float = 1.5) -> tuple[Any, Any]:
    """210 x 5 in three classes."""
    return blobs(210, 5, distance, classes=3, seed=3)


def tall(dtype: Any = np.float64) -> tuple[Any, Any]:
    """30000 x 20, not separable."""
    return blobs(30_000, 20, 1.0, seed=4, dtype=dtype)


def wide() -> tuple[Any, Any]:
    """60 x 500."""
    return blobs(60, 500, 2.0, seed=5)


def circles(n: int, seed: int = 6, dtype: Any = np.float64) -> tuple[Any, Any]:
    """Inside and outside of a circle, with rows in between that are either."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (np.hypot(X[:, 0], X[:, 1]) + 0.2 * rng.normal(size=n) > 1.2).astype(int)
    return X.astype(dtype), y


def ring(n: int) -> tuple[Any, Any]:
    """Inside and outside of a circle, with a gap."""
    rng = np.random.default_rng(7)
    angle, y = rng.uniform(0, 2 * np.pi, size=n), np.arange(n) % 2
    radius = 1 + y + rng.uniform(0, 0.5, size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def text(n: int = 1500, d: int = 4000, classes: int = 2) -> tuple[Any, Any]:
    """Rows of 30 words or so with weights of length one; each class has words of its own."""
    rng = np.random.default_rng(8)
    y = np.arange(n) % classes
    words = np.minimum(rng.zipf(1.3, size=(n, 30)) - 1, d - 1)
    own = rng.random((n, 30)) < 0.2
    words = np.where(own, 50 + (words * classes + y[:, None]) % 500, words)
    matrix = scipy.sparse.csr_array(
        (np.ones(words.size), (np.repeat(np.arange(n), 30), words.ravel())), shape=(n, d)
    )
    matrix.sum_duplicates()
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return scipy.sparse.csr_array(scipy.sparse.diags_array(1 / lengths) @ matrix), y


def mostly_zero() -> tuple[Any, Any]:
    """4000 x 300, three entries of a hundred not zero; dense."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(4000, 300)) * (rng.random((4000, 300)) < 0.03)
    return X, (X @ rng.normal(size=300) + rng.normal(size=4000) > 0).astype(int)


def unscaled() -> tuple[Any, Any]:
    """300 x 6 with columns from a thousandth to ten thousands."""
    X, y = blobs(300, 6, 1.0, seed=10)
    return X * 10.0 ** np.arange(-3, 5)[:6] + np.arange(6), y


def touching() -> tuple[Any, Any]:
    """Quasi-separable: one column parts the classes, but for rows of both at its zero."""
    X, y = blobs(120, 3, 0.5, seed=11)
    X[:, 0] = np.abs(X[:, 0]) * np.where(y == 1, 1, -1)
    X[:20, 0] = 0
    return X, y


def integers() -> tuple[Any, Any]:
    """300 x 4 whole numbers, not separable."""
    rng = np.random.default_rng(12)
    X = rng.integers(-5, 6, size=(300, 4))
    return X, (X @ [2, -1, 1, 0] + rng.integers(-3, 4, size=300) > 0).astype(int)


def histograms(n: int = 200, classes: int = 2) -> tuple[Any, Any]:
    """Shares that add up to one, 8 a row."""
    rng = np.random.default_rng(13)
    y = np.arange(n) % classes
    return rng.dirichlet(np.ones(8), size=n) + 0.15 * np.eye(8)[y], y


# -- fits -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """What a fit has made."""

    state: Any
    answer: Any
    certificate: Any


@dataclass(frozen=True)
class Fit:
    """One fit; cheap ones are made twice in the tests."""

    make: Callable[[], Made]
    cheap: bool = True


FITS: dict[str, Fit] = {}


def fit(
    name: str,
    model: Callable[[], Any],
    data: Callable[[], tuple[Any, Any]],
    *,
    weights: bool = False,
    cheap: bool = True,
) -> None:
    """Enter a model and its data."""

    def make() -> Made:
        X, y = data()
        one = model()
        if "n_jobs" in one.get_params():
            one.set_params(n_jobs=1)
        if weights:
            one.fit(X, y, sample_weight=np.random.default_rng(14).uniform(0.2, 3.0, size=len(y)))
        else:
            one.fit(X, y)
        return of_model(one)

    FITS[name] = Fit(make, cheap)


def of_model(model: Any) -> Made:
    """The three parts of a fitted model, with those of the models inside of it."""
    inner = [of_model(one) for one in getattr(model, "estimators_", ())]
    answer = {name: value for name in ANSWER if (value := getattr(model, name, None)) is not None}
    return Made(
        state=_states(getattr(model, "outcome_", None)),
        answer=[answer, [one.answer for one in inner]],
        certificate=[model.certificate_, [one.certificate for one in inner]],
    )


def _states(outcome: Any) -> Any:
    """The final state of a run, or those of several."""
    if hasattr(outcome, "state"):
        return outcome.state
    return [_states(part) for part in getattr(outcome, "parts", ())]


def verdict(name: str, data: Callable[[], tuple[Any, Any]], **options: Any) -> None:
    """Enter a question of separability."""

    def make() -> Made:
        proof = linsep.separability(*data(), **options)
        return Made(None, [proof.separable, proof.quasi, proof.coef, proof.intercept], proof)

    FITS[name] = Fit(make)


def judged(name: str, model: Callable[[], Any], data: Callable[[], tuple[Any, Any]]) -> None:
    """Enter a model of another library that is certified."""

    def make() -> Made:
        X, y = data()
        one = model().fit(X, y)
        return Made(None, [one.coef_, one.intercept_], linsep.certify(one, X, y))

    FITS[name] = Fit(make)


def path(name: str, data: Callable[[], tuple[Any, Any]], Cs: list[float]) -> None:
    """Enter a path of machines."""

    def make() -> Made:
        line = linsep.svm_path(*data(), Cs, n_jobs=1)
        answer = [line.coefs, line.intercepts, line.n_support, line.statuses]
        return Made(None, answer, line.certificates)

    FITS[name] = Fit(make)


INF = float("inf")

fit("perceptron cyclic", lambda: linsep.Perceptron(), apart)
fit("perceptron students", lambda: linsep.Perceptron(), lambda: lecture("students"))
fit(
    "perceptron shuffle pocket",
    lambda: linsep.Perceptron(order="shuffle", keep="pocket", max_iter=60, random_state=3),
    small,
)
fit(
    "perceptron random average",
    lambda: linsep.Perceptron(order="random", keep="average", max_iter=60, random_state=4),
    small,
)
fit("perceptron restart", lambda: linsep.Perceptron(order="restart", decay="inverse"), apart)
fit("perceptron batch", lambda: linsep.Perceptron(update="batch"), apart)
fit(
    "perceptron worst average",
    lambda: linsep.Perceptron(order="worst", keep="average", max_iter=200),
    small,
)
fit("perceptron large", lambda: linsep.Perceptron(max_iter=10, keep="pocket"), tall, cheap=False)
fit("perceptron kesler", lambda: linsep.Perceptron(max_iter=100), lambda: three(6.0))
fit(
    "perceptron kesler pocket",
    lambda: linsep.Perceptron(order="shuffle", keep="pocket", max_iter=40),
    three,
)

fit("kernel perceptron rbf", lambda: linsep.KernelPerceptron(max_iter=50), lambda: circles(200))
fit(
    "kernel perceptron poly average",
    lambda: linsep.KernelPerceptron("poly", degree=2, order="shuffle", keep="average", max_iter=30),
    lambda: circles(200),
)

fit("kozinec difference", lambda: linsep.Kozinec(), apart)
fit("kozinec augmented", lambda: linsep.Kozinec(space="augmented"), apart)
fit("kozinec plain steps", lambda: linsep.Kozinec(eps=0.05, steps="plain"), apart)
fit("kozinec inseparable", lambda: linsep.Kozinec(), small)
fit(
    "kozinec three classes",
    lambda: linsep.Kozinec(space="augmented"),
    lambda: three(6.0),
)

fit("squares exact small", lambda: linsep.LeastSquares(), lambda: lecture("mse-2"))
fit("squares exact", lambda: linsep.LeastSquares(), small)
fit("squares exact large", lambda: linsep.LeastSquares(), lambda: blobs(6000, 15, 1.0, seed=15))
fit("squares three classes", lambda: linsep.LeastSquares(), three)
fit("squares gradient", lambda: linsep.LeastSquares(solver="gradient"), small)
fit(
    "squares gradient large",
    lambda: linsep.LeastSquares(solver="gradient"),
    lambda: blobs(6000, 15, 1.0, seed=15),
)
fit("squares widrow-hoff", lambda: linsep.LeastSquares(solver="widrow-hoff", max_iter=100), small)
fit(
    "squares widrow-hoff large",
    lambda: linsep.LeastSquares(solver="widrow-hoff", order="shuffle", max_iter=30),
    lambda: blobs(6000, 15, 1.0, seed=15),
)

fit("ho-kashyap separable", lambda: linsep.HoKashyap(), apart)
fit("ho-kashyap inseparable", lambda: linsep.HoKashyap(), small)

fit("logistic", lambda: linsep.LogisticRegression(), small)
fit("logistic C=1e3", lambda: linsep.LogisticRegression(C=1e3), small)
fit("logistic C=inf", lambda: linsep.LogisticRegression(C=INF), small)
fit("logistic C=inf separable", lambda: linsep.LogisticRegression(C=INF), apart)
fit("logistic C=inf quasi", lambda: linsep.LogisticRegression(C=INF), touching)
fit("logistic tall", lambda: linsep.LogisticRegression(), tall)
fit("logistic wide", lambda: linsep.LogisticRegression(), wide, cheap=False)
fit("logistic sparse", lambda: linsep.LogisticRegression(), text)
fit(
    "logistic gradient",
    lambda: linsep.LogisticRegression(solver="gradient", max_iter=300),
    small,
)
fit("logistic float32", lambda: linsep.LogisticRegression(), lambda: tall(np.float32))
fit(
    "logistic weights",
    lambda: linsep.LogisticRegression(class_weight="balanced"),
    small,
    weights=True,
)
fit("softmax 3", lambda: linsep.LogisticRegression(), three)
fit("softmax 3 C=inf", lambda: linsep.LogisticRegression(C=INF), three)
fit(
    "softmax 10",
    lambda: linsep.LogisticRegression(),
    lambda: blobs(3000, 20, 2.0, classes=10, seed=16),
)
fit("softmax sparse", lambda: linsep.LogisticRegression(), lambda: text(900, 2000, 3), cheap=False)

for covariance in ("full", "shared", "diagonal", "shared-diagonal"):
    fit(f"gaussian {covariance}", lambda c=covariance: linsep.GaussianClassifier(c), three)

fit("svm", lambda: linsep.LinearSVM(), small)
fit("svm C=100", lambda: linsep.LinearSVM(C=100.0), small)
fit("svm C=inf", lambda: linsep.LinearSVM(C=INF), apart)
fit("svm C=inf inseparable", lambda: linsep.LinearSVM(C=INF), small)
fit("svm squared", lambda: linsep.LinearSVM(loss="squared_hinge"), small)
fit("svm squared C=100", lambda: linsep.LinearSVM(C=100.0, loss="squared_hinge"), small)
fit("svm tall", lambda: linsep.LinearSVM(), tall)
fit("svm tall squared", lambda: linsep.LinearSVM(loss="squared_hinge"), tall)
fit("svm sparse", lambda: linsep.LinearSVM(), text)
fit("svm sparse squared", lambda: linsep.LinearSVM(loss="squared_hinge"), text)
fit("svm wide", lambda: linsep.LinearSVM(), wide)
fit("svm mostly zero", lambda: linsep.LinearSVM(), mostly_zero, cheap=False)
fit("svm unscaled", lambda: linsep.LinearSVM(C=10.0), unscaled)
fit("svm dual-cd", lambda: linsep.LinearSVM(solver="dual-cd", max_iter=200), small)
fit("svm newton", lambda: linsep.LinearSVM(solver="newton"), small)
fit("svm C=inf large", lambda: linsep.LinearSVM(C=INF), lambda: blobs(5000, 10, 6.0, seed=17))
fit("svm wide large", lambda: linsep.LinearSVM(), lambda: blobs(300, 3000, 2.0, seed=18))
fit(
    "svm proximal-newton",
    lambda: linsep.LinearSVM(C=1e3, tol=1e-6, solver="proximal-newton"),
    text,
)
fit("svm three classes", lambda: linsep.LinearSVM(), three)
fit("svm three classes sparse", lambda: linsep.LinearSVM(), lambda: text(900, 2000, 3))
fit("svm crammer-singer", lambda: linsep.LinearSVM(multi_class="crammer-singer"), three)
fit("svm float32", lambda: linsep.LinearSVM(), lambda: tall(np.float32))
fit(
    "svm weights",
    lambda: linsep.LinearSVM(class_weight={0: 1.0, 1: 2.5}),
    small,
    weights=True,
)

fit("kernel svm rbf", lambda: linsep.KernelSVM(), lambda: circles(200))
fit("kernel svm rbf C=1e3", lambda: linsep.KernelSVM(C=1e3), lambda: circles(200))
fit("kernel svm rbf C=inf", lambda: linsep.KernelSVM(C=INF), lambda: ring(200))
fit("kernel svm poly", lambda: linsep.KernelSVM(kernel="poly", degree=2), lambda: circles(200))
fit("kernel svm linear", lambda: linsep.KernelSVM(kernel="linear"), small)
fit(
    "kernel svm precomputed",
    lambda: linsep.KernelSVM(kernel="precomputed"),
    lambda: ((X := small()[0]) @ X.T, small()[1]),
)
fit("kernel svm three classes", lambda: linsep.KernelSVM(), three)
fit("kernel svm large", lambda: linsep.KernelSVM(), lambda: circles(2500))
fit("kernel svm little memory", lambda: linsep.KernelSVM(memory=5.0), lambda: circles(2500))
fit("kernel svm float32", lambda: linsep.KernelSVM(), lambda: circles(400, dtype=np.float32))
fit(
    "kernel svm weights",
    lambda: linsep.KernelSVM(class_weight="balanced"),
    lambda: circles(200),
    weights=True,
)

for kernel in ("intersection", "chi2", "hellinger"):
    fit(f"additive {kernel}", lambda k=kernel: linsep.AdditiveSVM(k), histograms)
fit("additive three classes", lambda: linsep.AdditiveSVM(), lambda: histograms(210, 3))
fit("additive large", lambda: linsep.AdditiveSVM(), lambda: histograms(1500))

verdict("separability separable", apart)
verdict("separability inseparable", small)
verdict("separability quasi", touching)
verdict("separability three classes", lambda: three(6.0))
verdict("separability three classes inseparable", three)
verdict("separability integers", integers)
verdict("separability floats only", small, exact=False)

path("svm path", small, [0.01, 1.0, 100.0])

fit("one-vs-rest", lambda: linsep.OneVsRest(linsep.LinearSVM(n_jobs=1)), three)
fit("one-vs-one", lambda: linsep.OneVsOne(linsep.KernelSVM()), three)
fit("kesler", lambda: linsep.Kesler(linsep.Perceptron(max_iter=100)), lambda: three(6.0))

judged("certify LinearSVC", lambda: sklearn.svm.LinearSVC(random_state=0), small)
judged("certify LogisticRegression", lambda: sklearn.linear_model.LogisticRegression(), small)


# -- hashes ---------------------------------------------------------------------------------


def parts(name: str) -> Made:
    """Make a fit, in one thread."""
    with _one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FITS[name].make()


@contextmanager
def _one_thread() -> Iterator[None]:
    with threadpool_limits(limits=1), at_most(1):
        yield


def hashes(name: str) -> dict[str, str]:
    """Make a fit and hash its three parts."""
    made = parts(name)
    return {part: digest(getattr(made, part)) for part in PARTS}


def digest(value: Any) -> str:
    """Hash of all numbers in a value, 16 hexadecimal digits."""
    whole = hashlib.sha256()
    for place, leaf in leaves(value):
        whole.update(place.encode() + b"\0" + leaf + b"\0")
    return whole.hexdigest()[:16]


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, bytes]]:
    """Every number, text and array in a value, under names of fields alone.

    Numbers of Python and of numpy are the same, and so are lists and tuples. All NaN are one.
    Fields of times, private fields and what is no data are left out.
    """
    if isinstance(value, enum.Enum):
        yield place, value.name.encode()
    elif value is None or isinstance(value, str | bool | np.bool_):
        yield place, str(value).encode()
    elif isinstance(value, int | np.integer):
        yield place, str(int(value)).encode()
    elif isinstance(value, float | np.floating):
        yield place, float(value).hex().encode()
    elif isinstance(value, Fraction):
        yield place, f"{value.numerator:x}/{value.denominator:x}".encode()
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield place, _bytes(value)
    elif scipy.sparse.issparse(value):
        for name in ("shape", "indptr", "indices", "data"):
            yield from leaves(getattr(value, name), f"{place}.{name}")
    elif isinstance(value, list | tuple | np.ndarray):
        items = np.ravel(value) if isinstance(value, np.ndarray) else value
        yield place, f"{len(items)} items".encode()
        for k, item in enumerate(items):
            yield from leaves(item, f"{place}[{k}]")
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from leaves(value[key], f"{place}.{key}")
    elif dataclasses.is_dataclass(value):
        for name in sorted(field.name for field in dataclasses.fields(value)):
            if name not in TIMES and not name.startswith("_"):
                yield from leaves(getattr(value, name, None), f"{place}.{name}")


def _bytes(array: np.ndarray[Any, Any]) -> bytes:
    if array.dtype.kind in "fc" and np.isnan(array).any():
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    if array.dtype.kind not in "fciub":  # texts and the like
        return repr(array.tolist()).encode()
    return f"{array.dtype.str} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes()


# -- record ---------------------------------------------------------------------------------


def fingerprint() -> str:
    """What the last bits may depend on."""
    blas = sorted(
        f"{library['internal_api']} {library['version']} {library.get('architecture', '')}".strip()
        for library in threadpool_info()
        if library["user_api"] == "blas"
    )
    packages = ("numpy", "scipy", "numba", "scikit-learn")  # the bits are the same without numba
    versions = [f"{one.replace('scikit-', 'sk')} {version(one)}" for one in packages]
    python = "python " + ".".join(platform.python_version_tuple()[:2])
    libc = " ".join(platform.libc_ver()).strip()
    return "; ".join([_processor(), python, *versions, *blas, libc])


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def recorded() -> dict[str, dict[str, str]] | None:
    """The hashes that were recorded on a machine like this one."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return record.get(fingerprint())


def difference(old: dict[str, str] | None, new: dict[str, str]) -> str:
    """What moved, in words; nothing where nothing did."""
    if old is None:
        return "not recorded"
    return ", ".join(f"{p} {old[p]} -> {new[p]}" for p in PARTS if old[p] != new[p])


def _chosen(names: list[str]) -> list[str]:
    return [name for name in FITS if not names or any(name.startswith(one) for one in names)]


def write(names: list[str]) -> int:
    """Record the fits of this machine; those of others stay."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    old = record.get(fingerprint(), {})
    new = {name: hashes(name) for name in _chosen(names)}
    record[fingerprint()] = {n: new.get(n, old.get(n)) for n in FITS if n in new or n in old}
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    print(f"{len(new)} fits recorded for {fingerprint()}")
    return 0


def check(names: list[str], *, times: bool = False) -> int:
    """Print what differs, a line for each fit."""
    old = recorded()
    if old is None:
        print(f"nothing is recorded for {fingerprint()}; --write does it")
        return 1
    wrong, begin = 0, time.perf_counter()
    for name in _chosen(names):
        start = time.perf_counter()
        words = difference(old.get(name), hashes(name))
        if times:
            print(f"{time.perf_counter() - start:8.2f} s  {name}")
        if words:
            print(f"{name}: {words}", flush=True)
            wrong += 1
    gone = [] if names else sorted(set(old) - set(FITS))
    for name in gone:
        print(f"{name}: recorded, but no longer in the table")
    seconds = time.perf_counter() - begin
    print(f"{len(_chosen(names))} fits, {wrong + len(gone)} differ, {seconds:.1f} s")
    return 1 if wrong or gone else 0


def show(name: str) -> int:
    """Print everything behind the hashes of a fit."""
    made = parts(name)
    for part in PARTS:
        print(f"{part} {digest(getattr(made, part))}")
        for place, leaf in leaves(getattr(made, part)):
            plain = len(leaf) <= 40 and leaf.isascii() and leaf.decode().isprintable()
            words = leaf.decode() if plain else hashlib.sha256(leaf).hexdigest()[:16]
            print(f"    {place or '.'} {words}")
    return 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.laws.bits", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="record the fits of this machine")
    what.add_argument("--check", action="store_true", help="compare with what is recorded")
    what.add_argument("--show", metavar="NAME", help="every number behind the hashes of a fit")
    parser.add_argument("--times", action="store_true", help="with --check: seconds of each fit")
    parser.add_argument("names", nargs="*", help="fits, or beginnings of their names")
    chosen = parser.parse_args()
    if chosen.show is not None:
        return show(chosen.show)
    return write(chosen.names) if chosen.write else check(chosen.names, times=chosen.times)


if __name__ == "__main__":
    sys.exit(main())
