"""The files of the page: modules and styles as they lie in the package; nothing is built."""

from __future__ import annotations

from functools import cache
from importlib import resources

from linsep.display.replay import as_part, static_part

_SHARED = ("plot.js", "field.js", "colours.css")  # with the replay page
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}
MODULES = (
    "plot.js", "field.js", "algebra.js", "state.js", "widgets.js", "plane.js", "space.js",
    "views.js", "curves.js", "words.js", "export.js", "lab.js",
)  # fmt: skip
"""In the order in which they need each other."""


@cache
def part(name: str) -> str:
    """A file of the page."""
    if name in _SHARED:
        return static_part(name)
    return resources.files("linsep.lab").joinpath("static", name).read_text(encoding="utf-8")


def files() -> dict[str, tuple[str, str]]:
    """Names of the files that a page may ask for, with their types and texts."""
    names = [*MODULES, "main.js", "colours.css", "lab.css", "index.html"]
    return {name: (_TYPES[name[name.rindex(".") :]], part(name)) for name in names}


def bundle() -> str:
    """All modules as one, for hosts that take a single one; their top-level names are distinct."""
    return "\n".join(as_part(part(name)) for name in MODULES)


def style() -> str:
    """All styles of the page inside one element."""
    return (part("colours.css") + part("lab.css")).replace(":root", ".lab")
