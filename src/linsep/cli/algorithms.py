"""``linsep algorithms``: what there is, and its settings."""

from __future__ import annotations

import inspect
from argparse import Namespace

from linsep.cli.common import ALGORITHMS, algorithm_name, emit, what_it_is


def run(args: Namespace) -> int:
    """Print the table, or the settings of one algorithm."""
    import linsep

    if args.name is None:
        if args.json:
            emit(
                {name: {"class": c, "what": what_it_is(c)} for name, c in ALGORITHMS.items()},
                as_json=True,
            )
            return 0
        width = max(map(len, ALGORITHMS)) + 2
        lines = [f"{name:<{width}}{what_it_is(cls)}" for name, cls in ALGORITHMS.items()]
        lines += ["", "linsep algorithms NAME shows the settings for --set."]
        emit("\n".join(lines), as_json=False)
        return 0
    name = algorithm_name(args.name)
    cls = getattr(linsep, ALGORITHMS[name])
    if args.json:
        emit({"algorithm": name, "settings": cls().get_params()}, as_json=True)
        return 0
    doc = inspect.cleandoc(cls.__doc__ or "")
    emit(doc.split("\nAttributes\n")[0].rstrip(), as_json=False)
    return 0
