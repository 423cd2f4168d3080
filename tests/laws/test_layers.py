"""Data flow one way: who may import whom."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import linsep

ROOT = Path(linsep.__file__).parent

BELOW = {"core", "rows", "numerics", "losses", "kernels"}
# Each folder or module may import those named and itself; those of FREE are free.
MAY_IMPORT = {
    "core": set(),
    "numerics": {"core"},
    "losses": {"core", "numerics"},
    "rows": {"core", "numerics", "losses"},
    "kernels": {"core", "numerics", "rows"},
    "criteria": {"core", "numerics", "losses"},
    # Solvers and proofs know nothing of each other: the solver is not its own judge.
    "solvers": BELOW | {"criteria"},
    "proofs": BELOW,
    "data": {"core"},
    "formats": {"core", "proofs", "data", "kernels"},
    "separating": BELOW | {"proofs", "solvers"},
    "risk": BELOW | {"proofs", "solvers", "separating"},
    "models": BELOW | {"criteria", "proofs", "solvers", "separating", "formats", "risk"},
    # Schemes of many classes wrap any estimator, so they stand above them.
    "multiclass": {"core", "rows", "proofs", "formats", "models"},
    "lift": {"core", "models", "risk", "separating", "display"},
    "choosing": {"core", "lift", "risk", "display"},
    "tables": {"core", "data", "models", "choosing"},
    "study": {"core", "data", "models", "separating", "lift", "choosing", "tables"},
    "display": {
        "core", "criteria", "proofs", "data", "models", "kernels", "losses", "multiclass", "risk",
        "separating",
    },
    "tracing": {"core", "proofs", "models", "display"},
    "lab": {
        "core", "criteria", "data", "display", "formats", "kernels", "lift", "models", "multiclass",
        "proofs", "separating", "tables", "tracing",
    },
    "cli": {
        "core", "rows", "proofs", "data", "formats", "separating", "risk", "models", "display",
        "lift", "tracing", "multiclass", "tables", "choosing", "study", "lab",
    },
}  # fmt: skip
FREE = {"errors", "_leave", "_version", "_public", "_sklearn"}
DOORS = {"__init__", "__main__"}  # they open the house and stand in no layer


def imports(path: Path) -> set[str]:
    """Names of linsep's folders and modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "linsep":
                names = [f"linsep.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("linsep.")}
    return found


def test_every_import_follows_the_layers():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        home = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if home in DOORS | FREE:
            continue
        assert home in MAY_IMPORT, f"{path} is in no layer; add it to the table"
        for other in imports(path) - FREE - {home} - MAY_IMPORT[home]:
            if other in MAY_IMPORT:
                wrong.append(f"{path.relative_to(ROOT)} imports {other}")
    assert not wrong, "\n".join(wrong)


def top_level(module: str) -> Iterator[tuple[str, str]]:
    """Modules of linsep, and names of them, that one imports while it is itself imported."""
    for node in ast.parse(MODULES[module].read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("linsep"):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name[:6] == "linsep")


def module_of(path: Path) -> str:
    """Its name."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in ROOT.rglob("*.py")}


def test_modules_import_from_homes():
    """A public name is looked up under a lock; a thread that holds a module must not wait there."""
    packages = [linsep, *(getattr(linsep, stub.parent.name) for stub in ROOT.glob("*/*.pyi"))]
    names = {
        (package.__name__, name)
        for package in packages
        for name, home in package.PUBLIC.homes.items()
        if home != package.__name__
    }
    wrong = [f"{name}: {found}" for name in MODULES for found in set(top_level(name)) & names]
    assert not wrong, "\n".join(wrong)


def test_imports_have_no_cycle():
    """Two threads that import the two ends of a cycle would wait for each other."""
    graph = {}
    for name in MODULES:
        inner = ((home, f"{home}.{thing}") for home, thing in top_level(name))
        graph[name] = {found if found in MODULES else home for home, found in inner}
        if name.count(".") > 1:  # a package comes before its modules
            graph[name].add(name.rpartition(".")[0])
    list(graphlib.TopologicalSorter(graph).static_order())


def marked(node: ast.FunctionDef) -> bool:
    """Whether a function is an inner loop, whose types numba finds, or its form in numpy."""
    return any(
        (isinstance(d, ast.Name) and d.id in ("routine", "inner"))
        or (isinstance(d, ast.Attribute) and d.attr == "in_numpy")
        for d in node.decorator_list
    )


def test_only_inner_loops_go_without_types():
    """mypy lets functions without types pass in files that hold inner loops; this does not."""
    plain = []
    for path in sorted(ROOT.rglob("*.py")):
        if path == ROOT / "rows" / "loops.py":  # forms of one row, by layouts
            continue
        for node in ast.parse(path.read_text()).body:
            kind = node if isinstance(node, ast.ClassDef) else None
            for function in [node] if kind is None else kind.body:
                if isinstance(function, ast.FunctionDef) and not marked(function):
                    args = [*function.args.posonlyargs, *function.args.args]
                    args = args[kind is not None :] + function.args.kwonlyargs
                    if function.returns is None or any(a.annotation is None for a in args):
                        plain.append(f"{path.relative_to(ROOT)}:{function.lineno} {function.name}")
    assert not plain, "\n".join(plain)


def test_unit_tests_lie_as_the_source_does():
    """tests/unit/<layer>/ or tests/unit/<layer>/<family>/, each of them a folder of linsep."""
    unit = Path(__file__).parents[1] / "unit"
    strays = [
        str(path.relative_to(unit))
        for path in sorted(unit.rglob("*.py"))
        if path.parent == unit or not (ROOT / path.parent.relative_to(unit)).is_dir()
    ]
    assert not strays, f"no such folder of the source: {strays}"
