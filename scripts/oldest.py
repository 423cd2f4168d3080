"""Print the oldest releases that pyproject.toml allows, as constraints for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path


def oldest() -> list[str]:
    """For each package that linsep itself imports: ``name[part]>=1.6`` becomes ``name==1.6.*``.

    Tools of the tests are left as they are.
    """
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    own = (lines for name, lines in extras.items() if name != "test")
    lines = [*project["dependencies"], *(line for some in own for line in some)]
    found = [re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)(?:;.*)?", line) for line in lines]
    return [f"{one[1]}=={one[2]}.*" for one in found if one is not None]


if __name__ == "__main__":
    print("\n".join(oldest()))
