// The second picture: weight space, cost, hulls, losses, lift, regions, Gram matrix.
import { around, clip, colour, make, marker, show } from "./plot.js";
import { contour } from "./field.js";
import { dot, hullOf, levels, lineInBox, LOSSES, rounded, unpacked } from "./algebra.js";
import { areaOf, arrow, chart, polygonText, segment, curvesPath } from "./plane.js";
import { Space } from "./space.js";
import { chooser, el } from "./widgets.js";

export const VIEWS = {
  weights: "Weight space",
  cost: "Cost",
  reflected: "Reflected rows",
  hulls: "Hulls",
  loss: "Losses",
  probability: "Probability",
  lift: "3-D",
  regions: "Regions",
  gram: "Gram matrix",
};

// Points that cannot be moved, one shape for each class.
function marksOf(c, points, labels, size) {
  for (const k of new Set(labels)) {
    const d = points.map(([u, v], i) => (labels[i] === k ? marker(k, c.x(u), c.y(v), size) : "")).join("");
    make(c.marks, "path", { d, class: "mark", style: colour(k) });
  }
}

// A sentence of many classes, without its longest list.
const shortened = (text) => (text.length > 300 ? text.split("; no common boundary")[0] : text);

export class SecondView {
  constructor(lab, host) {
    this.lab = lab;
    this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Second picture" });
    this.tools = el("div", { class: "tools" });
    this.body = el("div", { class: "second-body", role: "tabpanel" });
    this.note = el("p", { class: "quiet" });
    this.more = el("div", { class: "more" });
    host.append(this.tabs, this.tools, this.body, this.more, this.note);
    this.space = null;
    this.kind = "";
  }

  measure() {
    this.room = this.body.clientWidth;
  }

  // Which pictures make sense for what is on the page.
  offered() {
    const { lab } = this,
      run = lab.run,
      out = [];
    if (run.planes === 1) out.push("weights");
    if (run.planes === 1 && lab.method.criterion) out.push("cost");
    if (run.planes === 1 && this._dims() < 4) out.push("reflected");
    out.push("hulls");
    if (lab.signOf(0) !== 0 && (run.planes === 1 || lab.method.kernel)) out.push("loss");
    if (run.planes === 1 && lab.method.criterion === "Logistic") out.push("probability");
    if (
      (run.lifted && run.features.length >= 2 && !lab.frame.flat) ||
      (!run.lifted && lab.d === 3) ||
      (run.lifted && lab.d === 1 && run.features.length >= 2)
    )
      out.push("lift");
    if (run.present.length > 2 && lab.d === 2 && !lab.state.lift) out.push("regions");
    if (lab.method.kernel) out.push("gram");
    return out;
  }

  draw() {
    const { lab } = this;
    if (!lab.run) {
      if (lab.error) {
        this.body.replaceChildren();
        this.more.replaceChildren();
        this.tools.replaceChildren();
        this.note.textContent = "";
        this.kind = "";
      }
      return;
    }
    const offered = this.offered();
    let kind = lab.state.view;
    if (!offered.includes(kind)) kind = offered.includes(lab.method?.view) ? lab.method.view : offered[0];
    if (lab.state.lift && !lab.state.view && offered.includes("lift")) kind = "lift";
    lab.state.view = kind;
    this._tabs(offered, kind);
    const key =
      kind +
      (["weights", "cost"].includes(kind)
        ? lab.weightNames().join()
        : kind === "regions"
          ? lab.state.method
          : ["hulls", "reflected"].includes(kind)
            ? [lab.state.method, lab.state.settings.space, this._dims()].join()
            : lab.state.lift);
    if (key !== this.key || kind !== this.kind) {
      this.kind = kind;
      this.key = key;
      this.body.replaceChildren();
      this.tools.replaceChildren();
      this.svg = make(null, "svg", { role: "img", class: `second ${kind}` });
      this.body.append(this.svg);
      this.body.setAttribute("aria-label", VIEWS[kind]);
      this.space = null;
      this.box = null;
      this["_set_" + kind]?.();
    }
    this.note.textContent = "";
    this.more.replaceChildren();
    this.width = Math.max(260, Math.min(900, Math.round(this.room)));
    this.height = Math.round(Math.min(0.78 * this.width, Math.max(300, 0.62 * innerHeight)));
    this["_draw_" + kind]();
  }

  _tabs(offered, kind) {
    const { lab } = this,
      key = offered.join() + kind + !!lab.run.lifted;
    if (key === this.shownTabs) return;
    this.shownTabs = key;
    const held = this.tabs.contains(document.activeElement);
    this.tabs.replaceChildren(
      ...offered.map((name) =>
        el(
          "button",
          {
            type: "button",
            role: "tab",
            "aria-selected": String(name === kind),
            tabindex: name === kind ? "0" : "-1",
            onclick: () => lab.setView(name),
            onkeydown: (e) => {
              const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
              if (step) {
                e.preventDefault();
                e.stopPropagation();
                lab.setView(offered[(offered.indexOf(name) + step + offered.length) % offered.length]);
              }
            },
          },
          name === "lift" && lab.run.lifted ? "Lift" : VIEWS[name],
        ),
      ),
    );
    if (held) this.tabs.querySelector('[aria-selected="true"]').focus();
  }

  // -- weight space ----------------------------------------------------------------------------

  _axes() {
    const dims = this.lab.weightNames().length,
      axes = this.lab.state.axes;
    if (axes && axes[0] < dims && axes[1] < dims && axes[0] !== axes[1]) return axes;
    return dims === 2 ? [0, 1] : [0, 1];
  }

  _set_weights() {
    this._axisTools();
    this._clicks();
  }
  _set_cost() {
    this._axisTools();
    this._clicks();
  }

  _axisTools() {
    const names = this.lab.weightNames();
    if (names.length < 3) return;
    const pick = (place) => (value) => {
      const axes = [...this._axes()];
      axes[place] = Number(value);
      if (axes[0] === axes[1]) axes[1 - place] = (axes[place] + 1) % names.length;
      this.lab.state.axes = axes;
      this.kind = "";
      this.lab.redraw();
    };
    const [i, j] = this._axes(),
      options = names.map((n, k) => [String(k), n]);
    this.tools.append(
      el("span", {}, "axes "),
      chooser("first axis", options, String(i), pick(0)),
      chooser("second axis", options, String(j), pick(1)),
    );
  }

  _clicks() {
    this.svg.addEventListener("click", (event) => {
      const c = this.c;
      if (!c || !this.lab.canStart) return;
      const box = this.svg.getBoundingClientRect(),
        k = c.width / box.width;
      const [u, v] = c.back((event.clientX - box.left) * k, (event.clientY - box.top) * k),
        w = [...this.lab.weightsNow()],
        [i, j] = this._axes();
      const wide = c.box.x1 - c.box.x0;
      w[i] = rounded(u, wide);
      w[j] = rounded(v, wide);
      this.lab.setStart(w);
    });
    this.svg.addEventListener("pointermove", (event) => {
      const c = this.c;
      if (!c || !this.edges) return;
      const box = this.svg.getBoundingClientRect(),
        k = c.width / box.width;
      const x = (event.clientX - box.left) * k,
        y = (event.clientY - box.top) * k;
      let best = -1,
        near = 9;
      for (const { i, px } of this.edges) {
        const [[a, b], [p, q]] = px,
          long = Math.hypot(p - a, q - b) || 1;
        const away = Math.abs((p - a) * (b - y) - (a - x) * (q - b)) / long;
        if (away < near) {
          near = away;
          best = i;
        }
      }
      this.lab.light(best);
    });
    this.svg.addEventListener("pointerleave", () => this.lab.light(-1));
  }

  _draw_weights() {
    this._weightSpace(false);
  }
  _draw_cost() {
    this._weightSpace(true);
  }

  _weightSpace(cost) {
    const { lab } = this,
      [i, j] = this._axes(),
      names = lab.weightNames(),
      path = lab.path(),
      now = lab.weightsNow();
    if (!path.length) return;
    const shown = path.map((w) => [w[i], w[j]]).filter((p) => p.every(Number.isFinite));
    const nearby = shown.length < 60 ? shown : shown.slice(0, Math.max(20, lab.state.step + 2));
    const size = Math.max(...nearby.map((p) => Math.hypot(...p)), 1e-9),
      goal = lab.goal();
    const all = [...nearby, [0, 0], [-0.35 * size, -0.35 * size], [0.35 * size, 0.35 * size]];
    if (goal && cost) all.push([goal[i], goal[j]]);
    const c = (this.c = chart(this.svg, this.width, this.height, around(all, this.width, this.height, true), [
      names[i],
      names[j],
    ]));
    const Z = lab.reflected(),
      rest = (z) => z.reduce((s, v, k) => (k === i || k === j ? s : s + v * now[k]), 0);
    const slice = names.length > 2,
      b = c.box;
    let area = [
      [b.x0, b.y0],
      [b.x1, b.y0],
      [b.x1, b.y1],
      [b.x0, b.y1],
    ];
    if (cost) this._contours(c, [i, j], now);
    this.edges = [];
    Z.forEach((z, row) => {
      const w = [z[i], z[j]],
        r = rest(z);
      area = area.length ? clip(area, w, r) : area;
      const line = lineInBox(w, r, c.limits);
      if (!line || Z.length > 200 || cost) return;
      const px = line.map((p) => [c.x(p[0]), c.y(p[1])]);
      this.edges.push({ i: row, px });
      const lit = row === lab.lit || row === lab.rowNow();
      segment(c.under, c, line, `edge${lit ? " lit-edge" : ""}`);
      if (Z.length <= 60) this._hatchEdge(c, px, w, lit);
    });
    if (area.length > 2 && !cost && areaOf(area.map(([u, v]) => [c.x(u), c.y(v)])) > 1) {
      // in pixels: what rounding leaves of a point is none
      make(c.under, "polygon", { points: polygonText(c, area), class: "solution" });
      const mid = [0, 1].map((k) => area.reduce((s, p) => s + p[k], 0) / area.length);
      make(
        c.over,
        "text",
        { x: c.x(mid[0]), y: c.y(mid[1]), "text-anchor": "middle", class: "halo zone-name" },
        "solutions",
      );
    }
    const upto = shown.slice(0, lab.state.step + 1),
      later = shown.slice(lab.state.step);
    const line = (list) => list.map(([u, v]) => `${c.x(u).toFixed(1)},${c.y(v).toFixed(1)}`).join(" ");
    if (later.length < 1500) make(c.under, "polyline", { points: line(later), class: "path-later" });
    make(c.over, "polyline", { points: line(upto), class: "path" });
    if (upto.length < 60)
      for (const [u, v] of upto)
        make(c.over, "circle", { cx: c.x(u), cy: c.y(v), r: 2.2, class: "path-dot" });
    const before = lab.weightsBefore();
    if (before) arrow(c.over, [c.x(before[i]), c.y(before[j])], [c.x(now[i]), c.y(now[j])], "move");
    make(c.over, "circle", { cx: c.x(now[i]), cy: c.y(now[j]), r: 5.5, class: "dot" });
    if (lab.method.steps && (lab.state.step === 0 || upto.length > 1))
      make(c.over, "text", { x: c.x(upto[0][0]) + 8, y: c.y(upto[0][1]) + 14, class: "halo" }, "start");
    make(c.under, "path", { d: `M${c.x(0) - 5},${c.y(0)}h10M${c.x(0)},${c.y(0) - 5}v10`, class: "origin" });
    const held = names
      .map((n, k) => [n, now[k], k])
      .filter(([, , k]) => k !== i && k !== j)
      .slice(0, 4);
    this.note.textContent = [
      cost
        ? `${this.costName ?? "The cost"} over two weights.`
        : "Every row allows one side of its edge; hatched is forbidden.",
      slice
        ? `A slice: ${held.map(([n, v]) => `${n} = ${show(v)}`).join(", ")}${names.length > 6 ? ", …" : ""} held as in this step.`
        : "",
      lab.canStart ? "Click to start from there." : "",
    ]
      .filter(Boolean)
      .join(" ");
    this.svg.setAttribute(
      "aria-label",
      `${cost ? "Cost" : "Weight space"}: the path of the weights up to step ${lab.state.step}, now ${names
        .map((n, k) => `${n} ${show(now[k])}`)
        .slice(0, 6)
        .join(", ")}`,
    );
  }

  _hatchEdge(c, [[x, y], [u, v]], w, lit) {
    const long = Math.hypot(u - x, v - y),
      [p, q] = [(u - x) / long, (v - y) / long];
    let n = [q, -p]; // towards the forbidden side, where w.a decreases
    const inside = [w[0] * (c.x(1) - c.x(0)), w[1] * (c.y(1) - c.y(0))];
    if (n[0] * inside[0] + n[1] * inside[1] > 0) n = [-n[0], -n[1]];
    let d = "";
    for (let s = 5; s < long; s += 11)
      d += `M${(x + s * p).toFixed(1)},${(y + s * q).toFixed(1)}l${(6 * n[0] - 4 * p).toFixed(1)},${(6 * n[1] - 4 * q).toFixed(1)}`;
    make(c.under, "path", { d, class: `hatching${lit ? " lit-edge" : ""}` });
  }

  _contours(c, axes, now) {
    const found = this.lab.costNow(axes, now, c.limits);
    if (!found) return;
    this.costName = found.name;
    const values = (found.field ??= unpacked(found.values));
    for (const level of levels(values, 14))
      curvesPath(c.under, c, contour(values, found.size, found.box, level), "contour");
  }

  // -- hulls -----------------------------------------------------------------------------------

  _draw_hulls() {
    const { lab } = this,
      aug =
        lab.method.key === "kozinec" &&
        (lab.state.settings.space ?? "difference") === "augmented" &&
        lab.run.planes === 1;
    this._boundsBar();
    if (aug) {
      this._reflectedHull();
      return;
    }
    const points = lab.state.table.X.map((x) => lab.project(x)),
      flat = lab.frame.flat;
    const c = (this.c = chart(
      this.svg,
      this.width,
      flat ? 190 : this.height,
      around(points, this.width, this.height, !flat),
      lab.frame.names,
      { equal: !flat },
    ));
    for (const k of lab.run.present) {
      const own = points.filter((_, i) => lab.state.table.y[i] === k);
      make(c.under, "polygon", {
        points: polygonText(c, hullOf(own)),
        class: "hull filled",
        style: `${colour(k)};stroke:var(--c${k % 10})`,
      });
    }
    marksOf(c, points, lab.state.table.y, 4.5);
    for (const i of lab.proofRows())
      make(c.over, "circle", { cx: c.x(points[i][0]), cy: c.y(points[i][1]), r: 11, class: "proof" });
    const ends = lab.nearestNow(),
      meet = lab.commonPoint();
    if (ends && !meet)
      this._bisector(
        c,
        ends.map((x) => lab.project(x)),
      );
    if (meet) {
      const [u, v] = lab.project(meet);
      for (const i of lab.proofRows()) segment(c.under, c, [points[i], [u, v]], "proof-line");
      make(c.over, "path", { d: marker(7, c.x(u), c.y(v), 8), class: "common" });
    }
    const upper = lab.extraNow("upper bound of the margin"),
      lower = lab.extraNow("lower bound of the margin");
    this.note.textContent = meet
      ? `A point of both hulls: ${lab.proofWords()}. No line can have it on both sides.`
      : (upper !== null ? `Bounds of the margin after this step: ${show(lower)} and ${show(upper)}. ` : "") +
        (ends ? "The dashed line is halfway between the two points." : "");
    this.svg.setAttribute(
      "aria-label",
      meet ? "Hulls of the classes; they meet" : "Hulls of the classes, and their nearest points",
    );
  }

  _eps() {
    return (
      this.lab.state.settings.eps ?? this.lab.method.settings.find((s) => s.name === "eps")?.default ?? NaN
    );
  }

  // The two bounds on one line, and where the lower one has to come for the run to end.
  _boundsBar() {
    const { lab } = this,
      all = lab.run.extra["upper bound of the margin"],
      lower = lab.extraNow("lower bound of the margin"),
      upper = lab.extraNow("upper bound of the margin");
    if (lab.method.key !== "kozinec" || upper === null || !all) return;
    const W = this.width,
      most = Math.max(...all.filter(Number.isFinite), 1e-12),
      low = Math.min(0, lower),
      x = (v) => 12 + ((W - 24) * (v - low)) / (most - low),
      stop = upper - this._eps();
    const svg = make(null, "svg", {
      viewBox: `0 0 ${W} 46`,
      height: 46,
      role: "img",
      class: "bounds-bar",
      "aria-label": `Bounds of the margin: ${show(lower)} and ${show(upper)}; the run ends when the lower one is at least ${show(stop)}`,
    });
    make(svg, "line", { x1: x(low), x2: x(most), y1: 24, y2: 24, class: "axis" });
    make(svg, "line", { x1: x(lower), x2: x(upper), y1: 24, y2: 24, class: "bounds-gap" });
    const word = (at, y, anchor, text) =>
        make(svg, "text", { x: at, y, "text-anchor": anchor, class: "halo" }, text),
      inside = (at) => (at < 150 ? "start" : at > W - 150 ? "end" : "middle");
    for (const [v, kind] of [
      [lower, "bound-low"],
      [upper, "bound-high"],
      [stop, "bound-stop"],
    ])
      if (v >= low) make(svg, "line", { x1: x(v), x2: x(v), y1: 15, y2: 33, class: kind });
    if (x(upper) - x(lower) > 190) {
      word(x(lower), 11, "start", `lower ${show(lower)}`);
      word(x(upper), 11, "end", `upper ${show(upper)}`);
    } else
      word((x(lower) + x(upper)) / 2, 11, inside(x(upper)), `lower ${show(lower)}, upper ${show(upper)}`);
    if (stop >= low) word(x(stop), 44, inside(x(stop)), "ends here (upper − ε)");
    this.more.append(svg);
  }

  _bisector(c, [p, q]) {
    const { lab } = this,
      w = [q[0] - p[0], q[1] - p[1]],
      size = Math.hypot(...w),
      mid = [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2];
    if (!(size > 0)) return;
    const line = lineInBox(w, -(w[0] * mid[0] + w[1] * mid[1]), c.limits);
    if (line && !lab.frame.flat) segment(c.under, c, line, "before");
    const lower = lab.extraNow("lower bound of the margin");
    const eps = lower === null ? null : size / 2 - this._eps();
    for (const [bound, kind] of [
      [lower, "bound-low"],
      [size / 2, "bound-high"],
      [eps, "bound-stop"],
    ]) {
      if (bound === null || !(bound > 0)) continue;
      for (const s of [-1, 1]) {
        const edge = lineInBox(w, -(w[0] * mid[0] + w[1] * mid[1]) + s * bound * size, c.limits);
        if (edge && !lab.frame.flat) segment(c.under, c, edge, kind);
      }
    }
    segment(c.over, c, [p, q], "nearest");
    for (const e of [p, q]) make(c.over, "circle", { cx: c.x(e[0]), cy: c.y(e[1]), r: 4.5, class: "foot" });
  }

  // -- rows with a constant 1, and reflected ---------------------------------------------------

  _dims() {
    return this.lab.run.features.length + (this.lab.offset ? 1 : 0);
  }

  _set_reflected() {
    this.turn = 1;
    const slider = el("input", {
      type: "range",
      min: 0,
      max: 1,
      step: 0.05,
      value: 1,
      "aria-label": "from the rows as they are to reflected ones",
      oninput: () => {
        this.turn = Number(slider.value);
        this.lab.redraw();
      },
    });
    this.tools.append(el("label", {}, "as they are ", slider, " reflected"));
  }

  _draw_reflected() {
    const { lab } = this,
      w = lab.weightsNow(),
      reflected = this.turn > 0.5;
    this.note.textContent = reflected
      ? `Rows of ${lab.classWords(lab.run.present[0])} are turned to the other side of the origin: z = y${lab.offset ? "[x, 1]" : "x"}. Weights a separate the classes if and only if a·z > 0 for every row.`
      : `The rows${lab.offset ? " with a constant 1: [x, 1]" : ""}. Weights a are a ${this._dims() < 3 ? "line" : "plane"} through the origin, a·${lab.offset ? "[x, 1]" : "x"} = 0; they separate the classes if each is on its own side.`;
    this.svg.setAttribute(
      "aria-label",
      `${reflected ? "Reflected rows" : "Rows with a constant 1"} and the vector a of the weights; ${lab.errorsNow().length} rows on the wrong side`,
    );
    const Z = this._augmented(this.turn),
      reach = Math.max(...Z.map((z) => Math.hypot(...z))),
      own = lab.offset ? w : w.slice(0, -1),
      size = Math.hypot(...own);
    this._inSpace(Z, {
      a: size > 0 ? own.map((v) => (0.6 * reach * v) / size) : null,
      plane: size > 0 ? own : null,
      reflected,
    });
  }

  _augmented(turn) {
    const { lab } = this,
      rows = lab.run.lifted ?? lab.state.table.X;
    return rows.map((x, i) =>
      (lab.offset ? [...x, 1] : x).map((v) => v * (lab.signOf(i) < 0 ? 1 - 2 * turn : 1)),
    );
  }

  // Vectors of two or three numbers around the origin: the vector a, the plane across it, a hull.
  _inSpace(Z, { a, plane = null, hull = null, reflected = true }) {
    const { lab } = this,
      labels = lab.state.table.y,
      row = lab.rowNow(),
      wrong = new Set(hull ? [] : lab.errorsNow());
    const names = [...lab.run.features, ...(lab.offset ? ["1"] : [])].map((n) =>
      !reflected ? n : n === "1" ? "y" : `y ${n}`,
    );
    if (names.length === 2) {
      const c = (this.c = chart(
        this.svg,
        this.width,
        this.height,
        around([...Z, [0, 0], ...(a ? [a] : [])], this.width, this.height, true),
        names,
      ));
      if (hull) this._hullAndBounds(c, Z, hull);
      const line = plane && lineInBox(plane, 0, c.limits),
        b = c.box;
      if (plane && reflected)
        make(c.under, "polygon", {
          points: polygonText(
            c,
            clip(
              [
                [b.x0, b.y0],
                [b.x1, b.y0],
                [b.x1, b.y1],
                [b.x0, b.y1],
              ],
              plane,
              0,
            ),
          ),
          class: "solution",
        });
      if (line) segment(c.under, c, line, "line");
      make(c.under, "path", { d: `M${c.x(0) - 5},${c.y(0)}h10M${c.x(0)},${c.y(0) - 5}v10`, class: "origin" });
      marksOf(c, Z, labels, 5.5);
      for (const i of wrong)
        make(c.over, "circle", { cx: c.x(Z[i][0]), cy: c.y(Z[i][1]), r: 10, class: "wrong" });
      if (row >= 0) make(c.over, "circle", { cx: c.x(Z[row][0]), cy: c.y(Z[row][1]), r: 14, class: "row" });
      if (!a) return;
      arrow(c.over, [c.x(0), c.y(0)], [c.x(a[0]), c.y(a[1])], "normal");
      make(c.over, "text", { x: c.x(a[0]) + 8, y: c.y(a[1]) - 8, class: "halo" }, "a");
      return;
    }
    this.space ??= new Space(this.svg);
    const arrows = a ? [{ from: [0, 0, 0], to: a, kind: "normal", text: "a" }] : [];
    if (hull?.before && row >= 0) arrows.push({ from: hull.before, to: Z[row], kind: "before", text: "z" });
    const faces =
      hull && lab.offset
        ? [1, -1]
            .map((s) => hullOf(Z.filter((z) => z[2] === s)).map((p) => [...p.slice(0, 2), s]))
            .filter((h) => h.length > 1)
        : [];
    this.space.show({
      width: this.width,
      height: this.height,
      names,
      points: Z,
      labels,
      rings: wrong,
      row,
      more: [[0, 0, 0], ...(a ? [a] : [])],
      arrows,
      plane: plane && { w: plane, b: 0 },
      hulls: faces,
      equal: !!hull,
    });
  }

  _hullAndBounds(c, Z, { before, lower, upper }) {
    const r = (v) => Math.abs(c.x(v) - c.x(0)),
      row = this.lab.rowNow();
    make(c.under, "polygon", { points: polygonText(c, hullOf(Z)), class: "hull filled" });
    for (const [bound, kind] of [
      [lower, "bound-low"],
      [upper, "bound-high"],
      [upper - this._eps(), "bound-stop"],
    ])
      if (bound > 0) make(c.under, "circle", { cx: c.x(0), cy: c.y(0), r: r(bound), class: kind });
    if (before && row >= 0) segment(c.over, c, [before, Z[row]], "before");
  }

  _reflectedHull() {
    const { lab } = this,
      Z = this._augmented(1),
      cut = (w) => (lab.offset ? w : w.slice(0, -1));
    const lower = lab.extraNow("lower bound of the margin"),
      upper = lab.extraNow("upper bound of the margin");
    this.note.textContent = `The reflected rows z = y[x, 1]; a is a point of their hull. ${lower === null ? "" : `min z·a/|a| = ${show(lower)} ≤ m ≤ |a| = ${show(upper)}.`}`;
    this.svg.setAttribute(
      "aria-label",
      `Hull of the reflected rows, the point a at distance ${show(upper)} from the origin`,
    );
    if (this._dims() > 3) {
      this.svg.replaceChildren();
      this.note.textContent += ` It has ${this._dims()} dimensions: see the bounds below.`;
      return;
    }
    const before = lab.state.step > 0 ? cut(lab.hullPoint(lab.state.step - 1)) : null;
    this._inSpace(Z, { a: cut(lab.hullPoint(lab.state.step)), hull: { before, lower, upper } });
  }

  // -- losses ----------------------------------------------------------------------------------

  _draw_loss() {
    const { lab } = this;
    if (lab.method.kernel) lab.gramNow(); // the values come of it
    const values = lab.valuesNow(),
      finite = values.filter(Number.isFinite);
    const reach = Math.min(6, Math.max(2, ...finite.map(Math.abs)));
    const c = (this.c = chart(
      this.svg,
      this.width,
      this.height,
      { x0: -reach, x1: reach, y0: -0.35, y1: 4 },
      ["y f(x)", "loss"],
      { equal: false },
    ));
    Object.entries(LOSSES).forEach(([name, of], k) => {
      const points = Array.from({ length: 241 }, (_, i) => -reach + (2 * reach * i) / 240).map((m) => [
        m,
        of(m),
      ]);
      make(c.under, "polyline", { points: polygonText(c, points), class: `loss loss-${k}` });
      const at = [-reach, -2.2, -0.75, 0.55 * reach, 2.3][k],
        m = Math.max(-reach * 0.95, Math.min(reach * 0.8, at)),
        left = name === "perceptron"; // each where no other curve runs
      make(
        c.over,
        "text",
        {
          x: c.x(m) - (left ? 8 : 0),
          y: Math.max(c.frame.y + 12, c.y(of(m)) - 6),
          class: `halo loss-name loss-name-${k}`,
          "text-anchor": left ? "end" : "start",
        },
        name,
      );
    });
    make(c.under, "line", { x1: c.x(0), x2: c.x(0), y1: c.y(-0.35), y2: c.y(4), class: "axis" });
    values.forEach((m, i) => {
      if (!Number.isFinite(m)) return;
      const k = lab.state.table.y[i],
        x = c.x(Math.max(-reach, Math.min(reach, m)));
      const tick = make(c.over, "path", {
        d: marker(k, x, c.y(-0.17), i === lab.lit ? 7 : 4.5),
        class: "mark tick",
        style: colour(k),
      });
      tick.addEventListener("pointerenter", () => lab.light(i));
      tick.addEventListener("pointerleave", () => lab.light(-1));
    });
    this.note.textContent =
      "What a row costs by its value y f(x). Marks below the curves are the rows in this step; point at one to see it in the data.";
    this.svg.setAttribute(
      "aria-label",
      `Losses as functions of y f(x); ${finite.filter((m) => m <= 0).length} rows have a value of at most 0`,
    );
  }

  // -- probability -----------------------------------------------------------------------------

  // P(+1) = 1 / (1 + exp(-f)): each row at its own outcome, 1 or 0, and how far the curve is from it.
  _draw_probability() {
    const { lab } = this,
      scores = lab.valuesNow().map((m, i) => m * lab.signOf(i)),
      reach = Math.min(12, Math.max(4, ...scores.map(Math.abs))),
      P = (f) => 1 / (1 + Math.exp(-f));
    const name = lab.classWords(lab.run.present[1]),
      c = (this.c = chart(
        this.svg,
        this.width,
        this.height,
        { x0: -reach, x1: reach, y0: -0.09, y1: 1.09 },
        ["f(x)", `probability of ${name}`],
        { equal: false },
      ));
    for (const level of [0, 0.5, 1])
      segment(
        c.under,
        c,
        [
          [-reach, level],
          [reach, level],
        ],
        "axis",
      );
    make(c.under, "polyline", {
      points: polygonText(
        c,
        Array.from({ length: 161 }, (_, k) => reach * (k / 80 - 1)).map((f) => [f, P(f)]),
      ),
      class: "line",
    });
    scores.forEach((f, i) => {
      const k = lab.state.table.y[i],
        at = Math.max(-reach, Math.min(reach, f)),
        own = lab.signOf(i) > 0 ? 1 : 0;
      segment(
        c.over,
        c,
        [
          [at, own],
          [at, P(f)],
        ],
        "slack",
      );
      const mark = make(c.over, "path", {
        d: marker(k, c.x(at), c.y(own), i === lab.lit ? 7 : 4.5),
        class: "mark tick",
        style: colour(k),
      });
      mark.addEventListener("pointerenter", () => lab.light(i));
      mark.addEventListener("pointerleave", () => lab.light(-1));
    });
    const sum = scores.reduce((s, f, i) => {
      const m = f * lab.signOf(i);
      return s - (m < -30 ? -m : Math.log1p(Math.exp(-m)));
    }, 0);
    this.note.textContent = `P = 1 / (1 + exp(−f)). A segment is how far a row's outcome is from its probability; the gradient is their sum over the rows, each times its x. Log likelihood ${show(Number(sum.toPrecision(6)))}.`;
    this.svg.setAttribute(
      "aria-label",
      `The logistic function, and the probability of ${name} for every row; log likelihood ${show(Number(sum.toPrecision(6)))}`,
    );
  }

  // -- lift ------------------------------------------------------------------------------------

  _set_lift() {
    if (this.lab.run?.features.length < 3 && this.lab.run.lifted) return;
    const slider = el("input", {
      type: "range",
      min: 0,
      max: 1,
      step: 0.02,
      value: 1,
      "aria-label": "height: from the plane to space",
    });
    slider.addEventListener("input", () => {
      if (!this.space) return;
      this.space.lift = Number(slider.value);
      if (this.space.lift < 0.02) this.space.tilt = 1.57;
      this.space.draw();
    });
    this.tools.append(el("label", {}, "flat ", slider, " space"));
  }

  _draw_lift() {
    const { lab } = this,
      run = lab.run,
      rows = run.lifted ?? lab.state.table.X,
      now = lab.weightsNow();
    const wrong = new Set(lab.errorsNow());
    if (rows[0].length === 2) {
      const c = (this.c = chart(
        this.svg,
        this.width,
        this.height,
        around(rows, this.width, this.height, false),
        run.features,
        { equal: false },
      ));
      if (run.planes === 1) {
        const line = lineInBox(now, now[2], c.limits);
        if (line) segment(c.under, c, line, "line");
      }
      rows.forEach(([u, v], i) => {
        make(c.marks, "path", {
          d: marker(lab.state.table.y[i], c.x(u), c.y(v), 6),
          class: "mark",
          style: colour(lab.state.table.y[i]),
        });
        if (wrong.has(i)) make(c.over, "circle", { cx: c.x(u), cy: c.y(v), r: 10, class: "wrong" });
      });
      this.note.textContent = "The rows in the space of the features, where the boundary is a line.";
      this.svg.setAttribute("aria-label", "The lifted rows and the separating line");
      return;
    }
    const surface = run.lifted && lab.d === 2 ? lab.surfaceNow() : null;
    this.space ??= new Space(this.svg);
    const first = rows.map((r) => r.slice(0, 3)),
      tail = rows[0].length > 3;
    const scene = {
      width: this.width,
      height: this.height,
      names: run.features.slice(0, 3),
      points: first,
      labels: lab.state.table.y,
      rings: wrong,
      row: lab.rowNow(),
      drops: true,
      mesh: surface ? { rows: surface.rows, size: surface.size } : null,
      plane: run.planes === 1 && !tail ? { w: now, b: now[3] } : null,
      curves: [],
    };
    if (surface && run.planes === 1 && !tail) {
      const size = surface.size,
        values = surface.rows.map((p) => dot(p, now) + now[3]);
      const cuts = contour(values, size, [0, size - 1, 0, size - 1], 0);
      const at = ([x, y]) => {
        const [i, j] = [Math.min(size - 2, Math.floor(x)), Math.min(size - 2, Math.floor(y))],
          [s, t] = [x - i, y - j],
          p = (a, b) => surface.rows[(j + b) * size + i + a];
        return [0, 1, 2].map(
          (k) =>
            p(0, 0)[k] * (1 - s) * (1 - t) +
            p(1, 0)[k] * s * (1 - t) +
            p(0, 1)[k] * (1 - s) * t +
            p(1, 1)[k] * s * t,
        );
      };
      const low = Math.min(...surface.rows.map((p) => p[2]), ...first.map((p) => p[2]));
      scene.curves.push(
        { list: cuts.map((s) => s.map(at)), kind: "line" },
        {
          list: cuts.map((s) =>
            s.map((p) => {
              const q = at(p);
              return [q[0], q[1], low];
            }),
          ),
          kind: "before",
        },
      );
    }
    this.space.show(scene);
    this.note.textContent = `${tail ? `The first three of ${rows[0].length} features. ` : "The plane cuts the surface in the boundary, which is dashed on the ground. "}Drag or use arrows to turn.`;
    this.svg.setAttribute(
      "aria-label",
      `The rows in the space of ${run.features.slice(0, 3).join(", ")}, with the separating plane; arrows turn it`,
    );
  }

  // -- regions ---------------------------------------------------------------------------------

  _set_regions() {
    const pairs = this.lab.method.key === "one-vs-one"; // without duels there are no votes
    const schemes = [
      ["", "its own"],
      ["unanimous", "unanimous"],
      ...(pairs ? [["votes", "votes"]] : []),
      ["argmax", "largest score"],
    ];
    this.tools.append(
      el("span", {}, "rule "),
      (this.scheme = chooser("rule of decision", schemes, this.lab.state.scheme, (v) => {
        this.lab.state.scheme = v;
        this.lab.zones = null;
        this.lab.redraw();
      })),
    );
  }

  _draw_regions() {
    const { lab } = this;
    if (![...this.scheme.options].some((rule) => rule.value === lab.state.scheme)) lab.state.scheme = "";
    this.scheme.value = lab.state.scheme;
    const zones = lab.zonesNow();
    const points = lab.state.table.X.map((x) => lab.project(x));
    const c = (this.c = chart(
      this.svg,
      this.width,
      this.height,
      around(points, this.width, this.height, true),
      lab.frame.names,
    ));
    for (const { w, b, classes } of zones?.lines ?? []) {
      const plane = { w, b },
        line = lineInBox(w, b, c.limits);
      if (!line) continue;
      segment(c.under, c, line, "machine").style.stroke = `var(--c${lab.run.present[classes.at(-1)] % 10})`;
      if (classes.length > 1) {
        const other = segment(c.under, c, line, "machine second-class");
        other.style.stroke = `var(--c${lab.run.present[classes[0]] % 10})`;
      }
      const size = Math.hypot(...plane.w),
        mid = [0, 1].map((k) => 0.85 * line[0][k] + 0.15 * line[1][k]),
        s = (0.05 * (c.box.x1 - c.box.x0)) / size;
      arrow(
        c.under,
        [c.x(mid[0]), c.y(mid[1])],
        [c.x(mid[0] + s * plane.w[0]), c.y(mid[1] + s * plane.w[1])],
        "normal",
      );
    }
    if (zones && !zones.lines.length && lab.run.planes > 2 && lab.run.planes < 7) this._ties(c);
    marksOf(c, points, lab.state.table.y, 4.5);
    const i = lab.plane.focus;
    if (zones && i >= 0 && i < points.length) {
      make(c.over, "circle", { cx: c.x(points[i][0]), cy: c.y(points[i][1]), r: 10, class: "lit" });
      this.more.append(this._votes(i, zones.lines));
    }
    const early = lab.state.step < lab.run.update.length - 1 ? "After the last step: " : "";
    this.note.textContent = zones
      ? `${early}${shortened(zones.sentence)}.${i < 0 ? " Choose a point to see who votes for what." : ""}`
      : "";
    this.svg.setAttribute("aria-label", zones ? zones.sentence : "Lines of the machines");
  }

  // Where two classes are as good as each other: the edges of a linear machine lie on these lines.
  _ties(c) {
    const all = this.lab.planesNow();
    all.forEach((p, k) =>
      all.slice(0, k).forEach((q, l) => {
        const line = lineInBox([p.w[0] - q.w[0], p.w[1] - q.w[1]], p.b - q.b, c.limits);
        if (!line) return;
        segment(c.under, c, line, "machine thin").style.stroke = `var(--c${this.lab.run.present[k] % 10})`;
        segment(c.under, c, line, "machine thin second-class").style.stroke =
          `var(--c${this.lab.run.present[l] % 10})`;
      }),
    );
  }

  // What every machine says about one row.
  _votes(i, lines) {
    const { lab } = this,
      x = lab.state.table.X[i],
      name = (k) => lab.className(lab.run.present[k]),
      votes = lab.run.present.map(() => 0);
    const value = ({ w, b }) => dot(w, x) + b;
    const rows = lines.length
      ? lines.map((m) => {
          const f = value(m),
            [k, l] = m.classes,
            who = l === undefined ? (f > 0 ? k : -1) : f > 0 ? l : k;
          if (who >= 0) votes[who] += 1;
          return [
            l === undefined ? `${name(k)} against the rest` : `${name(k)} against ${name(l)}`,
            f,
            l === undefined ? (f > 0 ? `accepts ${name(k)}` : "rejects") : name(who),
          ];
        })
      : lab
          ._planes(lab.index)
          .map((p, k) => [
            `g of ${name(k)}`,
            dot(
              lab
                .rawWeights()
                .slice(k * (lab.run.features.length + 1), (k + 1) * (lab.run.features.length + 1) - 1),
              x,
            ) + lab.rawWeights()[(k + 1) * (lab.run.features.length + 1) - 1],
            "",
          ]);
    if (!lines.length) {
      const best = Math.max(...rows.map((r) => r[1]));
      for (const r of rows) r[2] = r[1] === best ? "largest" : "";
    }
    const total = lines.length ? votes.map((v, k) => `${name(k)}: ${v}`).join(", ") : "";
    return el(
      "table",
      { class: "votes" },
      el(
        "caption",
        {},
        `${lab.rowName(i)}, ${lab.classWords(lab.state.table.y[i])}${total ? `; votes: ${total}` : ""}`,
      ),
      el(
        "tbody",
        {},
        rows
          .slice(0, 45)
          .map(([who, f, says]) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, who),
              el("td", { class: "number" }, show(f)),
              el("td", {}, says),
            ),
          ),
      ),
    );
  }

  // -- Gram matrix -----------------------------------------------------------------------------

  _draw_gram() {
    const { lab } = this,
      gram = lab.gramNow();
    this.svg.replaceChildren();
    if (!gram) return;
    if (gram.error) {
      this.note.textContent = gram.error;
      return;
    }
    const order = lab.state.table.y
      .map((k, i) => [k, i])
      .sort((p, q) => p[0] - q[0] || p[1] - q[1])
      .map((p) => p[1]);
    const n = order.length,
      side = Math.min(this.width, this.height) - 46,
      cell = side / n;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${side + 40}`);
    this.svg.setAttribute("height", side + 40);
    const most = Math.max(...gram.rows.flat().map(Math.abs), 1e-300),
      left = (this.width - side) / 2;
    const root = make(this.svg, "g", { transform: `translate(${left},24)` });
    order.forEach((i, r) =>
      order.forEach((j, s) => {
        const v = gram.rows[i][j],
          node = make(root, "rect", {
            x: s * cell,
            y: r * cell,
            width: cell + 0.3,
            height: cell + 0.3,
            class: `cell ${v < 0 ? "minus" : "plus"}`,
            "fill-opacity": (Math.abs(v) / most).toFixed(3),
          });
        make(node, "title", {}, `K(row ${i}, row ${j}) = ${show(v)}`);
        if (n <= 9)
          make(
            root,
            "text",
            { x: (s + 0.5) * cell, y: (r + 0.5) * cell + 4, "text-anchor": "middle", class: "halo" },
            show(Number(v.toPrecision(3))),
          );
        node.addEventListener("pointerenter", () => lab.light(j));
      }),
    );
    this.svg.addEventListener("pointerleave", () => lab.light(-1), { once: true });
    order.forEach((i, r) => {
      if (cell > 7)
        make(root, "path", {
          d: marker(lab.state.table.y[i], -9, (r + 0.5) * cell, Math.min(5, cell / 2.5)),
          style: colour(lab.state.table.y[i]),
        });
      if (cell > 7)
        make(root, "path", {
          d: marker(lab.state.table.y[i], (r + 0.5) * cell, -9, Math.min(5, cell / 2.5)),
          style: colour(lab.state.table.y[i]),
        });
    });
    const focus = lab.plane.focus,
      parts = focus >= 0 && lab.alphaNow() ? this._parts(gram, focus) : "";
    this.note.textContent = `${gram.name} between all rows, sorted by class. ${parts}`;
    this.svg.setAttribute("aria-label", `Gram matrix of ${n} rows, ${gram.name}`);
  }

  _parts(gram, i) {
    const alpha = this.lab.alphaNow(),
      parts = alpha
        .map((a, j) => [a * this.lab.signOf(j) * gram.rows[i]?.[j], j])
        .filter(([v]) => v)
        .sort((p, q) => Math.abs(q[0]) - Math.abs(p[0]));
    return parts.length
      ? `f at ${this.lab.rowName(i)}: ${parts
          .slice(0, 4)
          .map(([v, j]) => `${show(v)} from ${this.lab.rowName(j)}`)
          .join(", ")}${parts.length > 4 ? ", …" : ""}.`
      : "";
  }
}
