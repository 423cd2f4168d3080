"""The lab inside a notebook: the same page as a widget, whose traits are what it shows."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from linsep.errors import require
from linsep.lab.page import bundle, part, style


@cache
def widget_class() -> Any:
    """The class; made when first asked for, since anywidget is an extra."""
    base: Any = require("anywidget", extra="notebook", what="the lab in a notebook").AnyWidget
    traitlets = require("traitlets", extra="notebook", what="the lab in a notebook")

    class LabWidget(base):
        """The lab as a widget.

        Attributes
        ----------
        task : dict
            Rows, method and settings on the page.
        step, method, verdict
            Where it stands, by which method, and whether the classes are separable.
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
            from linsep.lab.server import Answers

            super().__init__(task=start.get("task") or {}, **more)
            self._answers = Answers(start, lambda task: None)
            self.on_msg(self._asked)

        @property
        def table(self) -> Any:
            """The points as they stand on the page."""
            from linsep.lab.player import Task

            return Task.of(self.task).table if self.task else None

        @property
        def model(self) -> Any:
            """The fit on the page, bit for bit."""
            from linsep.lab.player import Player, Task

            return Player(Task.of(self.task)).fitted

        def _asked(self, _: Any, content: Any, buffers: Any) -> None:
            import base64

            verb, data = str(content.get("verb")), content.get("data")
            body = base64.b64decode(data) if verb == "read" else json.dumps(data).encode()
            found = self._answers.answer(verb, body, str(content.get("name", "")))
            self.send({"id": content.get("id"), "answer": json.loads(found)})

    return LabWidget
