// Curves over the steps: rows wrong, bounds, cost. A click goes to the step.
import { logTicks, make, show, ticks } from "./plot.js";
import { el } from "./widgets.js";

const SHAPE = { h: 118, l: 52, r: 12, t: 8, b: 20 };
const MOST_PANELS = 3;
const BOUNDS = ["lower bound of the margin", "upper bound of the margin"];
const MACHINE = ["objective", "no model has less than"];

const brief = (v) => {
  const text = show(v);
  if (text.length <= 7) return text;
  return Number(v.toPrecision(3)).toExponential().replace("e+", "e").replaceAll("-", "−");
};
const isNumber = (v) => v !== null && v !== undefined;

export class Curves {
  constructor(lab, host) {
    this.lab = lab;
    this.host = host;
    this.panels = [];
    this._run = null;
  }

  measure() {
    this.room = this.host.clientWidth;
  }

  draw() {
    const { run, questions, state } = this.lab;
    if (!(run?.update.length > 1)) {
      this.host.replaceChildren();
      this.panels = [];
      this._run = null;
      return;
    }
    const held = questions.held();
    if (this._run !== run || this._held !== held || this._wide !== this.room) {
      Object.assign(this, { _run: run, _held: held, _wide: this.room });
      this._build();
    }
    for (const panel of this.panels) panel.go(state.step);
  }

  // One panel for each family of quantities: they share an axis only where they share a unit.
  _families() {
    const { run } = this.lab;
    const count = (errors) => errors.map((rows) => rows.length);
    const wrong = { title: "rows on the wrong side", lines: [["wrong", count(run.errors)]], whole: true };
    if (this._held) wrong.lines.push(["held out", count(this._held.errors)]);
    const all = [wrong];
    const has = (name) => run.extra[name]?.some((v) => v !== null);
    const add = (title, names, words, more = {}) => {
      const lines = names.map((name, k) => [words[k], run.extra[name]]).filter(([, values]) => values);
      all.push({ title, lines, ...more });
    };
    if (has(BOUNDS[1])) add("bounds of the margin", BOUNDS, ["lower", "upper"]);
    if (has(MACHINE[0])) add("objective and what is proved", MACHINE.filter(has), ["now", "least"]);
    if (has("relative gap")) add("relative gap (log)", ["relative gap"], ["gap"], { log: true });
    if (has("cost")) {
      const log = run.extra.cost.every((v) => v === null || v > 0);
      add("cost (log)", ["cost"], ["cost"], { log });
    }
    if (has("|a|²") && all.length < 2) add("|a|²", ["|a|²"], ["|a|²"]);
    return all.slice(0, MOST_PANELS);
  }

  _build() {
    const families = this._families();
    const beside = this.room > 700 ? families.length : 1;
    const width = Math.max(240, Math.round((this.room - 16 * (families.length - 1)) / beside));
    this.panels = families.map((family) => new Panel(this.lab, family, width));
    this.host.replaceChildren(...this.panels.map((panel) => panel.node));
  }
}

// Lines over the steps in one chart, with a mark at the step that is shown.
class Panel {
  constructor(lab, { title, lines, log = false, whole = false }, width) {
    Object.assign(this, { lab, title, lines, log, whole, width });
    this.total = lab.run.update.length;
    const label = `Curve: ${title} over the steps`;
    const size = { viewBox: `0 0 ${width} ${SHAPE.h}`, height: SHAPE.h };
    this.svg = make(null, "svg", { ...size, role: "img", "aria-label": label });
    this.tells = lines.map((_, k) => el("span", { class: `tell tell-${k}` }));
    const caption = el("figcaption", {}, el("strong", {}, title), " ", ...this.tells);
    this.node = el("figure", { class: "curve" }, caption, this.svg);
    this._range();
    this._axes();
    lines.forEach(([, values], k) => this._line(values, k));
    this._now = make(this.svg, "line", { y1: SHAPE.t, y2: SHAPE.h - SHAPE.b, class: "now" });
    this._dots = lines.map((_, k) => make(this.svg, "circle", { r: 4, class: `dot curve-dot-${k}` }));
    this._listen();
  }

  // -- scales ---------------------------------------------------------------------------------

  _drawn(v) {
    return isNumber(v) && Number.isFinite(v) && (!this.log || v > 0);
  }

  _scale(v) {
    return this.log ? Math.log10(v) : v;
  }

  // What the vertical axis spans, in its scale.
  _range() {
    const all = this.lines.flatMap(([, values]) => values).filter((v) => this._drawn(v));
    const scaled = all.map((v) => this._scale(v));
    let low = Math.min(...(all.length ? scaled : [this._scale(0)]));
    let high = Math.max(...(all.length ? scaled : [this._scale(1)]));
    if (this.whole) [low, high] = [0, Math.max(1, high)];
    if (!(high - low > 1e-6 * Math.abs(high))) [low, high] = [low - 0.5, low + 0.5];
    Object.assign(this, { low, high });
  }

  x(t) {
    const share = this.total < 2 ? 0.5 : t / (this.total - 1);
    return SHAPE.l + share * (this.width - SHAPE.l - SHAPE.r);
  }

  _height(scaled) {
    const share = (scaled - this.low) / (this.high - this.low);
    return SHAPE.h - SHAPE.b - share * (SHAPE.h - SHAPE.t - SHAPE.b);
  }

  y(v) {
    return this._height(this._scale(v));
  }

  // -- drawing --------------------------------------------------------------------------------

  _axes() {
    const { svg, low, high, width, total, whole } = this;
    const plain = ticks(low, high, 3).filter((v) => !whole || Number.isInteger(v));
    const marks = this.log ? logTicks(low, high, 3) : plain.map((v) => [v, brief(v)]);
    for (const [v, name] of marks) {
      const y = this._height(v);
      make(svg, "line", { x1: SHAPE.l, x2: width - SHAPE.r, y1: y, y2: y, class: "axis" });
      make(svg, "text", { x: SHAPE.l - 6, y: y + 4, "text-anchor": "end" }, name);
    }
    const steps = ticks(0, Math.max(total - 1, 1), width / 80);
    for (const t of steps.filter((v) => Number.isInteger(v) && v < total)) {
      const place = { x: this.x(t), y: SHAPE.h - 5, "text-anchor": "middle" };
      make(svg, "text", place, this.lab.run.update[t]);
    }
  }

  // A line with gaps where there is no number.
  _line(values, k) {
    let d = "";
    let open = false;
    values.forEach((v, t) => {
      const drawn = this._drawn(v);
      if (drawn) {
        const y = Math.max(-50, Math.min(SHAPE.h + 50, this.y(v)));
        d += `${open ? "L" : "M"}${this.x(t).toFixed(1)},${y.toFixed(1)}`;
      }
      open = drawn;
    });
    if (d) make(this.svg, "path", { d, class: `curve-line curve-${k}` });
  }

  // The step that is shown is t.
  go(t) {
    const x = this.x(t);
    this._now.setAttribute("x1", x);
    this._now.setAttribute("x2", x);
    this.lines.forEach(([name, values], k) => {
      const v = values[t] ?? (this._closes(t) ? values[t - 1] : null);
      const good = isNumber(v) && (!this.log || v > 0);
      const dot = this._dots[k];
      dot.setAttribute("visibility", good ? "visible" : "hidden");
      if (good) {
        dot.setAttribute("cx", x);
        dot.setAttribute("cy", this.y(v));
      }
      this.tells[k].textContent = `${name} ${isNumber(v) ? show(v) : "–"}`;
    });
  }

  // The weights that are kept have no numbers of their own.
  _closes(t) {
    return this.lab.run.closing && t === this.total - 1;
  }

  _listen() {
    const { svg } = this;
    const seek = (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * this.width;
      const share = (x - SHAPE.l) / (this.width - SHAPE.l - SHAPE.r);
      this.lab.playback.seek(Math.round(share * (this.total - 1)));
    };
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      seek(event);
    });
    svg.addEventListener("pointermove", (event) => {
      if (event.buttons) seek(event);
    });
  }
}
