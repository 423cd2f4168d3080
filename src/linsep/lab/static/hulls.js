// Hulls of the classes: their nearest points and the line between them, or a point of both.
import { hullOf, lineInBox } from "./algebra.js";
import { boundsBar, boundsNow } from "./bounds.js";
import { marksOf, polygonText, ring, segment } from "./chart.js";
import { drawCommon, drawNearest } from "./ground.js";
import { Picture } from "./picture.js";
import { colour, make, show } from "./plot.js";
import { ReflectedHull } from "./reflected.js";

export class Hulls extends Picture {
  static title = "Hulls";

  static key(lab) {
    return ReflectedHull.key(lab);
  }

  constructor(view) {
    super(view);
    this._reflected = new ReflectedHull(view);
  }

  // Whether the method moves a point in the hull of the reflected rows.
  get _isReflected() {
    const { method, state, run } = this.lab;
    return method.key === "kozinec" && state.settings.space === "augmented" && run.planes === 1;
  }

  draw() {
    const { lab, view } = this;
    if (lab.method.key === "kozinec" && boundsNow(lab).upper !== null)
      view.more.append(boundsBar(lab, view.width));
    if (this._isReflected) this._reflected.draw();
    else this._draw();
  }

  _draw() {
    const { frame, state, run, proof } = this.lab;
    const { flat } = frame;
    const points = state.table.X.map((x) => frame.project(x));
    const height = flat ? 190 : this.view.height;
    const c = this.chartOf(points, frame.names, { equal: !flat, height });
    for (const k of run.present) {
      const own = points.filter((_, i) => state.table.y[i] === k);
      const style = `${colour(k)};stroke:var(--c${k % 10})`;
      make(c.under, "polygon", { points: polygonText(c, hullOf(own)), class: "hull filled", style });
    }
    marksOf(c, points, state.table.y, 4.5);
    for (const i of proof.rows()) ring(c, points[i], 11, "proof");
    const meet = proof.common();
    const ends = meet ? null : proof.nearest();
    if (ends)
      this._bisector(
        c,
        ends.map((x) => frame.project(x)),
      );
    if (meet)
      drawCommon(
        c,
        frame.project(meet),
        proof.rows().map((i) => points[i]),
      );
    this._tell(meet, ends);
  }

  _tell(meet, ends) {
    if (meet) {
      const words = this.lab.proof.words();
      const note = `A point of both hulls: ${words}. No line can have it on both sides.`;
      this.view.tell(note, "Hulls of the classes; they meet");
      return;
    }
    const { lower, upper } = boundsNow(this.lab);
    const bounds =
      upper === null ? "" : `Bounds of the margin after this step: ${show(lower)} and ${show(upper)}. `;
    const dashed = ends ? "The dashed line is halfway between the two points." : "";
    this.view.tell(bounds + dashed, "Hulls of the classes, and their nearest points");
  }

  // The line halfway between two points, and lines at the bounds of the margin beside it.
  _bisector(c, [p, q]) {
    const w = [q[0] - p[0], q[1] - p[1]];
    const size = Math.hypot(...w);
    if (!(size > 0)) return;
    const { lower, eps } = boundsNow(this.lab);
    const b = -(w[0] * ((p[0] + q[0]) / 2) + w[1] * ((p[1] + q[1]) / 2));
    const along = (distance, kind) => {
      const line = lineInBox(w, b + distance * size, c.limits);
      if (line && !this.lab.frame.flat) segment(c.under, c, line, kind);
    };
    const beside = (bound, kind) => {
      if (!(bound > 0)) return;
      along(-bound, kind);
      along(bound, kind);
    };
    along(0, "before");
    beside(lower, "bound-low");
    beside(size / 2, "bound-high");
    if (lower !== null) beside(size / 2 - eps, "bound-stop");
    drawNearest(c, [p, q], 4.5);
  }
}
