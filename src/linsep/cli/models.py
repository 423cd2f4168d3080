"""A model file and the data that it is asked about, as its classifier sees them."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from linsep.cli.common import check_features, fitted_to, in_order
from linsep.cli.lifting import behind, is_pipeline, plain
from linsep.data.table import Table


def model_and_data(args: Namespace, model: Any = None) -> tuple[Any, Table]:
    """The classifier of MODEL, and DATA behind its columns, scalers and lifts."""
    from linsep.cli.predict import read_for
    from linsep.formats import load

    model = load(args.model) if model is None else model
    if hasattr(model, "columns_"):
        from linsep.cli.columns import behind_columns

        return behind_columns(args, model)
    data = in_order(model, read_for(args, model))
    model = fitted_to(model, data)
    check_features(model, data)
    return behind(model, plain(data) if is_pipeline(model) else data)
