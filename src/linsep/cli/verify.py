"""``linsep verify``: check a stored model or proof against data, trusting neither."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from linsep.cli import streams
from linsep.cli.common import check_features, emit, fitted_to, framed, narrate, numbers_of
from linsep.cli.lifting import lifted
from linsep.cli.models import model_and_data
from linsep.core.boundary import boundary
from linsep.core.problem import Problem
from linsep.core.protocol import Status
from linsep.core.schema import from_json
from linsep.core.sources import fetch
from linsep.data.table import Table
from linsep.errors import ModelError, SettingError
from linsep.models.verified import compared
from linsep.multiclass.verified import check_learner, check_machines


def run(args: Namespace) -> int:
    """Print what the data say; 0 when it agrees with what is stored."""
    from linsep.formats import is_text_model

    if streams.wanted(args):
        return streams.verify(args)
    if is_text_model(args.model):
        return _text(args)
    if args.C is not None:
        raise SettingError("--C is for model files of LIBLINEAR and LIBSVM; others hold their own.")
    data = fetch(args.model)
    with boundary(args.model, ModelError, "this is neither a model nor a proof", "save it again"):
        stored = from_json(data)
    kind = stored.get("format") if isinstance(stored, dict) else None
    return _proof(args, stored) if kind == "linsep-proof" else _model(args, stored)


def _proof(args: Namespace, stored: dict[str, Any]) -> int:
    from linsep.proofs.separable import Proof

    proof = Proof.from_dict(stored)
    _, data = lifted(args, numbers_of(args)[1])
    proof.check(data.X, data.y)
    sentence = f"the proof holds: {proof}"
    emit({"holds": True, "sentence": str(proof)} if args.json else sentence, as_json=args.json)
    return 0


def _text(args: Namespace) -> int:
    """A model of LIBLINEAR or LIBSVM: it claims nothing, so say how good it is."""
    import linsep
    from linsep.cli.predict import read_for

    model = linsep.load(args.model)
    data = read_for(args, model)
    model = fitted_to(model, data)
    check_features(model, data)
    report = linsep.certify(model, data.X, data.y, C=args.C, sample_weight=data.sample_weight)
    emit(report.to_dict() if args.json else str(report), as_json=args.json)
    return 0


def _model(args: Namespace, stored: Any) -> int:
    model, data = model_and_data(args)
    labels = data.y
    known = set(model.classes_.tolist())
    strange = sorted(set(labels.tolist()) - known, key=str)
    if strange:
        raise ModelError(
            f"{args.data} has the label {strange[0]!r}; the model knows "
            f"{', '.join(map(repr, model.classes_.tolist()))}."
        )
    if not hasattr(model, "certificate_"):
        raise ModelError(f"{args.model} holds no certificate; there is nothing to verify.")
    told = model.certificate_
    if hasattr(told, "problems"):
        found, wrong = check_machines(framed(data), labels, model, data.sample_weight)
    else:
        weight = data.sample_weight
        found, wrong = compared(framed(data), data.X, labels, model, weight, narrate)
        if hasattr(model, "vectors"):
            wrong += check_learner(framed(data), labels, model, data.sample_weight)
    wrong += _other_data(model, data)
    wrong += refuted_sentences(stored)
    lines = [f"found   {found}", f"stored  {told}"]
    lines += [f"DIFFERS {line}" for line in wrong]
    lines.append("they DIFFER: forged, or made for other data" if wrong else "they agree")
    report = {
        "agrees": not wrong,
        "wrong": wrong,
        "found": found.to_dict(),
        "stored": told.to_dict(),
    }
    emit(report if args.json else "\n".join(lines), as_json=args.json)
    return 1 if wrong else 0


def _other_data(model: object, data: Table) -> list[str]:
    """Whether the rows are others than those of the fit, be it in a last digit."""
    told = getattr(model, "fingerprint_", None)
    if told is None or told == Problem(data.X, data.y).fingerprint:
        return []
    return [f"data: they are not those of the fit, whose fingerprint is {told[:12]}..."]


def refuted_sentences(stored: Any, where: str = "") -> list[str]:
    """Sentences beside a status, anywhere in the file, that are not those of this status."""
    if isinstance(stored, list):
        return [
            line
            for k, part in enumerate(stored)
            for line in refuted_sentences(part, f"{where}{k}.")
        ]
    if not isinstance(stored, dict):
        return []
    wrong = []
    name, said = stored.get("name"), stored.get("sentence")
    known = Status.__members__.get(str(name))
    if where.endswith("status.") and known is not None and said != known.value:
        wrong.append(f"{where}sentence: it is not the one of {name}: {said!r:.60}")
    for key, part in stored.items():
        wrong += refuted_sentences(part, f"{where}{key}.")
    return wrong
