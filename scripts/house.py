"""How the source is laid out, in numbers: how far a call walks, and what the files hold.

    python scripts/house.py [--list] [--no-walks]

Walks. Every public call of a short list is made twice in one thread, and the second time all
calls of Python functions of linsep are watched: through how many files they pass, how many
functions there are, how often two calls in a row lie in different files, and how many frames of
linsep stand on each other. Machine code and the methods that dataclasses write are not seen. The
clock stands still meanwhile: how a run is cut into chunks and when a routine is compiled depend on
it, and walks are to be compared. What machine code is kept on the disk counts as well: a fit that
finds none takes the forms in numpy, which lie in a file or two more.

What the files of a walk are there for. Every fit passes these, each for one promise:

core/validate, problem      the caller's arrays are checked once and never changed
core/drive, protocol        one loop for all solvers; a status is a word with a meaning
core/limits, lanes          limits and Ctrl-C are heard; sums have the same bits for any threads
core/boundary               an error of linsep and one of the caller's own code are told apart
core/compile, order         where data are large: machine code when it pays, samples by a seed
models/base, fit, NAME      the way of every fit; its settings and watchers; what this one does
proofs/plain, gap, NAME     the judge reads the caller's rows himself; bounds; those of this model

That is 13 to 15 files beside the algorithm. LinearSVM adds its choice of a solver, the loss (what
all losses share, the hinge, the registry), the reader of rows, its copy without zeros, and the
solver with the numerics it calls: interior points, boxes and Cholesky, which other solvers call as
well. LogisticRegression passes models/kernel_option, where a fit with a kernel turns off, and has
L-BFGS and samples. KernelSVM has five files of kernels (what all kernels are, this one, their
names, rows, values by blocks) and a judge who computes values by the kernel's definition
(proofs/referee) and asks whether it is one (proofs/definite). separability has a clock of its own,
for it is asked from within fits, and hashes of rows to find equal ones. A Perceptron that
separates is judged without rounding (rows/signs, proofs/witness) and by its margin.
To fold two of these would put two promises into one file.

Counts. What is in the files, read without importing them. ``--list`` names what was counted.

=====================  ==========================================================================
head lines             imports, ``__all__`` and aliases at the top level of a module
one importer           modules that one other module imports, through whatever front door; front
                       doors (``__init__``) and what they or the table of ``linsep`` name are not
                       counted, nor are commands, which the command line imports by name
... of its layer       those that lie in the layer of their importer; the others cannot join it: a
                       solver or a proof that one estimator uses is no part of the estimator
doors not counted      modules that one module imports, whatever else a front door names
one child              classes that one class of linsep inherits from, directly; a Protocol is met,
                       not inherited from, and not counted
... never made         those of which there is no instance: classes that were cut in pieces
constants              names in capitals that are given a value at the top level of a module
=====================  ==========================================================================
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import re
import sys
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np

import linsep

ROOT = Path(linsep.__file__).parent
CONSTANT = re.compile(r"_{0,2}[A-Z][A-Z0-9_]*")
PROOFS = ("certify", "proofs")


# -- walks ----------------------------------------------------------------------------------


@dataclass
class Walk:
    """What one call passed through."""

    files: set[str] = field(default_factory=set)
    functions: set[tuple[str, str, int]] = field(default_factory=set)
    calls: int = 0
    changes: int = 0
    deepest: int = 0
    _depth: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _last: dict[int, str] = field(default_factory=dict)

    def watch(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note a call or a return; the interpreter asks for it."""
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(f"{ROOT}/"):
            return
        thread = threading.get_ident()
        if event == "return":
            self._depth[thread] -= 1
            return
        self.files.add(code.co_filename)
        self.functions.add((code.co_filename, code.co_qualname, code.co_firstlineno))
        self.calls += 1
        self.changes += self._last.get(thread, code.co_filename) != code.co_filename
        self._last[thread] = code.co_filename
        self._depth[thread] += 1
        self.deepest = max(self.deepest, self._depth[thread])


def walk(call: Callable[[], object]) -> Walk:
    """Make a call twice and watch the second time."""
    seen = Walk()
    with _one_thread(), _no_clock(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
        threading.setprofile(seen.watch)
        sys.setprofile(seen.watch)
        try:
            call()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return seen


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    from threadpoolctl import threadpool_limits

    from linsep.core.lanes import at_most

    with threadpool_limits(limits=1), at_most(1):
        yield


@contextlib.contextmanager
def _no_clock() -> Iterator[None]:
    def still() -> float:
        return 0.0

    with (
        mock.patch.object(time, "perf_counter", still),
        mock.patch.object(time, "thread_time", still),
    ):
        yield


def _blobs(n: int, d: int, distance: float, classes: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    middles = rng.normal(size=(classes, d))
    middles *= distance / np.linalg.norm(middles, axis=1, keepdims=True)
    return middles[y] + rng.normal(size=(n, d)), y


def public_calls() -> dict[str, Callable[[], object]]:
    """The calls that are watched."""
    small, tall, three = _blobs(200, 5, 1.0), _blobs(30_000, 20, 1.0), _blobs(210, 5, 1.5, 3)
    apart, positive = _blobs(200, 5, 5.0), (np.abs(small[0]), small[1])
    return {
        "LinearSVM.fit 200 x 5": lambda: linsep.LinearSVM(n_jobs=1).fit(*small),
        "LinearSVM.fit 30000 x 20": lambda: linsep.LinearSVM(n_jobs=1).fit(*tall),
        "LinearSVM.fit 3 classes": lambda: linsep.LinearSVM(n_jobs=1).fit(*three),
        "LogisticRegression.fit 200 x 5": lambda: linsep.LogisticRegression(n_jobs=1).fit(*small),
        "LogisticRegression.fit 30000 x 20": lambda: linsep.LogisticRegression(n_jobs=1).fit(*tall),
        "LogisticRegression.fit 3 classes": lambda: linsep.LogisticRegression(n_jobs=1).fit(*three),
        "KernelSVM.fit 200 x 5": lambda: linsep.KernelSVM().fit(*small),
        "AdditiveSVM.fit 200 x 5": lambda: linsep.AdditiveSVM(n_jobs=1).fit(*positive),
        "separability 200 x 5, inseparable": lambda: linsep.separability(*small),
        "Kozinec.fit 200 x 5, separable": lambda: linsep.Kozinec().fit(*apart),
        "Perceptron.fit 200 x 5, separable": lambda: linsep.Perceptron().fit(*apart),
    }


def print_walks(*, names: bool) -> None:
    """The table of walks."""
    print(
        f"{'second call, one thread':<36}{'files':>7}{'funcs':>7}{'calls':>9}{'changes':>10}",
        end="",
    )
    print(f"{'depth':>7}")
    for name, call in public_calls().items():
        seen = walk(call)
        print(f"{name:<36}{len(seen.files):>7}{len(seen.functions):>7}{seen.calls:>9}", end="")
        print(f"{seen.changes:>10}{seen.deepest:>7}")
        if names:
            _print_names(sorted(str(Path(file).relative_to(ROOT)) for file in seen.files))


# -- counts ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Module:
    """A source file that was read."""

    name: str
    path: Path
    lines: int
    tree: ast.Module

    @property
    def door(self) -> bool:
        """Whether it is the front door of a folder."""
        return self.path.name == "__init__.py"

    @property
    def folder(self) -> str:
        """The folder or the module right below linsep."""
        return [*self.name.split("."), ""][1]


class House:
    """All modules, and who imports whom."""

    def __init__(self, root: Path = ROOT) -> None:
        self.modules: dict[str, Module] = {}
        for path in sorted(root.rglob("*.py")):
            inner = path.relative_to(root.parent).with_suffix("").parts
            name = ".".join(inner[:-1] if inner[-1] == "__init__" else inner)
            source = path.read_text(encoding="utf-8")
            self.modules[name] = Module(name, path, source.count("\n"), ast.parse(source))
        self._made = {
            node.func.id
            for module in self.modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        self._behind = {m.name: self._names_of(m) for m in self.modules.values()}
        self.imports = {m.name: self._imports(m) for m in self.modules.values()}

    # -- names --------------------------------------------------------------------------------

    def _names_of(self, module: Module) -> dict[str, tuple[str, str]]:
        """Names that a module imports from others: module and name there."""
        found: dict[str, tuple[str, str]] = {}
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module and self._ours(node.module):
                for alias in node.names:
                    found[alias.asname or alias.name] = (node.module, alias.name)
        return found

    @staticmethod
    def _ours(name: str) -> bool:
        return name == "linsep" or name.startswith("linsep.")

    def home(self, module: str, name: str) -> tuple[str, str]:
        """Where a name of a module is written, seen through front doors."""
        for _ in range(10):
            if f"{module}.{name}" in self.modules:
                return f"{module}.{name}", ""
            behind = self._behind.get(module, {}).get(name)
            if behind is None or not self.modules[module].door:
                break
            module, name = behind
        return module, name

    def _imports(self, module: Module) -> set[str]:
        """Modules of linsep that a module imports, anywhere in it, or names in a text."""
        found = set()
        stub = module.path.with_suffix(".pyi")  # the public names, which a front door reads
        more = ast.parse(stub.read_text(encoding="utf-8")).body if stub.exists() else []
        for node in [*ast.walk(module.tree), *more]:
            if isinstance(node, ast.ImportFrom) and node.module and self._ours(node.module):
                found |= {self.home(node.module, alias.name)[0] for alias in node.names}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names if self._ours(alias.name)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value} & set(self.modules)
        return {name for name in found if name in self.modules} - {module.name}

    # -- what is counted ----------------------------------------------------------------------

    def head_lines(self) -> int:
        """Lines of imports, ``__all__`` and aliases."""
        return sum(
            (node.end_lineno or node.lineno) - node.lineno + 1
            for module in self.modules.values()
            for node in module.tree.body
            if _is_head(node)
        )

    def with_one_importer(self, *, doors: bool = True) -> dict[str, str]:
        """Modules with one importer, and its name; without doors, what these name is not spared."""
        importers: dict[str, list[str]] = defaultdict(list)
        public = set()
        for name, others in self.imports.items():
            if self.modules[name].door:
                public |= others
                if not doors:
                    continue
            for other in others:
                importers[other].append(name)
        spared = public if doors else set()
        return {
            name: importers[name][0]
            for name, module in self.modules.items()
            if not (module.door or _is_command(module)) and name not in spared
            if len(importers[name]) == 1
        }

    def of_one_layer(self, pairs: dict[str, str]) -> list[str]:
        """Modules that lie in the layer of the one that imports them."""
        return [
            f"{_short(name)} <- {_short(other)}"
            for name, other in pairs.items()
            if self.modules[name].folder == self.modules[other].folder
        ]

    def with_one_child(self, *, made: bool = True) -> list[str]:
        """Classes with one child, with its name; without those that are made themselves."""
        children: dict[tuple[str, str], list[str]] = defaultdict(list)
        classes = {
            (m.name, node.name): node
            for m in self.modules.values()
            for node in ast.walk(m.tree)
            if isinstance(node, ast.ClassDef)
        }
        for (module, name), node in classes.items():
            for base in node.bases:
                bare = base.value if isinstance(base, ast.Subscript) else base
                if isinstance(bare, ast.Name):
                    place = self._class(module, bare.id)
                    if place in classes:
                        children[place].append(f"{_short(module)}.{name}")
        return sorted(
            f"{_short(module)}.{name} <- {found[0]}"
            for (module, name), found in children.items()
            if len(found) == 1 and not _is_protocol(classes[module, name])
            if made or name not in self._made
        )

    def _class(self, module: str, name: str) -> tuple[str, str]:
        behind = self._behind[module].get(name)
        return (module, name) if behind is None else self.home(*behind)

    def untyped(self) -> list[str]:
        """Parameters ``me: Any`` and ``model: Any``."""
        return [
            f"{_short(module.name)}:{node.lineno} {node.arg}"
            for module in self.modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.arg)
            and node.arg in ("me", "model")
            and isinstance(node.annotation, ast.Name)
            and node.annotation.id == "Any"
        ]

    def constants(self) -> list[tuple[str, str]]:
        """Constants of modules: name and module."""
        found = []
        for module in self.modules.values():
            for node in module.tree.body:
                if _is_head(node) or not isinstance(node, ast.Assign | ast.AnnAssign):
                    continue
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    for one in ast.walk(target):
                        if isinstance(one, ast.Name) and CONSTANT.fullmatch(one.id):
                            found.append((one.id, module.name))
        return found

    def between(self, these: tuple[str, ...], those: tuple[str, ...]) -> list[str]:
        """Imports from modules of some folders of modules of others."""
        return [
            f"{_short(name)} -> {_short(other)}"
            for name, others in self.imports.items()
            for other in sorted(others)
            if self.modules[name].folder in these and self.modules[other].folder in those
        ]


def _is_command(module: Module) -> bool:
    """Whether the command line imports it by its name."""
    names = {node.name for node in module.tree.body if isinstance(node, ast.FunctionDef)}
    return module.folder == "cli" and "run" in names


def _is_protocol(node: ast.ClassDef) -> bool:
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in bases)


def _is_head(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.If):  # if TYPE_CHECKING
        return all(_is_head(inner) for inner in node.body)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        if node.targets[0].id == "__all__":
            return True
        return _is_alias(node.value)
    return False


def _is_alias(value: ast.expr) -> bool:
    """Whether a value is another name, a type, or a variable of types."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in ("TypeVar", "ParamSpec")
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Name) and value.value.id[:1].isupper()
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        return _is_alias(value.left) and (_is_none(value.right) or _is_alias(value.right))
    return isinstance(value, ast.Name | ast.Attribute)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _short(module: str) -> str:
    return module.removeprefix("linsep.")


def _pairs(found: dict[str, str]) -> list[str]:
    return [f"{_short(name)} <- {_short(other)}" for name, other in found.items()]


def print_counts(*, names: bool) -> None:
    """The table of counts."""
    house = House()
    files, lines = len(house.modules), sum(m.lines for m in house.modules.values())
    constants = house.constants()
    distinct = sorted({name for name, _ in constants})
    homes: dict[str, list[str]] = defaultdict(list)
    for name, module in constants:
        homes[name].append(_short(module))
    shared = [f"{name}: {', '.join(homes[name])}" for name in distinct if len(homes[name]) > 1]
    head = house.head_lines()
    one, strict = house.with_one_importer(), house.with_one_importer(doors=False)
    rows: list[tuple[str, str, list[str]]] = [
        ("source files", f"{files}", []),
        ("lines", f"{lines}", []),
        ("lines a file, mean", f"{lines / files:.0f}", []),
        ("head lines", f"{head} ({100 * head / lines:.1f} %)", []),
        ("modules with one importer", "", _pairs(one)),
        ("... of its layer", "", house.of_one_layer(one)),
        ("modules with one importer, doors not counted", "", _pairs(strict)),
        ("... of its layer", "", house.of_one_layer(strict)),
        ("base classes with one child", "", house.with_one_child()),
        ("... never made themselves", "", house.with_one_child(made=False)),
        ("parameters me: Any and model: Any", "", house.untyped()),
        ("constants of modules", f"{len(constants)}", []),
        ("distinct names of constants", f"{len(distinct)}", shared),
        ("imports from solvers of proofs", "", house.between(("solvers",), PROOFS)),
        ("imports from proofs of solvers", "", house.between(PROOFS, ("solvers",))),
    ]
    print(f"{'counts':<60}{'number':>20}")
    for words, number, offenders in rows:
        print(f"{words:<60}{number or len(offenders):>20}")
        if names:
            _print_names(offenders)


def _print_names(names: list[str]) -> None:
    for name in names:
        print(f"    {name}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--list", action="store_true", help="name what was counted")
    parser.add_argument("--no-walks", action="store_true", help="counts alone, nothing is run")
    chosen = parser.parse_args()
    if not chosen.no_walks:
        print_walks(names=chosen.list)
        print()
    print_counts(names=chosen.list)


if __name__ == "__main__":
    main()
