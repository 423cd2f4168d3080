// The space of the weights: what every row allows, or what the cost is, and the path of the run.
import { areaOf, levels, lineInBox, rounded, unpacked } from "./algebra.js";
import { arrow, cornersOf, curvesPath, origin, pixelOf, polygonText, segment } from "./chart.js";
import { contour } from "./field.js";
import { Picture } from "./picture.js";
import { clip, make, show } from "./plot.js";
import { capital, chooser, el } from "./widgets.js";

const NEAR = 9; // pixels from which an edge is pointed at
const MOST_EDGES = 200;
const MOST_HATCHED = 60;
const MOST_LATER = 1500; // steps of a path that are drawn ahead
const MOST_DOTS = 60;
const LEVELS = 14;

export class WeightSpace extends Picture {
  static title = "Weight space";
  static lights = true;
  static hasClasses = false;

  static fits({ run }) {
    return run.planes === 1;
  }

  static key({ names }) {
    return names.weights().join();
  }

  constructor(view) {
    super(view);
    this._edges = []; // of rows, in pixels
    this._menus = []; // of the two axes, where there are more weights
    this._addMenus();
    this._listen(view.svg);
  }

  // -- which two weights ----------------------------------------------------------------------

  _axes() {
    const count = this.lab.names.weights().length;
    const [i, j] = this.lab.state.axes ?? [0, 1];
    return i < count && j < count && i !== j ? [i, j] : [0, 1];
  }

  _addMenus() {
    const names = this.lab.names.weights();
    if (names.length < 3) return;
    const options = names.map((name, k) => [String(k), name]);
    const [i, j] = this._axes().map(String);
    this._menus = [
      chooser("first axis", options, i, (k) => this._setAxis(0, Number(k), names.length)),
      chooser("second axis", options, j, (k) => this._setAxis(1, Number(k), names.length)),
    ];
    this.view.tools.append(el("span", {}, "axes "), ...this._menus);
  }

  _setAxis(place, k, count) {
    const axes = [...this._axes()];
    axes[place] = k;
    if (axes[0] === axes[1]) axes[1 - place] = (k + 1) % count;
    this.lab.state.axes = axes;
    this.lab.redraw();
  }

  // -- the pointer ----------------------------------------------------------------------------

  _listen(svg) {
    svg.addEventListener("click", (event) => this._start(event));
    svg.addEventListener("pointermove", (event) => this._light(event));
    svg.addEventListener("pointerleave", () => this.lab.light(-1));
  }

  // A run that begins where the click was.
  _start(event) {
    const { lab, c } = this;
    if (!c || !lab.moment.canStart) return;
    const place = c.back(...pixelOf(c, event));
    const weights = [...lab.moment.weights()];
    this._axes().forEach((k, j) => {
      weights[k] = rounded(place[j], c.box.x1 - c.box.x0);
    });
    lab.controls.setStart(weights);
  }

  _light(event) {
    const { c } = this;
    if (!c) return;
    const [x, y] = pixelOf(c, event);
    let [best, near] = [-1, NEAR];
    for (const { row, ends } of this._edges) {
      const [[a, b], [p, q]] = ends;
      const long = Math.hypot(p - a, q - b) || 1;
      const away = Math.abs((p - a) * (b - y) - (a - x) * (q - b)) / long;
      if (away < near) [best, near] = [row, away];
    }
    this.lab.light(best);
  }

  // -- drawing --------------------------------------------------------------------------------

  draw() {
    const { lab } = this;
    if (!lab.moment.path().length) return;
    const axes = this._axes();
    this._menus.forEach((menu, k) => {
      menu.value = String(axes[k]);
    });
    const names = lab.names.weights();
    const now = lab.moment.weights();
    const path = lab.moment
      .path()
      .map((w) => axes.map((k) => w[k]))
      .filter((place) => place.every(Number.isFinite));
    const c = this.chartOf(
      this._seen(path, axes),
      axes.map((k) => names[k]),
    );
    this._edges = [];
    this._drawGround(c, axes, now);
    this._drawPath(c, path, axes);
    origin(c);
    this._tell(axes, names, now);
  }

  // Places that the picture has to show: the path up to here, and around the origin.
  _seen(path) {
    const near = path.length < MOST_DOTS ? path : path.slice(0, Math.max(20, this.lab.state.step + 2));
    const size = 0.35 * Math.max(...near.map((place) => Math.hypot(...place)), 1e-9);
    return [...near, [0, 0], [-size, -size], [size, size]];
  }

  // Edges of what the rows allow, and where all of them do.
  _drawGround(c, [i, j], now) {
    const { lab } = this;
    const rows = lab.moment.reflected();
    let area = cornersOf(c.box);
    rows.forEach((z, row) => {
      const w = [z[i], z[j]];
      const b = z.reduce((sum, v, k) => (k === i || k === j ? sum : sum + v * now[k]), 0);
      area = area.length ? clip(area, w, b) : area;
      if (rows.length <= MOST_EDGES) this._drawEdge(c, row, w, b, rows.length <= MOST_HATCHED);
    });
    if (area.length < 3) return;
    // in pixels: what rounding leaves of a point is none
    if (areaOf(area.map(([u, v]) => [c.x(u), c.y(v)])) <= 1) return;
    make(c.under, "polygon", { points: polygonText(c, area), class: "solution" });
    const [u, v] = [0, 1].map((k) => area.reduce((sum, p) => sum + p[k], 0) / area.length);
    const place = { x: c.x(u), y: c.y(v), "text-anchor": "middle" };
    make(c.over, "text", { ...place, class: "halo zone-name" }, "solutions");
  }

  _drawEdge(c, row, w, b, hatched) {
    const line = lineInBox(w, b, c.limits);
    if (!line) return;
    const ends = line.map(([u, v]) => [c.x(u), c.y(v)]);
    this._edges.push({ row, ends });
    const lit = row === this.lab.lit || row === this.lab.moment.row() ? " lit-edge" : "";
    segment(c.under, c, line, `edge${lit}`);
    if (hatched) make(c.under, "path", { d: hatching(c, ends, w), class: `hatching${lit}` });
  }

  _drawPath(c, path, [i, j]) {
    const { moment, method, state } = this.lab;
    const line = (list) => list.map(([u, v]) => `${c.x(u).toFixed(1)},${c.y(v).toFixed(1)}`).join(" ");
    const upto = path.slice(0, state.step + 1);
    const later = path.slice(state.step);
    if (later.length < MOST_LATER) make(c.under, "polyline", { points: line(later), class: "path-later" });
    make(c.over, "polyline", { points: line(upto), class: "path" });
    const dots = upto.length < MOST_DOTS ? upto : [];
    for (const [u, v] of dots) make(c.over, "circle", { cx: c.x(u), cy: c.y(v), r: 2.2, class: "path-dot" });
    const pixel = (w) => [c.x(w[i]), c.y(w[j])];
    const before = moment.weightsBefore();
    const [x, y] = pixel(moment.weights());
    if (before) arrow(c.over, pixel(before), [x, y], "move");
    make(c.over, "circle", { cx: x, cy: y, r: 5.5, class: "dot" });
    if (!method.steps || (state.step > 0 && upto.length < 2)) return;
    const [[u, v]] = upto;
    make(c.over, "text", { x: c.x(u) + 8, y: c.y(v) + 14, class: "halo" }, "start");
  }

  // -- words ----------------------------------------------------------------------------------

  get _about() {
    return "Every row allows one side of its edge; hatched is forbidden.";
  }

  _tell(axes, names, now) {
    const others = names.map((name, k) => [name, k]).filter(([, k]) => !axes.includes(k));
    const held = others.slice(0, 4).map(([name, k]) => `${name} = ${show(now[k])}`);
    const more = names.length > 6 ? ", …" : "";
    const words = [
      this._about,
      names.length > 2 ? `A slice: ${held.join(", ")}${more} held as in this step.` : "",
      this.lab.moment.canStart ? "Click to start from there." : "",
    ];
    const weights = names.map((name, k) => `${name} ${show(now[k])}`).slice(0, 6);
    const path = `the path of the weights up to step ${this.lab.state.step}`;
    const label = `${this.constructor.title}: ${path}, now ${weights.join(", ")}`;
    this.view.tell(words.filter(Boolean).join(" "), label);
  }
}

// The same space with the cost in place of what is allowed.
export class CostSpace extends WeightSpace {
  static title = "Cost";

  static fits({ run, method }) {
    return run.planes === 1 && !!method.criterion;
  }

  _seen(path, axes) {
    const goal = this.lab.moment.goal();
    return [...super._seen(path), axes.map((k) => goal[k])];
  }

  _drawGround(c, axes, now) {
    const found = this.lab.questions.cost(axes, now, c.limits);
    if (!found) return;
    this._name = found.name;
    const values = (found.field ??= unpacked(found.values));
    for (const level of levels(values, LEVELS)) {
      curvesPath(c.under, c, contour(values, found.size, found.box, level), "contour");
    }
  }

  get _about() {
    return `${capital(this._name ?? "the cost")} over two weights.`;
  }
}

// Strokes on the forbidden side of an edge, where w.a decreases.
function hatching(c, [[x, y], [u, v]], w) {
  const long = Math.hypot(u - x, v - y);
  const [p, q] = [(u - x) / long, (v - y) / long];
  const up = [w[0] * (c.x(1) - c.x(0)), w[1] * (c.y(1) - c.y(0))];
  const sign = q * up[0] - p * up[1] > 0 ? -1 : 1;
  const [dx, dy] = [6 * sign * q - 4 * p, -6 * sign * p - 4 * q];
  let d = "";
  for (let s = 5; s < long; s += 11) {
    d += `M${(x + s * p).toFixed(1)},${(y + s * q).toFixed(1)}l${dx.toFixed(1)},${dy.toFixed(1)}`;
  }
  return d;
}
