"""One source for tiny and for large problems.

A routine is an ordinary Python function over arrays. As long as little work has been done
with it, it runs as Python: a lecture example or a first ``linsep check`` answers at once and
numba is not even imported. Once a problem is large, or small calls have added up, it is
compiled by numba, without any licence to reorder sums. Both forms therefore compute the same
bits, and it does not matter for a result when the switch happens, or whether it ever does: where
numba is missing everything works, slowly.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import hashlib
import io
import json
import math
import os
import re
import shutil
import stat
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import numpy as np

from linsep.core import costs
from linsep.core.files import atomic_write_bytes, make_private, open_to_others
from linsep.core.limits import (
    TimeUpError,
    deaf_work,
    in_extra_time,
    may_be_given_up,
    require_memory,
    tick,
    time_left,
    until_given_up,
)
from linsep.core.notes import note, warn
from linsep.core.sources import first_bytes
from linsep.errors import CostWarning, LinsepWarning

# bytes that LLVM may take, without which it ends the process; and those of its libraries
_ROOM, _ROOM_TO_LOAD = 64 << 20, 512 << 20
_lock = threading.Lock()  # two threads may want the same routine at once


class Spent:
    """Seconds that went into Python, and the work that was stated for them."""

    def __init__(self, rate: float = costs.PYTHON) -> None:
        self.rate = rate
        self.seconds = 0.0
        self.work = 0

    def add(self, seconds: float, work: int) -> None:
        """Count one more call."""
        self.seconds += seconds
        self.work += work

    def expected(self, work: int) -> float:
        """Seconds that as much work would take: as it did before, if it did.

        Callers state what a loop touches at most, and one that ends early, or leaves most of its
        work to numpy, is soon known for it.
        """
        return work * (self.seconds / self.work if self.work else self.rate)


_spent_now: dict[str, float] = {}  # seconds of routines without machine code, by their keys
_SPENT, _LARGEST_SPENT = "spent.json", 1 << 20
_on_disk = Spent()  # of all routines whose machine code lies on the disk, while numba is not loaded


class Routine:
    """A function that is compiled once it pays."""

    def __init__(self, python: Callable[..., Any]) -> None:
        self.python = self.plain = python
        self.__name__ = python.__name__
        self.__doc__ = python.__doc__
        self._ready: dict[object, Callable[..., Any]] = {}
        self._compiled: dict[_Layouts, Any] = {}
        self._spent: dict[object, Spent] = {}
        self._keys: dict[object, str] = {}

    def in_numpy(self, form: Callable[..., Any]) -> Callable[..., Any]:
        """Mark the same in operations on arrays, of which every bit is that of the loop.

        It runs until machine code pays, and where there is none; a law holds both together.
        """
        self.plain = form
        return form

    @property
    def _rate(self) -> float:
        """Seconds that an entry takes without machine code, as far as nothing is known."""
        return costs.PYTHON if self.plain is self.python else costs.NUMPY

    def __call__(self, *args: Any, size: int, work: int, alike: bool = False) -> Any:
        """Run it: size is the number of matrix entries, work how many this call may touch.

        alike says that every call has arguments of the same types, so they are not looked at.
        """
        kind = () if alike else tuple(map(_kind, args))
        function = self._form(kind, args, size, work)
        if function is not self.plain:
            return function(*args)
        begin = time.thread_time()  # not what others do meanwhile
        result = function(*args)
        self._spend(kind, time.thread_time() - begin, work)
        return result

    def choose(self, *args: Any, size: int, work: int, alike: bool = False) -> Callable[..., Any]:
        """The form to run for arguments like these, for a loop that calls it often."""
        kind = () if alike else tuple(map(_kind, args))
        function = self._form(kind, args, size, work)
        if function is self.plain:
            self._spend(kind, work * self._rate, work)
        return function

    def _spend(self, kind: object, seconds: float, work: int) -> None:
        self._spent.setdefault(kind, Spent(self._rate)).add(seconds, work)
        key = self._key(kind)
        if key in _kept():
            _on_disk.add(seconds, work)
        else:
            _spent_now[key] = _spent_now.get(key, 0.0) + seconds

    def _key(self, kind: object) -> str:
        """What its machine code for arguments of these types goes by, in every process."""
        if kind not in self._keys:
            home = f"{self.python.__module__}.{self.python.__qualname__}"
            digest = hashlib.sha256(f"{home} {kind!r}".encode()).hexdigest()[:16]
            self._keys[kind] = f"{self.__name__}-{digest}"
        return self._keys[kind]

    def _form(
        self, kind: object, args: tuple[Any, ...], size: int, work: int
    ) -> Callable[..., Any]:
        ready = self._ready.get(kind)
        if ready is None:
            if not self._pays(kind, size, work):
                return self.plain
            hurried = in_extra_time() or time_left() < math.inf
            if hurried and not self._in_time(kind, work):
                return self.plain
            require_memory(_ROOM if "numba" in sys.modules else _ROOM_TO_LOAD, "machine code")
            if not has_numba():
                return self.plain
            with _lock:
                if self._key(kind) not in _kept():
                    _say_so()
                ready = self._specialised(args, self._key(kind))
            self._ready[kind] = ready
        return ready

    def _specialised(self, args: tuple[Any, ...], key: str) -> Callable[..., Any]:
        layouts = frozenset(_layouts(args))
        try:
            with _given_up_at_a_signal():
                return self._made(args, layouts, key)
        except TimeUpError:
            self._compiled.pop(layouts, None)  # half made
            raise

    def _made(self, args: tuple[Any, ...], layouts: _Layouts, key: str) -> Callable[..., Any]:
        try:
            if layouts not in self._compiled:
                self._compiled[layouts] = _compile(self.python, layouts)
            if _specialise(self._compiled[layouts], args):
                _note_kept(key)
        except (MemoryError, TimeUpError):
            raise
        except Exception as error:  # of files that are damaged, of a folder that is gone
            tick()  # or what numba makes of a signal
            self._compiled[layouts] = _compile(self.python, layouts, kept=False)
            _specialise(self._compiled[layouts], args)
            _say_why(error)
        dispatcher: Callable[..., Any] = self._compiled[layouts]
        return dispatcher

    def _in_time(self, kind: object, work: int) -> bool:
        """Whether a compilation ends before the time does; a call that can wait is given up."""
        cost = self._price(kind)
        sure = cost if self._key(kind) in _kept() else costs.SURELY * cost
        if sure <= time_left() and not in_extra_time():
            return True
        spent = self._spent.get(kind) or Spent(self._rate)
        python = spent.expected(work)
        tick(min(cost, python))
        # a proof cannot wait; one that comes in many small calls shows it by what it has taken
        return not may_be_given_up() and spent.seconds + python >= sure

    def _price(self, kind: object) -> float:
        """Seconds until there is machine code for arguments of these types."""
        loading = 0.0 if "numba" in sys.modules else costs.LOADING
        if self._key(kind) in _kept():
            return loading + costs.READING
        return loading + costs.COMPILING + costs.INSTRUCTION * self._instructions

    def _pays(self, kind: object, size: int, work: int) -> bool:
        """Whether Python has taken, and soon will have, what machine code would cost.

        Nobody knows how often a loop will still be called. Compiling when as much has been spent
        as it takes costs at most twice what the better choice would have; ten calls like this
        one are taken for granted once it is known what they cost. What other processes spent
        counts as well: machine code is kept, so the third of them may find it.
        """
        spent = self._spent.get(kind) or Spent(self._rate)
        now = spent.expected(work)
        if self._key(kind) in _kept():
            soon = costs.MANY_CALLS * now  # cheap enough to be believed
            known = "numba" in sys.modules or _on_disk.seconds + soon >= costs.LOADING
            return known and spent.seconds + soon >= costs.READING
        soon = costs.MANY_CALLS * now if spent.work else now
        before = _spent_before().get(self._key(kind), 0.0)
        price = self._price(kind)
        if before + spent.seconds + soon >= price:
            return True
        return size * self._rate >= costs.MANY_CALLS * price

    @cached_property
    def _instructions(self) -> int:
        """Of the function and of those of linsep that it calls, which are compiled with it."""
        seen: dict[Any, int] = {}
        waiting: list[Any] = [self.python]
        while waiting:
            function = waiting.pop()
            if function in _forms:
                function = _forms[function](frozenset())
            if function not in seen and function not in _made:
                seen[function] = len(function.__code__.co_code) // 2
                waiting += [one for _, one in _called(function)]
        return sum(seen.values())


def _called(function: FunctionType) -> Iterator[tuple[str, FunctionType]]:
    """Functions of linsep that a function calls, with the names it has for them."""
    for name in dict.fromkeys(function.__code__.co_names):
        one = function.__globals__.get(name)
        if isinstance(one, FunctionType) and one.__module__.startswith("linsep."):
            yield name, one


def routine(python: Callable[..., Any]) -> Routine:
    """Mark a function as a routine."""
    return Routine(python)


def inner(python: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that routines call; it stays an ordinary function in Python."""
    return python


_Layouts = frozenset[type]  # classes of the tuples among arguments, which say how rows are stored
_forms: dict[Callable[..., Any], Callable[[_Layouts], FunctionType]] = {}
_made: dict[Callable[..., Any], Callable[[], Any]] = {}


def in_machine_code(
    python: Callable[..., Any], form: Callable[[_Layouts], Callable[..., Any]]
) -> None:
    """Have routines call another form of a function, by the layouts of rows; it is inlined."""
    _forms[python] = cast(Callable[[_Layouts], FunctionType], form)


def instructions_for(python: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that makes an intrinsic function of numba, which routines call instead."""

    def mark(maker: Callable[[], Any]) -> Callable[[], Any]:
        _made[python] = lru_cache(maxsize=1)(maker)
        return maker

    return mark


def _layouts(argument: Any) -> Iterator[type]:
    if isinstance(argument, tuple):
        if type(argument) is not tuple:
            yield type(argument)
        for part in argument:
            yield from _layouts(part)


def _kind(argument: Any) -> object:
    """What numba's type of an argument depends on."""
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        return argument.dtype, argument.ndim, flags.c_contiguous, flags.writeable, flags.aligned
    if isinstance(argument, tuple):
        return type(argument), tuple(map(_kind, argument))
    return type(argument)


@contextlib.contextmanager
def _given_up_at_a_signal() -> Iterator[None]:
    """A compilation takes seconds and asks nobody for the time: Ctrl-C and the end of the time are
    heard in the middle of it, where whatever is under way may be given up. Signals come to the main
    thread alone."""
    if not may_be_given_up() or threading.current_thread() is not threading.main_thread():
        yield
        return
    tick()
    with deaf_work(until_given_up()):
        yield


@lru_cache(maxsize=1)
def has_numba() -> bool:
    """Whether numba can be used; if not, that is said once."""
    try:
        import numba  # noqa: F401
    except (ImportError, OSError) as error:  # OSError: no room for the libraries of LLVM
        missing = isinstance(error, ModuleNotFoundError) and error.name == "numba"
        why = "is not installed" if missing else f"cannot be used ({error})"
        warn(
            f"numba {why}, so the loops of this fit run in Python: the same result, but some fifty "
            "times slower. 'pip install numba' makes them machine code.",
            CostWarning,
        )
        return False
    return True


@lru_cache(maxsize=1)
def _say_so() -> None:
    folder, why = _cache()
    kept = f"once for this machine (kept in {folder})" if folder else "for this process only"
    note(f"compiling, {kept}{why}")


@lru_cache(maxsize=1)
def _say_once(folder: str | None, why: str) -> None:
    warn(
        f"machine code cannot be kept in {folder} ({why}); it is made for this process only. Make "
        "room there or remove the folder, or name another one in LINSEP_CACHE_DIR.",
        LinsepWarning,
    )


def _say_why(error: Exception) -> None:
    """What was wrong with the folder, once; a routine that numba does not take has raised again."""
    words = " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())
    _say_once(_cache()[0], words[:200])


def _compile(python: Callable[..., Any], layouts: _Layouts, *, kept: bool = True) -> Any:
    import numba

    function = _linked(python, layouts, {})
    folder = _cache()[0] if kept else None
    if folder is None:
        return numba.njit(nogil=True)(function)
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    try:
        made = numba.njit(nogil=True, cache=True)(function)
    finally:
        numba.config.CACHE_DIR = previous
    made._cache._cache_file.__class__ = _sealed_files()
    return made


def _linked(function: Any, layouts: _Layouts, ready: dict[Any, Any]) -> FunctionType:
    """The same function, whose calls of others of linsep are calls that numba understands.

    Forms by layouts are inlined before types are looked for, which spares counting references to
    every array on every row. Were numba to choose them by their types, it would make machine code
    of each, and then inline it: twice the time.
    """
    import numba

    scope = dict(function.__globals__)
    for name, called in _called(function):
        if called in _made:
            scope[name] = _made[called]()
            continue
        if called not in ready:
            ready[called] = None  # an attribute may have the name of the function
            form = _forms[called](layouts) if called in _forms else called
            ready[called] = numba.njit(
                nogil=True,
                inline="always" if called in _forms else "never",
                no_cpython_wrapper=True,
                no_cfunc_wrapper=True,
            )(_linked(form, layouts, ready))
        scope[name] = ready[called]
    linked = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    linked.__module__, linked.__qualname__ = function.__module__, function.__qualname__
    return linked


def _specialise(dispatcher: Any, args: tuple[Any, ...]) -> bool:
    """Make machine code for arguments of these types, or take it from the disk; whether it lies
    there now.

    Where functions are inlined numba checks its own bookkeeping of names pedantically and warns
    for nothing.
    """
    import numba
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.errors import NumbaPedanticWarning

    signature = tuple(numba.typeof(argument) for argument in args)
    with warnings.catch_warnings(), global_compiler_lock:
        warnings.simplefilter("ignore", NumbaPedanticWarning)
        try:
            with _spared(dispatcher, signature):
                dispatcher.compile(signature)
        except OSError as error:
            if signature not in dispatcher.overloads:
                raise
            _say_why(error)  # it is made, only there was no room for it on the disk
            return False
    return True


@contextlib.contextmanager
def _spared(dispatcher: Any, signature: tuple[Any, ...]) -> Iterator[None]:
    """Where machine code lies on the disk, numba need not learn all that it could compile.

    Before it reads code it imports its forms of every function of numpy, for a third of a second;
    what is read needs the runtime alone. So that once it is not done; it is if numba finds that it
    has to compile after all. A numba that keeps its books otherwise does as it always did.
    """
    target: Any = None
    try:
        from numba.core.runtime import rtsys

        cache, context = dispatcher._cache, dispatcher.targetctx
        key = cache._index_key(signature, context.codegen())
        if key in cache._cache_file._load_index():
            rtsys.initialize(context)
            target = context
            target.refresh = lambda: vars(target).pop("refresh", None)
    except Exception:  # a list that is damaged is numba's to tell, below
        target = None
    try:
        yield
    finally:
        if target is not None:
            vars(target).pop("refresh", None)


# -- Where machine code is kept -------------------------------------------------------------------
#
# numba looks only at the file of the routine itself, not at the functions it calls, so a change of
# an inner function would go unnoticed without the digest of their files in the path. What numba
# reads there are pickles, which can do anything: nobody else may be able to put one there.


# So that a disk that forgets a bit, or a file copied over another, does not run as machine code,
# each file ends in a digest of its name and bytes;
# one without is as good as none, and is made anew.


@lru_cache(maxsize=1)
def _sealed_files() -> type:
    """Files of numba's cache that are whole, or not there."""
    from numba.core.caching import IndexDataCacheFile

    class Sealed(IndexDataCacheFile):  # type: ignore[misc]
        def _load_index(self) -> Any:
            return super()._load_index() if _is_whole(self._index_path) else {}

        def _load_data(self, name: str) -> Any:
            if not _is_whole(self._data_path(name)):
                raise FileNotFoundError(name)  # numba goes on as if it were not there
            return super()._load_data(name)

        @contextlib.contextmanager
        def _open_for_write(self, filepath: str) -> Iterator[Any]:
            buffer = io.BytesIO()
            yield buffer
            atomic_write_bytes(filepath, buffer.getvalue() + _seal(filepath, buffer.getvalue()))

    return Sealed


def _seal(path: str, data: bytes) -> bytes:
    return hashlib.sha256(os.path.basename(path).encode() + b"\0" + data).digest()


def _is_whole(path: str) -> bool:
    try:
        data = Path(path).read_bytes()
    except OSError:
        return False
    size = hashlib.sha256().digest_size
    return data[-size:] == _seal(path, data[:-size])


@lru_cache(maxsize=1)
def _kept() -> frozenset[str]:
    """Keys of the machine code that was on the disk at the start.

    Each has an empty file of its name, so processes that end at once lose none of them. numba's
    own lists would have to be unpickled to be read, and it be loaded for that.
    """
    folder, _ = _cache()
    try:
        return frozenset(os.listdir(Path(folder, _MARKS))) if folder is not None else frozenset()
    except OSError:
        return frozenset()


_MARKS = "kept"


def _note_kept(key: str) -> None:
    folder, _ = _cache()
    if folder is not None:
        with contextlib.suppress(OSError):  # it will be thought of as missing
            marks = Path(folder, _MARKS)
            marks.mkdir(exist_ok=True)
            Path(marks, key).touch()


@lru_cache(maxsize=1)
def _spent_before() -> dict[str, float]:
    """What was on the disk at the start."""
    return _read_spent()


def _read_spent() -> dict[str, float]:
    """Seconds that earlier processes spent in Python, by the keys of routines."""
    folder, _ = _cache()
    try:
        found = json.loads(first_bytes(Path(folder or "", _SPENT), _LARGEST_SPENT))
        return {str(name): max(0.0, float(seconds)) for name, seconds in found.items()}
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}  # none, or not ours: it decides about speed alone


@atexit.register
def _keep_spent() -> None:
    """Leave word for later processes of what was worth a thought."""
    longest = max(_spent_now.values(), default=0.0)
    if longest < costs.READING:
        return
    folder, _ = _cache()
    if folder is not None:
        total = dict(_spent_before())
        for name, seconds in _spent_now.items():
            total[name] = total.get(name, 0.0) + seconds
        with contextlib.suppress(OSError):
            atomic_write_bytes(Path(folder, _SPENT), json.dumps(total).encode())


@lru_cache(maxsize=1)
def _cache() -> tuple[str | None, str]:
    """The folder, or None; and why it is not the one that was meant, if so."""
    digest, why = _digest(), ""
    for place in _places():
        if place is None:
            continue
        folder = place / digest
        try:
            usable = _is_private(folder)
        except OSError as error:
            why = f", since {place} cannot be written ({error.strerror})"
            continue
        if usable:
            _sweep(place, digest)
            return str(folder), why
        why = f", since {place} is open to others"
    return None, f"{why}; LINSEP_CACHE_DIR may name a folder to keep it in"


_KEPT = 90 * 86400.0  # seconds for which machine code of other versions is kept unused
_DIGEST = re.compile("[0-9a-f]{16}")


def _sweep(place: Path, ours: str) -> None:
    """Remove folders of other versions that no process has used for long.

    Only what has a name as ours have, is a folder itself and no link, and belongs to this user.
    The time is that of the folder, which every process that uses it sets anew.
    """
    with contextlib.suppress(OSError, ValueError):
        os.utime(place / ours)
        for entry in os.scandir(place):
            if entry.name == ours or not _DIGEST.fullmatch(entry.name) or entry.is_symlink():
                continue
            found = entry.stat(follow_symlinks=False)
            own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
            if own and stat.S_ISDIR(found.st_mode) and time.time() - found.st_mtime > _KEPT:
                shutil.rmtree(entry.path, ignore_errors=True)  # follows no links


def _is_private(folder: Path) -> bool:
    """Whether it is ours alone, made if need be; a folder that is not is named in a warning."""
    found = open_to_others(folder)
    if found is None:
        make_private(folder)
        found = open_to_others(folder)
    if found is not None:
        warn(
            f"{found} can be changed by other users, and machine code found there would be run. "
            f"So {folder.parent} is not used as a cache: take these rights away (chmod go-w), or "
            "name a folder of your own in LINSEP_CACHE_DIR.",
            LinsepWarning,
        )
        return False
    if os.name == "posix":
        folder.chmod(0o700)  # numba makes folders in it with the rights of the day
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    return True


def _places() -> Iterator[Path | None]:
    """The folder that was asked for or is usual, then one for each user among temporary files."""
    asked = os.environ.get("LINSEP_CACHE_DIR")
    # absolute: what was looked at here must be what is read after a change of the working folder
    yield Path(asked).expanduser().absolute() if asked else _usual_place()
    if hasattr(os, "getuid"):
        yield Path(tempfile.gettempdir()) / f"linsep-{os.getuid()}"


def _usual_place() -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:  # nobody's
        return None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or home / ".cache"
    return Path(base) / "linsep"


def _digest() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.parent.rglob("*.py")):
        text = source.read_bytes()
        if b"\n@inner\n" in text or b"in_machine_code(" in text:
            digest.update(text)
    return digest.hexdigest()[:16]
