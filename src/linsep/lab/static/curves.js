// Curves over the steps: rows wrong, bounds, cost. A click goes to the step.
import { logTicks, make, show, ticks } from "./plot.js";
import { el } from "./widgets.js";

const SHAPE = { h: 118, l: 52, r: 12, t: 8, b: 20 };
const BOUNDS = ["lower bound of the margin", "upper bound of the margin"];
const brief = (v) =>
  show(v).length > 7
    ? Number(v.toPrecision(3)).toExponential().replace("e+", "e").replaceAll("-", "−")
    : show(v);
const MACHINE = ["objective", "no model has less than"];

export class Curves {
  constructor(lab, host) {
    this.lab = lab;
    this.host = host;
    this.panels = [];
    this.run = null;
  }

  measure() {
    this.room = this.host.clientWidth;
  }

  // One panel for each family of quantities: they share an axis only where they share a unit.
  _families() {
    const run = this.lab.run,
      held = this.held ? [["held out", this.held.errors.map((e) => e.length)]] : [];
    const out = [
      {
        title: "rows on the wrong side",
        lines: [["wrong", run.errors.map((e) => e.length)], ...held],
        whole: true,
      },
    ];
    const has = (name) => run.extra[name]?.some((v) => v !== null);
    if (has(BOUNDS[1]))
      out.push({
        title: "bounds of the margin",
        lines: BOUNDS.map((name, k) => [["lower", "upper"][k], run.extra[name]]),
      });
    if (has(MACHINE[0]))
      out.push({
        title: "objective and what is proved",
        lines: MACHINE.filter(has).map((name, k) => [["now", "least"][k], run.extra[name]]),
      });
    if (has("relative gap"))
      out.push({ title: "relative gap (log)", lines: [["gap", run.extra["relative gap"]]], log: true });
    if (has("cost"))
      out.push({
        title: "cost (log)",
        lines: [["cost", run.extra["cost"]]],
        log: run.extra["cost"].every((v) => v === null || v > 0),
      });
    if (has("|a|²") && out.length < 2) out.push({ title: "|a|²", lines: [["|a|²", run.extra["|a|²"]]] });
    return out.slice(0, 3);
  }

  draw() {
    const { lab } = this;
    if (!(lab.run?.update.length > 1)) {
      this.host.replaceChildren();
      this.run = null;
      return;
    }
    if (this.run !== lab.run || this.held !== lab.heldNow() || this.wide !== this.room) this._build();
    for (const panel of this.panels) {
      const x = panel.x(lab.state.step);
      panel.now.setAttribute("x1", x);
      panel.now.setAttribute("x2", x);
      panel.lines.forEach(([name, values], k) => {
        const t = lab.state.step,
          v = values[t] ?? (lab.run.closing && t === values.length - 1 ? values[t - 1] : null),
          good = v !== null && v !== undefined && (!panel.log || v > 0);
        panel.dots[k].setAttribute("visibility", good ? "visible" : "hidden");
        if (good) {
          panel.dots[k].setAttribute("cx", x);
          panel.dots[k].setAttribute("cy", panel.y(v));
        }
        panel.tells[k].textContent = `${name} ${v === null || v === undefined ? "–" : show(v)}`;
      });
    }
  }

  _build() {
    const { lab, host } = this;
    this.run = lab.run;
    this.held = lab.heldNow();
    this.wide = this.room;
    this.panels = [];
    host.replaceChildren();
    const families = this._families(),
      total = lab.run.update.length;
    for (const family of families) {
      const width = Math.max(
        240,
        Math.round((this.wide - 16 * (families.length - 1)) / (this.wide > 700 ? families.length : 1)),
      );
      const box = el("figure", { class: "curve" }),
        tells = family.lines.map((_, k) => el("span", { class: `tell tell-${k}` }));
      const svg = make(null, "svg", {
        viewBox: `0 0 ${width} ${SHAPE.h}`,
        height: SHAPE.h,
        role: "img",
        "aria-label": `Curve: ${family.title} over the steps`,
      });
      box.append(el("figcaption", {}, el("strong", {}, family.title), " ", ...tells), svg);
      host.append(box);
      const all = family.lines
        .flatMap(([, values]) => values)
        .filter((v) => v !== null && Number.isFinite(v) && (!family.log || v > 0));
      const scale = family.log ? Math.log10 : (v) => v;
      let low = Math.min(...(all.length ? all : [0]).map(scale)),
        high = Math.max(...(all.length ? all : [1]).map(scale));
      if (family.whole) [low, high] = [0, Math.max(1, high)];
      if (!(high - low > 1e-6 * Math.abs(high))) [low, high] = [low - 0.5, low + 0.5];
      const x = (t) => SHAPE.l + (total < 2 ? 0.5 : t / (total - 1)) * (width - SHAPE.l - SHAPE.r);
      const y = (v) => SHAPE.h - SHAPE.b - ((scale(v) - low) / (high - low)) * (SHAPE.h - SHAPE.t - SHAPE.b);
      const marks = family.log
        ? logTicks(low, high, 3)
        : ticks(low, high, 3)
            .filter((t) => !family.whole || Number.isInteger(t))
            .map((v) => [v, brief(v)]);
      for (const [v, name] of marks) {
        const py = SHAPE.h - SHAPE.b - ((v - low) / (high - low)) * (SHAPE.h - SHAPE.t - SHAPE.b);
        make(svg, "line", { x1: SHAPE.l, x2: width - SHAPE.r, y1: py, y2: py, class: "axis" });
        make(svg, "text", { x: SHAPE.l - 6, y: py + 4, "text-anchor": "end" }, name);
      }
      for (const t of ticks(0, Math.max(total - 1, 1), width / 80).filter(
        (v) => Number.isInteger(v) && v < total,
      )) {
        make(svg, "text", { x: x(t), y: SHAPE.h - 5, "text-anchor": "middle" }, lab.run.update[t]);
      }
      family.lines.forEach(([, values], k) => {
        let d = "",
          open = false;
        values.forEach((v, t) => {
          if (v === null || !Number.isFinite(v) || (family.log && !(v > 0))) {
            open = false;
            return;
          }
          d += `${open ? "L" : "M"}${x(t).toFixed(1)},${Math.max(-50, Math.min(SHAPE.h + 50, y(v))).toFixed(1)}`;
          open = true;
        });
        if (d) make(svg, "path", { d, class: `curve-line curve-${k}` });
      });
      const now = make(svg, "line", { y1: SHAPE.t, y2: SHAPE.h - SHAPE.b, class: "now" });
      const dots = family.lines.map((_, k) => make(svg, "circle", { r: 4, class: `dot curve-dot-${k}` }));
      const seek = (event) => {
        const r = svg.getBoundingClientRect(),
          px = ((event.clientX - r.left) / r.width) * width;
        lab.seek(Math.round(((px - SHAPE.l) / (width - SHAPE.l - SHAPE.r)) * (total - 1)));
      };
      svg.addEventListener("pointerdown", (e) => {
        svg.setPointerCapture(e.pointerId);
        seek(e);
      });
      svg.addEventListener("pointermove", (e) => {
        if (e.buttons) seek(e);
      });
      this.panels.push({
        svg,
        title: family.title,
        x,
        y,
        now,
        dots,
        tells,
        lines: family.lines,
        log: family.log,
      });
    }
  }
}
