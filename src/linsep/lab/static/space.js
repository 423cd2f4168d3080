// Three dimensions on a page: points, planes, meshes and curves, turned by hand or by arrows.
import { colour, make, marker, show } from "./plot.js";
import { turned } from "./algebra.js";

const STRAIGHT_DOWN = 1.57; // radians

export class Space {
  constructor(svg) {
    this.svg = svg;
    this.yaw = -0.62;
    this.tilt = 0.42;
    this.lift = 1;
    this.scene = null;
    let from = null;
    svg.setAttribute("tabindex", "0");
    svg.classList.add("turns");
    svg.addEventListener("pointerdown", (e) => {
      from = [e.clientX, e.clientY, this.yaw, this.tilt];
      svg.setPointerCapture(e.pointerId);
    });
    svg.addEventListener("pointermove", (e) => {
      if (!from || !this.scene) return;
      this._turn(from[2] + (e.clientX - from[0]) / 140, from[3] + (e.clientY - from[1]) / 140);
    });
    for (const kind of ["pointerup", "pointercancel"])
      svg.addEventListener(kind, () => {
        from = null;
      });
    svg.addEventListener("keydown", (e) => {
      const turn = { ArrowLeft: [-0.12, 0], ArrowRight: [0.12, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[
        e.key
      ];
      if (!turn || !this.scene) return;
      e.preventDefault();
      e.stopPropagation();
      this._turn(this.yaw + turn[0], this.tilt + turn[1]);
    });
  }

  // A scene: its size, names of the axes, points with labels, rings and the row of the step, and
  // whatever of mesh, plane, curves, arrows and hulls is seen with them.
  show(scene) {
    this.scene = scene;
    this.draw();
  }

  // From the plane, 0, to space, 1; flat rows are seen from above.
  raise(height) {
    this.lift = height;
    if (height < 0.02) this.tilt = STRAIGHT_DOWN;
    if (this.scene) this.draw();
  }

  _turn(yaw, tilt) {
    this.yaw = yaw;
    this.tilt = Math.max(-0.2, Math.min(STRAIGHT_DOWN, tilt));
    this.draw();
  }

  _scales() {
    const all = [...this.scene.points, ...(this.scene.mesh?.rows ?? []), ...(this.scene.more ?? [])];
    const low = [0, 1, 2].map((j) => Math.min(...all.map((p) => p[j]))),
      high = [0, 1, 2].map((j) => Math.max(...all.map((p) => p[j])));
    return { low, high, span: low.map((v, j) => Math.max(high[j] - v, 1e-9)) };
  }

  draw() {
    const { svg, scene } = this,
      { width, height } = scene,
      { low, high, span } = this._scales();
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    const equal = scene.equal ? Math.max(...span) : 0;
    const unit = (p) =>
      p.map((v, j) => ((v - (low[j] + high[j]) / 2) / (equal || span[j])) * (j === 2 ? this.lift : 1));
    const k = 0.55 * Math.min(width, height * 1.15);
    const at = (p) => {
      const [u, v, d] = turned(unit(p), this.yaw, this.tilt);
      return [width / 2 + k * u, height / 2 - k * v, d];
    };
    const path = (list) =>
      list
        .map((p, i) => {
          const [x, y] = at(p);
          return `${i ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`;
        })
        .join("");
    const names = this._box(at, low, high, path);
    if (scene.mesh) {
      const { rows, size } = scene.mesh,
        lines = [];
      for (let i = 0; i < size; i++) {
        lines.push(path(rows.slice(i * size, (i + 1) * size)));
        lines.push(path(rows.filter((_, j) => j % size === i)));
      }
      make(svg, "path", { d: lines.join(""), class: "mesh" });
    }
    for (const list of scene.hulls ?? []) make(svg, "path", { d: path(list) + "Z", class: "hull-face" });
    if (scene.plane) this._plane(scene.plane, low, high, path);
    for (const { list, kind } of scene.curves ?? [])
      for (const s of list) make(svg, "path", { d: path(s), class: kind });
    for (const { from, to, kind, text } of scene.arrows ?? []) {
      const [x, y] = at(from),
        [u, v] = at(to);
      make(svg, "line", { x1: x, y1: y, x2: u, y2: v, class: kind });
      if (text) make(svg, "text", { x: u + 6, y: v - 6, class: "halo" }, text);
    }
    const order = scene.points.map((p, i) => [at(p), i]).sort((p, q) => q[0][2] - p[0][2]);
    for (const [[x, y, depth], i] of order) {
      const r = 6 * (1 - 0.25 * depth);
      if (this.lift > 0.05 && scene.drops) {
        const [gx, gy] = at([scene.points[i][0], scene.points[i][1], low[2]]);
        make(svg, "line", { x1: x, y1: y, x2: gx, y2: gy, class: "drop" });
      }
      make(svg, "path", {
        d: marker(scene.labels[i], x, y, r),
        class: "mark",
        style: colour(scene.labels[i]),
      });
      if (scene.rings?.has(i)) make(svg, "circle", { cx: x, cy: y, r: r + 4, class: "wrong" });
      if (scene.row === i) make(svg, "circle", { cx: x, cy: y, r: r + 10, class: "row" });
    }
    svg.append(...names);
  }

  _box(at, low, high, path) {
    const { svg, scene } = this,
      [a, b] = [low, high];
    const floor = [
      [a[0], a[1], a[2]],
      [b[0], a[1], a[2]],
      [b[0], b[1], a[2]],
      [a[0], b[1], a[2]],
    ];
    make(svg, "path", { d: path(floor) + "Z", class: "floor" });
    const corner = floor[0];
    return [
      [b[0], a[1], a[2]],
      [a[0], b[1], a[2]],
      [a[0], a[1], b[2]],
    ].map((end, j) => {
      const [x, y] = at(corner),
        [u, v] = at(end);
      make(svg, "line", { x1: x, y1: y, x2: u, y2: v, class: "axis strong" });
      return make(
        null,
        "text",
        {
          x: u + 5,
          y: Math.min(scene.height - 4, v + (j === 2 ? -5 : 12)),
          "text-anchor": u > scene.width / 2 ? "end" : "start",
          class: "name halo",
        },
        `${scene.names[j]} = ${show(Number(high[j].toPrecision(3)))}`,
      );
    });
  }

  // The part of w.x + b = 0 inside the box, as a polygon.
  _plane({ w, b }, low, high, path) {
    const value = (p) => w[0] * p[0] + w[1] * p[1] + w[2] * p[2] + b,
      hits = [],
      corners = [];
    for (let m = 0; m < 8; m++)
      corners.push([m & 1 ? high[0] : low[0], m & 2 ? high[1] : low[1], m & 4 ? high[2] : low[2]]);
    for (let i = 0; i < 8; i++)
      for (const bit of [1, 2, 4]) {
        const j = i ^ bit;
        if (j < i) continue;
        const [u, v] = [value(corners[i]), value(corners[j])];
        if (u > 0 !== v > 0) {
          const s = u / (u - v);
          hits.push(corners[i].map((c, k) => c + s * (corners[j][k] - c)));
        }
      }
    if (hits.length < 3) return;
    const mid = [0, 1, 2].map((j) => hits.reduce((s, p) => s + p[j], 0) / hits.length),
      span = low.map((v, j) => high[j] - v || 1);
    const flat = hits.map((p) => p.map((v, j) => (v - mid[j]) / span[j]));
    const n = [w[0] * span[0], w[1] * span[1], w[2] * span[2]],
      size = Math.hypot(...n) || 1;
    const e = flat[0],
      f = [0, 1, 2].map((j) => (n[(j + 1) % 3] * e[(j + 2) % 3] - n[(j + 2) % 3] * e[(j + 1) % 3]) / size);
    const angle = (p) =>
      Math.atan2(p[0] * f[0] + p[1] * f[1] + p[2] * f[2], p[0] * e[0] + p[1] * e[1] + p[2] * e[2]);
    const sorted = hits
      .map((p, i) => [angle(flat[i]), p])
      .sort((p, q) => p[0] - q[0])
      .map((p) => p[1]);
    make(this.svg, "path", { d: path(sorted) + "Z", class: "cut" });
  }
}
