"""``linsep check``: are the classes linearly separable?"""

from __future__ import annotations

import shlex
import time
from argparse import Namespace

from linsep.cli.common import emit, narrate, require_writable, table
from linsep.cli.lifting import lifted
from linsep.core.files import atomic_write_bytes
from linsep.core.words import count
from linsep.data.table import Table
from linsep.errors import SettingError


def run(args: Namespace) -> int:
    """Print the verdict and its proof."""
    from linsep.core.problem import Problem
    from linsep.separating.verdict import decide

    require_writable(args.save)
    _, data = lifted(args, table(args, positive=args.positive))
    if args.plane is not None:
        return _given(args, data)
    begin = time.perf_counter()
    problem = Problem(
        data.X, data.y, fit_intercept=not args.no_intercept, feature_names=data.feature_names
    )
    proof = decide(problem, exact=not args.no_exact, time_limit=args.time_limit, begin=begin)
    seconds = time.perf_counter() - begin
    if args.save:
        atomic_write_bytes(args.save, proof.to_json().encode() + b"\n")
        choice = ["--positive", args.positive] if args.positive else []
        choice += ["--lift", args.lift] if args.lift is not None else []
        command = shlex.join(["linsep", "verify", args.save, args.data, *choice])
        narrate(f"proof written to {args.save}; check it with: {command}")
    if args.json:
        emit(proof.to_dict() | {"sentence": str(proof), "seconds": seconds}, True)
    else:
        emit(proof.explain(), False)
        rows, features = data.X.shape
        narrate(f"{count(rows, 'row')}, {count(features, 'feature')}, {seconds:.3g} s")
    return {True: 0, False: 3, None: 4}[proof.separable]


def _given(args: Namespace, data: Table) -> int:
    """Print whether the plane of --plane separates; its names are those of the columns."""
    from linsep.models.linear import Linear

    if args.save:
        raise SettingError("--save writes the proof of a verdict; --plane asks about one plane.")
    named = data.feature_names
    if named is None or not any(name in args.plane for name in named):
        named = tuple(f"x{j + 1}" for j in range(data.X.shape[1]))
    plane = Linear.parse(args.plane, named)
    found = plane.separates(data.X, data.y)
    emit(found.to_dict() | {"plane": str(plane)} if args.json else f"{plane}: {found}", args.json)
    return 0 if found.strict else 3
