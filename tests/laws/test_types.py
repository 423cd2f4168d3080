"""Type checkers see: a caller's the public names, by one run of mypy over a good and a wrong file;
ours the models inside, none of which is anything at all."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import linsep
import linsep.risk

ROOT = Path(linsep.__file__).parent

GOOD = '''\
"""What a user might write; strict mypy has nothing to say against it."""

import numpy as np

import linsep
from linsep.risk import bayes_risk

X, y = np.zeros((4, 2)), [0, 0, 1, 1]


def margin() -> float:
    model = linsep.LinearSVM(C=10.0, loss="squared_hinge").fit(X, y)
    proof: linsep.Proof = linsep.separability(X, y)
    assert proof.check(X, y)
    print(model.summary(), model.status_.ok, model.predict(X).shape, bayes_risk)
    return model.certificate_.relative_gap


def pictures(run: linsep.Trace) -> None:
    for step in run:
        print(step)
    linsep.DecisionDisplay.from_estimator(linsep.Perceptron(eta=0.5).fit(X, y), X, y)
'''

WRONG = {
    "linsep.LinearSVM(c=1)": 'Unexpected keyword argument "c" for "LinearSVM"',
    "linsep.Perceptron(max_iter='many')": 'Argument "max_iter" to "Perceptron" has incompatible',
    "linsep.seperability(X, y)": 'Module has no attribute "seperability"',
    "linsep.risk.bayes_rule": 'Module has no attribute "bayes_rule"',
    "linsep.separability(X, y).seperable": '"Proof" has no attribute "seperable"',
    "linsep.LinearSVM().certificate_.gapp": '"Gap" has no attribute "gapp"',
    "linsep.LinearSVM().fit(X, y).coefs_": '"LinearSVM" has no attribute "coefs_"',
    "linsep.OneVsRest().fit(X, y).machines": '"OneVsRest" has no attribute "machines"',
    "linsep.Lift('x1').fit(X).term": '"Lift" has no attribute "term"',
    "linsep.LogisticRegression().predict_prob(X)": 'has no attribute "predict_prob"',
    "linsep.errors.DataErorr": 'Module has no attribute "DataErorr"',
    "linsep.OneVsRest('perceptron')": 'Argument 1 to "OneVsRest" has incompatible type',
    "linsep.trace('perceptron', X, y)": 'Argument 1 to "trace" has incompatible type "str"',
    "linsep.KernelSVM(kernel=3)": 'Argument "kernel" to "KernelSVM" has incompatible type',
    "linsep.separability(X, y, limit=3)": 'Unexpected keyword argument "limit" for',
    **{
        f"linsep.{name}(no_such_setting=1)": f'argument "no_such_setting" for "{name}"'
        for name in linsep.PUBLIC.kinds["Estimators"]
    },
}

CERTIFICATES = {
    "Perceptron": "Certificate",
    "Kozinec": "Certificate",
    "LeastSquares": "Squares",
    "HoKashyap": "Certificate",
    "LogisticRegression": "Gap",
    "GaussianClassifier": "GaussianCertificate",
    "LinearSVM": "Gap",
    "KernelSVM": "KernelGap",
    "KernelPerceptron": "KernelGap",
    "AdditiveSVM": "Gap",
    "OneVsRest": "Certificates",
    "OneVsOne": "Certificates",
    "Kesler": "Certificate",
}
SHOWN = {
    "linsep.separability(X, y)": "Proof",
    "linsep.trace(linsep.Perceptron(), X, y)": "Trace",
    "linsep.trace(linsep.Perceptron(), X, y)[0]": "Step",
    "linsep.choose(linsep.Perceptron(), X, y, parameter='eta', values=[1])": "Choice",
    "linsep.certify(linsep.LinearSVM(), X, y)": "Gap",
    "linsep.data.load('students')": "Table",
    "linsep.regions(linsep.LinearSVM())": "Regions",
    **{f"linsep.{name}().fit(X, y)": name for name in CERTIFICATES},
    **{f"linsep.{name}().certificate_": kind for name, kind in CERTIFICATES.items()},
}
NAMES = [f"linsep.{name}" for name in linsep.__all__]
NAMES += [f"linsep.risk.{name}" for name in linsep.risk.__all__]


@pytest.fixture(scope="module")
def said(tmp_path_factory, request) -> dict[str, dict[int, list[str]]]:
    """What mypy says, by file and line, with linsep seen as an installed package is."""
    folder = tmp_path_factory.mktemp("user")
    head = "import linsep\nX, y = [[0.0], [1.0]], [0, 1]\n"
    files = {
        "good.py": GOOD,
        "wrong.py": head + "\n".join(WRONG) + "\n",
        "shown.py": head + "".join(f"reveal_type({code})\n" for code in [*SHOWN, *NAMES]),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    cache = getattr(request.config, "cache", None)
    kept = cache.mkdir("mypy") if cache is not None else folder / "cache"
    command = [
        sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent",
        "--ignore-missing-imports", "--config-file=", f"--cache-dir={kept}",
        "--show-absolute-path", *map(str, sorted(folder.glob("*.py"))),
    ]  # fmt: skip
    env = os.environ | {"MYPYPATH": str(ROOT.parent)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=folder)
    found: dict[str, dict[int, list[str]]] = {name: {} for name in files}
    for line in done.stdout.splitlines():
        if match := re.match(r".*?(\w+\.py):(\d+): (error|note): (.*)", line):
            name, number, kind, words = match.groups()
            if kind == "error" or words.startswith("Revealed"):
                found[name].setdefault(int(number), []).append(words)
    assert found["shown.py"], done.stdout + done.stderr
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
class TestTypes:
    def test_a_good_file_passes_strict(self, said):
        assert said["good.py"] == {}

    def test_every_mistake_is_an_error_and_nothing_else_is(self, said):
        lines = said["wrong.py"]
        for number, (code, words) in enumerate(WRONG.items(), start=3):
            told = lines.pop(number, [])
            assert any(words in one for one in told), f"{code}: {told}"
        assert lines == {}

    def test_results_have_their_types(self, said):
        wrong = []
        for number, (code, kind) in enumerate(SHOWN.items(), start=3):
            told = said["shown.py"].get(number, [])
            if not (len(told) == 1 and told[0].endswith(f'.{kind}"')):
                wrong.append(f"{code}: {told}")
        assert not wrong, "\n".join(wrong)

    def test_every_public_name_is_known_and_is_not_any(self, said):
        first = 3 + len(SHOWN)
        for number, name in enumerate(NAMES, start=first):
            told = said["shown.py"].get(number, [])
            assert len(told) == 1 and "Revealed" in told[0], f"{name}: {told}"
            assert not told[0].endswith('"Any"'), f"{name}: {told}"


def test_the_table_of_certificates_names_every_estimator():
    assert list(CERTIFICATES) == linsep.PUBLIC.kinds["Estimators"]


PACKAGES = [linsep, *(getattr(linsep, path.parent.name) for path in ROOT.glob("*/__init__.pyi"))]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_public_names_live_where_the_stub_says(package):
    stub = Path(package.__file__).with_suffix(".pyi").read_text()
    for name, home in package.PUBLIC.homes.items():
        assert f"from {home} import {name} as {name}\n" in stub
        thing = getattr(package, name)
        if isinstance(thing, type | FunctionType):
            assert thing.__module__ == home, f"{name} lives in {thing.__module__}"
    assert len(package.__all__) == len(set(package.__all__))
    assert sum(map(len, package.PUBLIC.kinds.values())) == len(package.PUBLIC.homes)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_no_module_hides_a_public_name(package):
    """Importing ``package.name`` sets an attribute; a public name of the same name goes first."""
    for name, home in package.PUBLIC.homes.items():
        before = getattr(package, name)
        importlib.import_module(home if home != package.__name__ else f"{home}.{name}")
        assert getattr(package, name) is before
        assert isinstance(before, ModuleType) == (home == package.__name__)


def test_a_module_that_is_named_as_a_function_is_imported_first():
    code = "import linsep.core.drive, linsep.data.read as r, linsep; import linsep.lift.compare; "
    code += "assert callable(linsep.core.drive) and callable(linsep.data.read) and callable(r)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'linsep' has no attribute 'nothing'"):
        linsep.nothing  # noqa: B018
    assert not hasattr(linsep.risk, "bayes_rule")


def test_types_are_shipped():
    assert (ROOT / "py.typed").exists()
    assert {"linsep", "linsep.core", "linsep.risk"} <= {package.__name__ for package in PACKAGES}


# -- inside ---------------------------------------------------------------------------------------

STUBS = ROOT.parents[1] / "typings"
MODELS = ("me", "model", "classifier")
ANYTHING: dict[str, str] = {}
"""Places, as module.function, whose model may be anything at all, with the reason."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Modules of linsep by name."""
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def test_a_model_is_not_just_anything():
    """A parameter of type Any has every attribute, misspelt ones too. ``object`` is what a model of
    any library is, until it was asked for what it has (core/protocol.py)."""
    found = {
        f"{module}.{function.name}"
        for module, tree in trees()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if arg.arg in MODELS and isinstance(arg.annotation, ast.Name) and arg.annotation.id == "Any"
    }
    assert found == set(ANYTHING)


def test_bases_of_scikit_learn_have_types_for_callers():
    """Else the classes of linsep have a base of unknown type, and with it every attribute."""
    blind = [
        f"{module}.{node.name}({base.id})"
        for module, tree in trees()
        for theirs in [
            {
                alias.asname or alias.name
                for one in ast.walk(tree)
                if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("sklearn")
                for alias in one.names
            }
        ]
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name) and base.id in theirs
    ]
    # the base of a warning, which is nothing but an exception
    assert blind == ["errors.GapWarning(ConvergenceWarning)"]


def stubbed() -> Iterator[tuple[str, set[str]]]:
    """What the stubs say that modules have, methods as Class.method."""
    inner = {path: path.relative_to(STUBS).with_suffix("").parts for path in STUBS.rglob("*.pyi")}
    for path, parts in {**inner, ROOT / "_sklearn.pyi": ("linsep", "_sklearn")}.items():
        names = set()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                names.add(node.name)
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defs = (inner for inner in node.body if isinstance(inner, ast.FunctionDef))
                names |= {f"{node.name}.{inner.name}" for inner in defs}
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), names


def test_the_stubs_name_what_scikit_learn_has():
    for module, names in stubbed():
        real = importlib.import_module(module)
        for name in names:
            holder, _, method = name.partition(".")
            thing = getattr(real, holder)
            assert not method or hasattr(thing, method) or method in dir(thing()), name
