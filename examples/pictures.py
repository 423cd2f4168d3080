"""Draw the pictures of the README and the documentation into docs/images."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import linsep

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"


def decision() -> None:
    """The plane of maximum margin of lecture 003's four points, with the hulls behind it."""
    table = linsep.data.load("mse-1")
    model = linsep.Kozinec(eps=1e-9).fit(table.X, table.y)
    names = {"class_names": table.classes}
    figure, ax = plt.subplots(figsize=(7.2, 5.4), layout="constrained")
    linsep.HullDisplay.from_estimator(
        model, *table, ax=ax, points=False, legend=False, title=False, **names
    )
    linsep.DecisionDisplay.from_estimator(model, *table, ax=ax, **names)
    figure.savefig(IMAGES / "decision.png", dpi=150)


def trace() -> None:
    """A perceptron on two clouds: each update turns the line, and the proof bounds them all."""
    rng = np.random.default_rng(27)
    X = np.vstack([rng.normal((1, 2.4), 0.7, (14, 2)), rng.normal((3.2, 1.1), 0.7, (14, 2))])
    y = np.repeat(["yes", "no"], 14)
    order = rng.permutation(len(X))
    run = linsep.trace(linsep.Perceptron(), X[order], y[order])
    run.plot().figure_.savefig(IMAGES / "trace.png", dpi=130)


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    decision()
    trace()
