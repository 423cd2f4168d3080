"""Check what linsep has stored about rows of numbers, without linsep.

    python check.py FILE DATA [--target COLUMN] [--weights COLUMN]

FILE is a proof of ``linsep.separability``, a LinearSVM, or a LogisticRegression of two classes,
fitted on a table or on a stream; DATA is CSV, svmlight or npy, ``-`` reads CSV from the standard
input. Rows are read one by one and not kept. Signs and sums of verdicts are taken in fractions,
bounds of objectives in floats rounded outward. It needs Python alone, imports nothing of linsep,
and ends with 0 (all holds), 1 (something does not) or 2 (it cannot be checked here).

    objective    P(w, b) = |w|^2 / 2 + sum c L(y f(x)),  f(x) = w.x + b,  c = C weight
    lower bound  D(a) = sum g(a) - |sum a y x|^2 / 2 <= P, for a in [0, c] with sum a y = 0 (no such
                 sum without an intercept); g = a for the hinge, a - a^2 / 4c for its square, and c
                 times the entropy of a / c for logistic regression
"""

import argparse
import ast
import base64
import csv
import functools
import io
import itertools
import json
import math
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from operator import mul
from typing import Any, BinaryIO, NoReturn

Row = tuple[list[float], str, float]
Reading = Callable[[], Iterator[Row]]
U = 2.0**-53
AGREES, CHUNK, PRIME = 1e-9, 4096, 2_147_483_647
DIGITS, WIDEST, EXACT = 200_000, 1_000_000, 20_000
RATIO = re.compile(r"[+-]?[0-9]{1,200000}(/[0-9]{1,200000})?")
KINDS = {"f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "b1": "?"}


class Wrong(Exception):
    """The first claim that does not hold."""


class Unknown(Exception):
    """Something that this program does not know."""


# -- rows -----------------------------------------------------------------------------------------


def rows_of(
    path: str, target: str | None, weights: str | None, names: Any, width: int
) -> Iterator[Row]:
    """Numbers, label and weight of each row."""
    if path == "-":
        return from_csv(io.StringIO(standard_input()), target, weights, names)
    with open(path, "rb") as file:
        head = file.read(4096)
    if head.startswith(b"\x93NUMPY"):
        return from_npy(path, target)
    first = head.decode("utf-8", "replace").lstrip("\ufeff").split("\n")[0].split("#")[0].split()
    if len(first) > 1 and all(":" in word for word in first[1:]):
        return from_svmlight(path, width)
    return from_file(path, target, weights, names)


def from_file(path: str, target: str | None, weights: str | None, names: Any) -> Iterator[Row]:
    """Rows of text in a file."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        yield from from_csv(file, target, weights, names)


@functools.cache
def standard_input() -> str:
    """All of it."""
    return sys.stdin.read()


def from_csv(file: Any, target: str | None, weights: str | None, names: Any) -> Iterator[Row]:
    """Rows of text; the first one has the titles, unless it has numbers alone."""
    first = file.readline()
    mark = max(",;\t|", key=first.count)
    titles = next(csv.reader([first], delimiter=mark))
    rows = csv.reader(file, delimiter=mark)
    if all(is_number(title) for title in titles):
        rows = itertools.chain([titles], rows)  # type: ignore[assignment]
        titles = [str(j) for j in range(len(titles))]
        names = None
    rest = [t for t in titles if t != weights and (names is None or t not in names)]
    known = [t for t in rest if t.lower() in ("y", "label", "class", "target")]
    label = target if target is not None else (known or rest or titles)[-1]
    for name in (label, *([] if weights is None else [weights]), *(names or ())):
        if name not in titles:
            raise Unknown(f"there is no column {name!r}")
    of = [titles.index(n) for n in names or (t for t in titles if t not in (label, weights))]
    at, cost = titles.index(label), None if weights is None else titles.index(weights)
    for row in rows:
        if row:
            x = [float(row[j]) for j in of]
            yield x, row[at].strip(), 1.0 if cost is None else float(row[cost])


def is_number(text: str) -> bool:
    """Whether text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def from_svmlight(path: str, width: int) -> Iterator[Row]:
    """Lines of ``label index:value``, indices from 1."""
    if width > WIDEST:
        raise Unknown(f"rows of {width} columns are too many for this program")
    with open(path, encoding="utf-8-sig") as file:
        for line in file:
            words = line.split("#")[0].split()
            x, cost = [0.0] * width, 1.0
            for word in words[1:]:
                key, value = word.split(":")
                if key == "cost":
                    cost = float(value)
                elif key != "qid":
                    if not 1 <= int(key) <= width:
                        raise Unknown(f"index {key} is not one of 1 to {width}")
                    x[int(key) - 1] = float(value)
            if words:
                yield x, words[0], cost


def from_npy(path: str, target: str | None) -> Iterator[Row]:
    """Rows of an array; the label is in the column ``target``, the last one if nothing is said."""
    with open(path, "rb") as file:
        size, of = ("<I", 4) if file.read(8)[6] > 1 else ("<H", 2)
        told = ast.literal_eval(file.read(struct.unpack(size, file.read(of))[0]).decode("latin-1"))
        kind, shape = told["descr"], told["shape"]
        if told["fortran_order"] or len(shape) != 2 or kind[0] == ">" or kind[1:] not in KINDS:
            raise Unknown(f"an array {told} is none of rows of numbers")
        at = range(shape[1])[-1 if target is None else int(target)]
        one = struct.Struct(f"<{shape[1]}{KINDS[kind[1:]]}")
        for values in some(file, one, shape[0]):
            yield [float(v) for v in (*values[:at], *values[at + 1 :])], str(values[at]), 1.0


def some(file: BinaryIO, one: struct.Struct, rows: int) -> Iterator[tuple[Any, ...]]:
    """Rows of that form."""
    for _ in range(rows):
        yield one.unpack(file.read(one.size))


def places(
    rows: Iterator[Row], classes: Sequence[Any], width: int
) -> Iterator[tuple[list[float], int, float]]:
    """The rows with the number of their class."""
    known = {str(name): k for k, name in enumerate(classes)}
    for x, label, cost in rows:
        if label not in known and is_number(label):
            same = (k for k, name in enumerate(classes) if name == float(label))
            known[label] = next(same, -1)
        good = known.get(label, -1) >= 0 and len(x) == width and all(map(math.isfinite, x))
        if not (good and 0 <= cost < math.inf):
            raise Wrong(f"a row of {len(x)} numbers with the label {label!r} is none of its rows")
        yield x, known[label], cost


# -- verdicts -------------------------------------------------------------------------------------


def check_verdict(told: dict[str, Any], rows: Reading) -> Iterator[str]:
    """What a proof of ``linsep.separability`` says, claim by claim."""
    if told.get("kernel") is not None:
        raise Unknown("verdicts in the space of a kernel are not checked here")
    if told["separable"] is None:
        raise Unknown("the verdict is open: nothing is claimed")
    classes, free, wants_span = told["classes"], told["fit_intercept"], told["quasi"] is not None
    named = {k for name in ("rows", "span_rows", "hull_rows") for k in told[name] or ()}
    planes = None if told["coef"] is None else planes_of(told, free=free)
    kept, ahead, n = {}, Least(planes, strict=told["separable"]), 0
    for n, (x, k, _) in enumerate(places(rows(), classes, told["n_features"]), 1):
        if n - 1 in named:
            kept[n - 1] = ([Fraction(v) for v in x], k)
        ahead.add(x, k)
    if n != told["n_samples"] or any(k not in kept for k in named):
        raise Wrong(f"there are {n} rows, and {told['n_samples']} are due")
    vectors = Vectors(kept, len(classes), free=free)
    if told["separable"]:
        yield "separable: every row is strictly on its own side, in fractions"
        yield from margins(told, ahead, vectors)
        return
    shares = [ratio(m) for m in told["multipliers"]]
    if min(shares, default=-1) < 0 or not any(shares):
        raise Wrong("the multipliers are not numbers >= 0, one of them larger")
    if any(vectors.sum(told["rows"], told["rivals"], shares)):
        raise Wrong("the multipliers do not combine the rows to zero")
    yield f"not separable: {len(shares)} rows cancel, in fractions"
    if wants_span:
        if told["quasi"] != bool(ahead.inside):
            raise Wrong("there is no plane with rows strictly on their side, and none on the other")
        every = places(rows(), classes, told["n_features"])
        spans(told, vectors, ((x, k, ahead.off(x, k)) for x, k, _ in every))
        some = f"weakly separable, {ahead.inside} rows strictly" if told["quasi"] else "not weakly"
        yield f"{some}: the rows left are combinations of some that cancel (modulo a prime)"


def ratio(value: Any) -> Fraction:
    """A number of a proof: "p/q", or a float. No exponents: those of a hostile file never end."""
    if isinstance(value, str) and not RATIO.fullmatch(value):
        raise Wrong(f"{value!r:.40} is no fraction")
    return Fraction(value)


def planes_of(told: dict[str, Any], *, free: bool) -> list[list[Fraction]]:
    """[w, b] of each class; of two classes their difference."""
    coef, offset = told["coef"], told["intercept"]
    coef = coef if isinstance(coef[0], list) else [coef]
    offset = offset if isinstance(offset, list) else [offset]
    return [[*map(ratio, w), ratio(b) * free] for w, b in zip(coef, offset, strict=True)]


class Least:
    """By how much rows are on their own side of planes; no plane means that nobody is."""

    def __init__(self, planes: list[list[Fraction]] | None, *, strict: bool) -> None:
        self.planes, self.strict, self.inside = planes, strict, 0
        self.least: Fraction | None = None
        self.rough = [[float(v) for v in plane] for plane in planes or ()]

    def add(self, x: list[float], k: int) -> None:
        """A row, in fractions unless floats tell that others are nearer."""
        if self.planes is None:
            return
        if len(self.rough) == 1 and self.least is not None:
            terms = list(map(mul, self.rough[0], (*x, 1.0)))
            sure = abs(math.fsum(terms)) - 8 * U * math.fsum(map(abs, terms)) - 1e-290
            if sure > float(self.least) * (1 + 4 * U) and (math.fsum(terms) > 0) == bool(k):
                self.inside += 1
                return
        leads = self.leads(x, k)
        if min(leads) < 0 or (self.strict and min(leads) == 0):
            raise Wrong(f"a row of class {k} is not on its own side of the plane")
        self.least = min(leads) if self.least is None else min(self.least, *leads)
        self.inside += any(leads)

    def leads(self, x: list[float], k: int) -> list[Fraction]:
        """Its own score less that of each other class."""
        at = [Fraction(v) for v in (*x, 1.0)]
        scores = [sum(map(mul, plane, at), Fraction(0)) for plane in self.planes or ()]
        if len(scores) == 1:
            return [scores[0] if k else -scores[0]]
        return [scores[k] - s for r, s in enumerate(scores) if r != k]

    def off(self, x: list[float], k: int) -> list[bool]:
        """Of which other classes it is strictly on its own side."""
        return [] if self.planes is None else [lead > 0 for lead in self.leads(x, k)]


def reflected(
    x: list[Fraction], k: int, rival: int | None, K: int, *, free: bool
) -> list[list[Fraction]]:
    """y [x, 1], or [x, 1] in the block of its class and turned round in that of each rival."""
    at = [*x, Fraction(1)] if free else x
    if K == 2:
        return [at if k else [-v for v in at]]
    zero, turned = [Fraction(0)] * len(at), [-v for v in at]
    rivals = [r for r in range(K) if r != k] if rival is None else [rival]
    blocks = [[at if r == k else turned if r == o else zero for r in range(K)] for o in rivals]
    return [list(itertools.chain.from_iterable(one)) for one in blocks]


class Vectors:
    """Reflected rows by their numbers."""

    def __init__(self, kept: dict[int, Any], K: int, *, free: bool) -> None:
        self.kept, self.K, self.free = kept, K, free

    def of(self, rows: Sequence[int], rivals: Sequence[int] | None) -> list[list[Fraction]]:
        """One for each row and its rival."""
        found = []
        for row, rival in zip(rows, rivals or itertools.repeat(None)):
            x, k = self.kept[row]
            if rival == k or not (rival is None or 0 <= rival < self.K):
                raise Wrong(f"row {row} has no rival {rival}")
            found += reflected(x, k, rival if self.K > 2 else None, self.K, free=self.free)
        return found

    def sum(
        self, rows: Sequence[int], rivals: Sequence[int] | None, shares: list[Fraction]
    ) -> list[Fraction]:
        """Of multiples of them."""
        vectors = self.of(rows, rivals)
        if len(vectors) != len(shares):
            raise Wrong("there is not one multiplier for each row")
        return [sum(map(mul, shares, column), Fraction(0)) for column in zip(*vectors)]


def margins(told: dict[str, Any], ahead: Least, vectors: Vectors) -> Iterator[str]:
    """The bounds of the margin of two classes, squared."""
    if ahead.planes is None or ahead.least is None:
        raise Wrong("there is no plane")
    if len(ahead.planes) > 1:
        return
    low, high = told["margin"]
    w = ahead.planes[0][:-1]
    if ratio(low) ** 2 * sum(map(mul, w, w), Fraction(0)) > ahead.least**2:
        raise Wrong(f"the plane's margin is below {low}")
    yield f"the margin is at least {low}"
    if not told["hull_rows"]:
        return
    shares = [ratio(v) for v in told["hull_weights"]]
    sides = [vectors.kept[row][1] for row in told["hull_rows"]]
    own = [sum((s for s, k in zip(shares, sides) if k == c), Fraction(0)) for c in (0, 1)]
    own = own if vectors.free else [sum(own, Fraction(0))] * 2
    if min(shares) < 0 or not all(own):
        raise Wrong("the shares of the hulls are none")
    scaled = [s / own[k] for s, k in zip(shares, sides)]
    across = vectors.sum(told["hull_rows"], None, scaled)[: told["n_features"]]
    if sum(map(mul, across, across)) > (4 if vectors.free else 1) * ratio(high) ** 2:
        raise Wrong(f"the points of the hulls are farther apart than {high} allows")
    yield f"the margin is at most {high}"


def spans(
    told: dict[str, Any], vectors: Vectors, others: Iterator[tuple[list[float], int, list[bool]]]
) -> None:
    """Rows with multipliers > 0 that cancel, and of which those not off the planes are made."""
    shares = [ratio(m) for m in told["span_multipliers"]]
    rows, rivals = told["span_rows"], told["span_rivals"]
    if min(shares, default=1) <= 0 or any(vectors.sum(rows, rivals, shares)):
        raise Wrong("the rows of the span do not cancel with multipliers > 0")
    basis: dict[int, list[int]] = {}
    for vector in vectors.of(rows, rivals):
        rest = reduced(vector, basis)
        lead = next((j for j, v in enumerate(rest) if v), None)
        if lead is not None:
            turn = pow(rest[lead], -1, PRIME)
            basis[lead] = [v * turn % PRIME for v in rest]
    for x, k, off in others:
        if all(off) and off:
            continue
        every = reflected([Fraction(v) for v in x], k, None, vectors.K, free=vectors.free)
        for one, away in zip(every, off or [False] * len(every), strict=True):
            if not away and len(basis) < len(one) and any(reduced(one, basis)):
                raise Wrong("the rows of the span do not span the others")


def reduced(vector: list[Fraction], basis: dict[int, list[int]]) -> list[int]:
    """A vector modulo a prime, without what the basis has of it."""
    rest = [v.numerator * pow(v.denominator, -1, PRIME) % PRIME for v in vector]
    for lead in sorted(basis):
        if rest[lead]:
            turn = rest[lead]
            rest = [(v - turn * b) % PRIME for v, b in zip(rest, basis[lead])]
    return rest


# -- bounds of an objective -----------------------------------------------------------------------


class Machine:
    """The sums of one plane, class by class, with room for all rounding."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.loss, self.C, self.free = told["loss"], float(told["C"]), told["fit_intercept"]
        self.plane, self.at, self.positive = told["plane"], told["at"], told["positive"]
        self.factors, self.alpha = told["factors"], told["alpha"]
        d = len(self.plane) - 1
        self.losses, self.n, self.held = [0.0], 0, 0
        self.errors, self.unclear = 0, 0
        self.gain, self.mass, self.bend = ([0.0, 0.0] for _ in range(3))
        self.v, self.reach = ([[0.0] * d, [0.0] * d] for _ in range(2))
        self.kept: list[list[tuple[list[float], float]]] = [[], []]

    def add(self, x: list[float], k: int, weight: float) -> None:
        """A row."""
        side = int(k == self.positive)
        cost = self.C * weight * self.factors[k]
        terms = list(map(mul, x, self.plane))
        score = math.fsum((*terms, self.plane[-1]))
        off = 4 * U * (math.fsum(map(abs, terms)) + abs(score) + abs(self.plane[-1])) + 1e-290
        value = score if side else -score
        self.errors += weight > 0 and value <= -off
        self.unclear += weight > 0 and -off < value < off
        self.losses.append(cost * self.above(value - off))
        if self.alpha is not None:
            alpha = self.alpha.get(self.n, 0.0)
            self.held += self.n in self.alpha
        else:
            there = math.fsum((*map(mul, x, self.at), self.at[-2]))
            alpha = cost * self.slope(there if side else -there)
        top = math.inf if self.loss == "squared_hinge" else cost * (1 - 4 * U)
        alpha = min(max(alpha, 0.0), top)
        self.n += 1
        if alpha > 0:
            self.kept[side].append((x, alpha))
            self.gain[side] += alpha if self.loss != "logistic" else entropy_below(alpha, cost)
            if self.loss == "squared_hinge":
                self.bend[side] += alpha * alpha / (4 * cost)
        if len(self.kept[side]) >= CHUNK:
            self.flush(side)
        if len(self.losses) >= CHUNK:
            self.losses = [math.fsum(self.losses)]

    def above(self, value: float) -> float:
        """At least L."""
        if self.loss == "logistic":
            return max(math.log1p(math.exp(-abs(value))) + max(-value, 0.0), 0.0) * (1 + 16 * U)
        gap = max(1.0 - value, 0.0) * (1 + 4 * U)
        return gap if self.loss == "hinge" else gap * gap * (1 + 4 * U)

    def slope(self, value: float) -> float:
        """-L', the corner of the hinge rounded off over (1 - h, 1 + h)."""
        if self.loss == "logistic":
            small = math.exp(-abs(value))
            return (1.0 if value < 0 else small) / (1.0 + small)
        u, h = 1.0 - value, self.at[-1]
        if self.loss == "squared_hinge":
            return 2.0 * max(u, 0.0)
        return float(u > 0) if h <= 0 else min(max((u / h + 1.0) / 2.0, 0.0), 1.0)

    def flush(self, side: int) -> None:
        """The sums of the rows that are held back."""
        rows, self.kept[side] = self.kept[side], []
        alpha = [a for _, a in rows]
        self.mass[side] += math.fsum(alpha)
        for j, column in enumerate(zip(*(x for x, _ in rows))):
            terms = list(map(mul, alpha, column))
            self.v[side][j] += math.fsum(terms)
            self.reach[side][j] += math.fsum(map(abs, terms))

    def in_fractions(self) -> list[float]:
        """The entries of v of a small table, all rows of which are held back."""
        exact = [[([Fraction(v) for v in x], Fraction(a)) for x, a in rows] for rows in self.kept]
        mass = [sum((a for _, a in rows), Fraction(0)) for rows in exact]
        least = min(mass) if self.free else None
        v = [Fraction(0)] * (len(self.plane) - 1)
        for side, rows in enumerate(exact):
            t = (1 if side else -1) * (Fraction(1) if not least else least / mass[side])
            for x, a in rows:
                v = [s + t * a * value for s, value in zip(v, x)]
        return [float(abs(s)) for s in v]

    def bounds(self) -> tuple[float, float]:
        """P from above, D from below; the heavier class is scaled down where that is asked for."""
        d, w = len(self.plane) - 1, self.plane[:-1]
        exact = self.in_fractions() if self.n < CHUNK and self.n * d <= EXACT else None
        for side in (0, 1):
            self.flush(side)
        many = (8 + 2 * self.n // CHUNK + d) * U
        high = (0.5 * math.fsum(map(mul, w, w)) + math.fsum(self.losses)) * (1 + 16 * U + many)
        t, slack = [1.0, 1.0], many
        if self.free:
            if not min(self.mass) > 0:
                return high, 0.0
            t, slack = [min(1.0, min(self.mass) / m) for m in self.mass], 4 * many
        gain = sum(map(mul, t, self.gain)) * (1 - slack - (self.n + 8) * U)
        bend = sum(s * s * b for s, b in zip(t, self.bend)) * (1 + 2 * slack + (self.n + 8) * U)
        sums = zip(self.v[1], self.v[0], self.reach[1], self.reach[0])
        rough = (abs(t[1] * p - t[0] * m) + slack * (t[1] * a + t[0] * b) for p, m, a, b in sums)
        v = list(rough) if exact is None else exact
        pull = math.fsum(map(mul, v, v)) * (1 + 8 * U) + 2 * bend
        s = min(1.0, gain / pull) if pull > 0 else 1.0  # s a is as good for every s in [0, 1]
        low = s * gain - 0.5 * s * s * pull
        return high * (1 + 8 * U), max(low - 16 * U * s * gain, 0.0)


def entropy_below(alpha: float, cost: float) -> float:
    """At most cost times the entropy of alpha / cost."""
    p = alpha / cost
    if not 0 < p < 1:
        return 0.0
    yes, no = math.log(p), math.log1p(-p)
    return cost * ((-p * yes - (1 - p) * no) * (1 - 32 * U) - 8 * U * p * abs(yes - no))


def check_model(told: dict[str, Any], rows: Reading) -> Iterator[str]:
    """Objective and lower bound of each plane of a model, and its errors."""
    claims = list(machines_of(told))
    found = [Machine(one) for one in claims]
    classes = unpacked(told["classes"]["values"])
    for x, k, weight in places(rows(), classes, told["n_features"]):
        for machine in found:
            machine.add(x, k, weight)
    for one, machine in zip(claims, found):
        if one["alpha"] is not None and machine.held != len(one["alpha"]):
            raise Wrong("support vectors are named that are not there")
        high, low = machine.bounds()
        stated, bound = one["told"]["objective"], one["told"]["lower_bound"]
        name = "" if len(claims) == 1 else f"{classes[one['positive']]!r} against the rest: "
        line = f"{name}objective at most {high!r}, no model has less than {low!r}"
        room = AGREES * abs(high)
        if high > stated + room or low < bound - room:
            raise Wrong(f"{line}; stated are {stated!r} and {bound!r}")
        if not 0 <= one["told"]["errors"] - machine.errors <= machine.unclear:
            raise Wrong(f"{machine.errors} errors, stated are {one['told']['errors']}")
        yield f"{line}: within {(high - low) / high if high > 0 else 0.0:.2g} of the best possible"


def machines_of(told: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What is claimed of each plane, and what its dual variables are made of."""
    params, kind = told["params"], told["estimator"]
    loss = {"LinearSVM": params.get("loss"), "LogisticRegression": "logistic"}.get(kind)
    plain = not params.get("gamma") and not params.get("kernel") and params.get("penalty") != "none"
    certificate, extra = told.get("certificate", {}), told["extra"]
    two = len(unpacked(told["classes"]["values"])) == 2
    if (
        loss not in ("hinge", "squared_hinge", "logistic")
        or not plain
        or "lower_bound" not in certificate
    ):
        raise Unknown(f"this {kind} is none that is checked here")
    if not isinstance(params["C"], int | float) or not 0 < params["C"] < math.inf:
        raise Unknown("only a finite cost C is checked here")
    if not two and (loss == "logistic" or params["multi_class"] != "one-vs-rest"):
        raise Unknown("one loss of several classes is not checked here")
    coef, offset = unpacked(told["coef"]), unpacked(told["intercept"])
    for k, (w, b) in enumerate(zip(coef, offset, strict=True)):
        one = certificate["parts"][k] if not two and certificate["parts"] else certificate
        stream, alpha, at = "generator" in one, None, [*w, b, 0.0]
        if stream:
            at = unpacked(one["generator"])
        elif loss != "logistic":
            dual = unpacked(extra["dual_coef_"])[k]
            pairs = zip(unpacked(extra["support_"]), dual, strict=True)
            alpha = {row: abs(a) for row, a in pairs if a}
        if not stream and params["class_weight"] is not None:
            raise Unknown("weights of classes are checked of streams only")
        factors = unpacked(one["factors"]) if stream else [1.0] * max(2, len(coef))
        yield {
            "loss": loss, "C": params["C"], "fit_intercept": params["fit_intercept"],
            "plane": [*w, b], "at": at, "alpha": alpha, "positive": 1 if two else k,
            "factors": factors, "told": one,
        }  # fmt: skip


def unpacked(value: Any) -> Any:
    """An array of a model file as lists."""
    if isinstance(value, dict) and "$tuple" in value:
        return value["$tuple"]
    if not isinstance(value, dict):
        return value
    told = value["$array"]
    flat = told.get("values")
    if flat is None:
        data = base64.b64decode(told["base64"])
        size = struct.calcsize(KINDS[told["dtype"][1:]])
        flat = struct.unpack(f"<{len(data) // size}{KINDS[told['dtype'][1:]]}", data)
    if len(told["shape"]) < 2 or (flat and isinstance(flat[0], list)):
        return list(flat)
    width = told["shape"][1]
    return [list(flat[k : k + width]) for k in range(0, len(flat), width)]


# -- the program ----------------------------------------------------------------------------------


def main(given: Sequence[str] | None = None) -> int:
    """Print each claim that holds; 0 if all do."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("file")
    parser.add_argument("data")
    parser.add_argument("--target", help="the column of the labels")
    parser.add_argument("--weights", help="the column of the weights of rows")
    args = parser.parse_args(given)
    sys.set_int_max_str_digits(DIGITS)
    try:
        with open(args.file, encoding="utf-8") as file:
            told = json.load(file, parse_constant=refuse)
        check: Callable[..., Iterator[str]] = {
            "linsep-proof": check_verdict, "linsep-model": check_model
        }[told["format"]]  # fmt: skip
        width = int(told["n_features"])
        asked = (args.data, args.target, args.weights, told.get("feature_names"), width)
        for line in check(told, lambda: rows_of(*asked)):
            print(f"holds: {line}")
    except Wrong as error:
        print(f"DOES NOT HOLD: {error}")
        return 1
    except (Unknown, OSError) as error:
        print(f"not checked: {error}")
        return 2
    except (
        ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
        ValueError, struct.error, csv.Error,
    ) as error:  # fmt: skip
        print(
            f"DOES NOT HOLD: the file or the data cannot be read ({type(error).__name__}: {error})"
        )
        return 1
    return 0


def refuse(name: str) -> NoReturn:
    """JSON has no such numbers."""
    raise ValueError(name)


if __name__ == "__main__":
    sys.exit(main())
