"""When a routine changes from Python to machine code."""

from __future__ import annotations

import math
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from linsep.core import compile as compiling
from linsep.core import costs, limits
from linsep.errors import LinsepWarning


def slow(x):
    """One and a half hundredths of a second, where it is Python."""
    end = time.thread_time() + 0.015
    while time.thread_time() < end:
        pass
    return x[0]


KEPT = compiling._kept.__wrapped__


def kept(function, *args):
    """What a process finds on the disk after one that has compiled it for these arguments."""
    routine = compiling.routine(function)
    return frozenset([routine._key(tuple(map(compiling._kind, args)))])


@pytest.fixture
def made(monkeypatch):
    """Names of what would have been compiled, and the files of an earlier run."""
    names: list[str] = []
    monkeypatch.setattr(compiling, "_compile", lambda f, *_, **__: names.append(f.__name__) or f)
    monkeypatch.setattr(compiling, "_specialise", lambda *_: False)
    monkeypatch.setattr(compiling, "has_numba", lambda: True)
    monkeypatch.setattr(compiling, "_kept", frozenset)
    monkeypatch.setattr(compiling, "_on_disk", compiling.Spent())
    monkeypatch.setattr(compiling, "_spent_now", {})
    monkeypatch.setattr(compiling, "_spent_before", dict)
    prices = {"COMPILING": 0.22, "INSTRUCTION": 0.0, "LOADING": 0.2, "READING": 0.08}
    for cost, seconds in prices.items():
        monkeypatch.setattr(costs, cost, seconds)
    monkeypatch.setitem(sys.modules, "numba", sys)  # loaded for another routine
    return names


def test_time_spent_in_python_decides(made):
    """0.015 s a call: ten more are expected once it is known, and 0.22 s is the price."""
    routine, x = compiling.routine(slow), np.ones(3)
    for _ in range(3):
        assert routine(x, size=3, work=3) == 1.0
    assert not made
    for _ in range(3):
        routine(x, size=3, work=3)
    assert made == ["slow"]


def test_numba_that_is_not_loaded_costs_more(made, monkeypatch):
    monkeypatch.delitem(sys.modules, "numba")
    routine, x = compiling.routine(slow), np.ones(3)
    for _ in range(8):  # 8 and ten more are 0.27 s; the price is 0.42
        routine(x, size=3, work=3)
    assert not made
    for _ in range(14):
        routine(x, size=3, work=3)
    assert made == ["slow"]


def test_a_form_in_numpy_runs_until_machine_code_pays(made):
    routine, x = compiling.routine(lambda x: None), np.ones(3)
    routine.in_numpy(slow)
    for _ in range(3):
        assert routine(x, size=10**6, work=10**6) == 1.0  # a second of Python, but not of numpy
    assert not made
    for _ in range(4):
        routine(x, size=10**6, work=10**6)
    assert made == ["<lambda>"]


def test_machine_code_on_the_disk_is_taken_sooner(made, monkeypatch):
    monkeypatch.setattr(compiling, "_kept", lambda: kept(slow, np.ones(3)))
    routine, x = compiling.routine(slow), np.ones(3)
    routine(x, size=3, work=3)
    assert not made
    routine(x, size=3, work=3)  # ten more are expected
    assert made == ["slow"]


def test_what_waits_for_numba_counts_together(made, monkeypatch):
    monkeypatch.setattr(compiling, "_kept", lambda: kept(slow, np.ones(3)))
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    routines, x = [compiling.routine(slow) for _ in range(3)], np.ones(3)
    for routine in routines:
        routine(x, size=3, work=3)
    assert not made
    for routine in routines:  # each of them alone would go on in Python: 0.015 + 10 * 0.015 < 0.2
        routine(x, size=3, work=3)
    assert made


def test_machine_code_for_other_types_is_none_for_these(made, monkeypatch):
    """float32 is not read from the disk where float64 lies there: it would have to be compiled."""
    monkeypatch.setattr(compiling, "_kept", lambda: kept(slow, np.ones(3)))
    routine, x = compiling.routine(slow), np.ones(3, dtype=np.float32)
    for _ in range(3):
        routine(x, size=3, work=3)
    assert not made
    for _ in range(3):
        routine(x, size=3, work=3)
    assert made == ["slow"]


@pytest.mark.parametrize("known", [False, True])
def test_a_first_call_with_much_work_is_not_interpreted(known, made, monkeypatch):
    if known:
        monkeypatch.setattr(compiling, "_kept", lambda: kept(slow, np.ones(3)))
    compiling.routine(slow)(np.ones(3), size=3, work=10**8)
    assert made == ["slow"]


def test_a_loop_that_ends_early_is_known_for_it(made):
    """Its work is stated as what it may touch at most; what it took before tells more."""
    routine, x = compiling.routine(lambda x: x[0]), np.ones(3)
    routine(x, size=3, work=10**4)
    for _ in range(20):
        routine(x, size=3, work=10**6)
    assert not made


def test_a_huge_table_does_not_wait(made):
    compiling.routine(slow)(np.ones(3), size=10**9, work=3)
    assert made == ["slow"]


def test_a_large_routine_costs_more(made, monkeypatch):
    """What it calls is compiled with it, so that counts as well."""
    from linsep.rows.packed import count
    from linsep.solvers.hulls.kozinec import sweep

    assert count._instructions < 200 and 2000 < sweep._instructions < 10_000
    monkeypatch.setattr(costs, "INSTRUCTION", 1e-3)
    paid = [routine._pays((), 3, 10**6) for routine in (count, sweep)]
    assert paid == [True, False]


@pytest.mark.numba
def test_forms_by_layout_are_inlined_and_not_compiled_by_themselves(monkeypatch):
    """A routine over rows has the form of their layout, for which nothing else is compiled."""
    from numba.core import event
    from scipy import sparse

    from linsep.core.layouts import CSR
    from linsep.rows.loops import scores

    monkeypatch.setattr(compiling, "_cache", lambda: (None, ""))
    X = sparse.random(30, 7, 0.4, format="csr", random_state=3)
    rows, w, seen = CSR(X.data, X.indices, X.indptr), np.arange(7.0), []
    routine = compiling.routine(scores.python)
    for matrix, layouts in ((X.toarray(), ()), (rows, (CSR,))):
        made = compiling._compile(routine.python, frozenset(layouts))
        with event.install_recorder("numba:compile") as recorder:
            out = np.zeros(30)
            made(matrix, w, 0, 30, out)
        seen += [one.data["dispatcher"].py_func.__name__ for _, one in recorder.buffer]
        np.testing.assert_allclose(out, X @ w, rtol=1e-13)
    assert set(seen) == {"scores"}


def test_only_one_layout_is_counted():
    """sample_dot has three forms, and a routine is compiled with one."""
    from linsep.rows import loops

    alone = compiling.routine(loops.scores.python)._instructions
    dense = len(loops._dense_dot.__code__.co_code) // 2
    own = len(loops.scores.python.__code__.co_code) // 2
    assert alone == own + dense


def test_what_earlier_processes_spent_counts(made, monkeypatch, tmp_path):
    monkeypatch.setattr(compiling, "_cache", lambda: (str(tmp_path), ""))
    monkeypatch.setattr(compiling, "_spent_before", compiling._read_spent)
    monkeypatch.setattr(costs, "READING", 0.01)
    processes = 0
    while not made and processes < 5:
        processes += 1
        monkeypatch.setattr(compiling, "_spent_now", {})
        routine = compiling.routine(slow)
        for _ in range(2):
            routine(np.ones(3), size=3, work=3)
        compiling._keep_spent()
    assert made == ["slow"] and 2 <= processes <= 4
    for broken in ("", "[]", '{"slow": "x"}', "\x00"):
        (tmp_path / "spent.json").write_text(broken)
        assert compiling._read_spent() == {}


def test_a_loop_is_charged_by_its_entries(made):
    routine, x = compiling.routine(slow), np.ones(3)
    assert routine.choose(x, size=3, work=1000) is routine.python
    routine.choose(x, size=3, work=10**6)
    assert made == ["slow"]


def test_what_is_kept_is_marked(tmp_path, made, monkeypatch):
    monkeypatch.setattr(compiling, "_cache", lambda: (str(tmp_path), ""))
    looks = compiling.routine(slow), compiling.routine(slow)
    looks[0](np.ones(3), size=3, work=10**8)
    monkeypatch.undo()
    monkeypatch.setattr(compiling, "_cache", lambda: (str(tmp_path / "none"), ""))
    assert KEPT() == frozenset()  # no folder, and where nothing could be written no mark
    monkeypatch.setattr(compiling, "_cache", lambda: (str(tmp_path), ""))
    assert KEPT() == frozenset()
    monkeypatch.setattr(compiling, "_compile", lambda f, *_, **__: f)
    monkeypatch.setattr(compiling, "_specialise", lambda *_: True)
    looks[1](np.ones(3), size=3, work=10**8)
    assert KEPT() == kept(slow, np.ones(3))
    assert KEPT() != kept(slow, np.ones(3, dtype=np.float32))


# -- where machine code is kept -------------------------------------------------------------------

posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="rights are no numbers here")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for LINSEP_CACHE_DIR, another one for temporary files, and nothing remembered."""
    tmp_path.chmod(0o700)
    (tmp_path / "tmp").mkdir(mode=0o700)
    monkeypatch.setenv("LINSEP_CACHE_DIR", str(tmp_path / "deep" / "cache"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    monkeypatch.setattr(compiling, "_cache", compiling._cache.__wrapped__)
    return tmp_path / "deep" / "cache"


@posix
def test_folders_are_made_for_the_user_alone(place):
    before = os.umask(0)
    try:
        folder, why = compiling._cache()
    finally:
        os.umask(before)
    assert Path(folder).parent == place and not why
    for made in (place.parent, place, Path(folder)):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
    place.chmod(0o755)  # may be read, which is no harm
    Path(folder).chmod(0o755)
    assert compiling._cache() == (folder, "")
    assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707, 0o1777])
@pytest.mark.parametrize("which", ["cache", "parent", "inside"])
def test_a_folder_that_others_write_to_is_refused(place, mode, which):
    inside = Path(compiling._cache()[0])
    culprit = {"cache": place, "parent": place.parent, "inside": inside}[which]
    culprit.chmod(mode)
    if which != "inside" and mode & stat.S_ISVTX:  # what lies in it is safe, as under /tmp
        assert compiling._cache() == (str(inside), "")
        return
    with pytest.warns(LinsepWarning, match=re.escape(f"{culprit} can be changed by other users")):
        folder, why = compiling._cache()
    assert Path(folder).parent.name == f"linsep-{os.getuid()}" and "is open to others" in why
    assert Path(folder).parent.parent == place.parent.parent / "tmp"


@posix
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives away")
@pytest.mark.parametrize("which", ["cache", "file", "link"])
def test_what_belongs_to_another_user_is_refused(place, which):
    inside = Path(compiling._cache()[0])
    (inside / "numba.solve-1.py311.nbi").touch()
    culprit = {"cache": place, "file": inside / "numba.solve-1.py311.nbi", "link": place}[which]
    os.chown(culprit, 12345, -1)
    if which == "link":
        os.chown(place, 0, -1)
        place.rename(place.with_name("other"))
        place.symlink_to(place.with_name("other"))
        culprit = place.with_name("other")
        os.chown(culprit, 12345, -1)
    with pytest.warns(LinsepWarning, match="can be changed by other users"):
        folder, _ = compiling._cache()
    assert not folder.startswith(str(place.parent))


@posix
def test_a_cache_that_cannot_be_written_has_a_second_place(place):
    place.parent.mkdir()
    place.touch()  # a file where the folder should be, which even root cannot write to
    folder, why = compiling._cache()
    assert f"linsep-{os.getuid()}" in folder and "cannot be written" in why
    Path(folder).parent.rename(place.with_name("gone"))
    Path(folder).parent.touch()
    folder, why = compiling._cache()
    assert folder is None and "LINSEP_CACHE_DIR" in why


@pytest.mark.numba
@pytest.mark.slow
def test_compiling_is_said_on_a_terminal_only(tmp_path):
    """A script's output stays clean; whoever waits at a terminal is told why."""
    code = (
        "import linsep, numpy as np; from linsep.core.compile import routine\n"
        "def total(x):\n    return x[0] + 1.0\n"
        "run = routine(total)\n"
        "run(np.ones(3), size=1 << 40, work=3); run(np.ones((3, 3))[0], size=1 << 40, work=3)\n"
        "print('done')"
    )
    (tmp_path / "cache").mkdir(mode=0o700)
    (tmp_path / "script.py").write_text(code)  # numba's cache wants a file
    env = {**os.environ, "LINSEP_CACHE_DIR": str(tmp_path / "cache")}
    call = [sys.executable, str(tmp_path / "script.py")]
    quiet = subprocess.run(call, capture_output=True, text=True, check=True, env=env)
    assert (quiet.stdout, quiet.stderr) == ("done\n", "")
    try:
        ours, theirs = os.openpty()
    except OSError as error:
        pytest.skip(f"no terminal can be opened here: {error}")
    env["LINSEP_CACHE_DIR"] = str(tmp_path / "other")
    loud = subprocess.run(call, stdout=subprocess.PIPE, stderr=theirs, check=True, env=env)
    os.close(theirs)
    said = os.read(ours, 10_000).decode()
    os.close(ours)
    assert loud.stdout == b"done\n" and said.count("compiling, once") == 1 and "other" in said


def test_a_proof_in_many_small_calls_is_compiled_once_python_has_taken_as_long():
    """Each call alone is quicker in Python, also the thousandth of them."""

    def loop(x):
        return x

    made = compiling.Routine(loop)
    with limits.extra_time():
        assert not made._in_time((), 1000)
        made._spent[()] = compiling.Spent()
        made._spent[()].add(10.0, 10_000_000)
        assert made._in_time((), 1000)
        with limits.given_up_after(np.inf):  # what can be given up waits for nothing
            assert not made._in_time((), 1000)


def _half(a):
    total = 0.0
    for value in a:
        total += value / 2
    return total


@pytest.mark.parametrize("fault", ["full", "gone"])
def test_a_folder_that_fails_ends_no_fit(place, fault, monkeypatch):
    """The disk is full, the folder is gone: machine code all the same."""
    pytest.importorskip("numba")
    from numba.core import caching

    compiling._say_once.cache_clear()
    routine = compiling.Routine(_half)
    args, call = (np.ones(4),), {"size": 10**9, "work": 10**9}
    if fault == "full":

        def full(*args, **options):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", full)
        words = "No space left on device"
    else:

        def gone(*args, **options):
            raise RuntimeError("cannot cache function: no locator available")

        monkeypatch.setattr(caching.FunctionCache, "__init__", gone)
        words = "no locator"
    with pytest.warns(LinsepWarning, match=f"machine code cannot be kept.*{words}"):
        assert routine(*args, **call) == 2.0
    assert routine._form((), args, 10**9, 10**9) is not _half


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": [1]}', "[]", '{"a": 1e999}', "\x00", ""])
def test_what_was_spent_is_read_or_left(place, text):
    folder, _ = compiling._cache()
    Path(folder, "spent.json").write_text(text)
    assert set(compiling._read_spent().values()) <= {math.inf}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_nobody_waits_for_a_pipe_in_the_folder(place):
    folder, _ = compiling._cache()
    os.mkfifo(Path(folder, "spent.json"))
    assert compiling._read_spent() == {}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_while_machine_code_is_made_ends_the_fit_with_its_model(
    made, monkeypatch, name, tmp_path
):
    """It comes in the middle of the first compilation: model, certificate, checkpoint are there."""
    import linsep
    from linsep.core.checkpoint import Checkpointer
    from linsep.solvers.perceptron import single

    number = getattr(signal, name)
    monkeypatch.setattr(limits.Interrupts, "_used_up", set())
    before = signal.signal(
        number, signal.SIG_DFL if name != "SIGINT" else signal.default_int_handler
    )
    seen = []

    def press(*_):
        if not seen:
            seen.append(number)
            signal.raise_signal(number)

    monkeypatch.setattr(compiling, "_specialise", press)
    monkeypatch.setattr(costs, "COMPILING", 0.0)
    for name in ("_ready", "_compiled", "_spent"):  # as in a new process
        monkeypatch.setattr(single.visit, name, {})
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.arange(300) % 2
    path = tmp_path / "run.npz"
    watch = Checkpointer(path, every=60.0)
    model = linsep.Perceptron(order="shuffle", max_iter=1000, callbacks=[watch])
    ends = nullcontext() if number == signal.SIGINT else pytest.raises(SystemExit)
    try:
        with pytest.warns(LinsepWarning), ends:
            model.fit(X, y)
    finally:
        signal.signal(number, before)
    assert seen == [number]
    assert model.status_.name == "STOPPED"
    assert model.outcome_.interrupted
    assert model.certificate_.errors > 0
    assert path.exists()


READ = """
import sys
import numpy as np
from linsep.core import costs
from linsep.kernels.gaussian import mirror
costs.COMPILING = costs.INSTRUCTION = costs.LOADING = costs.READING = 0.0
G = np.zeros((4, 4))
mirror(np.arange(4.0).reshape(2, 2), G, 0, 2, size=4, work=10**9)
print(G.tolist(), "numba" in sys.modules, "numba.np.polynomial.polynomial_core" in sys.modules)
"""


@pytest.mark.numba
def test_code_from_the_disk_does_not_teach_numba_all_of_numpy(tmp_path):
    env = {**os.environ, "LINSEP_CACHE_DIR": str(tmp_path)}

    def run():
        code = [sys.executable, "-c", READ]
        done = subprocess.run(code, capture_output=True, text=True, check=True, env=env)
        *values, loaded, taught = done.stdout.split()
        return "".join(values), loaded == "True", taught == "True"

    made = run()
    assert made[1:] == (True, True)
    read = run()
    assert read == (made[0], True, False)
    for file in tmp_path.rglob("*.nbc"):  # the list is there, the code is not
        file.unlink()
    assert run() == made


def _third(a):
    total = 0.0
    for value in a:
        total += value / 3
    return total


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_machine_code_that_is_damaged_is_made_anew(place, ending):
    pytest.importorskip("numba")
    args, call = (np.full(4, 3.0),), {"size": 10**9, "work": 10**9}
    assert compiling.Routine(_third)(*args, **call) == 4.0
    assert compiling.Routine(_half)(*args, **call) == 6.0
    (file,) = place.glob(f"**/*_third*.{ending}")
    (other,) = place.glob(f"**/*_half*.{ending}")
    good = file.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    for bad in (b"", good[:-20], bytes(flipped), bytes(100), other.read_bytes()):
        file.write_bytes(bad)
        assert compiling.Routine(_third)(*args, **call) == 4.0
        assert compiling._is_whole(str(file))
    assert not list(place.glob("**/*.part"))


def test_a_relative_folder_of_machine_code_stays_where_it_was(tmp_path, monkeypatch):
    """Rights are looked at once; another folder of that name may be open to others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINSEP_CACHE_DIR", "own")
    place = next(iter(compiling._places()))
    assert place == tmp_path / "own"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LINSEP_CACHE_DIR", "~/own")
    assert next(iter(compiling._places())) == tmp_path / "own"
