"""Commands on data larger than memory: ``linsep fit 'data/*.parquet' --target y`` and others.

DATA is read part by part where it is a pattern or a folder, or where one of --memory, --workers
and --cluster says so. Everything else is read whole.
"""

from __future__ import annotations

import glob
import shlex
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from linsep.cli.common import (
    emit,
    estimator,
    kept,
    kept_model,
    narrate,
    number_or_name,
    require_writable,
)
from linsep.core.files import atomic_write_bytes, written_in_parts
from linsep.core.limits import time_limit
from linsep.core.parts import Stream
from linsep.core.progress import watching
from linsep.core.protocol import Status
from linsep.core.words import count
from linsep.errors import (
    CheckpointError,
    ClusterError,
    LinsepWarning,
    MissingExtraError,
    ModelError,
    ProofError,
    SettingError,
)

if TYPE_CHECKING:  # estimators load scikit-learn
    from linsep.models.base import LinearClassifier as Classifier

_OF_TABLES = {
    "names": "--names", "no_header": "--no-header", "delimiter": "--delimiter",
    "encoding": "--encoding", "positive": "--positive",
    "drop_missing": "--drop-missing", "lift": "--lift", "role": "--role", "decimal": "--decimal",
    "scale": "--scale", "cv": "--cv", "test": "--test", "holdout": "--holdout",
    "search": "--search", "kernel": "--kernel", "plane": "--plane", "no_exact": "--no-exact",
    "threshold": "--threshold", "C": "--C",
}  # fmt: skip


def wanted(args: Namespace) -> bool:
    """Whether DATA is to be read part by part."""
    if any(getattr(args, name, None) is not None for name in ("memory", "workers", "cluster")):
        return True
    path = Path(args.data).expanduser()
    return path.is_dir() or (glob.has_magic(args.data) and not path.exists())


@contextmanager
def opened(
    args: Namespace, columns: Sequence[str] | None = None, target: Any = None
) -> Iterator[Stream]:
    """DATA as a stream, with a client of the cluster as long as it is needed."""
    from linsep.data.stream import stream

    for name, option in _OF_TABLES.items():
        if getattr(args, name, None) not in (None, False, []):
            raise SettingError(
                f"{option} is for tables that are read whole; {args.data} is read part by part. "
                "Leave it out, or prepare the files first."
            )
    if args.workers is not None and args.cluster is not None:
        raise SettingError("--workers is for this machine; a --cluster has its own.")
    target = number_or_name(args.target) if args.target is not None else target
    with ExitStack() as stack:
        how: dict[str, Any] = {
            "target": target, "weight": getattr(args, "weights", None), "memory": args.memory,
            "workers": args.workers, "client": None, "patience": args.patience,
        }  # fmt: skip
        if args.cluster is not None:
            how["client"] = stack.enter_context(_client(args.cluster))
        data = stream(args.data, columns=columns, **how)
        dropped = [name for part in getattr(args, "drop", None) or [] for name in part.split(",")]
        if dropped:
            known = data.feature_names or ()
            absent = [name for name in dropped if name not in known]
            if absent:
                shown = ", ".join(known[:12]) or "no names"
                raise SettingError(
                    f"--drop {absent[0]}: there is no such column; there are {shown}."
                )
            rest = [name for name in known if name not in dropped]
            data = stream(args.data, columns=rest, **how)
        yield data


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("--cluster needs Dask: pip install 'linsep[scale]'") from error
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"--cluster {address}: no scheduler answers there; start one with dask scheduler, and "
            "give the address that it prints."
        ) from error
    with client:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise ClusterError(
                f"--cluster {address}: it has no workers; start some with dask worker {address}."
            )
        yield client


# -- fit ------------------------------------------------------------------------------------------


def fit(args: Namespace) -> int:
    """Fit, print the summary, write the model."""
    from linsep.core.checkpoint import Checkpointer

    chosen = args.algorithm is None
    if chosen:
        args.algorithm = "logistic-regression"
    checkpoint = args.checkpoint or args.resume
    every = {} if args.checkpoint_every is None else {"every": args.checkpoint_every}
    if every and not checkpoint:
        raise SettingError("--checkpoint-every goes with --checkpoint FILE.")
    if args.resume and not Path(args.resume).exists():
        raise CheckpointError(f"{args.resume} does not exist; start without --resume.")
    observers = [Checkpointer(checkpoint, **every)] if checkpoint else []
    settings: dict[str, Any] = {"verbose": 0 if args.quiet else 1, "callbacks": observers}
    if args.time_limit is not None:
        settings["time_limit"] = args.time_limit
    model = estimator(args, **settings)
    if checkpoint and not hasattr(model, "resume"):
        raise SettingError(
            f"{type(model).__name__} takes two passes and has no checkpoints; leave --checkpoint "
            "and --resume out."
        )
    with opened(args) as data, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LinsepWarning)
        if not args.quiet:
            narrate(_sentence(data))
        if chosen:
            narrate(
                "logistic regression with C = 1; --set C=... gives another, -a another algorithm"
            )
        quiet = args.quiet or hasattr(model, "verbose")  # those who have it watch themselves
        with time_limit(args.time_limit, begin=args.begin), watching(data, quiet=quiet):
            if args.resume:
                model.resume(data, None, args.resume)
            else:
                model.fit(data)
    lost = model.status_ is Status.CLUSTER_LOST
    for warning in caught:
        said = str(warning.message)
        narrate(f"warning: {said.partition(' Start workers')[0] if lost else said}")
    saved = _saved(args, model)
    emit(_report(model, data) if args.json else model.summary(), as_json=args.json)
    if not (lost or model.outcome_.interrupted):
        return 0 if saved else 1
    why = "the cluster is lost" if lost else "interrupted"
    if checkpoint:
        from linsep.cli.fit import again

        first = "start workers, then " if lost else ""
        narrate(f"{why}; {first}go on with: {again(args.argv, str(observers[0].path))}")
    else:
        narrate(f"{why}; with --checkpoint FILE it could be resumed")
    return 1 if lost else 130


def _sentence(data: Stream) -> str:
    from linsep.core.progress import sized

    rows = "" if data.rows is None else f", {data.rows:,} rows"
    size = "" if data.size is None else f", {sized(data.size)}"
    return f"{data.name}: {count(len(data.parts), 'part')}{rows}{size}, read by {data.runner.words}"


def _saved(args: Namespace, model: Classifier) -> bool:
    if not args.output:
        return True
    known = model.get_params(deep=False)
    of_a_run = {"callbacks": None, "verbose": 0}
    model.set_params(**{key: v for key, v in of_a_run.items() if key in known})
    return kept_model(args.output, model)


def _report(model: Classifier, data: Stream) -> dict[str, Any]:
    from linsep.cli.fit import report

    return report(model) | {"passes": data.passes}


# -- check ----------------------------------------------------------------------------------------


def check(args: Namespace) -> int:
    """Print whether a plane separates the classes, and why."""
    import linsep

    if args.set:
        raise SettingError(f"--set {args.set[0]} is for kernels, which need a table.")
    with opened(args) as data, watching(data):
        proof = linsep.separability(
            data, fit_intercept=not args.no_intercept, time_limit=args.time_limit
        )
    good = True
    if args.save:
        import json

        text = json.dumps(proof.to_dict(), allow_nan=False).encode() + b"\n"
        command = shlex.join(["linsep", "verify", args.save, args.data])
        good = kept(
            args.save, lambda path: atomic_write_bytes(path, text), "proof",
            f"; check it with: {command}",
        )  # fmt: skip
    if args.json:
        emit(proof.to_dict() | {"sentence": str(proof)}, as_json=True)
    else:
        emit(proof.explain(), as_json=False)
        narrate(f"{count(proof.n_read, 'row')} read, {proof.seconds:.3g} s")
    return {True: 0, False: 3, None: 4}[proof.separable] if good else 1


# -- verify and certify ---------------------------------------------------------------------------


def verify(args: Namespace) -> int:
    """Prove again, in one pass and without a solver, what a model or a proof says."""
    from linsep.cli.verify import refuted_sentences
    from linsep.core.boundary import boundary
    from linsep.core.schema import from_json
    from linsep.core.sources import fetch
    from linsep.models.verified import refuted
    from linsep.separating.parts import FORMAT, StreamProof

    raw = fetch(args.model)
    with boundary(args.model, ModelError, "this is neither a model nor a proof", "save it again"):
        stored = from_json(raw)
    if isinstance(stored, dict) and stored.get("format") == FORMAT:
        proof = StreamProof.from_dict(stored)
        with opened(args) as data, watching(data):
            proof.check(data)
        emit(
            {"holds": True, "sentence": str(proof)} if args.json else f"the proof holds: {proof}",
            as_json=args.json,
        )
        return 0
    model = _model(args)
    told: Any = getattr(model, "certificate_", None)
    if told is None:
        raise ModelError(f"{args.model} holds no certificate; there is nothing to verify.")
    whole = not hasattr(told, "sources")  # the stream was a table in parts, and fitted as one
    wrong = refuted_sentences(stored)
    with opened(args, columns=_columns(model)) as data, watching(data):
        if whole:
            wrong += refuted(model, data, None, None)
        elif not (wrong := wrong + _contradictions(model, data)):
            try:
                told.check(data)
            except ProofError as error:
                wrong = [str(error)]
    lines = [f"stored  {told}", *(f"DIFFERS {line}" for line in wrong)]
    lines.append("they DIFFER: forged, or made for other data" if wrong else "they agree")
    result = {"agrees": not wrong, "wrong": wrong, "stored": told.to_dict()}
    emit(result if args.json else "\n".join(lines), as_json=args.json)
    return 1 if wrong else 0


def _contradictions(model: Classifier, data: Stream) -> list[str]:
    """What a model file says of itself that its certificate does not."""
    from linsep.models.verified import check_settings, refuted_settings

    check_settings(model)
    told, wrong = model.certificate_, _refuted_status(model) + refuted_settings(model)
    if hasattr(told, "parameters"):
        mine = told.parameters
        its = (getattr(model, f"{name}_") for name in ("means", "covariance", "priors", "ridge"))
        given = (mine.means, mine.covariance, mine.priors, mine.ridge)
        same = all(map(np.array_equal, given, its))
        same = same and np.array_equal(told.ignored, getattr(model, "ignored_", ()))
        if len(told.weights):
            planes = np.column_stack([model.coef_, model.intercept_])
            same = same and np.array_equal(planes.ravel(), mine.plane)
    else:
        same = np.array_equal(np.column_stack([model.coef_, model.intercept_]), told.stated)
    if not same:
        wrong.append("weights: those of the model are not those of its certificate")
    if list(told.classes) != model.classes_.tolist():
        wrong.append("classes: those of the model are not those of its certificate")
    facts = getattr(told, "sides", None) or getattr(told, "proof", None) or told
    claimed = {"fit_intercept": getattr(model, "fit_intercept", True)}
    if hasattr(told, "C"):
        claimed |= {"C": getattr(model, "_cost", told.C), "loss": getattr(model, "loss", told.loss)}
    for name, value in claimed.items():
        if getattr(facts, name, value) != value:
            wrong.append(f"{name}: {value!r} in the model, {getattr(facts, name)!r} in its proof")
    return wrong or _other_weights(model, facts, data)


def _refuted_status(model: Classifier) -> list[str]:
    """Whether the stored status says more than the stored certificate."""
    from linsep.models.verified import refuted_by_facts

    status, told = model.status_, model.certificate_
    tol = float(getattr(model, "tol", np.inf))
    if hasattr(told, "ridge"):  # densities have no tolerance but that of rounding
        tol = np.inf if told.settle(len(told.ridge)) is Status.CERTIFIED else 0.0
    if wrong := refuted_by_facts(status, told, tol):
        return wrong
    proof = getattr(told, "proof", None)
    apart = getattr(told if proof is None else proof, "separable", None)
    if status is Status.INSEPARABLE and apart is not False:
        return ["status: INSEPARABLE, but there is no proof of it"]
    if status is Status.NO_MAXIMUM:
        return ["status: NO_MAXIMUM, but no plane proves it"]
    return []


def _other_weights(model: Classifier, facts: Any, data: Stream) -> list[str]:
    """Whether the weights of classes, and what follows from them, are those of the rows.

    Where the model says nothing that depends on how many rows a class has, none are read.
    """
    from linsep.models.parts import class_factors
    from linsep.rows.parts import looked_at

    given, factors = getattr(model, "class_weight", None), getattr(facts, "factors", None)
    known = model.classes_
    mass = np.full(len(known), np.nan)
    likelihood, shares = hasattr(model, "null_log_likelihood_"), hasattr(model, "priors_")
    if given == "balanced" or likelihood or shares:
        look = looked_at(data, fit_intercept=True, class_weight=None)
        if look.classes.tolist() != known.tolist():
            return ["classes: those of the model are not those of the rows"]
        mass = look.mass
    wanted = class_factors(given, known, mass)
    wrong = []
    if factors is not None and not _alike(factors, wanted):
        wrong.append(f"class_weight: {given!r:.60} does not give the factors {factors!r:.60}")
    mass = mass * wanted
    found = getattr(model, "priors_", None) if getattr(model, "priors", None) is None else None
    if found is not None and not _alike(found, mass / mass.sum()):
        wrong.append("priors: they are not the shares of the classes")
    if hasattr(model, "_keep_stream"):
        again: Any = copy(model)
        with np.errstate(divide="ignore"):
            again._keep_stream(mass)
        names = ("margin_width_", "log_likelihood_", "null_log_likelihood_", "separation_")
        for name in names:
            mine, its = getattr(model, name, None), getattr(again, name, None)
            if not _alike(mine, its):
                wrong.append(f"{name.rstrip('_')}: found {its!r:.60}, stored {mine!r:.60}")
    return wrong


def _alike(one: Any, other: Any) -> bool:
    """Whether both are the same but for rounding."""
    if one is None or other is None or isinstance(one, str) or isinstance(other, str):
        return bool(one is other)
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-9, atol=1e-12)


def certify(args: Namespace) -> int:
    """Print objective, lower bound and gap of a model."""
    import linsep

    model = _model(args)
    with opened(args, columns=_columns(model)) as data, watching(data):
        report = linsep.certify(model, data, time_limit=args.time_limit)
    emit(report.to_dict() if args.json else str(report), as_json=args.json)
    return 0


def _model(args: Namespace) -> Any:
    from linsep.formats import load

    model = load(args.model)
    if not (hasattr(model, "coef_") or hasattr(model, "means_")):
        raise ModelError(
            f"{args.model} holds {type(model).__name__}, which is no plain plane of columns; for "
            "data that are read part by part only those are taken."
        )
    return model


def _columns(model: Classifier) -> list[str] | None:
    named = getattr(model, "feature_names_in_", None)
    return None if named is None else [str(name) for name in named]


# -- predict --------------------------------------------------------------------------------------


def predict(args: Namespace) -> int:
    """Print one line for each row, block by block."""
    if args.json:
        raise SettingError(
            "--json would hold all answers at once; of data that are read part by part they are "
            "one a line."
        )
    model = _model(args)
    if args.proba and not hasattr(model, "predict_proba"):
        raise SettingError(
            f"--proba: {type(model).__name__} has no probabilities; logistic-regression has."
        )
    require_writable(args.output, read=[args.data, args.model])
    columns = _columns(model)
    with opened(args, columns, target=_label_column(args, columns)) as data:
        if args.output is None:
            rows, right, known = _answers(args, model, data, sys.stdout.buffer)
        else:
            with written_in_parts(args.output) as file:
                rows, right, known = _answers(args, model, data, file)
            narrate(f"{count(rows, 'prediction')} written to {args.output}")
    if known:
        narrate(f"{right} of {rows} agree with the labels in the file")
    return 0


def _label_column(args: Namespace, columns: list[str] | None) -> Any:
    """Labels to compare with, where the files have a column that is none of the model's."""
    if args.target is not None or columns is None:
        return None
    from linsep.data.stream import stream

    every = stream(args.data, target=False, workers=1).feature_names or ()
    others = [name for name in every if name not in columns]
    named = [name for name in others if name.lower() in ("y", "label", "class", "target")]
    return named[0] if named else False


def _answers(
    args: Namespace, model: Classifier, data: Stream, file: BinaryIO
) -> tuple[int, int, bool]:
    """Write them; how many rows there are, how many agree with their labels, if there are any."""
    from linsep.models.verified import nameless

    rows = right = 0
    known, model = data.labelled, nameless(model)
    for place, block in data.blocks():
        if block.X.shape[1] != model.n_features_in_:
            raise ModelError(
                f"{place.part} has {count(block.X.shape[1], 'feature')}; the model was trained on "
                f"{model.n_features_in_}."
            )
        classes = model.predict(block.X)
        more: NDArray[Any] | None = None
        if args.proba:
            more = model.predict_proba(block.X)
        elif args.scores:
            more = model.decision_function(block.X).reshape(len(classes), -1)
        file.write(_lines(classes, more))
        rows += len(classes)
        known &= block.y is not None
        if block.y is not None:
            right += int(np.sum(block.y.astype(str) == classes.astype(str)))
    return rows, right, known


def _lines(classes: NDArray[Any], more: NDArray[Any] | None) -> bytes:
    if more is None:
        text = "\n".join(map(str, classes.tolist()))
    else:
        text = "\n".join(
            "\t".join([str(label), *(f"{value:.17g}" for value in row)])
            for label, row in zip(classes.tolist(), more.tolist())
        )
    return text.encode("utf-8", "surrogatepass") + b"\n"
