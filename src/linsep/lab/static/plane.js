// The plane of the data: points that can be added, dragged and removed, regions, boundary, normal.
import { around, clip, colour, make, marker, tickNames, ticks } from "./plot.js";
import { borders, coloursOf, contour, fieldImage } from "./field.js";
import { beside, hullOf, lineInBox, rounded, unpacked } from "./algebra.js";
import { el } from "./widgets.js";

const PAD = { l: 44, r: 10, t: 10, b: 34 };

// An SVG with axes, in pixels of the page: scales, a group below the marks and one above.
export function chart(svg, width, height, box, names, { equal = true, title = "" } = {}) {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const w = width - PAD.l - PAD.r,
    h = height - PAD.t - PAD.b;
  if (equal) {
    const [bw, bh] = [box.x1 - box.x0, box.y1 - box.y0],
      scale = Math.max(bw / w, bh / h);
    const [cx, cy] = [(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2];
    box = {
      x0: cx - (scale * w) / 2,
      x1: cx + (scale * w) / 2,
      y0: cy - (scale * h) / 2,
      y1: cy + (scale * h) / 2,
    };
  }
  const x = (v) => PAD.l + ((v - box.x0) / (box.x1 - box.x0)) * w;
  const y = (v) => height - PAD.b - ((v - box.y0) / (box.y1 - box.y0)) * h;
  const id = `inside-${Math.random().toString(36).slice(2, 9)}`,
    frame = { x: PAD.l, y: PAD.t, width: w, height: h };
  make(make(svg, "clipPath", { id }), "rect", frame);
  if (title) make(svg, "title", {}, title);
  const ground = make(svg, "rect", { ...frame, class: "ground" });
  const under = make(svg, "g", { "clip-path": `url(#${id})` });
  const grid = make(svg, "g", { class: "grid", "aria-hidden": "true" });
  make(svg, "rect", { ...frame, class: "axis" });
  const across = ticks(box.x0, box.x1, Math.max(2, w / 70)),
    up = ticks(box.y0, box.y1, Math.max(2, h / 55)),
    [told, toldUp] = [across, up].map(tickNames);
  across.forEach((v, k) =>
    make(grid, "text", { x: x(v), y: height - PAD.b + 15, "text-anchor": "middle" }, told.names[k]),
  );
  up.forEach((v, k) =>
    make(grid, "text", { x: PAD.l - 5, y: y(v) + 4, "text-anchor": "end" }, toldUp.names[k]),
  );
  make(
    grid,
    "text",
    { x: PAD.l + w / 2, y: height - 4, "text-anchor": "middle", class: "name" },
    names[0] + told.more,
  );
  if (names[1])
    make(
      grid,
      "text",
      {
        x: 11,
        y: PAD.t + h / 2,
        transform: `rotate(-90 11 ${PAD.t + h / 2})`,
        "text-anchor": "middle",
        class: "name",
      },
      names[1] + toldUp.more,
    );
  const marks = make(svg, "g"),
    over = make(svg, "g", { "clip-path": `url(#${id})`, class: "over" });
  const back = (px, py) => [
    box.x0 + ((px - PAD.l) / w) * (box.x1 - box.x0),
    box.y0 + ((height - PAD.b - py) / h) * (box.y1 - box.y0),
  ];
  return {
    svg,
    box,
    x,
    y,
    back,
    under,
    over,
    marks,
    ground,
    width,
    height,
    frame,
    limits: [box.x0, box.x1, box.y0, box.y1],
  };
}

export const polygonText = (c, points) =>
  points.map(([u, v]) => `${c.x(u).toFixed(2)},${c.y(v).toFixed(2)}`).join(" ");

export function segment(parent, c, [p, q], kind) {
  return make(parent, "line", { x1: c.x(p[0]), y1: c.y(p[1]), x2: c.x(q[0]), y2: c.y(q[1]), class: kind });
}

export function arrow(parent, [x, y], [u, v], kind) {
  const long = Math.hypot(u - x, v - y);
  if (!(long > 3)) return;
  const [p, q] = [(u - x) / long, (v - y) / long],
    s = Math.min(9, long / 2);
  make(parent, "line", { x1: x, y1: y, x2: u - s * p, y2: v - s * q, class: kind });
  make(parent, "path", {
    d: `M${u},${v}L${u - s * p + (s / 2) * q},${v - s * q - (s / 2) * p}L${u - s * p - (s / 2) * q},${v - s * q + (s / 2) * p}Z`,
    class: `${kind} tip`,
  });
}

export function curvesPath(parent, c, list, kind) {
  if (list.length)
    make(parent, "path", {
      d: list
        .map((curve) => `M${curve.map(([u, v]) => `${c.x(u).toFixed(1)},${c.y(v).toFixed(1)}`).join("L")}`)
        .join(""),
      class: kind,
    });
}

export class DataPlane {
  constructor(lab, host) {
    this.lab = lab;
    this.box = null;
    this.marks = [];
    this.focus = -1;
    this.svg = make(null, "svg", {
      class: "data-plane",
      role: "application",
      tabindex: "0",
      "aria-label": "Data space",
    });
    this.svg.setAttribute("aria-roledescription", "plane of points");
    host.append(this.svg);
    this.legend = el("ul", { class: "legend", "aria-label": "Legend" });
    this.here = el("p", { class: "quiet here", "aria-hidden": "true" }); // points say the same to those who cannot see it
    host.append(el("div", { class: "below" }, this.legend, host.querySelector(".zoom")), this.here);
    this._pointer();
  }

  measure() {
    this.room = this.svg.parentElement.clientWidth;
  }

  // -- the view ---------------------------------------------------------------------------

  fit() {
    this.box = null;
    this.draw();
  }

  zoom(factor, about = null) {
    const b = this.c.box,
      [x, y] = about ?? [(b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2];
    this.box = {
      x0: x + (b.x0 - x) * factor,
      x1: x + (b.x1 - x) * factor,
      y0: y + (b.y0 - y) * factor,
      y1: y + (b.y1 - y) * factor,
    };
    this.draw();
  }

  _layOut() {
    const lab = this.lab;
    const width = Math.max(260, Math.min(900, Math.round(this.room))),
      flat = lab.frame.flat;
    const height = flat ? 190 : Math.round(Math.min(0.78 * width, Math.max(300, 0.62 * innerHeight)));
    const points = lab.state.table.X.map((x) => lab.project(x));
    const all = points.length
      ? [...points, ...(lab.state.held?.X ?? []).map((x) => lab.project(x))]
      : [
          [-1, -1],
          [1, 1],
        ];
    if (!this.box)
      this.box = around(
        all.length > 1 ? all : [...all, [all[0][0] + 1, all[0][1] + 1], [all[0][0] - 1, all[0][1] - 1]],
        width,
        height,
        !flat,
      );
    if (flat) {
      this.box.y0 = -1;
      this.box.y1 = 1;
    }
    this.points = points;
    const key = [width, height, flat, ...Object.values(this.box), ...lab.frame.names].join();
    if (key === this.layout) {
      // the axes stay; what the step changes is drawn anew
      this.c.under.replaceChildren();
      this.c.over.replaceChildren();
      return;
    }
    this.layout = key;
    this.marks = [];
    this.c = chart(this.svg, width, height, this.box, flat ? [lab.frame.names[0], ""] : lab.frame.names, {
      equal: !flat,
    });
  }

  draw() {
    if (!this.lab.state.table) return;
    const held = document.activeElement?.dataset?.row;
    this._layOut();
    const { c, lab } = this,
      n = this.points.length;
    this.size = n > 600 ? 3 : n > 120 ? 4.4 : 6.5;
    this._ground();
    this._points();
    this._over();
    this._legend();
    if (held !== undefined && this.marks[held] && this.marks[held] !== document.activeElement)
      this.marks[held].focus({ preventScroll: true });
    this.svg.setAttribute(
      "aria-label",
      `Data space: ${n} points, ${lab.errorsNow().length} on the wrong side. ` +
        "Tab walks the points, arrows move one, Delete removes it, N adds one.",
    );
    c.svg.classList.toggle("crowd", n > 400);
  }

  // -- regions, boundary ------------------------------------------------------------------

  _ground() {
    const { lab } = this,
      run = lab.run;
    this.zoned = null;
    if (!run) return;
    const zones = lab.state.view === "regions" && lab.state.step === run.update.length - 1 ? lab.zones : null;
    if (zones?.pieces.length && !lab.frame.flat) this._zones((this.zoned = zones));
    else if (lab.curved) this._field();
    else if (run.planes > 1) this._machine();
    else if (run.planes === 1) this._line();
    if (lab.showHulls) this._hulls();
  }

  _machine() {
    const { c, lab } = this,
      all = lab.planesNow(),
      b = c.box;
    const corners = [
        [b.x0, b.y0],
        [b.x1, b.y0],
        [b.x1, b.y1],
        [b.x0, b.y1],
      ],
      ties = [];
    all.forEach((own, k) => {
      let area = corners;
      all.forEach((other, l) => {
        if (l !== k) area = clip(area, [own.w[0] - other.w[0], own.w[1] - other.w[1]], own.b - other.b);
      });
      if (all.some((other, l) => l !== k && other.b === own.b && other.w.every((v, j) => v === own.w[j])))
        ties.push(area);
      else if (area.length)
        make(c.under, "polygon", {
          points: polygonText(c, area),
          class: "region edged",
          style: colour(lab.run.present[k]),
        });
    });
    if (!ties.some((area) => area.length)) return; // classes with the same function, as at the start
    this._hatch();
    const area = ties.find((one) => one.length);
    make(c.under, "polygon", {
      points: polygonText(c, area),
      class: "undecided",
      fill: `url(#${this.many})`,
    });
    this._zoneName(area, "several");
  }

  _zones(zones) {
    const { c, lab } = this;
    this._hatch();
    for (const [who, piece] of zones.pieces) {
      const points = polygonText(c, piece);
      if (who >= 0)
        make(c.under, "polygon", { points, class: "region", style: colour(lab.run.present[who]) });
      else
        make(c.under, "polygon", {
          points,
          class: "undecided",
          fill: `url(#${who === -1 ? this.none : this.many})`,
        });
    }
    const named = new Set();
    for (const [who, piece] of [...zones.pieces].sort((p, q) => areaOf(q[1]) - areaOf(p[1]))) {
      if (who >= 0 || named.has(who) || areaOf(piece.map(([u, v]) => [c.x(u), c.y(v)])) < 1) continue;
      named.add(who);
      this._zoneName(piece, who === -1 ? "no class" : "several");
    }
  }

  // In the zone where it has room, else above it, so that the zone is seen.
  _zoneName(piece, name) {
    const { c } = this,
      [x, y] = [0, 1].map((j) => piece.reduce((s, p) => s + p[j], 0) / piece.length),
      wide = 8 * name.length + 10;
    const room = [0, 1].map((j) => Math.max(...piece.map((p) => p[j])) - Math.min(...piece.map((p) => p[j]))),
      fits = c.x(room[0]) - c.x(0) > wide && c.y(0) - c.y(room[1]) > 24;
    const top = Math.min(...piece.map((p) => c.y(p[1])));
    const half = wide / 2,
      left = Math.max(c.frame.x + half, Math.min(c.frame.x + c.frame.width - half, c.x(x)));
    make(
      c.over,
      "text",
      {
        x: left,
        y: fits ? c.y(y) : Math.max(c.frame.y + 14, top - 8),
        "text-anchor": "middle",
        class: "zone-name",
      },
      name,
    );
  }

  _hatch() {
    const defs = make(this.c.under, "defs"),
      stamp = Math.random().toString(36).slice(2, 8);
    for (const [key, turn] of [
      ["none", 45],
      ["many", -45],
    ]) {
      this[key] = `hatch-${key}-${stamp}`;
      const p = make(defs, "pattern", {
        id: this[key],
        width: 8,
        height: 8,
        patternUnits: "userSpaceOnUse",
        patternTransform: `rotate(${turn})`,
      });
      make(p, "line", { x1: 0, y1: 0, x2: 0, y2: 8, class: "hatch" });
    }
  }

  _field() {
    const { c, lab } = this,
      found = lab.fieldNow(c);
    if (!found) return;
    const scores = (found.numbers ??= found.scores.map(unpacked));
    const street = () =>
      lab.method.key === "kernel-svm" && scores.length === 1
        ? [-1, 1].flatMap((level) => contour(scores[0], found.size, found.box, level))
        : [];
    found.curves ??= [borders(scores, found.size, found.box), street()];
    fieldImage(c.under, c, scores, found.size, found.box, coloursOf(lab.root, lab.run.present));
    curvesPath(c.under, c, found.curves[0], scores.length > 1 ? "line thin" : "line");
    curvesPath(c.under, c, found.curves[1], "street");
  }

  _line() {
    const { c, lab } = this,
      now = lab.planesNow()[0],
      old = lab.planesBefore()?.[0],
      b = c.box;
    const corners = [
      [b.x0, b.y0],
      [b.x1, b.y0],
      [b.x1, b.y1],
      [b.x0, b.y1],
    ];
    for (const [k, s] of [
      [1, 1],
      [0, -1],
    ]) {
      const area = clip(corners, [s * now.w[0], s * now.w[1]], s * now.b);
      if (area.length && (now.w[0] || now.w[1]))
        make(c.under, "polygon", {
          points: polygonText(c, area),
          class: "region",
          style: colour(lab.run.present[k]),
        });
    }
    const before = old && lineInBox(old.w, old.b, c.limits);
    if (before) segment(c.under, c, before, "before");
    if (lab.street) this._street(now);
    const line = lineInBox(now.w, now.b, c.limits);
    if (!line) return;
    segment(c.under, c, line, "line");
    this._normal(now, line);
  }

  _street(now) {
    const { c, lab } = this;
    for (const s of [-1, 1]) {
      const edge = lineInBox(now.w, now.b + s, c.limits);
      if (edge) segment(c.under, c, edge, "street");
    }
    const size = now.w[0] ** 2 + now.w[1] ** 2;
    if (!(size > 0) || lab.state.table.X.length > 400) return;
    lab.valuesNow().forEach((value, i) => {
      if (!(value < 1 - 1e-9)) return;
      const sign = lab.signOf(i),
        s = (sign * (1 - value)) / size,
        p = this.points[i];
      segment(c.under, c, [p, [p[0] + s * now.w[0], p[1] + s * now.w[1]]], "slack");
    });
  }

  _normal(now, [p, q]) {
    const { c, lab } = this,
      size = Math.hypot(now.w[0], now.w[1]),
      flat = lab.frame.flat;
    const mid = [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2],
      x = c.x(mid[0]),
      y = flat ? c.y(0) : c.y(mid[1]);
    const dx = now.w[0] / size,
      dy = now.w[1] / size,
      unit = Math.abs(c.x(1) - c.x(0));
    const long = Math.min(56, 0.2 * c.width),
      ratio = flat ? 0 : Math.abs(c.y(1) - c.y(0)) / unit;
    const [u, v] = [dx, -dy * (ratio || 0)],
      norm = Math.hypot(u, v) || 1;
    const tip = [x + (long * u) / norm, y + (long * v) / norm];
    arrow(c.over, [x, y], tip, "normal");
    make(
      c.over,
      "text",
      { x: tip[0] + (9 * u) / norm, y: tip[1] + (9 * v) / norm + 4, "text-anchor": "middle", class: "halo" },
      "w",
    );
    if (flat) return;
    const ends = [p, q].map(([a, b]) => [c.x(a), c.y(b)]),
      taken = [tip, ...this.points.slice(0, 400).map(([a, b]) => [c.x(a), c.y(b)])];
    for (const [k, s] of [
      [1, 1],
      [0, -1],
    ]) {
      const name = lab.className(lab.run.present[k]),
        wide = 4 * Math.min(24, name.length) + 4,
        at = beside(ends, [(s * u) / norm, (s * v) / norm], [wide, 10], c.frame, taken);
      if (!at) continue;
      make(c.over, "text", { x: at[0], y: at[1] + 3, "text-anchor": "middle", class: "side halo" }, name);
      make(c.over, "rect", {
        x: at[0] - wide + 2,
        y: at[1] + 7,
        width: 2 * wide - 4,
        height: 3,
        style: colour(lab.run.present[k]),
      });
    }
  }

  _hulls() {
    const { c, lab } = this;
    for (const k of lab.run.present) {
      const own = this.points.filter((_, i) => lab.state.table.y[i] === k);
      make(c.under, "polygon", {
        points: polygonText(c, hullOf(own)),
        class: "hull",
        style: `stroke:var(--c${k % 10})`,
      });
    }
    const ends = lab.nearestNow();
    if (ends) {
      const [p, q] = ends.map((x) => lab.project(x));
      segment(c.over, c, [p, q], "nearest");
      for (const e of [p, q]) make(c.over, "circle", { cx: c.x(e[0]), cy: c.y(e[1]), r: 4, class: "foot" });
    }
    const meet = lab.commonPoint();
    if (meet) {
      const [u, v] = lab.project(meet);
      for (const i of lab.proofRows()) segment(c.under, c, [this.points[i], [u, v]], "proof-line");
      make(c.over, "path", { d: marker(7, c.x(u), c.y(v), 8), class: "common" });
      make(c.over, "text", { x: c.x(u) + 12, y: c.y(v) - 9, class: "halo" }, "in both hulls");
    }
  }

  // -- points -----------------------------------------------------------------------------

  _points() {
    const { c, lab } = this,
      table = lab.state.table,
      many = this.points.length > 40,
      names = this.points.length <= 400;
    while (this.marks.length > this.points.length) this.marks.pop().remove();
    this.points.forEach(([u, v], i) => {
      const node = (this.marks[i] ??= make(c.marks, "path", {
        class: "mark",
        role: "button",
        "data-row": i,
        tabindex: "-1",
      }));
      const look = `${table.y[i]},${this.size}`;
      if (node.look !== look) {
        node.look = look;
        node.setAttribute("d", marker(table.y[i], 0, 0, this.size));
        node.style.cssText = colour(table.y[i]);
      }
      if (node.at?.[0] !== u || node.at[1] !== v) {
        node.at = [u, v];
        this._place(node, u, v);
      }
      const tab = many && i !== Math.max(0, this.focus) ? "-1" : "0";
      if (node.tab !== tab) {
        node.tab = tab;
        node.setAttribute("tabindex", tab);
      }
      if (names || i === this.focus || !node.named) {
        node.named = true;
        node.setAttribute("aria-label", lab.pointName(i));
      }
    });
  }

  _place(node, u, v) {
    node.at = [u, v];
    node.setAttribute(
      "transform",
      `translate(${this.c.x(u).toFixed(2)},${(this.lab.frame.flat ? this.c.y(0) : this.c.y(v)).toFixed(2)})`,
    );
  }

  _ring(i, r, kind) {
    const p = this.points[i];
    if (p)
      make(this.c.over, "circle", {
        cx: this.c.x(p[0]),
        cy: this.lab.frame.flat ? this.c.y(0) : this.c.y(p[1]),
        r,
        class: kind,
      });
  }

  // Rows that are held out: hollow, and not there for the method.
  _held() {
    const { c, lab } = this,
      { held } = lab.state;
    if (!held) return;
    const at = held.X.map((x) => lab.project(x)),
      y = (v) => (lab.frame.flat ? c.y(0) : c.y(v));
    for (const k of new Set(held.y)) {
      const d = at
        .map(([u, v], i) => (held.y[i] === k ? marker(k, c.x(u), y(v), this.size - 1) : ""))
        .join("");
      make(c.over, "path", { d, class: "held", style: `fill:none;stroke:var(--c${k % 10})` });
    }
    for (const i of lab.heldNow()?.errors[lab.index] ?? [])
      make(c.over, "circle", { cx: c.x(at[i][0]), cy: y(at[i][1]), r: this.size + 4, class: "wrong" });
  }

  _over() {
    this._held();
    const { lab } = this,
      n = this.points.length,
      wrong = new Set(lab.errorsNow());
    if (n > 400) this.marks.forEach((node, i) => node.classList.toggle("is-wrong", wrong.has(i)));
    else for (const i of wrong) this._ring(i, this.size + 4, "wrong");
    const alpha = lab.alphaNow(),
      support = lab.supportNow(),
      most = Math.max(...support.map((i) => alpha[i]));
    for (const i of support) this._ring(i, this.size + 3 + 6 * Math.sqrt(alpha[i] / most), "support");
    for (const i of lab.proofRows()) this._ring(i, this.size + 8, "proof");
    for (const row of lab.rowsNow()) this._ring(row, this.size + 11, "row");
    if (lab.lit >= 0) this._ring(lab.lit, this.size + 14, "lit");
    for (const i of lab.chosen) this._ring(i, this.size + 5, "lit");
    if (n <= 40) {
      this.points.forEach(([u, v], i) => {
        const name = lab.state.table.rows?.[i];
        if (name && !/^row \d+$/.test(name))
          make(
            this.c.over,
            "text",
            {
              x: this.c.x(u) + this.size + 6,
              y: lab.frame.flat ? this.c.y(0) - 12 : this.c.y(v) - 6,
              class: "halo row-name",
            },
            name,
          );
      });
    }
  }

  _legend() {
    const { lab } = this,
      list = this.legend;
    list.replaceChildren();
    const item = (draw, text) => {
      const li = el("li"),
        svg = make(li, "svg", { viewBox: "0 0 20 20", "aria-hidden": "true" });
      draw(svg);
      li.append(text);
      list.append(li);
    };
    const line = (kind) => (s) => make(s, "line", { x1: 1, y1: 10, x2: 19, y2: 10, class: kind });
    const ring = (kind) => (s) => make(s, "circle", { cx: 10, cy: 10, r: 8, class: kind });
    if (!lab.run) return;
    if (lab.run.planes === 1 && !lab.curved) {
      item(
        line("line"),
        lab.d > 2 ? "w·x + b = 0, where it cuts this picture: rows lie beside it" : "w·x + b = 0",
      );
      if (lab.planesBefore()) item(line("before"), "before this step");
    }
    if (lab.curved && !this.zoned)
      item(line("line"), lab.run.present.length === 2 ? "f(x) = 0" : "border of the classes");
    if (lab.curved && lab.run.present.length === 2) {
      if (lab.method.key === "kernel-svm") item(line("street"), "f(x) = ±1");
    }
    if (lab.street) {
      item(line("street"), "street, f = ±1");
      item(line("slack"), "slack");
    }
    if (lab.state.held)
      item(
        (s) =>
          make(s, "path", { d: marker(0, 10, 10, 6), class: "held", style: "fill:none;stroke:var(--c0)" }),
        "held out",
      );
    if (lab.errorsNow().length) item(ring("wrong"), "wrong side");
    if (lab.rowsNow().length)
      item(ring("row"), lab.rowsNow().length > 1 ? "rows of this step" : "row of this step");
    if (lab.alphaNow()) item(ring("support"), "support, by size of α");
    if (lab.proofRows().length) item(ring("proof"), "rows that prove it");
  }

  // -- pointer and keys --------------------------------------------------------------------

  _pixel(event) {
    const box = this.svg.getBoundingClientRect(),
      k = this.c.width / box.width;
    return [(event.clientX - box.left) * k, (event.clientY - box.top) * k];
  }
  _at(event) {
    return this.c.back(...this._pixel(event));
  }
  _inside(event) {
    const [x, y] = this._pixel(event),
      f = this.c.frame;
    return x > f.x && x < f.x + f.width && y > f.y && y < f.y + f.height;
  }

  _snapped(u, v) {
    const w = this.c.box.x1 - this.c.box.x0;
    return [rounded(u, w), this.lab.frame.flat ? 0 : rounded(v, w)];
  }

  _pointer() {
    const svg = this.svg;
    let drag = null,
      press = null,
      brush = null;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      const row = event.target.dataset?.row,
        { lab } = this,
        tool = lab.pointer,
        held = row !== undefined && lab.chosen.has(Number(row));
      if (["spray", "erase", "magnet"].includes(tool) || (tool === "select" && !held)) {
        brush = {
          tool,
          from: this._pixel(event),
          last: null,
          points: [],
          rows: new Set(),
          places: new Map(),
        };
        svg.setPointerCapture(event.pointerId);
        this._brush(brush, event);
        event.preventDefault();
        return;
      }
      if (tool === "pick" && row !== undefined) {
        this.marks[row].focus({ preventScroll: true });
        lab.pick(Number(row));
        event.preventDefault();
        return;
      }
      if (tool === "pick") return;
      if (row === undefined) {
        press = [event.clientX, event.clientY];
        return;
      }
      const at = this._at(event),
        rows = held ? [...lab.chosen] : [Number(row)];
      drag = {
        i: Number(row),
        offs: rows.map((k) => [k, [0, 1].map((j) => this.points[k][j] - at[j])]),
        moved: false,
      };
      svg.setPointerCapture(event.pointerId);
      this.marks[drag.i].focus({ preventScroll: true });
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => {
      if (brush) {
        this._brush(brush, event);
        return;
      }
      if (event.pointerType !== "touch" && this.c)
        this.here.textContent = this._inside(event) ? this.lab.placeName(this._at(event)) : "";
      if (!drag) return;
      const [u, v] = this._at(event),
        places = drag.offs.map(([k, off]) => [k, this._snapped(u + off[0], v + off[1])]);
      if (!drag.moved) {
        const [, to] = places.find(([k]) => k === drag.i),
          from = this.points[drag.i];
        if (Math.hypot(this.c.x(to[0]) - this.c.x(from[0]), this.c.y(to[1]) - this.c.y(from[1])) < 2) return;
        this.lab.keepForUndo();
        drag.moved = true;
      }
      for (const [k, to] of places) {
        this.points[k] = to;
        this._place(this.marks[k], ...to);
      }
      this.lab.movePoints(places, true);
    });
    const end = () => {
      if (brush) {
        const { lab } = this,
          done = brush;
        brush = null;
        this.layout = ""; // what was drawn on the way is drawn anew
        if (done.tool === "spray") lab.addPoints(done.points);
        else if (done.tool === "erase") lab.removePoints(done.rows);
        else if (done.tool === "select") {
          lab.choose(done.rows);
          this.marks[[...done.rows][0]]?.focus({ preventScroll: true });
        } else if (done.places.size) {
          lab.keepForUndo();
          lab.movePoints(
            [...done.places].map(([i, at]) => [i, this._snapped(...at)]),
            false,
          );
        }
        return;
      }
      if (!drag) return;
      const { i, moved } = drag;
      drag = null;
      if (moved) this.lab.settled();
      this.focus = i;
    };
    svg.addEventListener("pointerup", (event) => {
      if (drag || brush) return end();
      if (
        press &&
        Math.hypot(event.clientX - press[0], event.clientY - press[1]) < 5 &&
        this.c &&
        this._inside(event)
      )
        this.lab.addPoint(this._snapped(...this._at(event)), event.shiftKey);
      press = null;
    });
    svg.addEventListener("pointercancel", () => {
      press = null;
      end();
    });
    svg.addEventListener("pointerleave", () => {
      this.here.textContent = "";
    });
    svg.addEventListener("focusin", (event) => {
      const row = event.target.dataset?.row;
      if (row !== undefined) {
        this.focus = Number(row);
        event.target.setAttribute("aria-label", this.lab.pointName(this.focus));
        this.lab.pointFocused(this.focus);
      }
    });
    svg.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, this._at(event));
      },
      { passive: false },
    );
  }

  // A stroke of the brush: points around the pointer, those under it taken away or drawn to it, or a
  // rectangle of chosen ones.
  _brush(brush, event) {
    const { c, lab } = this,
      [x, y] = this._pixel(event),
      size = Number(lab.brush.value),
      flat = lab.frame.flat;
    const pixels = this.points.map(([u, v]) => [c.x(u), flat ? c.y(0) : c.y(v)]),
      away = (p) => Math.hypot(p[0] - x, p[1] - y);
    if (brush.tool === "select") {
      const [[x0, x1], [y0, y1]] = [
        [brush.from[0], x],
        [brush.from[1], y],
      ].map((pair) => pair.sort((p, q) => p - q));
      brush.box ??= make(c.over, "rect", { class: "choice" });
      for (const [name, v] of Object.entries({ x: x0, y: y0, width: x1 - x0, height: y1 - y0 }))
        brush.box.setAttribute(name, v);
      brush.rows = new Set(
        pixels.flatMap(([u, v], i) => (u >= x0 && u <= x1 && v >= y0 && v <= y1 ? [i] : [])),
      );
      return;
    }
    if (brush.last && Math.hypot(x - brush.last[0], y - brush.last[1]) < 7) return;
    brush.last = [x, y];
    if (brush.tool === "erase") {
      pixels.forEach((p, i) => {
        if (away(p) < size) {
          brush.rows.add(i);
          this.marks[i].setAttribute("visibility", "hidden");
        }
      });
      return;
    }
    if (brush.tool === "magnet") {
      pixels.forEach((p, i) => {
        if (away(p) > 4 * size) return;
        this.points[i] = c.back(...p.map((v, j) => v + 0.12 * ([x, y][j] - v)));
        brush.places.set(i, this.points[i]);
        this._place(this.marks[i], ...this.points[i]);
      });
      return;
    }
    const angle = 2 * Math.PI * Math.random(),
      r = size * Math.sqrt(Math.random()),
      [px, py] = [x + r * Math.cos(angle), y + r * Math.sin(angle)],
      f = c.frame;
    if (px < f.x || px > f.x + f.width || py < f.y || py > f.y + f.height) return;
    const at = this._snapped(...c.back(px, py));
    brush.points.push(at);
    make(c.over, "path", {
      d: marker(lab.klass, c.x(at[0]), flat ? c.y(0) : c.y(at[1]), this.size),
      class: "mark",
      style: colour(lab.klass),
    });
  }

  // Keys of a focused point; true where the key was for it.
  key(event, i) {
    const step = (this.c.box.x1 - this.c.box.x0) * (event.shiftKey ? 0.002 : 0.02);
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const { lab } = this,
      rows = lab.chosen.has(i) ? [...lab.chosen] : [i];
    if (moves) {
      lab.keepForUndo();
      lab.movePoints(
        rows.map((k) => [
          k,
          this._snapped(this.points[k][0] + step * moves[0], this.points[k][1] + step * moves[1]),
        ]),
        false,
      );
      return true;
    }
    if (event.key === "Enter" && lab.pointer === "select") {
      lab.choose(lab.chosen.has(i) ? [...lab.chosen].filter((k) => k !== i) : [...lab.chosen, i]);
      return true;
    }
    if (event.key === "Enter" && this.lab.method.picks) {
      this.lab.pick(i);
      this.lab.pointer = this.lab.pointerMenu.value = "pick";
      return true;
    }
    if (event.key === "Delete" || event.key === "Backspace") {
      if (rows.length > 1) lab.removePoints(rows);
      else lab.removePoint(i);
      return true;
    }
    if (event.key === "]" || event.key === "[") {
      const to = (i + (event.key === "]" ? 1 : this.marks.length - 1)) % this.marks.length;
      this.focus = to;
      this.marks[i].setAttribute("tabindex", "-1");
      this.marks[to].setAttribute("tabindex", "0");
      this.marks[to].focus();
      return true;
    }
    return false;
  }
}

export const areaOf = (p) =>
  Math.abs(p.reduce((s, [x, y], i) => s + x * p.at(i - 1)[1] - y * p.at(i - 1)[0], 0)) / 2;
