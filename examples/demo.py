"""The main job, end to end, on data that come with linsep: make demo."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import linsep

OUT = Path("demo")


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def main() -> None:
    """Verdict, fit, certificate, model file, picture."""
    OUT.mkdir(exist_ok=True)
    students = linsep.data.load("students")
    X, y = students.X, students.y

    heading("1. Four students: is grade A linearly separable from grade F?")
    proof = linsep.separability(X, y)
    print(proof.explain())
    (OUT / "proof.json").write_text(proof.to_json())
    again = linsep.Proof.from_dict(json.loads((OUT / "proof.json").read_text()))
    print(f"proof.json read back and checked against the data: {again.check(X, y)}")

    heading("2. A perceptron learns it, as in the lecture")
    named = students.frame().drop(columns=students.target)  # rows and columns with their names
    run = linsep.trace(linsep.Perceptron(start=([0.25] * 4, 0.25)), named, y)
    print(run.narrate())
    bound = linsep.risk.novikoff_bound(X, y, start=([0.25] * 4, 0.25))
    print(f"Novikoff's bound allows {int(bound)} updates; it made {run.outcome.updates}.")
    page = run.to_html(class_names=students.classes)
    (OUT / "replay.html").write_text(page, encoding="utf-8")

    heading("3. The plane of maximum margin, with bounds of the margin")
    points = linsep.data.load("mse-1")
    model = linsep.Kozinec(eps=1e-9).fit(points.X, points.y)
    print(model.summary())
    linsep.save(model, OUT / "model.json")
    loaded = linsep.load(OUT / "model.json")
    same = np.array_equal(loaded.predict(points.X), model.predict(points.X))
    print(f"model.json read back predicts the same: {same}")

    heading("4. Five points that nothing separates, and four rows that prove it")
    five = linsep.data.load("five-points")
    print(linsep.separability(five.X, five.y).explain())
    pocket = linsep.Perceptron(keep="pocket", order="cyclic", start=([1, 1], 1)).fit(five.X, five.y)
    print(pocket.summary())

    heading("5. The fewest errors of any line, and the probabilities of logistic regression")
    print(linsep.risk.minimum_errors(five.X, five.y))
    logistic = linsep.LogisticRegression(C=1.0).fit(five.X, five.y)
    print(logistic.summary())

    heading("6. XOR: nothing separates it, until it is lifted")
    xor = linsep.data.load("xor-01")
    print(linsep.separability(xor.X, xor.y))
    lift = linsep.Lift("x1, x2, (x1 - x2)**2")
    lifted = linsep.LinearSVM(C=np.inf).fit(lift.fit_transform(xor.X), xor.y)
    print(lift.pullback(lifted).text())

    heading("7. A picture")
    display = linsep.DecisionDisplay.from_estimator(model, points.X, points.y)
    display.figure_.savefig(OUT / "decision.png", dpi=150, bbox_inches="tight")
    print("written: " + ", ".join(sorted(f"demo/{p.name}" for p in OUT.iterdir())))


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    main()
