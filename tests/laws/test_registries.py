"""What is registered is complete: estimators, kernels, displays, formats, commands, names.

Each registry is one table in the source, and a new entry is one line there. These laws walk the
tables and fail on what an entry lacks: a place in the documentation, a way into files and back,
the command line, a proof.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from tests.laws import test_scikit_learn

import linsep
import linsep.risk
from linsep.cli import main as cli
from linsep.cli.common import ALGORITHMS, what_it_is
from linsep.core.protocol import Status
from linsep.data.read import FORMATS
from linsep.errors import LinsepWarning
from linsep.kernels import spec
from linsep.lab.server import Lab

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {page.name: page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")}
TEXT = README + "".join(PAGES.values())

pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.LinsepWarning")


def names_it(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def rows():
    """Two classes of counts: positive, so that every estimator takes them."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    return rng.gamma(1.0 + 2.0 * y[:, None], size=(40, 3)).round(2), y


@pytest.fixture(scope="module")
def fitted():
    """Every estimator with its defaults, fitted once."""
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinsepWarning)
        return {name: getattr(linsep, name)().fit(X, y) for name in ESTIMATORS}


# -- estimators: src/linsep/__init__.pyi -----------------------------------------------------

ESTIMATORS = linsep.PUBLIC.kinds["Estimators"]
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def test_every_public_classifier_is_registered_as_an_estimator():
    kinds = [name for name in linsep.__all__ if inspect.isclass(getattr(linsep, name))]
    found = [name for name in kinds if hasattr(getattr(linsep, name), "fit")]
    found = [name for name in found if hasattr(getattr(linsep, name), "predict")]
    assert sorted(found) == sorted([*ESTIMATORS, "Linear"])  # which is given, not trained


@every_estimator
def test_an_estimator_has_what_estimators_have(name, fitted):
    model, (X, y) = fitted[name], rows()
    assert isinstance(model.status_, Status)
    assert np.sum(model.certificate_.errors) == (model.predict(X) != y).sum()
    assert model.status_.value in model.summary() and name in model.summary()
    assert model.decision_function(X).shape == (40,)
    assert hasattr(model, "solver_used_") or hasattr(model, "estimators_")


@every_estimator
def test_an_estimator_comes_back_from_a_file(name, fitted, tmp_path):
    model, (X, _) = fitted[name], rows()
    linsep.save(model, tmp_path / "model.json")
    again = linsep.load(tmp_path / "model.json")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_.to_dict() == model.certificate_.to_dict()


@every_estimator
def test_an_estimator_can_be_certified_again(name, fitted):
    X, y = rows()
    found = linsep.certify(fitted[name], X, y)
    assert found.errors == fitted[name].certificate_.errors


@every_estimator
def test_an_estimator_is_on_the_command_line(name, tmp_path, capsys):
    known = {kind: command for command, kind in ALGORITHMS.items()}[name]
    table, model = tmp_path / "rows.csv", tmp_path / "model.json"
    X, y = rows()
    np.savetxt(table, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
    assert cli.main(["fit", str(table), "-a", known, "-q", "-o", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["algorithm"] == name
    assert cli.main(["verify", str(model), str(table)]) == 0
    capsys.readouterr()
    assert cli.main(["algorithms"]) == 0
    shown = capsys.readouterr().out
    assert re.search(rf"^{known} +{re.escape(what_it_is(name))}$", shown, re.MULTILINE)
    assert len(what_it_is(name)) > 20
    assert cli.main(["algorithms", known]) == 0
    assert "Parameters" in capsys.readouterr().out


@every_estimator
def test_an_estimator_is_documented(name):
    kind = getattr(linsep, name)
    for title in ("Parameters", "Attributes", "Examples"):
        assert re.search(rf"^ +{title}\n +-+$", kind.__doc__, re.MULTILINE), title
    told = [page for page, text in PAGES.items() if f"linsep.{name}(" in text]
    assert told, f"no page of docs/ uses linsep.{name}"
    assert re.search(rf"^\|.*`(linsep\.)?{name}\b", README, re.MULTILINE), "README's table"


@every_estimator
def test_an_estimator_is_checked(name):
    checked = {type(e).__name__ for e in [*test_scikit_learn.ESTIMATORS, *test_scikit_learn.LOOSE]}
    assert name in checked, "add it to tests/laws/test_scikit_learn.py"
    bits = (ROOT / "tests" / "laws" / "bits.py").read_text()
    assert f"linsep.{name}(" in bits, "add a fit to tests/laws/bits.py"


# -- kernels: src/linsep/kernels/spec.py -----------------------------------------------------

PARTS = {
    "Constant": lambda k: k.Constant(2.0),
    "Sum": lambda k: k.Linear() + k.RBF(gamma=0.5),
    "Product": lambda k: k.Linear() * k.RBF(gamma=0.5),
    "Normalised": lambda k: k.Polynomial(2).normalised(),
    "Scaled": lambda k: 3.0 * k.Linear(),
    "PowerMean": lambda k: k.PowerMean(-0.5),
    "RBF": lambda k: k.RBF(gamma=0.5),
    "Sigmoid": lambda k: k.Sigmoid(k=0.01),
    "Polynomial": lambda k: k.Polynomial(degree=2, gamma=0.5),
}


def example(name):
    """A kernel of a class, its numbers given."""
    make = PARTS.get(name, lambda kernels: getattr(kernels, name)())
    return make(linsep.kernels)


def test_every_public_kernel_is_registered():
    base = linsep.kernels.Kernel
    public = [getattr(linsep.kernels, name) for name in linsep.kernels.__all__]
    kinds = {k.__name__ for k in public if isinstance(k, type) and issubclass(k, base)}
    open_ended = {"Kernel", "Additive", "Function"}  # two bases; code cannot stand in a file
    assert kinds - open_ended == set(spec._KINDS)


@pytest.mark.parametrize("name", list(spec._KINDS))
@pytest.mark.filterwarnings("ignore::linsep.errors.NotPositiveWarning")
def test_a_kernel_is_complete(name, tmp_path):
    kernel, (X, y) = example(name), rows()
    values = json.loads(json.dumps(kernel.to_dict()))
    assert linsep.kernels.from_dict(values).to_dict() == kernel.to_dict()
    assert names_it(PAGES["kernels.md"], name), "docs/kernels.md"
    if name == "Precomputed":
        X = X @ X.T
    gram = np.asarray(kernel(X, X))
    assert gram.shape == (40, 40) and np.allclose(gram, gram.T)
    assert kernel.check(X) is not None
    model = linsep.KernelSVM(kernel=kernel).fit(X, y)
    linsep.save(model, tmp_path / "model.json")
    again = linsep.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("name", list(spec.NAMED))
def test_a_kernel_has_its_name(name):
    assert linsep.kernels.as_kernel(name, warn=False) is not spec.NAMED[name]  # a copy
    assert type(spec.NAMED[name]).__name__ in spec._KINDS
    assert f'"{name}"' in TEXT, "the documentation names it"


# -- losses: src/linsep/losses/table.py ------------------------------------------------------


@pytest.mark.parametrize("name", list(linsep.losses.LOSSES))
def test_a_loss_is_complete(name):
    loss = linsep.losses.LOSSES[name]
    assert loss.name == name and f'"{name}"' in TEXT, "the documentation names it"
    u = np.linspace(-3.0, 3.0, 25) + 0.01
    slope = loss.slope(u)
    numbers = (loss.value(u + 1e-6) - loss.value(u - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope, numbers, atol=1e-6)
    # Fenchel and Young: equality at the slope, and the conjugate is nowhere too small
    np.testing.assert_allclose(loss.value(u) + loss.conjugate(slope), slope * u, atol=1e-12)
    other = np.clip(slope[::-1], 0.0, loss.top)
    assert (loss.value(u) + loss.conjugate(other) >= other * u - 1e-12).all()
    X, y = rows()
    found = linsep.certify(linsep.Linear([1.0, 1.0, 1.0], -4.0, loss=name), X, y)
    assert 0 < found.lower_bound <= found.objective


# -- displays: src/linsep/__init__.pyi -------------------------------------------------------


def _traced(**settings):
    table = linsep.data.load("five-points")
    return linsep.trace(linsep.Perceptron(max_iter=5, **settings), table.X, table.y)


def _plane():
    X, y = rows()
    return X[:, :2], y


def _choice():
    X, y = _plane()
    return linsep.choose(linsep.LinearSVM(), X, y, parameter="C", values=[0.1, 1.0, 10.0])


def _with(kind, method, estimator, *data):
    return getattr(kind, method)(estimator.fit(*data), *data)


def _lifted():
    from sklearn.pipeline import make_pipeline

    X, y = _plane()
    model = make_pipeline(linsep.Lift("x1, x2, x1**2"), linsep.LinearSVM())
    return linsep.LiftDisplay.from_estimator(model.fit(X, y), X, y)


def _frames():
    X, y = _plane()
    lift = linsep.Lift("x1, x1**2")
    lifted = lift.fit_transform(X[:, :1])
    run = linsep.trace(linsep.Perceptron(max_iter=5), lifted, y)
    return linsep.LiftFramesDisplay.from_trace(run, lift=lift, X=X[:, :1])


def _three():
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    return rng.normal(size=(45, 2)) + 2.0 * np.array([[0, 0], [2, 0], [0, 2]])[y], y


DISPLAYS = {
    "ChoiceDisplay": lambda kind: kind.from_choice(_choice()),
    "CostDisplay": lambda kind: kind.from_line(*_plane(), [0.0, 0.0, 0.0], [1.0, 1.0, -3.0]),
    "DecisionDisplay": lambda kind: _with(kind, "from_estimator", linsep.LinearSVM(), *_plane()),
    "GramDisplay": lambda kind: kind.from_kernel(linsep.kernels.RBF(gamma=0.5), *_plane()),
    "HullDisplay": lambda kind: kind.from_data(*_plane()),
    "LiftDisplay": lambda kind: _lifted(),
    "LiftFramesDisplay": lambda kind: _frames(),
    "LogisticCurveDisplay": lambda kind: _with(
        kind, "from_estimator", linsep.LogisticRegression(), *_plane()
    ),
    "NeuronDisplay": lambda kind: kind.from_estimator(linsep.LinearSVM().fit(*_plane())),
    "NovikoffDisplay": lambda kind: kind.from_trace(
        linsep.trace(linsep.Perceptron(), *(lambda t: (t.X, t.y))(linsep.data.load("students")))
    ),
    "ProbabilityDisplay": lambda kind: _with(
        kind, "from_estimator", linsep.LogisticRegression(), *_plane()
    ),
    "ReflectionDisplay": lambda kind: kind.from_data(*_plane(), fit_intercept=False),
    "RegionsDisplay": lambda kind: _with(kind, "from_estimator", linsep.LinearSVM(), *_three()),
    "TraceDisplay": lambda kind: kind.from_trace(_traced()),
    "TriptychDisplay": lambda kind: kind.from_choice(_choice(), *_plane()),
    "WeightSpaceDisplay": lambda kind: kind.from_data(*_plane(), weights=[0, 1]),
}


def test_every_display_is_drawn_here():
    assert sorted(DISPLAYS) == sorted(linsep.PUBLIC.kinds["Displays"])
    for name in linsep.__all__:
        assert not name.endswith("Display") or name in DISPLAYS


@pytest.mark.parametrize("name", list(DISPLAYS))
def test_a_display_is_drawn_and_documented(name, tmp_path):
    matplotlib.use("Agg")
    kind = getattr(linsep, name)
    display = DISPLAYS[name](kind)
    assert isinstance(display, kind)
    display.figure_.savefig(tmp_path / "picture.png", dpi=40)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert names_it("".join(PAGES.values()), name), "a page of docs/ names it"
    assert kind.__doc__ and any(method.startswith("from_") for method in vars(kind))


# -- formats of data: src/linsep/data/read.py ------------------------------------------------


def _write(ending, path):
    X, y = rows()
    if ending in (".csv", ".tsv"):
        mark = "," if ending == ".csv" else "\t"
        np.savetxt(path, np.column_stack([X, y]), delimiter=mark)
    elif ending == ".npz":
        np.savez(path, X=X, y=y)
    elif ending in (".svm", ".libsvm", ".svmlight"):
        linsep.data.write_svmlight(path, X, y)
    else:
        import pyarrow
        import pyarrow.feather
        import pyarrow.parquet

        table = pyarrow.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
        write = pyarrow.parquet.write_table if ending == ".parquet" else _arrow
        write(table, path)


def _arrow(table, path):
    import pyarrow

    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as out:
        out.write_table(table)


@pytest.mark.parametrize("ending", [ending for form in FORMATS for ending in form.endings])
def test_a_format_is_read_and_named(ending, tmp_path, capsys):
    path = tmp_path / f"rows{ending}"
    _write(ending, path)
    found, (X, y) = linsep.data.read(path), rows()
    dense = found.X.toarray() if hasattr(found.X, "toarray") else found.X
    np.testing.assert_array_equal(dense, X)
    np.testing.assert_array_equal(found.y.astype(int), y)
    assert found.name == "rows"
    for command in ("check", "fit", "predict", "verify", "trace"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        assert ending in capsys.readouterr().out
    form = next(form for form in FORMATS if ending in form.endings)
    assert form.name in README and form.name in linsep.data.read.__doc__


@pytest.mark.parametrize("ending", [".json", ".model"])
def test_a_format_of_models_is_written_and_named(ending, fitted, tmp_path, capsys):
    X, _ = rows()
    for name in ("LinearSVM", "KernelSVM"):
        linsep.save(fitted[name], tmp_path / f"model{ending}")
        again = linsep.load(tmp_path / f"model{ending}")
        np.testing.assert_array_equal(again.predict(X), fitted[name].predict(X))
    assert f"``{ending}``" in linsep.save.__doc__
    with pytest.raises(SystemExit):
        cli.main(["fit", "--help"])
    assert ending in capsys.readouterr().out


# -- commands: src/linsep/cli/main.py --------------------------------------------------------


def commands():
    action = next(a for a in cli.parser()._actions if a.dest == "command")
    return action.choices


@pytest.mark.parametrize("name", list(commands()))
def test_a_command_is_complete(name, capsys):
    module = importlib.import_module(f"linsep.cli.{name}")
    assert module.run.__doc__ and module.__doc__.startswith(f"``linsep {name}``")
    assert "--json" in commands()[name].format_help()
    for text in (README, "".join(PAGES.values())):
        assert f"linsep {name}" in text or f"`{name}`" in text
    with pytest.raises(SystemExit) as end:
        cli.main([name, "--help"])
    assert end.value.code == 0
    with pytest.raises(SystemExit) as end:
        cli.main([name, "--no-such-option"])
    assert end.value.code == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    "name", [name for name in commands() if name not in ("algorithms", "completions")]
)
def test_a_command_tells_of_files_that_are_not_there(name, capsys):
    pairs = ("predict", "verify", "convert", "certify", "explain", "plot")
    needs = 2 if name in pairs else 1
    assert cli.main([name, *["nothing-here.csv"] * needs]) == 1
    assert "nothing-here.csv" in capsys.readouterr().err


def _served_for_a_moment(serve):
    """The lab ends with Ctrl-C, which nobody presses here."""
    return lambda page: serve(page, seconds=0.2)


@pytest.mark.parametrize("name", commands())
def test_the_help_of_a_command_has_two_examples_that_run(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda url: True)
    monkeypatch.setattr(Lab, "serve", _served_for_a_moment(Lab.serve))
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    told = capsys.readouterr().out.partition("examples:\n")[2]
    lines = [line.split()[1:] for line in told.splitlines() if line.startswith("  linsep ")]
    assert len(lines) == 2
    assert name in {line[0] for line in lines}
    for line in lines:
        assert cli.main(line) == 0, line


def test_every_command_module_is_a_command():
    folder = Path(cli.__file__).parent
    with_run = {
        path.stem
        for path in folder.glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == "run"
    }
    assert with_run == set(commands())


# -- all public names ------------------------------------------------------------------------

PUBLIC = {
    "linsep": linsep.PUBLIC.homes,
    "linsep.risk": linsep.risk.PUBLIC.homes,
    **{
        f"linsep.{name}": getattr(linsep, name).__all__
        for name in ("data", "kernels", "lift", "losses", "multiclass")
    },
}


@pytest.mark.parametrize("package", list(PUBLIC))
def test_every_public_name_is_documented(package):
    module = importlib.import_module(package)
    missing = [name for name in PUBLIC[package] if not names_it(TEXT, name)]
    assert not missing, f"README.md and docs/ do not name {missing} of {package}"
    bare = [name for name in PUBLIC[package] if not inspect.getdoc(getattr(module, name))]
    assert not bare, f"no docstring: {bare}"
