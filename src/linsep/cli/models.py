"""A model file and the data that it is asked about, as its classifier sees them."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from linsep.cli.common import check_features, fitted_to, in_order
from linsep.cli.lifting import behind, plain
from linsep.core.protocol import is_pipeline
from linsep.data.table import Table


def model_and_data(args: Namespace, model: object = None) -> tuple[Any, Table]:
    """The classifier of MODEL, and DATA behind its columns, scalers and lifts."""
    from linsep.cli.predict import read_for
    from linsep.formats import load

    found: Any = load(args.model) if model is None else model
    if hasattr(found, "columns_"):
        from linsep.cli.columns import behind_columns

        return behind_columns(args, found)
    data = in_order(found, read_for(args, found))
    found = fitted_to(found, data)
    check_features(found, data)
    return behind(found, plain(data) if is_pipeline(found) else data)
