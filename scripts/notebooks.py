"""Run the notebooks of docs/notebooks, and write what they print and draw into them.

    python scripts/notebooks.py            # run all; say where the stored text is not what came out
    python scripts/notebooks.py --write    # store it, pictures included

Cells are run one after the other in one namespace, as a notebook does, without a kernel or a
server: what they print is stored, and every figure that they leave open. No cell may use magic
commands, and none may print what differs from run to run.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import io
import json
import sys
import warnings
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
_DOTS = 72  # to the inch, in stored pictures


def run(notebook: dict[str, Any], pictures: bool = False) -> list[list[dict[str, Any]]]:
    """Outputs of the code cells; warnings are errors, for a reader would see them."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    scope: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    for number, cell in enumerate(code_cells(notebook), start=1):
        printed = io.StringIO()
        code = compile("".join(cell["source"]), f"cell {number}", "exec")
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(code, scope)
        outputs.append(_text(printed.getvalue()))
        for figure in map(plt.figure, plt.get_fignums()):
            if pictures:
                outputs[-1].append(_picture(figure))
        plt.close("all")
    return outputs


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that are run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed(outputs: list[dict[str, Any]]) -> str:
    """The text of the outputs of a cell."""
    return "".join("".join(one["text"]) for one in outputs if one["output_type"] == "stream")


def _text(text: str) -> list[dict[str, Any]]:
    if not text:
        return []
    return [{"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}]


def _picture(figure: Any) -> dict[str, Any]:
    raw = io.BytesIO()
    figure.savefig(raw, format="png", dpi=_DOTS, metadata={"Software": None})
    data = base64.b64encode(raw.getvalue()).decode()
    words = f"<Figure of {len(figure.axes)} axes>"
    return {
        "output_type": "display_data",
        "data": {"image/png": data, "text/plain": [words]},
        "metadata": {},
    }


def main() -> int:
    """Run what was asked for; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="store what the cells print and draw")
    parser.add_argument("names", nargs="*", help="notebooks, all without them")
    asked = parser.parse_args()
    differ = 0
    for path in map(Path, asked.names) if asked.names else sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        outputs = run(notebook, pictures=asked.write)
        for number, (cell, found) in enumerate(zip(code_cells(notebook), outputs), start=1):
            if asked.write:
                cell["outputs"], cell["execution_count"] = found, number
            elif printed(cell["outputs"]) != printed(found):
                differ += 1
                print(f"{path.name}: cell {number} prints something else:\n{printed(found)}")
        if asked.write:
            text = json.dumps(notebook, indent=1, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")
        print(f"{path.name}: {len(outputs)} cells")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
