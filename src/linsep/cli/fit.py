"""``linsep fit``: train a classifier, certify it, write it."""

from __future__ import annotations

import shlex
import warnings
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linsep.cli import streams
from linsep.cli.common import (
    emit,
    estimator,
    framed,
    kept_model,
    narrate,
    numbers_of,
    require_writable,
)
from linsep.cli.lifting import lifted, rule, with_lift
from linsep.core.limits import time_limit
from linsep.data.lectures import available
from linsep.errors import CheckpointError, LinsepWarning, SettingError

if TYPE_CHECKING:
    from linsep.core.checkpoint import Checkpointer
    from linsep.data.table import Table
    from linsep.models.base import Classifier


def run(args: Namespace) -> int:
    """Fit, print the summary, write the model."""
    from linsep.core.checkpoint import require_free

    written = args.resume if args.checkpoint is None else args.checkpoint
    require_writable(args.output, written, read=(args.data, args.test))
    if args.checkpoint and args.checkpoint != args.resume:
        require_free(args.checkpoint)
    if args.output:
        from linsep.formats import check_ending

        check_ending(args.output)
    if streams.wanted(args):
        return streams.fit(args)
    if _automatic(args):
        from linsep.cli import automatic

        return automatic.fit(args)
    columns, data = numbers_of(args, mend=True)
    if args.output and columns is not None and args.lift is not None:
        raise SettingError(
            "--lift is for tables of numbers; this one has other columns, and a model file would "
            "not hold them. Leave them out with --drop, or go without -o."
        )
    lift, data = lifted(args, data)
    observers = _observers(args)
    settings: dict[str, Any] = {"verbose": 0 if args.quiet else 1, "callbacks": observers}
    if args.time_limit is not None:
        settings["time_limit"] = args.time_limit
    model = estimator(args, **settings)
    _train(args, model, data)
    saved = not args.output or _save(args.output, columns, lift, model, data)
    words = rule(lift, model)
    if args.json:
        more = {} if lift is None else {"lift": args.lift, "rule": words}
        emit(report(model) | more, as_json=True)
    else:
        whole = model if columns is None else _whole(columns, None, model)
        emit(whole.summary() + (f"\n  inputs      {words}" if words else ""), as_json=False)
    if model.outcome_.interrupted:
        if observers:
            written = str(observers[0].path)  # another one, where two runs had the same
            narrate(f"interrupted; go on with: {again(args.argv, written)}")
        else:
            narrate("interrupted; with --checkpoint FILE it could be resumed")
        return 130
    return 0 if saved else 1


def _observers(args: Namespace) -> list[Checkpointer]:
    """Who writes the state of the run now and then, if anybody is asked to."""
    from linsep.core.checkpoint import Checkpointer

    path = args.checkpoint or args.resume
    every = {} if args.checkpoint_every is None else {"every": args.checkpoint_every}
    if every and not path:
        raise SettingError("--checkpoint-every goes with --checkpoint FILE.")
    return [Checkpointer(path, **every)] if path else []


def _train(args: Namespace, model: Classifier, data: Table) -> None:
    """Fit the model, or go on from a checkpoint; warnings are lines on stderr."""
    if args.resume and not Path(args.resume).exists():
        raise CheckpointError(f"{args.resume} does not exist; start without --resume.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LinsepWarning)
        X = framed(data)
        with time_limit(args.time_limit, begin=args.begin):
            weight = () if data.sample_weight is None else (data.sample_weight,)
            if args.resume:
                model.resume(X, data.y, args.resume, *weight)
            else:
                model.fit(X, data.y, *weight)
    for warning in caught:
        narrate(f"warning: {warning.message}")


def _save(output: str, columns: Any, lift: Any, model: Classifier, data: Table) -> bool:
    """Write the model without what belongs to this run; False if it is not where it was wanted."""
    from linsep.core.problem import Problem

    model.fingerprint_ = Problem(data.X, data.y).fingerprint  # ``linsep verify`` asks for it
    of_a_run = {"callbacks": None, "verbose": 0}
    known = model.get_params(deep=False)
    model.set_params(**{key: v for key, v in of_a_run.items() if key in known})
    return kept_model(output, _whole(columns, lift, model))


def _automatic(args: Namespace) -> bool:
    """Whether to choose the model: no algorithm is named, nor anything that only one run has."""
    if args.algorithm is not None:
        judged = args.cv or args.test or args.holdout or args.search
        if judged and (args.checkpoint or args.resume or args.lift is not None):
            raise SettingError(
                "--cv, --test, --holdout and --search go without --checkpoint, --resume and "
                "--lift, which are for one run."
            )
        return bool(judged)
    of_a_run = [args.set, args.checkpoint, args.resume, args.lift]
    bundled = not Path(args.data).exists() and args.data in available()
    if any(of_a_run) or bundled:
        args.algorithm = "perceptron"
        return False
    return True


def _whole(columns: Any, lift: Any, model: Classifier) -> Any:
    """What to save: the model behind its lift or its columns."""
    if columns is None:
        return with_lift(lift, model)
    from linsep.tables.tabular import Tabular

    return Tabular.of(columns, model)


def again(argv: list[str], checkpoint: str) -> str:
    """The same command, from the checkpoint."""
    words, skip = [], False
    for word in argv:
        if skip or word in ("--checkpoint", "--resume"):
            skip = not skip
        elif not word.startswith(("--checkpoint=", "--resume=")):
            words.append(word)
    return shlex.join(["linsep", *words, "--resume", checkpoint])


def report(model: Classifier) -> dict[str, Any]:
    outcome = model.outcome_
    return {
        "algorithm": type(model).__name__,
        "solver_used": model.solver_used_,
        "status": model.status_.name,
        "sentence": model.status_.value,
        "coef": _numbers(model, "coef_"),
        "intercept": _numbers(model, "intercept_"),
        "classes": model.classes_.tolist(),
        "updates": getattr(model, "n_updates_", None),
        "passes": outcome.passes,
        "seconds": outcome.seconds,
        "certificate": model.certificate_.to_dict(),
    }


def _numbers(model: object, name: str) -> Any:
    """An array as lists; None for a rule without it, such as a quadratic one."""
    return getattr(model, name).tolist() if hasattr(model, name) else None
