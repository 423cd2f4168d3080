// A stroke of the pointer over the data: points around it, those under it taken away or drawn to it,
// or a rectangle of chosen ones. What it does is shown at once, and done when the hand is lifted.
import { pixelOf } from "./chart.js";
import { colour, make, marker } from "./plot.js";

const APART = 7; // pixels between two marks of a stroke
const REACH = 4; // of the magnet, in sizes of the brush
const PULL = 0.12;

export class Stroke {
  constructor(pointer, tool, event) {
    this.pointer = pointer;
    this.plane = pointer.plane;
    this.lab = pointer.lab;
    this._tool = tool;
    this._from = pixelOf(this.plane.c, event);
    this._last = null;
    this._added = []; // places of new points
    this._rows = new Set(); // rows that are erased or chosen
    this._moved = new Map(); // rows, and where they were drawn to
    this.plane.svg.setPointerCapture(event.pointerId);
    this.go(event);
  }

  go(event) {
    const at = pixelOf(this.plane.c, event);
    if (this._tool === "select") {
      this._select(at);
      return;
    }
    if (this._last && this._far(at, this._last) < APART) return;
    this._last = at;
    if (this._tool === "erase") this._erase(at);
    else if (this._tool === "magnet") this._attract(at);
    else this._spray(at);
  }

  end() {
    const { editing } = this.lab;
    if (this._tool === "spray") editing.addMany(this._added);
    else if (this._tool === "erase") editing.removeMany(this._rows);
    else if (this._tool === "select") {
      editing.choose(this._rows);
      const [first] = this._rows;
      this.plane.marks[first]?.focus({ preventScroll: true });
    } else if (this._moved.size) {
      editing.keep();
      editing.move(
        [...this._moved].map(([i, at]) => [i, this.pointer.snapped(at)]),
        false,
      );
    }
  }

  _far([x, y], [u, v]) {
    return Math.hypot(u - x, v - y);
  }

  _pixels() {
    return this.plane.points.map((at) => this.plane.pixel(at));
  }

  _select([x, y]) {
    const [x0, x1] = [this._from[0], x].sort((p, q) => p - q);
    const [y0, y1] = [this._from[1], y].sort((p, q) => p - q);
    this._box ??= make(this.plane.c.over, "rect", { class: "choice" });
    const size = { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
    for (const [name, value] of Object.entries(size)) this._box.setAttribute(name, value);
    const inside = ([u, v]) => u >= x0 && u <= x1 && v >= y0 && v <= y1;
    this._rows = new Set(this._pixels().flatMap((p, i) => (inside(p) ? [i] : [])));
  }

  _erase(at) {
    this._pixels().forEach((p, i) => {
      if (this._far(p, at) >= this.lab.tools.brushSize) return;
      this._rows.add(i);
      this.plane.marks[i].setAttribute("visibility", "hidden");
    });
  }

  _attract(at) {
    this._pixels().forEach((p, i) => {
      if (this._far(p, at) > REACH * this.lab.tools.brushSize) return;
      const to = this.plane.c.back(...p.map((v, j) => v + PULL * (at[j] - v)));
      this._moved.set(i, to);
      this.plane.place(i, to);
    });
  }

  // One point somewhere in the disc of the brush.
  _spray([x, y]) {
    const { c, size } = this.plane;
    const { klass } = this.lab.editing;
    const angle = 2 * Math.PI * Math.random();
    const r = this.lab.tools.brushSize * Math.sqrt(Math.random());
    const [u, v] = [x + r * Math.cos(angle), y + r * Math.sin(angle)];
    const f = c.frame;
    if (u < f.x || u > f.x + f.width || v < f.y || v > f.y + f.height) return;
    const at = this.pointer.snapped(c.back(u, v));
    this._added.push(at);
    const d = marker(klass, ...this.plane.pixel(at), size);
    make(c.over, "path", { d, class: "mark", style: colour(klass) });
  }
}
