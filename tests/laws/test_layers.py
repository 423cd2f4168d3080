"""Data flow one way: who may import whom."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import linsep

ROOT = Path(linsep.__file__).parent

# Each folder or module may import those named and itself; errors and _version are free.
MAY_IMPORT = {
    # jit stands lowest: inner loops and the tuples of arrays that rows come to them in.
    "jit": set(),
    "core": {"jit"},
    "losses": {"core", "jit"},
    "kernels": {"core", "jit"},
    "certify": {"core", "jit", "losses", "kernels"},
    "data": {"core", "jit"},
    "formats": {"core", "certify", "data", "kernels"},
    "solvers": {"core", "jit", "losses", "kernels", "certify"},
    "separating": {"core", "certify", "solvers"},
    "verdict": {"core", "certify", "solvers", "separating"},
    "risk": {"core", "losses", "certify", "solvers", "separating", "verdict"},
    "estimators": {
        "core", "jit", "losses", "kernels", "certify", "solvers", "verdict",
        "formats", "risk",
    },
    # Schemes of many classes wrap any estimator, so they stand above them.
    "multiclass": {"core", "certify", "formats", "estimators"},
    "lift": {"core", "estimators", "risk", "verdict", "display"},
    "choosing": {"core", "lift", "risk", "display"},
    "display": {
        "core", "certify", "data", "estimators", "kernels", "losses", "multiclass", "risk",
        "solvers", "verdict",
    },
    "tracing": {"core", "certify", "solvers", "estimators", "display"},
    "cli": {
        "core", "certify", "data", "formats", "solvers", "verdict", "risk", "estimators",
        "display", "lift", "tracing", "multiclass",
    },
}  # fmt: skip
FREE = {"errors", "_version"}


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
        if home in ("__init__", *FREE):
            continue
        assert home in MAY_IMPORT, f"{path} is in no layer; add it to the table"
        for other in imports(path) - FREE - {home} - MAY_IMPORT[home]:
            if other in MAY_IMPORT:
                wrong.append(f"{path.relative_to(ROOT)} imports {other}")
    assert not wrong, "\n".join(wrong)


def test_jit_needs_numpy_and_numba_only():
    allowed = {"numpy", "numba", "llvmlite", "linsep", "__future__"}
    standard = set(sys.stdlib_module_names)
    for path in (ROOT / "jit").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert node.module.split(".")[0] in allowed | standard, path
            elif isinstance(node, ast.Import):
                assert all(a.name.split(".")[0] in allowed | standard for a in node.names), path
