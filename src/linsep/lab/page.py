"""The files of the page: its modules, joined by text into one script, and styles as they are."""

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
    "plot.js", "field.js", "algebra.js", "frame.js", "state.js", "shares.js", "link.js",
    "flags.js", "widgets.js", "settings.js", "snapshot.js",
    "questions.js", "playback.js", "moment.js", "names.js", "proof.js",
    "chart.js", "ground.js", "brush.js", "pointer.js", "plane.js",
    "space.js", "picture.js", "weights.js", "bounds.js", "reflected.js", "hulls.js", "losses.js",
    "lift.js", "regions.js", "gram.js", "second.js", "curves.js", "words.js", "points.js",
    "editing.js", "tools.js", "controls.js", "strip.js", "files.js", "exports.js", "lesson.js",
    "address.js", "keys.js", "bar.js", "lab.js",
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
    texts = {name: part(name) for name in ("colours.css", "lab.css", "index.html")}
    texts["page.js"] = bundle() + as_part(part("main.js"))
    return {name: (_TYPES[name[name.rindex(".") :]], text) for name, text in texts.items()}


@cache
def bundle() -> str:
    """All modules as one, which comes at once; their top-level names are distinct."""
    return "\n".join(as_part(part(name)) for name in MODULES)


def style() -> str:
    """All styles of the page inside one element."""
    return (part("colours.css") + part("lab.css")).replace(":root", ".lab")
