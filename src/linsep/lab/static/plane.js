// The plane of the data: its view, the points on it, the rings around them, and the legend.
import { chart } from "./chart.js";
import { Ground } from "./ground.js";
import { around, colour, make, marker } from "./plot.js";
import { Pointer } from "./pointer.js";
import { button, el } from "./widgets.js";

const CROWD = 400; // points from which names and rings would take too long
const MANY = 40; // points from which Tab walks them no more, and names are not written
const RINGS = { wrong: 4, chosen: 5, proof: 8, row: 11, lit: 14 }; // how far outside a point
const GUIDE_KEYS = "Tab walks the points, arrows move one, Delete removes it, N adds one.";

export class DataPlane {
  constructor(lab, host, tools) {
    this.lab = lab;
    this.box = null; // what is seen; null for all points
    this.points = []; // places of the rows in the picture
    this.marks = [];
    this.focus = -1;
    this._showHulls = false;
    this._layout = "";
    this._build(host, tools);
    this.ground = new Ground(lab);
    this.pointer = new Pointer(this);
  }

  _build(host, tools) {
    const name = { role: "application", tabindex: "0", "aria-label": "Data space" };
    this.svg = make(null, "svg", { class: "data-plane", ...name });
    this.svg.setAttribute("aria-roledescription", "plane of points");
    this.legend = el("ul", { class: "legend", "aria-label": "Legend" });
    const zoom = el(
      "span",
      { class: "zoom" },
      button("+", "Zoom in", () => this.zoom(0.8)),
      button("−", "Zoom out", () => this.zoom(1.25)),
      button("fit", "Fit all points", () => this.fit()),
    );
    // points say the same to those who cannot see it
    this.here = el("p", { class: "quiet here", "aria-hidden": "true" });
    host.append(tools, this.svg, el("div", { class: "below" }, this.legend, zoom), this.here);
  }

  // -- the view -------------------------------------------------------------------------------

  get zoned() {
    return this.ground.zoned;
  }

  measure() {
    this.room = this.svg.parentElement.clientWidth;
  }

  // All points are seen from the next picture on.
  forgetView() {
    this.box = null;
  }

  // The same, unless all of them are in view as it is.
  refit() {
    const { x0, x1, y0, y1 } = this.c.box;
    const places = this.lab.state.table.X.map((x) => this.lab.frame.project(x));
    if (!places.every(([u, v]) => u >= x0 && u <= x1 && v >= y0 && v <= y1)) this.forgetView();
  }

  // What was drawn on the way is drawn anew.
  forgetMarks() {
    this._layout = "";
  }

  fit() {
    this.forgetView();
    this.draw();
  }

  zoom(factor, about = null) {
    const b = this.c.box;
    const [x, y] = about ?? [(b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2];
    const from = (v, to) => v + (to - v) * factor;
    this.box = { x0: from(x, b.x0), x1: from(x, b.x1), y0: from(y, b.y0), y1: from(y, b.y1) };
    this.draw();
  }

  toggleHulls() {
    this._showHulls = !this._showHulls;
    this.lab.redraw();
  }

  _layOut() {
    const { frame, state } = this.lab;
    const { flat, names } = frame;
    const width = Math.max(260, Math.min(900, Math.round(this.room)));
    const height = flat ? 190 : Math.round(Math.min(0.78 * width, Math.max(300, 0.62 * innerHeight)));
    this.points = state.table.X.map((x) => frame.project(x));
    this.box ??= around(this._seen(), width, height, !flat);
    if (flat) Object.assign(this.box, { y0: -1, y1: 1 });
    const layout = [width, height, flat, ...Object.values(this.box), ...names].join();
    if (layout === this._layout) {
      // the axes stay; what the step changes is drawn anew
      this.c.under.replaceChildren();
      this.c.over.replaceChildren();
      return;
    }
    this._layout = layout;
    this.marks = [];
    this.c = chart(this.svg, width, height, this.box, flat ? [names[0], ""] : names, { equal: !flat });
  }

  // Places that a view of all has to show.
  _seen() {
    const { frame, state } = this.lab;
    if (!this.points.length)
      return [
        [-1, -1],
        [1, 1],
      ];
    const all = [...this.points, ...(state.held?.X ?? []).map((x) => frame.project(x))];
    if (all.length > 1) return all;
    const [[u, v]] = all;
    return [...all, [u + 1, v + 1], [u - 1, v - 1]];
  }

  // -- drawing --------------------------------------------------------------------------------

  draw() {
    const { lab } = this;
    if (!lab.state.table) return;
    const held = document.activeElement?.dataset?.row;
    this._layOut();
    const n = this.points.length;
    this.size = n > 600 ? 3 : n > 120 ? 4.4 : 6.5;
    this.ground.draw(this.c, this.points, this._showHulls);
    this._drawPoints();
    this._drawHeld();
    this._drawRings();
    this._writeNames();
    this._drawLegend();
    const mark = held === undefined ? null : this.marks[held];
    if (mark && mark !== document.activeElement) mark.focus({ preventScroll: true });
    const wrong = lab.moment.errors().length;
    this.svg.setAttribute("aria-label", `Data space: ${n} points, ${wrong} on the wrong side. ${GUIDE_KEYS}`);
    this.svg.classList.toggle("crowd", n > CROWD);
  }

  // Height of a point in pixels.
  _y(v) {
    return this.lab.frame.flat ? this.c.y(0) : this.c.y(v);
  }

  pixel([u, v]) {
    return [this.c.x(u), this._y(v)];
  }

  _drawPoints() {
    const { moment, names } = this.lab;
    const values = moment.values();
    const wrong = new Set(moment.errors());
    const named = this.points.length <= CROWD;
    const many = this.points.length > MANY;
    while (this.marks.length > this.points.length) this.marks.pop().remove();
    this.points.forEach((at, i) => {
      const mark = (this.marks[i] ??= this._newMark(i));
      this._dress(mark, i);
      if (mark.at?.[0] !== at[0] || mark.at[1] !== at[1]) this.place(i, at);
      const tab = many && i !== Math.max(0, this.focus) ? "-1" : "0";
      if (mark.tab !== tab) {
        mark.tab = tab;
        mark.setAttribute("tabindex", tab);
      }
      if (named || i === this.focus || !mark.named) {
        mark.named = true;
        mark.setAttribute("aria-label", names.point(i, values[i], wrong.has(i)));
      }
    });
  }

  _newMark(i) {
    const how = { class: "mark", role: "button", "data-row": i, tabindex: "-1" };
    return make(this.c.marks, "path", how);
  }

  // The shape and colour of its class, where they are not yet those.
  _dress(mark, i) {
    const k = this.lab.state.table.y[i];
    const look = `${k},${this.size}`;
    if (mark.look === look) return;
    mark.look = look;
    mark.setAttribute("d", marker(k, 0, 0, this.size));
    mark.style.cssText = colour(k);
  }

  // A point at another place, before anything is asked or drawn.
  place(i, at) {
    const [x, y] = this.pixel(at);
    this.points[i] = at;
    this.marks[i].at = at;
    this.marks[i].setAttribute("transform", `translate(${x.toFixed(2)},${y.toFixed(2)})`);
  }

  _circle(at, r, kind) {
    const [cx, cy] = this.pixel(at);
    make(this.c.over, "circle", { cx, cy, r, class: kind });
  }

  _ring(i, r, kind) {
    if (this.points[i]) this._circle(this.points[i], this.size + r, kind);
  }

  // Rows that are held out: hollow, and not there for the method.
  _drawHeld() {
    const { state, frame, questions, moment } = this.lab;
    if (!state.held) return;
    const { X, y } = state.held;
    const at = X.map((x) => frame.project(x));
    for (const k of new Set(y)) {
      const own = at
        .filter((_, i) => y[i] === k)
        .map((place) => marker(k, ...this.pixel(place), this.size - 1));
      make(this.c.over, "path", {
        d: own.join(""),
        class: "held",
        style: `fill:none;stroke:var(--c${k % 10})`,
      });
    }
    const wrong = questions.held()?.errors[moment.index] ?? [];
    for (const i of wrong) this._circle(at[i], this.size + RINGS.wrong, "wrong");
  }

  _drawRings() {
    const { moment, proof, lit, editing } = this.lab;
    const wrong = new Set(moment.errors());
    if (this.points.length > CROWD)
      this.marks.forEach((mark, i) => mark.classList.toggle("is-wrong", wrong.has(i)));
    else for (const i of wrong) this._ring(i, RINGS.wrong, "wrong");
    const alpha = moment.alpha();
    const support = moment.support();
    const most = Math.max(...support.map((i) => alpha[i]));
    for (const i of support) this._ring(i, 3 + 6 * Math.sqrt(alpha[i] / most), "support");
    for (const i of proof.rows()) this._ring(i, RINGS.proof, "proof");
    for (const i of moment.rows()) this._ring(i, RINGS.row, "row");
    if (lit >= 0) this._ring(lit, RINGS.lit, "lit");
    for (const i of editing.chosen) this._ring(i, RINGS.chosen, "lit");
  }

  // Rows that have a name of their own.
  _writeNames() {
    const { rows } = this.lab.state.table;
    if (!rows || this.points.length > MANY) return;
    this.points.forEach((at, i) => {
      if (!rows[i] || /^row \d+$/.test(rows[i])) return;
      const [x, y] = this.pixel(at);
      const place = { x: x + this.size + 6, y: y - (this.lab.frame.flat ? 12 : 6) };
      make(this.c.over, "text", { ...place, class: "halo row-name" }, rows[i]);
    });
  }

  // -- the legend -----------------------------------------------------------------------------

  _drawLegend() {
    this.legend.replaceChildren(
      ...this._entries().map(([draw, text]) => {
        const icon = make(null, "svg", { viewBox: "0 0 20 20", "aria-hidden": "true" });
        draw(icon);
        return el("li", {}, icon, text);
      }),
    );
  }

  // What is in the picture, each with how it is drawn.
  _entries() {
    const { lab } = this;
    const { run, moment, proof } = lab;
    if (!run) return [];
    const line = (kind) => (icon) => make(icon, "line", { x1: 1, y1: 10, x2: 19, y2: 10, class: kind });
    const ring = (kind) => (icon) => make(icon, "circle", { cx: 10, cy: 10, r: 8, class: kind });
    const hollow = (icon) => {
      const style = "fill:none;stroke:var(--c0)";
      make(icon, "path", { d: marker(0, 10, 10, 6), class: "held", style });
    };
    const { curved } = moment;
    const plane = run.planes === 1 && !curved;
    const two = run.present.length === 2;
    const cut = ", where it cuts this picture: rows lie beside it";
    const rows = moment.rows().length;
    const all = [
      [plane, line("line"), `w·x + b = 0${lab.d > 2 ? cut : ""}`],
      [plane && moment.planeBefore(), line("before"), "before this step"],
      [curved && !this.zoned, line("line"), two ? "f(x) = 0" : "border of the classes"],
      [curved && two && lab.method.key === "kernel-svm", line("street"), "f(x) = ±1"],
      [moment.street, line("street"), "street, f = ±1"],
      [moment.street, line("slack"), "slack"],
      [lab.state.held, hollow, "held out"],
      [moment.errors().length, ring("wrong"), "wrong side"],
      [rows, ring("row"), rows > 1 ? "rows of this step" : "row of this step"],
      [moment.alpha(), ring("support"), "support, by size of α"],
      [proof.rows().length, ring("proof"), "rows that prove it"],
    ];
    return all.filter(([there]) => there).map(([, draw, text]) => [draw, text]);
  }
}
