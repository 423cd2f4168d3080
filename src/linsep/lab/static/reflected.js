// Rows with a constant 1, turned to one side of the origin, where weights are a vector: the picture of
// the perceptron, and of Kozinec's point in their hull.
import { hullOf, lineInBox } from "./algebra.js";
import { boundsNow } from "./bounds.js";
import { arrow, cornersOf, marksOf, origin, polygonText, ring, segment } from "./chart.js";
import { Picture } from "./picture.js";
import { clip, make, show } from "./plot.js";
import { Space } from "./space.js";
import { el } from "./widgets.js";

// Numbers of a row as this space has them.
const dimsOf = ({ run, moment }) => run.features.length + (moment.offset ? 1 : 0);

class VectorPicture extends Picture {
  static key(lab) {
    return [lab.state.method, lab.state.settings.space, dimsOf(lab)].join();
  }

  // Rows with a constant 1, those of the first class turned by so much of the way.
  augmented(turn) {
    const { moment } = this.lab;
    const factor = (i) => (moment.sign(i) < 0 ? 1 - 2 * turn : 1);
    return moment.inputs().map((x, i) => (moment.offset ? [...x, 1] : x).map((v) => v * factor(i)));
  }

  // Weights without an offset that the model does not have.
  own(weights) {
    return this.lab.moment.offset ? weights : weights.slice(0, -1);
  }

  // Vectors of two or three numbers around the origin: the vector a, the plane across it, a hull.
  drawVectors(rows, what) {
    if (dimsOf(this.lab) === 2) this._flat(rows, what);
    else this._deep(rows, what);
  }

  _names(reflected) {
    const { run, moment } = this.lab;
    const names = [...run.features, ...(moment.offset ? ["1"] : [])];
    return reflected ? names.map((name) => (name === "1" ? "y" : `y ${name}`)) : names;
  }

  _flat(rows, { a, plane = null, hull = null, reflected = true, rings }) {
    const { moment, state } = this.lab;
    const c = this.chartOf([...rows, [0, 0], ...(a ? [a] : [])], this._names(reflected));
    if (hull) this._hullAndBounds(c, rows, hull);
    if (plane && reflected) {
      const half = clip(cornersOf(c.box), plane, 0);
      make(c.under, "polygon", { points: polygonText(c, half), class: "solution" });
    }
    const line = plane && lineInBox(plane, 0, c.limits);
    if (line) segment(c.under, c, line, "line");
    origin(c);
    marksOf(c, rows, state.table.y, 5.5);
    for (const i of rings) ring(c, rows[i], 10, "wrong");
    const row = moment.row();
    if (row >= 0) ring(c, rows[row], 14, "row");
    if (!a) return;
    const [x, y] = [c.x(a[0]), c.y(a[1])];
    arrow(c.over, [c.x(0), c.y(0)], [x, y], "normal");
    make(c.over, "text", { x: x + 8, y: y - 8, class: "halo" }, "a");
  }

  _hullAndBounds(c, rows, { before }) {
    const { lower, upper, stop } = boundsNow(this.lab);
    const row = this.lab.moment.row();
    make(c.under, "polygon", { points: polygonText(c, hullOf(rows)), class: "hull filled" });
    const circle = (bound, kind) => {
      const r = Math.abs(c.x(bound) - c.x(0));
      if (bound > 0) make(c.under, "circle", { cx: c.x(0), cy: c.y(0), r, class: kind });
    };
    circle(lower, "bound-low");
    circle(upper, "bound-high");
    circle(stop, "bound-stop");
    if (before && row >= 0) segment(c.over, c, [before, rows[row]], "before");
  }

  _deep(rows, { a, plane = null, hull = null, reflected = true, rings }) {
    const { moment, state } = this.lab;
    const { svg, width, height } = this.view;
    const row = moment.row();
    const arrows = a ? [{ from: [0, 0, 0], to: a, kind: "normal", text: "a" }] : [];
    if (hull?.before && row >= 0)
      arrows.push({ from: hull.before, to: rows[row], kind: "before", text: "z" });
    this._space ??= new Space(svg);
    this._space.show({
      width,
      height,
      names: this._names(reflected),
      points: rows,
      labels: state.table.y,
      rings,
      row,
      more: [[0, 0, 0], ...(a ? [a] : [])],
      arrows,
      plane: plane && { w: plane, b: 0 },
      hulls: hull && moment.offset ? facesOf(rows) : [],
      equal: !!hull,
    });
  }
}

// Hulls of the rows of both classes, which lie in two planes.
const facesOf = (rows) => {
  const face = (s) => hullOf(rows.filter((z) => z[2] === s)).map((p) => [p[0], p[1], s]);
  return [1, -1].map(face).filter((hull) => hull.length > 1);
};

export class Reflected extends VectorPicture {
  static title = "Reflected rows";

  static fits(lab) {
    return lab.run.planes === 1 && dimsOf(lab) < 4;
  }

  constructor(view) {
    super(view);
    this._turn = 1; // from the rows as they are, 0, to reflected ones
    const slider = el("input", {
      ...{ type: "range", min: 0, max: 1, step: 0.05, value: 1 },
      "aria-label": "from the rows as they are to reflected ones",
      oninput: () => {
        this._turn = Number(slider.value);
        this.lab.redraw();
      },
    });
    view.tools.append(el("label", {}, "as they are ", slider, " reflected"));
  }

  rows() {
    return this.augmented(this._turn);
  }

  draw() {
    const { moment } = this.lab;
    const reflected = this._turn > 0.5;
    this._tell(reflected);
    const rows = this.rows();
    const reach = 0.6 * Math.max(...rows.map((z) => Math.hypot(...z)));
    const weights = this.own(moment.weights());
    const size = Math.hypot(...weights);
    const there = size > 0; // not where all weights are 0
    this.drawVectors(rows, {
      a: there ? weights.map((v) => (reach * v) / size) : null,
      plane: there ? weights : null,
      reflected,
      rings: new Set(moment.errors()),
    });
  }

  _tell(reflected) {
    const { moment, names, run } = this.lab;
    const z = moment.offset ? "[x, 1]" : "x";
    const first = names.classWords(run.present[0]);
    const plane = dimsOf(this.lab) < 3 ? "line" : "plane";
    const note = reflected
      ? `Rows of ${first} are turned to the other side of the origin: z = y${z}. ` +
        "Weights a separate the classes if and only if a·z > 0 for every row."
      : `The rows${moment.offset ? " with a constant 1: [x, 1]" : ""}. Weights a are a ${plane} through ` +
        `the origin, a·${z} = 0; they separate the classes if each is on its own side.`;
    const what = reflected ? "Reflected rows" : "Rows with a constant 1";
    const wrong = moment.errors().length;
    this.view.tell(note, `${what} and the vector a of the weights; ${wrong} rows on the wrong side`);
  }
}

// The weights as a point of the hull of the reflected rows, between its two bounds.
export class ReflectedHull extends VectorPicture {
  draw() {
    const { moment, state } = this.lab;
    const { lower, upper } = boundsNow(this.lab);
    const dims = dimsOf(this.lab);
    const bounds = lower === null ? "" : `min z·a/|a| = ${show(lower)} ≤ m ≤ |a| = ${show(upper)}.`;
    const many = dims > 3 ? ` It has ${dims} dimensions: see the bounds below.` : "";
    this.view.tell(
      `The reflected rows z = y[x, 1]; a is a point of their hull. ${bounds}${many}`,
      `Hull of the reflected rows, the point a at distance ${show(upper)} from the origin`,
    );
    if (many) {
      this.view.svg.replaceChildren();
      return;
    }
    const point = (t) => this.own(moment.hullPoint(t));
    const before = state.step > 0 ? point(state.step - 1) : null;
    this.drawVectors(this.augmented(1), { a: point(state.step), hull: { before }, rings: new Set() });
  }
}
