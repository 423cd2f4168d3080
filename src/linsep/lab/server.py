"""The server of the lab: a page and its questions, on this machine alone.

It binds the loopback address and a port that is free, answers only requests that name this host
and come from a browser that was let in, and takes questions only from its own page. A token lets
one browser in, once; that browser may open as many tabs as it likes. The server keeps nothing
between two questions but the last few runs: any number of tabs may ask, and one that is closed
leaves nothing behind. Nothing of a request is a path or code.
"""

from __future__ import annotations

import gzip
import json
import logging
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from linsep.errors import DataError, LinsepError, require
from linsep.lab.page import files

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MOST_BYTES, MOST_SECONDS = 8 << 20, 15  # of one question, until all of it has come
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Shown:
    """What stands on a page that asks ``task``, as objects of Python."""

    task: dict[str, Any]

    @property
    def table(self) -> Any:
        """The points as they stand on the page."""
        from linsep.lab.player import Task

        return Task.of(self.task).table if self.task.get("table") else None

    @property
    def model(self) -> Any:
        """The fit on the page, bit for bit."""
        return self._player().fitted

    @property
    def run(self) -> Any:
        """The run on the page, whose steps are those that it plays."""
        return self._player().run

    def _player(self) -> Any:
        from linsep.lab.player import Player, Task

        if not self.task.get("table"):
            raise DataError("no page has asked for a fit yet: open one, or begin with rows.")
        return Player(Task.of(self.task))


class Lab(Shown):
    """A running lab.

    Attributes
    ----------
    url : str
        The address with a token that no browser has used yet; a second one needs another.
    table : Table or None
        The rows as they stand on the page that spoke last.
    model : estimator
        The fit on that page, bit for bit.
    run : Trace
        The run on that page; of a method without steps its answer alone.
    task : dict
        What that page asks: rows, method, settings.
    """

    def __init__(self, start: dict[str, Any], port: int = 0) -> None:
        uvicorn = require("uvicorn", extra="lab", what="the lab")
        require("starlette", extra="lab", what="the lab")
        self.door = Door()
        self._socket = _bound(port)
        self.port = int(self._socket.getsockname()[1])
        self.task: dict[str, Any] = start.get("task") or {}
        app = application(start, self.door, self.port, self._told)
        config = uvicorn.Config(
            app, log_level="error", timeout_graceful_shutdown=1, lifespan="off", ws="none",
            server_header=False,
        )  # fmt: skip
        logging.getLogger("uvicorn.error").addFilter(_worth_saying)
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it is, for one browser."""
        return f"http://127.0.0.1:{self.port}/?token={self.door.token}"

    def _told(self, task: dict[str, Any]) -> None:
        self.task = task

    def serve(self, seconds: float | None = None) -> None:
        """Answer until Ctrl-C, or for so many seconds."""
        threading.Thread(target=_warm, daemon=True).start()
        if seconds is not None:
            timer = threading.Timer(seconds, self.close)
            timer.daemon = True
            timer.start()
        self._server.run(sockets=[self._socket])

    def start(self) -> Lab:
        """Answer in the background, for as long as this process lives."""
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()
        return self

    def open(self) -> None:
        """Show it in the browser of this machine."""
        webbrowser.open(self.url)

    def close(self) -> None:
        """End it."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(timeout=5)

    def __repr__(self) -> str:
        return f"<Lab {self.url}>"


def _worth_saying(record: logging.LogRecord) -> bool:
    """Not that a run was given up: that is what Ctrl-C asks for."""
    return not record.getMessage().startswith("Cancel ")


class Door:
    """Who may come in: the browser that brings the token first, and whoever it has made its own.

    A token is worth nothing once it was used: it may lie in a history, in a list of processes or
    on a projector. What a browser keeps instead is a cookie that no page can read.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self.refused: Callable[[], None] = lambda: None
        """Called when a token comes a second time, from a browser that has no cookie."""
        self._used: set[str] = set()
        self._inside: set[str] = set()
        self._lock = threading.Lock()

    def knows(self, cookie: str | None) -> bool:
        """Whether this is the cookie of a browser that was let in."""
        given = (cookie or "").encode()
        return any(secrets.compare_digest(given, one.encode()) for one in self._inside)

    def enter(self, given: str) -> str | None:
        """The cookie that a token is worth: once, and then None."""
        with self._lock:
            if secrets.compare_digest(given.encode(), self.token.encode()):
                cookie = secrets.token_urlsafe(24)
                self._used.add(self.token)
                self._inside.add(cookie)
                self.token = secrets.token_urlsafe(24)
                return cookie
        if given in self._used:
            self.refused()
        return None


def _bound(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
        found.listen(128)  # a browser that is faster than the server waits
    except OSError:
        found.close()
        raise
    return found


def _warm() -> None:
    """What the page begins with, then what its first run needs: importing that takes seconds."""
    from linsep.lab.player import Player
    from linsep.lab.tables import sets

    _ = sets()
    _ = Player.of("example-3.2").message()


def application(
    start: dict[str, Any], door: Door, port: int, told: Callable[[dict[str, Any]], None]
) -> Any:
    """The page, its modules, and its questions; guarded."""
    from starlette.applications import Starlette
    from starlette.responses import RedirectResponse, Response
    from starlette.routing import Route

    known = {
        name: (media, gzip.compress(text.encode(), 6, mtime=0))
        for name, (media, text) in files().items()
    }
    cookie = f"linsep-lab-{port}"
    answers = Answers(start, told)

    async def page(request: Request) -> Response:
        given = request.query_params.get("token")
        inside = door.knows(request.cookies.get(cookie))
        new = None if given is None or inside else door.enter(given)
        if not inside and new is None:
            words = _STRANGER if given is None else _USED
            return Response(words, status_code=403, media_type="text/plain")
        if given is not None:  # it leaves the address, and with it the history
            kept = [(k, v) for k, v in request.query_params.multi_items() if k != "token"]
            query = "&".join(f"{_quoted(k)}={_quoted(v)}" for k, v in kept)
            answer = RedirectResponse(f"/?{query}" if query else "/", status_code=303)
            if new is not None:  # kept for a day, so that a browser that was killed comes back
                answer.set_cookie(
                    cookie, new, max_age=86_400, httponly=True, samesite="lax", path="/"
                )
            return answer
        return _packed(request, *known["index.html"])

    async def static(request: Request) -> Response:
        if request.path_params["name"] not in known:
            return Response("not here", status_code=404, media_type="text/plain")
        return _packed(request, *known[request.path_params["name"]])

    async def ask(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        if not door.knows(request.cookies.get(cookie)):
            return Response(_STRANGER, status_code=403, media_type="text/plain")
        if request.headers.get("origin") not in _origins(port):
            return Response("from another page", status_code=403, media_type="text/plain")
        body = await _body(request)
        if isinstance(body, str):
            return Response(json.dumps({"error": body}), 413, media_type="application/json")
        verb = request.path_params["verb"]
        name = request.headers.get("x-file-name", "")
        found = await run_in_threadpool(answers.answer, verb, body, name)
        return Response(found, media_type="application/json")

    app = Starlette(
        routes=[
            Route("/", page),
            Route("/static/{name}", static),
            Route("/ask/{verb}", ask, methods=["POST"]),
        ]
    )
    return _guarded(app, port)


def _packed(request: Request, media: str, data: bytes) -> Response:
    """A file of the page; as it was for a browser that cannot unpack it."""
    from starlette.responses import Response

    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(data), media_type=media)
    return Response(data, media_type=media, headers={"Content-Encoding": "gzip"})


async def _body(request: Request) -> bytes | str:
    """All of a question; or why it is no longer read: it is too long, too slow, or broken off."""
    import asyncio

    from starlette.requests import ClientDisconnect

    body = b""
    try:
        async with asyncio.timeout(MOST_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MOST_BYTES:
                    return f"a question has at most {MOST_BYTES >> 20} MB; give fewer rows."
    except TimeoutError:
        return f"a question has to come within {MOST_SECONDS} seconds."
    except ClientDisconnect:  # a browser was killed: there is nobody to tell
        return "the question was broken off."
    return body


_STRANGER = "This lab asks for the address that it printed when it was started, with its token."
_USED = (
    "This address has let a browser in already, or never did. Where the lab was started there is "
    "a new one now: on the terminal, or as page.url in Python."
)


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def _origins(port: int) -> tuple[str, str]:
    return f"http://127.0.0.1:{port}", f"http://localhost:{port}"


def _guarded(app: Any, port: int) -> Any:
    """Requests that name another host get nothing: a name that was made to point here is one."""
    hosts = {origin.removeprefix("http://").encode() for origin in _origins(port)}

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        given = [value for name, value in scope["headers"] if name == b"host"]

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                more = [(k.lower().encode(), v.encode()) for k, v in _HEADERS.items()]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        if len(given) != 1 or given[0] not in hosts:
            head = {"type": "http.response.start", "status": 403, "headers": []}
            await with_headers(head)
            await send({"type": "http.response.body", "body": b"not this host"})
            return
        await app(scope, receive, with_headers)

    return guard


class Answers:
    """Answers the questions of pages, one after the other."""

    def __init__(self, start: dict[str, Any], told: Callable[[dict[str, Any]], None]) -> None:
        self.start, self.told = start, told
        self._lock = threading.Lock()
        self._players: Any = None

    def answer(self, verb: str, body: bytes, name: str = "") -> bytes:
        """The answer as JSON; what goes wrong is a sentence in it."""
        try:
            return json.dumps(self._answer(verb, body, name), allow_nan=False).encode()
        except LinsepError as error:
            return json.dumps({"error": str(error)}).encode()
        except (ValueError, TypeError, KeyError) as error:
            return json.dumps({"error": f"the question cannot be read: {error}"}).encode()
        except MemoryError:
            return json.dumps({"error": "there is not enough memory for this"}).encode()
        except Exception as error:  # the page goes on, and says whose fault it is
            told = f"{verb} broke down ({type(error).__name__}: {error})"
            words = f"{told}. This is a bug of linsep, please report it."
            return json.dumps({"error": words}).encode()

    def _answer(self, verb: str, body: bytes, name: str) -> dict[str, Any]:
        from linsep.core.schema import from_json
        from linsep.lab.player import Players, Task, answer
        from linsep.lab.tables import sets, table_of_bytes

        with self._lock:  # threads of a page must not be in each other's way
            if verb == "start":
                return self.start | sets()
            if verb == "read":
                return table_of_bytes(body, name)
            try:
                data = from_json(body)
            except (ValueError, RecursionError) as error:
                raise DataError(f"the question is no JSON: {error}") from error
            self._players = self._players or Players()
            if verb == "export":
                return self._export(data)
            found = answer(self._players, verb, data)
            if verb == "run":
                self.told(Task.of(data["task"]).told())
            return found

    def _export(self, data: Any) -> dict[str, Any]:
        import base64

        if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
            raise DataError("an export needs its kind.")
        name, media, content = self._players.of(data["task"]).export(data["kind"])
        return {"name": name, "media": media, "data": base64.b64encode(content).decode("ascii")}
