"""The pictures of the five lectures in their order, each a state of the lab.

A slide names a set, a method, its settings and the step that the lecture prints; its text says what
to look at, with the numbers of the lecture, or of its errata where those differ.
"""

from __future__ import annotations

from typing import Any


def _slide(
    title: str, text: str, set: str, method: str = "perceptron", **more: Any
) -> dict[str, Any]:
    return {"title": title, "text": text, "set": set, "method": method, **more}


LECTURES: list[dict[str, Any]] = [
    {
        "key": "000",
        "title": "Learning and linear classifiers",
        "slides": [
            _slide(
                "Design by estimating parameters",
                "Mean and covariance of each class are estimated, as if they were Gaussian, and "
                "the likelier class is taken: the border is a curve of second degree.",
                "two clouds that meet", "gaussian",
            ),
            _slide(
                "Underfitting",
                "A kernel that is nearly a plane: too narrow a class of strategies. Hollow rows "
                "are held out: neither they nor the others are told apart well.",
                "four corners", "kernel-svm", settings={"gamma": 0.001, "C": 1.0}, test=0.3,
                step=99, view="gram",
            ),
            _slide(
                "A fit",
                "A wider class: rows that were learned from and rows held out are right alike.",
                "four corners", "kernel-svm", settings={"gamma": 0.5, "C": 10.0}, test=0.3,
                step=99, view="gram",
            ),
            _slide(
                "Overfitting",
                "An island around every row: no error on what was learned from, and the rows held "
                "out are on the wrong side. A small empirical risk is not a small true risk.",
                "four corners", "kernel-svm", settings={"gamma": 30.0, "C": "inf"}, test=0.3,
                step=99, view="gram",
            ),
            _slide(
                "Linear separability of two classes",
                "Is there a line with each class on its own side? The strip says so and proves it. "
                "Drag a point into the other class until the hulls meet: the verdict flips, and "
                "the rows that prove it are ringed.",
                "two clouds", view="hulls", settings={}, step=0,
            ),
            _slide(
                "Augmented rows, reflected rows",
                "Points of the line, a constant 1 beside each, and the class −1 turned to the "
                "other side of the origin: three pictures, and the slider goes from the second to "
                "the third. The weights are right when all of them lie on one side.",
                "points on a line", convention="000", view="reflected", step=2,
            ),
            _slide(
                "Example 1: two points, two updates",
                "All weights are 0, so both are wrong. The first is added; the second is still "
                "wrong and is taken away. Done.",
                "two points", convention="000", view="reflected", step=2,
            ),
            _slide(
                "The perceptron algorithm",
                "w'(0) = 0. A row with w'.x'' ≤ 0 is added to the weights; the run ends when every "
                "row is on its own side. Step through it and read the numbers.",
                "two close classes", convention="000", settings={}, view="weights",
            ),
            _slide(
                "An optimisation: the criterion of the perceptron",
                "The number of errors is constant between jumps, so there is nothing to descend. "
                "J_p, the sum of −w'.x'' over the rows that are wrong, falls in straight pieces, "
                "and is 0 where all are right.",
                "two close classes", settings={"update": "batch", "eta": 0.1}, convention="000",
                view="cost", step=3,
            ),
            _slide(
                "Novikoff: not more than D²/m² updates",
                "The path in weight space: every update moves the weights by a reflected row, so "
                "|w'|² grows by at most D² a step, while w'.w* grows by at least m.",
                "example-3.2", convention="000", view="weights", step=2,
            ),
            _slide(
                "Data that nothing separates: best weights so far",
                "All rows that are wrong are added at once, from w'(0) = 0. The weights with "
                "fewest errors so far are kept; t_lup is the update that made them. The strip "
                "proves that no weights are without error.",
                "five-points", convention="000", settings={"update": "batch"}, view="weights",
                step=9,
            ),
            _slide(
                "Kozinec: the nearest point of the hull",
                "a is a point of the hull of the reflected rows. A step goes to the point of the "
                "segment from a to a misplaced row that is nearest to the origin.",
                "two clouds", "kozinec", settings={"space": "augmented", "eps": 0.01}, view="hulls",
            ),
            _slide(
                "The ε-solution: two bounds close in",
                "min z.a/|a| ≤ m ≤ |a|. Each step moves the bounds towards each other; at a "
                "distance of ε the run ends. Move the slider of ε.",
                "two close classes", "kozinec", settings={"eps": 0.01}, view="hulls",
            ),
            _slide(
                "A linear machine: argmax of K functions",
                "With three classes and more the largest of w_k.x + w_0k decides; the regions are "
                "convex, and nothing is undecided.",
                "three classes", "kesler", view="regions", step=3,
            ),
            _slide(
                "A lift makes it linear",
                "No line separates a disc from the ring around it. With the third feature "
                "x1² + x2² a plane does, and its pullback is a circle.",
                "ring", lift="x1, x2, x1**2 + x2**2", view="lift", step=12,
            ),
            _slide(
                "Lifting a line: x becomes (x, x² − 1)",
                "One class lies between two parts of the other. With a second feature a line does "
                "it; on the line of x it is two points. The lecture's points are only in a "
                "picture: these lie as its f(x) = −.12 − 1.5x + 3.12x² says. Whether x² − 1 is "
                "quicker than x² depends on the points.",
                "an interval", lift="x1, x1**2 - 1", convention="000", view="lift", step=99,
            ),
        ],
    },
    {
        "key": "001",
        "title": "Learning linear classifiers",
        "slides": [
            _slide(
                "A classifier through the origin",
                "Without θ₀ the line goes through the origin: two dimensions of weights, so the "
                "weight space is a plane, and the solutions are a cone in it.",
                "undershoot", settings={"fit_intercept": False}, convention="001", view="weights",
            ),
            _slide(
                "Figure 1: the update rule",
                "θ(0) = 0 errs on both points: θ(1) = θ(0) + x1 turns the line, θ(2) = θ(1) − x2 "
                "sets it right.",
                "two points", settings={"fit_intercept": False}, convention="001", step=2,
                view="reflected",
            ),
            _slide(
                "An update may undershoot",
                "The example that caused the update is still wrong after it. y(θ.x) grows by |x|² "
                "with each update, so repeating it sets it right in the end: here 8 of 10 updates "
                "undershoot.",
                "undershoot", settings={"fit_intercept": False}, convention="001", step=3,
            ),
            _slide(
                "Not separable through the origin, but with θ₀",
                "Two points on a line. Take the offset away: the verdict flips.",
                "offset-pair", convention="001", settings={}, view="weights",
            ),
        ],
    },
    {
        "key": "002",
        "title": "Linear separation and feature maps",
        "slides": [
            _slide(
                "Separators are not unique",
                "Every line x2 = m x1 + b with −1 < b < 1 separates these two. The region of "
                "solutions in weight space is open and large.",
                "two-separators", convention="002", view="weights", step=2,
            ),
            _slide(
                "The cost C(D, w)",
                "The penalty of a row is max(−y w.x, 0); their sum is 0 where the line separates, "
                "and nowhere else.",
                "two close classes", convention="002", view="cost", step=4,
            ),
            _slide(
                "The perceptron with the lowest-index rule",
                "After each update it looks again from the first row on.",
                "two close classes", settings={"order": "restart"}, convention="002",
            ),
            _slide(
                "Exclusive or: no line separates it",
                "All four rows with equal multipliers sum to zero: their hulls meet in the middle.",
                "xor-01", view="hulls",
            ),
            _slide(
                "The feature map (x1, x2, (x1 − x2)²)",
                "In space the plane x3 = 1/2 separates. In the plane that is x1 − x2 = ±1/√2; the "
                "lecture prints ±1/2.",
                "xor-01", lift="x1, x2, (x1 - x2)**2", view="lift", step=5,
            ),
        ],
    },
    {
        "key": "003",
        "title": "Logistic regression, linear discriminants, MSE, SVM",
        "slides": [
            _slide(
                "From Gaussians to a linear rule",
                "Independent features, variances that both classes share: ln P(1|x)/P(0|x) is "
                "linear, and so is the border.",
                "two clouds that meet", "gaussian", settings={"covariance": "shared-diagonal"},
            ),
            _slide(
                "The logistic function",
                "P(Y = 1 | x) = 1 / (1 + exp(−f)), between 0 and 1; where it is 1/2 lies the "
                "boundary, a line.",
                "two clouds that meet", "logistic-newton", view="probability", step=99,
            ),
            _slide(
                "Logistic regression: gradient ascent",
                "The cost over two weights is convex; the path runs down its valley. With C = ∞ on "
                "separable data there is no minimum, and the lab says so.",
                "two clouds that meet", "logistic-gradient", view="cost",
            ),
            _slide(
                "Logistic regression: Newton's method",
                "The same valley in a few steps.",
                "two clouds that meet", "logistic-newton", view="cost",
            ),
            _slide(
                "Normalisation: before and after",
                "Each row has a 1 beside it, and rows of class 2 are replaced by their negatives: "
                "now all have to be on the positive side. The slider goes from one picture to the "
                "other.",
                "mse-1", view="reflected", convention="003", step=15,
            ),
            _slide(
                "Gradient descent: η is too small",
                "The path creeps down the valley.",
                "mse-1", "least-squares", settings={"eta": 0.0002}, view="cost", step=60,
            ),
            _slide(
                "Gradient descent: η is too large",
                "Each step goes beyond the minimum, and the cost grows without end; the end of "
                "the run says so.",
                "mse-1", "least-squares", settings={"eta": 0.007}, view="cost", step=12,
            ),
            _slide(
                "Solution region",
                "Each row allows the weights on one side of its edge. Where all sides overlap are "
                "the solutions.",
                "mse-1", view="weights", convention="003",
            ),
            _slide(
                "Single sample: who gets grade A?",
                "a(1) = [.25 .25 .25 .25 .25]. Jane is right; Steve, Mary and Peter are wrong in "
                "turn; a(4) = [−.75 1.25 −.75 −.75 −.75] separates.",
                "students", settings={"start": [0.25, 0.25, 0.25, 0.25, 0.25]}, visits=True,
                convention="003", step=2,
            ),
            _slide(
                "Another start, another answer",
                "From a(1) = [0 .5 .5 0 0] (offset first) the solution is [−1 1.5 −.5 −1 −1]: "
                "being tall matters least.",
                "students", settings={"start": [0.5, 0.5, 0.0, 0.0, 0.0]}, visits=True,
                convention="003", step=99,
            ),
            _slide(
                "η too large, η too small",
                "Below the weights: whether the row of this update is still wrong after it (η was "
                "too small for it), and how many that were right before are wrong now (too large). "
                "Step on, and move η.",
                "five-points", settings={"start": [1, 1, 1]}, convention="003", step=1,
            ),
            _slide(
                "Five points that nothing separates",
                "From a(1) = [1 1 1] the weights never come to rest; some of them make one error, "
                "and no plane makes none. The pocket keeps the best.",
                "five-points", settings={"start": [1, 1, 1]}, convention="003", step=4,
            ),
            _slide(
                "A rate that falls: η(1)/k",
                "The weights come to rest, though not always at a good place; the best so far are "
                "kept.",
                "five-points", settings={"start": [1, 1, 1], "decay": "inverse"},
                convention="003", step=40,
            ),
            _slide(
                "The criteria: errors, perceptron, squares",
                "What a row costs by its value y f(x): 0/1, perceptron, hinge, logistic, squared.",
                "five-points", settings={"start": [1, 1, 1]}, view="loss", step=4,
            ),
            _slide(
                "Minimum squared error: it separates",
                "Targets 1, 1, 1, 1: a = [237/89 93/89 −84/89], and every row is on its own side.",
                "mse-1", "least-squares-exact", view="cost",
            ),
            _slide(
                "Minimum squared error: it does not separate",
                "The row (0, 10) is far away and pulls the line over: the third row, (5, 9), is "
                "wrong although the set is separable.",
                "mse-2", "least-squares-exact", view="cost",
            ),
            _slide(
                "Minimum squared error: other targets",
                "The far row may be far: with targets 1, 1, 1, 10 the plane separates, "
                "a = [−1.05 1.66 −.90] (the slide prints −1.1 1.7 −.9).",
                "mse-2", "least-squares-exact", settings={"targets": [1, 1, 1, 10]}, view="cost",
            ),
            _slide(
                "Ho and Kashyap: targets that adapt",
                "Targets may grow: e > 0 raises them, and the plane follows until it separates.",
                "mse-2", "ho-kashyap", view="cost",
            ),
            _slide(
                "Widrow and Hoff",
                "One row at a time, a step against its own error.",
                "mse-1", "widrow-hoff", settings={"eta": 0.01}, view="cost",
            ),
            _slide(
                "The optimal plane: maximum margin",
                "C = ∞: the widest street. Rows on its edges are the support vectors.",
                "two clouds", "linear-svm", settings={"C": "inf"}, view="hulls", step=99,
            ),
            _slide(
                "Slack: a small C",
                "Red segments are slack. A small C (β on the slides) buys a wide street, and many "
                "rows stand in it.",
                "two clouds that meet", "linear-svm", settings={"C": 0.05}, view="loss", step=99,
            ),
            _slide(
                "Slack: a large C",
                "A large C leaves few rows that are not in their place, and the street is narrow.",
                "two clouds that meet", "linear-svm", settings={"C": 1000.0}, view="loss", step=99,
            ),
            _slide(
                "A line that is not separable, lifted to the plane",
                "φ(x) = (x, x²): the widest street there, two thresholds on the line.",
                "an interval", "linear-svm", lift="x1, x1**2", settings={"C": "inf"}, view="lift",
                step=99,
            ),
            _slide(
                "The kernel trick: exclusive or",
                "(x.y + 1)²: multipliers 1/8 (the slide prints .25), g(x) = −x1 x2.",
                "xor", "kernel-svm",
                settings={"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0, "C": "inf"},
                view="gram", step=99,
            ),
            _slide(
                "Exclusive or in the feature space",
                "Of the six features x1 x2 alone decides: over x1 and x1 x2 the classes lie above "
                "and below a line.",
                "xor", "linear-svm", lift="x1, x1*x2", settings={"C": "inf"}, view="lift", step=99,
            ),
            _slide(
                "A Gaussian kernel",
                "Move γ: small is nearly a plane, large is an island around every row.",
                "ring", "kernel-svm", settings={"gamma": 0.5, "C": 10.0}, view="gram", step=99,
            ),
            _slide(
                "Two multipliers at a time",
                "Sequential minimal optimisation: each step moves the multipliers of one pair of "
                "rows, ringed, and leaves Σ αᵢ yᵢ = 0. The two objectives close in.",
                "ring", "kernel-svm",
                settings={"gamma": 0.5, "C": 10.0, "working_set": "two"}, view="gram", step=1,
            ),
            _slide(
                "Many classes: one against all",
                "Class or rejection: where no machine or several accept, nothing is decided.",
                "three classes", "one-vs-rest", view="regions",
            ),
            _slide(
                "Many classes: the highest value decides",
                "The same machines, asked for more than the sign: nothing is left undecided.",
                "three classes", "one-vs-rest", settings={"decide": "argmax"}, view="regions",
            ),
            _slide(
                "Many classes: pairwise",
                "N(N − 1)/2 machines, the class that wins most duels.",
                "three classes", "one-vs-one", view="regions",
            ),
        ],
    },
    {
        "key": "004",
        "title": "Linear classifiers, after Theodoridis",
        "slides": [
            _slide(
                "Example 3.1: one batch step",
                "w = [1, 1, −.5], ρ = .7: both vectors are wrong, and w(t+1) = [1.42, .51, −.5].",
                "example-3.1", settings={"update": "batch", "eta": 0.7, "start": [1, 1, -0.5]},
                convention="004", step=1, view="weights",
            ),
            _slide(
                "Example 3.2: reward and punishment",
                "w(0) = 0, ρ = 1, rows in their order: w(1) = [−1, 0, 1], w(2) = [−1, 1, 0].",
                "example-3.2", convention="004", visits=True, view="weights",
            ),
            _slide(
                "The pocket algorithm",
                "Rows in random order; the weights with most rows right are in the pocket, and are "
                "kept in the end.",
                "two clouds that meet", settings={"keep": "pocket", "order": "random"},
                convention="004",
            ),
            _slide(
                "Naive approach I: each class against the rest",
                "Hatched regions belong to no class, or to several.",
                "three classes", "one-vs-rest", view="regions", scheme="unanimous",
            ),
            _slide(
                "Naive approach II: pairs of classes",
                "A vote for each pair; a region in the middle may be left with equal votes.",
                "five classes", "one-vs-one", view="regions", scheme="votes",
            ),
            _slide(
                "The linear machine",
                "The largest g_i(x) decides: no region is left.",
                "five classes", "one-vs-rest", settings={"decide": "argmax"}, view="regions",
                scheme="argmax",
            ),
            _slide(
                "Kesler's construction",
                "A row of class i that class j beats adds itself to w_i and takes itself from w_j.",
                "three classes", "kesler", step=3, view="regions",
            ),
        ],
    },
]  # fmt: skip
