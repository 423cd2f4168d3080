// What lies under the points of the data: regions of the classes, boundary, street, normal and hulls.
import { beside, areaOf, hullOf, lineInBox, unpacked } from "./algebra.js";
import { arrow, cornersOf, curvesPath, polygonText, ring, segment } from "./chart.js";
import { borders, coloursOf, contour, fieldImage } from "./field.js";
import { clip, colour, make, marker } from "./plot.js";

const MOST_SLACKS = 400; // rows whose slack is drawn, and that a word has to keep off

export class Ground {
  constructor(lab) {
    this.lab = lab;
    this.zoned = null; // the zones that are drawn in place of what follows from the step
  }

  // On a chart whose axes are those of the points.
  draw(c, points, hulls) {
    const { lab } = this;
    this.c = c;
    this.points = points;
    this.zoned = null;
    if (!lab.run) return;
    const zones = this._knownZones();
    if (zones?.pieces.length) this._zones(zones);
    else if (lab.moment.curved) this._field();
    else if (lab.run.planes > 1) this._machine();
    else if (lab.run.planes === 1) this._line();
    if (hulls) this._hulls();
  }

  // Zones are those of the end, seen where the second picture tells of them.
  _knownZones() {
    const { state, moment, frame, questions } = this.lab;
    const wanted = state.view === "regions" && moment.atEnd && !frame.flat;
    return wanted ? questions.zones() : null;
  }

  _region(points, k, kind = "region") {
    make(this.c.under, "polygon", { points: polygonText(this.c, points), class: kind, style: colour(k) });
  }

  // -- a linear machine: the class with the largest function ----------------------------------

  _machine() {
    const { c, lab } = this;
    const all = lab.moment.planes();
    const ties = [];
    all.forEach((own, k) => {
      const others = all.filter((_, l) => l !== k);
      let area = cornersOf(c.box);
      for (const { w, b } of others) area = clip(area, [own.w[0] - w[0], own.w[1] - w[1]], own.b - b);
      const tied = others.some(({ w, b }) => b === own.b && w.every((v, j) => v === own.w[j]));
      if (tied) ties.push(area);
      else if (area.length) this._region(area, lab.run.present[k], "region edged");
    });
    const tie = ties.find((area) => area.length); // classes with the same function, as at the start
    if (!tie) return;
    const { many } = this._hatches();
    this._undecided(tie, many);
    this._zoneName(tie, "several");
  }

  // -- zones: who decides where, and where nobody or several do -------------------------------

  _zones(zones) {
    const { c, lab } = this;
    this.zoned = zones;
    const { none, many } = this._hatches();
    for (const [who, piece] of zones.pieces) {
      if (who >= 0) this._region(piece, lab.run.present[who]);
      else this._undecided(piece, who === -1 ? none : many);
    }
    const named = new Set();
    for (const [who, piece] of [...zones.pieces].sort((p, q) => areaOf(q[1]) - areaOf(p[1]))) {
      if (who >= 0 || named.has(who) || areaOf(piece.map(([u, v]) => [c.x(u), c.y(v)])) < 1) continue;
      named.add(who);
      this._zoneName(piece, who === -1 ? "no class" : "several");
    }
  }

  _undecided(piece, hatch) {
    const points = polygonText(this.c, piece);
    make(this.c.under, "polygon", { points, class: "undecided", fill: `url(#${hatch})` });
  }

  // In the zone where it has room, else above it, so that the zone is seen.
  _zoneName(piece, name) {
    const { c } = this;
    const xs = piece.map(([u]) => c.x(u));
    const ys = piece.map(([, v]) => c.y(v));
    const mean = (list) => list.reduce((sum, v) => sum + v, 0) / list.length;
    const wide = 8 * name.length + 10;
    const top = Math.min(...ys);
    const fits = Math.max(...xs) - Math.min(...xs) > wide && Math.max(...ys) - top > 24;
    const [low, high] = [c.frame.x + wide / 2, c.frame.x + c.frame.width - wide / 2];
    const x = Math.max(low, Math.min(high, mean(xs)));
    const y = fits ? mean(ys) : Math.max(c.frame.y + 14, top - 8);
    make(c.over, "text", { x, y, "text-anchor": "middle", class: "zone-name" }, name);
  }

  // Patterns for what no class has, and for what many have.
  _hatches() {
    const defs = make(this.c.under, "defs");
    const stamp = Math.random().toString(36).slice(2, 8);
    const hatch = (key, turn) => {
      const id = `hatch-${key}-${stamp}`;
      const size = { width: 8, height: 8, patternUnits: "userSpaceOnUse" };
      const pattern = make(defs, "pattern", { id, ...size, patternTransform: `rotate(${turn})` });
      make(pattern, "line", { x1: 0, y1: 0, x2: 0, y2: 8, class: "hatch" });
      return id;
    };
    return { none: hatch("none", 45), many: hatch("many", -45) };
  }

  // -- a boundary that is curved: scores on a grid --------------------------------------------

  _field() {
    const { c, lab } = this;
    const found = lab.questions.field(c.limits);
    if (!found) return;
    const { size, box } = found;
    const scores = (found.numbers ??= found.scores.map(unpacked));
    const hasStreet = lab.method.key === "kernel-svm" && scores.length === 1;
    found.border ??= borders(scores, size, box);
    found.street ??= hasStreet ? [-1, 1].flatMap((level) => contour(scores[0], size, box, level)) : [];
    fieldImage(c.under, c, scores, size, box, coloursOf(lab.root, lab.run.present));
    curvesPath(c.under, c, found.border, scores.length > 1 ? "line thin" : "line");
    curvesPath(c.under, c, found.street, "street");
  }

  // -- a boundary that is a line --------------------------------------------------------------

  _line() {
    const { c, lab } = this;
    const [now] = lab.moment.planes();
    for (const [k, s] of this._sidesOf()) {
      const area = clip(cornersOf(c.box), [s * now.w[0], s * now.w[1]], s * now.b);
      if (area.length && (now.w[0] || now.w[1])) this._region(area, k);
    }
    this._along(lab.moment.planeBefore(), 0, "before");
    if (lab.moment.street) this._street(now);
    const line = this._along(now, 0, "line");
    if (line) this._normal(now, line);
  }

  // The two classes, each with the sign of f on its side.
  _sidesOf() {
    const [negative, positive] = this.lab.run.present;
    return [
      [positive, 1],
      [negative, -1],
    ];
  }

  // The line where a plane has a value, if the picture has a part of it.
  _along(plane, value, kind) {
    const line = plane && lineInBox(plane.w, plane.b - value, this.c.limits);
    if (line) segment(this.c.under, this.c, line, kind);
    return line;
  }

  _street(now) {
    const { c, lab } = this;
    for (const value of [1, -1]) this._along(now, value, "street");
    const size = now.w[0] ** 2 + now.w[1] ** 2;
    if (!(size > 0) || this.points.length > MOST_SLACKS) return;
    lab.moment.values().forEach((value, i) => {
      if (!(value < 1 - 1e-9)) return;
      const s = (lab.moment.sign(i) * (1 - value)) / size;
      const p = this.points[i];
      segment(c.under, c, [p, [p[0] + s * now.w[0], p[1] + s * now.w[1]]], "slack");
    });
  }

  // The arrow w at the middle of the line, and the names of the classes on both sides.
  _normal({ w }, [p, q]) {
    const { c, lab } = this;
    const { flat } = lab.frame;
    const [x, y] = [c.x((p[0] + q[0]) / 2), flat ? c.y(0) : c.y((p[1] + q[1]) / 2)];
    const across = Math.abs(c.x(1) - c.x(0));
    const up = flat ? 0 : Math.abs(c.y(1) - c.y(0));
    const size = Math.hypot(...w);
    const [dx, dy] = [w[0] / size, (-w[1] / size) * (up / across)];
    const norm = Math.hypot(dx, dy) || 1;
    const way = [dx / norm, dy / norm];
    const long = Math.min(56, 0.2 * c.width);
    const tip = [x + long * way[0], y + long * way[1]];
    arrow(c.over, [x, y], tip, "normal");
    const place = { x: tip[0] + 9 * way[0], y: tip[1] + 9 * way[1] + 4 };
    make(c.over, "text", { ...place, "text-anchor": "middle", class: "halo" }, "w");
    if (!flat) this._sides([p, q], way, tip);
  }

  _sides(line, way, tip) {
    const { c, lab } = this;
    const pixel = ([u, v]) => [c.x(u), c.y(v)];
    const taken = [tip, ...this.points.slice(0, MOST_SLACKS).map(pixel)];
    for (const [k, s] of this._sidesOf()) {
      const name = lab.names.className(k);
      const half = 4 * Math.min(24, name.length) + 4;
      const side = way.map((v) => s * v);
      const at = beside(line.map(pixel), side, [half, 10], c.frame, taken);
      if (!at) continue;
      make(c.over, "text", { x: at[0], y: at[1] + 3, "text-anchor": "middle", class: "side halo" }, name);
      const bar = { x: at[0] - half + 2, y: at[1] + 7, width: 2 * half - 4, height: 3 };
      make(c.over, "rect", { ...bar, style: colour(k) });
    }
  }

  // -- hulls ----------------------------------------------------------------------------------

  _hulls() {
    const { c, lab } = this;
    for (const k of lab.run.present) {
      const own = this.points.filter((_, i) => lab.state.table.y[i] === k);
      const style = `stroke:var(--c${k % 10})`;
      make(c.under, "polygon", { points: polygonText(c, hullOf(own)), class: "hull", style });
    }
    const ends = lab.proof.nearest()?.map((x) => lab.frame.project(x));
    if (ends) drawNearest(c, ends, 4);
    const meet = lab.proof.common();
    if (!meet) return;
    const [u, v] = lab.frame.project(meet);
    drawCommon(
      c,
      [u, v],
      lab.proof.rows().map((i) => this.points[i]),
    );
    make(c.over, "text", { x: c.x(u) + 12, y: c.y(v) - 9, class: "halo" }, "in both hulls");
  }
}

// The nearest points of two hulls.
export function drawNearest(c, ends, r) {
  segment(c.over, c, ends, "nearest");
  for (const end of ends) ring(c, end, r, "foot");
}

// A point of both hulls, and the rows that it is made of.
export function drawCommon(c, at, rows) {
  for (const row of rows) segment(c.under, c, [row, at], "proof-line");
  make(c.over, "path", { d: marker(7, c.x(at[0]), c.y(at[1]), 8), class: "common" });
}
