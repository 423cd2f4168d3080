"""``linsep verify``: check a stored model or proof against data, trusting neither."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from linsep.cli.common import check_features, emit, table
from linsep.core import Problem, Witness
from linsep.errors import ModelError

__all__ = ["run"]


def run(args: Namespace) -> int:
    """Print what the data say; 0 when it agrees with what is stored."""
    try:
        stored = json.loads(Path(args.model).read_bytes())
        kind = stored.get("format") if isinstance(stored, dict) else None
    except (UnicodeDecodeError, ValueError) as error:
        raise ModelError(f"{args.model} is neither a model nor a proof ({error}).") from error
    return _proof(args, stored) if kind == "linsep-proof" else _model(args)


def _proof(args: Namespace, stored: dict[str, Any]) -> int:
    from linsep.certify.proof import Proof

    proof = Proof.from_dict(stored)
    data = table(args, positive=args.positive)
    proof.check(data.X, data.y)
    sentence = f"the proof holds: {proof}"
    emit({"holds": True, "sentence": str(proof)} if args.json else sentence, args.json)
    return 0


def _model(args: Namespace) -> int:
    from linsep.certify.certificate import judge
    from linsep.cli.predict import read_for
    from linsep.formats import load

    model = load(args.model)
    data = read_for(args, model)
    check_features(model, data)
    labels = data.y
    known = set(model.classes_.tolist())
    strange = sorted(set(labels.tolist()) - known, key=str)
    if strange:
        raise ModelError(
            f"{args.data} has the label {strange[0]!r}; the model knows "
            f"{', '.join(map(repr, model.classes_.tolist()))}."
        )
    problem = Problem(data.X, labels, fit_intercept=True)
    a = np.column_stack([model.coef_, model.intercept_]).ravel()
    found = judge(problem, Witness(a))
    told = model.certificate_
    agrees = found.errors == told.errors and _close(found.margin, told.margin)
    lines = [
        f"found   {found.errors} errors, margin {found.margin:.6g}",
        f"stored  {told.errors} errors, margin {told.margin:.6g}",
        "they agree" if agrees else "they DIFFER: the model was made for other data",
    ]
    report = {"agrees": agrees, "found": found.to_dict(), "stored": told.to_dict()}
    emit(report if args.json else "\n".join(lines), args.json)
    return 0 if agrees else 1


def _close(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b))
