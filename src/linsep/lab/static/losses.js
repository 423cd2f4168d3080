// Rows by their value: what each costs under several losses, and the probability of its class.
import { LOSSES } from "./algebra.js";
import { polygonText, segment } from "./chart.js";
import { Picture } from "./picture.js";
import { make, show } from "./plot.js";

const DEPTH = -0.17; // where rows lie below the curves

// `count` numbers from -reach to reach.
const spread = (reach, count) =>
  Array.from({ length: count }, (_, k) => (2 * reach * k) / (count - 1) - reach);
const within = (value, reach) => Math.max(-reach, Math.min(reach, value));

export class Losses extends Picture {
  static title = "Losses";
  static lights = true;

  static fits({ run, moment, method }) {
    return moment.sign(0) !== 0 && (run.planes === 1 || !!method.kernel);
  }

  draw() {
    const { moment, method, questions } = this.lab;
    if (method.kernel) questions.gram(); // the values come of it
    const values = moment.values();
    const finite = values.filter(Number.isFinite);
    const reach = Math.min(6, Math.max(2, ...finite.map(Math.abs)));
    const c = this.chart({ x0: -reach, x1: reach, y0: -0.35, y1: 4 }, ["y f(x)", "loss"], { equal: false });
    Object.keys(LOSSES).forEach((name, k) => this._curve(c, name, k, reach));
    make(c.under, "line", { x1: c.x(0), x2: c.x(0), y1: c.y(-0.35), y2: c.y(4), class: "axis" });
    values.forEach((value, i) => {
      if (Number.isFinite(value)) this.lightMark(i, c.x(within(value, reach)), c.y(DEPTH));
    });
    const wrong = finite.filter((value) => value <= 0).length;
    this.view.tell(
      "What a row costs by its value y f(x). Marks below the curves are the rows in this step; " +
        "point at one to see it in the data.",
      `Losses as functions of y f(x); ${wrong} rows have a value of at most 0`,
    );
  }

  // A curve with its name, each where no other curve runs.
  _curve(c, name, k, reach) {
    const loss = LOSSES[name];
    const points = spread(reach, 241).map((value) => [value, loss(value)]);
    make(c.under, "polyline", { points: polygonText(c, points), class: `loss loss-${k}` });
    const at = [-reach, -2.2, -0.75, 0.55 * reach, 2.3][k];
    const value = Math.max(-reach * 0.95, Math.min(reach * 0.8, at));
    const left = name === "perceptron";
    const place = { x: c.x(value) - (left ? 8 : 0), y: Math.max(c.frame.y + 12, c.y(loss(value)) - 6) };
    const look = { class: `halo loss-name loss-name-${k}`, "text-anchor": left ? "end" : "start" };
    make(c.over, "text", { ...place, ...look }, name);
  }
}

// P(+1) = 1 / (1 + exp(-f)): each row at its own outcome, 1 or 0, and how far the curve is from it.
export class Probability extends Picture {
  static title = "Probability";
  static lights = true;

  static fits({ run, method }) {
    return run.planes === 1 && method.criterion === "Logistic";
  }

  draw() {
    const { moment, names, run } = this.lab;
    const P = (f) => 1 / (1 + Math.exp(-f));
    const scores = moment.values().map((value, i) => value * moment.sign(i));
    const reach = Math.min(12, Math.max(4, ...scores.map(Math.abs)));
    const name = names.classWords(run.present[1]);
    const box = { x0: -reach, x1: reach, y0: -0.09, y1: 1.09 };
    const c = this.chart(box, ["f(x)", `probability of ${name}`], { equal: false });
    for (const level of [0, 0.5, 1]) {
      const ends = [-reach, reach].map((f) => [f, level]);
      segment(c.under, c, ends, "axis");
    }
    const curve = spread(reach, 161).map((f) => [f, P(f)]);
    make(c.under, "polyline", { points: polygonText(c, curve), class: "line" });
    scores.forEach((f, i) => {
      const at = within(f, reach);
      const outcome = moment.sign(i) > 0 ? 1 : 0;
      const ends = [outcome, P(f)].map((p) => [at, p]);
      segment(c.over, c, ends, "slack");
      this.lightMark(i, c.x(at), c.y(outcome));
    });
    const loss = (value) => (value < -30 ? -value : Math.log1p(Math.exp(-value)));
    const sum = moment.values().reduce((total, value) => total - loss(value), 0);
    const told = show(Number(sum.toPrecision(6)));
    this.view.tell(
      "P = 1 / (1 + exp(−f)). A segment is how far a row's outcome is from its probability; the gradient " +
        `is their sum over the rows, each times its x. Log likelihood ${told}.`,
      `The logistic function, and the probability of ${name} for every row; log likelihood ${told}`,
    );
  }
}
