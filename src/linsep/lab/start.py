"""``linsep.lab``: the lab from Python, as a page of its own or inside a notebook."""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any

import numpy as np

from linsep.core.validate import as_matrix
from linsep.data.lectures import available, load
from linsep.data.table import Table
from linsep.errors import DataError, require
from linsep.lab.methods import BY_KEY
from linsep.lab.page import bundle, part, style
from linsep.lab.player import Task


def lab(
    X: Any = None,
    y: Any = None,
    *,
    method: str = "perceptron",
    browser: bool = True,
    widget: bool | None = None,
    **settings: Any,
) -> Any:
    """Open the lab: every method step by step, with points that can be moved.

    Parameters
    ----------
    X : array, data frame, Table or str, optional
        Rows of one feature or more; or a table; or the name of a bundled set. Without it, or
        without labels, the lab opens with a set of the lectures.
    y : array, optional
        Labels of any kind, at most ten classes.
    method : str, default="perceptron"
        Where to begin; a key of ``linsep.lab.methods``, such as "kozinec" or "linear-svm".
    browser : bool, default=True
        Whether to open the page in the browser of this machine.
    widget : bool, optional
        True gives a widget for a notebook (``pip install 'linsep[notebook]'``), False a page of
        its own. None: a widget inside a notebook where one can be had.
    **settings
        Settings of the method, such as ``C=10``.

    Returns
    -------
    Lab or LabWidget
        ``table`` is what stands on the page: the points as they were drawn; ``model`` is the fit
        and ``run`` the recorded run, both bit for bit. ``close()`` ends it.

    Examples
    --------
    >>> import linsep
    >>> page = linsep.lab("students", browser=False)
    >>> page.url.startswith("http://127.0.0.1:"), page.table.X.shape
    (True, (4, 4))
    >>> page.close()
    """
    start = start_of(X, y, method, settings)
    if widget or (widget is None and _in_notebook()):
        from linsep.lab.start import widget_class

        return widget_class()(start)
    from linsep.lab.server import Lab

    page = Lab(start).start()
    if browser:
        page.open()
    return page


def start_of(X: Any, y: Any, method: str, settings: dict[str, Any]) -> dict[str, Any]:
    """What a page begins with: a task, or nothing."""
    if method not in BY_KEY:
        raise DataError(f"there is no method {method!r}; there are {', '.join(BY_KEY)}.")
    table = _table(X, y)
    if table is None and method == "perceptron" and not settings:
        return {"task": None}
    table = load("students") if table is None else table
    chosen = BY_KEY[method]
    return {"task": Task(table, chosen, chosen.read(settings)).told()}


def _table(X: Any, y: Any) -> Table | None:
    if X is None:
        return None
    if isinstance(X, Table):
        return X
    if isinstance(X, str):
        if X not in available():
            raise DataError(f"there is no set {X!r}; there are {', '.join(available())}.")
        return load(X)
    if y is None:
        raise DataError("rows need labels: linsep.lab(X, y).")
    matrix = as_matrix(X)
    dense = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
    index = list(getattr(X, "index", ())) if names else []
    rows = tuple(index) if index and all(isinstance(name, str) for name in index) else None
    labels = np.asarray(y)
    if labels.shape != (len(dense),):
        raise DataError(f"X has {len(dense)} rows and y has shape {labels.shape}.")
    return Table(X=dense, y=labels, feature_names=names, row_names=rows, name="rows")


def _in_notebook() -> bool:
    """Whether this runs under a kernel that shows widgets, and anywidget is there."""
    if "ipykernel" not in sys.modules:
        return False
    import importlib.util

    return importlib.util.find_spec("anywidget") is not None


# -- in a notebook: the same page as a widget, whose traits are what it shows -----------------


@cache
def widget_class() -> Any:
    """The class; made when first asked for, since anywidget is an extra."""
    base: Any = require("anywidget", extra="notebook", what="the lab in a notebook").AnyWidget
    traitlets = require("traitlets", extra="notebook", what="the lab in a notebook")
    from linsep.lab.server import Answers, Shown

    class LabWidget(Shown, base):
        """The lab as a widget.

        Attributes
        ----------
        task : dict
            Rows, method and settings on the page.
        step, method, verdict
            Where it stands, by which method, and whether the classes are separable.
        table, model, run
            The points on the page, the fit and the run: ``run[step]`` is what it shows.
        hide : list of str
            Parts of the page to leave out, as behind ``?hide=`` of the page.
        """

        _esm = bundle() + part("widget.js")
        _css = style()
        task = traitlets.Dict().tag(sync=True)
        step = traitlets.Int(0).tag(sync=True)
        method = traitlets.Unicode("perceptron").tag(sync=True)
        verdict = traitlets.Unicode("").tag(sync=True)
        hide = traitlets.List().tag(sync=True)

        def __init__(self, start: dict[str, Any], **more: Any) -> None:
            super().__init__(task=start.get("task") or {}, **more)
            self._answers = Answers(start, lambda task: None)
            self.on_msg(self._asked)

        def _asked(self, _: Any, content: Any, buffers: Any) -> None:
            import base64

            verb, data = str(content.get("verb")), content.get("data")
            body = base64.b64decode(data) if verb == "read" else json.dumps(data).encode()
            found = self._answers.answer(verb, body, str(content.get("name", "")))
            self.send({"id": content.get("id"), "answer": json.loads(found)})

    return LabWidget
