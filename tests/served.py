"""The command linsep out of a process that has loaded it already.

Loading takes two seconds a call, and a page of the docs calls it ten times. A server loads all of
linsep once and forks for each call; what a shell finds under the name ``linsep`` hands it the
arguments, the folder and its three streams, and ends with its exit code.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CALL = """\
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({place!r})
    call = json.dumps([os.getcwd(), sys.argv[1:]]).encode()
    socket.send_fds(server, [len(call).to_bytes(4, "big") + call], [0, 1, 2])
    sys.exit((server.recv(1) or b"F")[0])
"""


@contextmanager
def served(folder: Path) -> Iterator[Path]:
    """A folder for the path of shells, in which linsep is the one that is served."""
    place, call, script = (str(folder / name) for name in ("socket", "call.py", "linsep"))
    Path(call).write_text(_CALL.format(place=place))
    Path(script).write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -IS {shlex.quote(call)} "$@"\n'
    )
    os.chmod(script, 0o700)
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", "import tests.served as s; s.serve()", place]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, env=environment, cwd=root, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == b"ready\n"
            yield folder
        finally:
            server.kill()


def serve() -> None:
    """Fork for each call, until killed."""
    import linsep

    for module in pkgutil.iter_modules(importlib.import_module("linsep.cli").__path__):
        importlib.import_module(f"linsep.cli.{module.name}")
    for name in linsep.__all__:
        getattr(linsep, name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    with socket.socket(socket.AF_UNIX) as calls:
        calls.bind(sys.argv[1])
        calls.listen()
        print("ready", flush=True)
        while True:
            caller, _ = calls.accept()
            if os.fork() == 0:
                calls.close()
                _answer(caller)
            caller.close()


def _answer(caller: socket.socket) -> None:
    """In the child: run the command as the script of the package does, and leave."""
    from linsep.cli.main import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code: object = 70
    try:
        text, streams, _, _ = socket.recv_fds(caller, 1 << 16, 3)
        while len(text) < 4 + int.from_bytes(text[:4], "big"):
            text += caller.recv(1 << 16)
        for stream, place in enumerate(streams):
            os.dup2(place, stream)
            os.close(place)
        folder, arguments = json.loads(text[4:])
        os.chdir(folder)
        sys.argv = ["linsep", *arguments]
        code = main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream in range(3):
            os.close(stream)  # the next command of a pipe sees the end before the caller does
        caller.send(bytes([code if isinstance(code, int) else 0 if code is None else 1]))
        os._exit(0)
