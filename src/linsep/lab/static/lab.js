// The lab: state, questions, keys, and who draws what. `mount` puts it into an element.
import { colour, make, marker, show } from "./plot.js";
import { dot, ratio } from "./algebra.js";
import {
  chosenOf,
  decodeState,
  encodeState,
  flagsOf,
  freshState,
  markOf,
  nextLabel,
  readFlags,
  taskOf,
  Undo,
  wholeTable,
  withRows,
} from "./state.js";
import { chooser, copied, dialog, download, el, newId, settingControl, spoken } from "./widgets.js";
import { DataPlane } from "./plane.js";
import { SecondView } from "./views.js";
import { Curves } from "./curves.js";
import { PointTable, Words } from "./words.js";
import { pngOf, saveSvg } from "./export.js";

const SPEEDS = [
  ["1200", "slow"],
  ["500", "normal"],
  ["120", "fast"],
  ["0", "whole run in 10 s"],
];
const HELP = [
  ["space", "play, pause"],
  ["→ ←", "a step on, back"],
  ["shift →", "a whole pass on"],
  ["Home, End", "first, last step"],
  ["click", "add a point of the chosen class; shift: of the next one"],
  ["drag, arrows", "move a point (shift: finer)"],
  ["Delete", "remove the point"],
  ["N", "add a point"],
  ["Enter", "look at this row next (perceptron)"],
  ["B", "pointer: add, spray, erase, magnet, select (Enter takes a point in or out), pick"],
  ["1 … 9, 0", "class of the point, or of new points"],
  ["[ ]", "walk the points"],
  ["Z, shift Z", "undo, redo"],
  ["P", "sub-steps: select, test, correct"],
  ["V", "visits: looks that change nothing too"],
  ["C", "verify the proof again"],
  ["W", "why: the proof in full"],
  ["K", "the same with a kernel; the next kernel"],
  ["H", "hulls in the data"],
  ["F", "swap the two pictures"],
  ["G", "larger pictures"],
  ["+ − .", "zoom in, out, fit"],
  ["E", "export"],
  ["L", "lectures"],
  ["?", "this list"],
];
const FLAGGED = ["linear-svm", "kernel-svm"];
const POINTERS = [
  ["point", "add, drag"],
  ["spray", "spray"],
  ["erase", "erase"],
  ["magnet", "magnet"],
  ["select", "select"],
  ["pick", "pick next row"],
];
const BRUSHES = ["spray", "erase", "magnet"];
const clone = (value) => JSON.parse(JSON.stringify(value));

class Lab {
  constructor(root, channel, options) {
    Object.assign(this, {
      root,
      channel,
      options,
      run: null,
      verdict: null,
      error: "",
      runId: 0,
      phase: 2,
      lit: -1,
      chosen: new Set(),
      zones: null,
      playing: null,
      dueStep: null,
    });
    this.state = freshState();
    this.unknown = {};
    this.undo = new Undo();
    this.slots = {};
    this.klass = 0;
    this.showHulls = false;
    this.asking = { busy: false, again: false };
    root.classList.add("lab");
    root.setAttribute("aria-busy", "true");
  }

  async open() {
    const start = await this.ask("start", {});
    this.sets = start.sets;
    this.methods = start.methods;
    this.lectures = start.lectures;
    this.start = start;
    this._build();
    this._read(this.options.hash?.() ?? "", start);
    this._keys();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    new ResizeObserver(() => {
      if (this.wide !== root_width(this.root)) {
        this.wide = root_width(this.root);
        this.redraw();
      }
    }).observe(this.root);
    this.changed({ fit: true });
    return this;
  }

  // -- questions ------------------------------------------------------------------------------

  async ask(verb, data) {
    try {
      const found = await this.channel.ask(verb, data);
      this.root.classList.remove("away");
      return found;
    } catch (error) {
      this.root.classList.add("away");
      return {
        error: `The lab does not answer (${error.message}). Start it again with "linsep lab"; what is on the page is kept.`,
      };
    }
  }

  // The run of what is on the page: one question at a time, the last one counts.
  async _askRun() {
    if (this.asking.busy) {
      this.asking.again = true;
      return;
    }
    this.asking.busy = true;
    do {
      this.asking.again = false;
      const task = taskOf(this.state),
        stick =
          this.run &&
          this.state.step === this.run.update.length - 1 &&
          this.run.update.length > 1 &&
          this.keepEnd;
      const asked = JSON.stringify(task),
        used = [...new Set(this.state.table.y)].sort((a, b) => a - b);
      const slow = setTimeout(() => this._wait(true), 300); // what is seen is the run before this one
      const found = await this.ask("run", { task });
      clearTimeout(slow);
      if (this.asking.again) {
        if (!found.error) this._taken(found, used, asked, stick, true);
        continue;
      }
      this._taken(found, used, asked, stick, false);
    } while (this.asking.again);
    this.asking.busy = false;
    this._wait(false);
    this._askProof();
  }

  _wait(yes) {
    this.root.setAttribute("aria-busy", String(yes));
    this._verdict();
  }

  _taken(found, used, asked, stick, passing) {
    this.runId += 1;
    this.verdict = this.verdict && passing ? this.verdict : null;
    if (found.error) {
      this.run = null;
      this.error = found.error;
      this.dueStep = null;
    } else {
      found.present = found.present.map((k) => used[k]);
      this.run = found;
      this.error = "";
      if (this.run.value.length !== this.run.update.length) this.run.value = [];
      if (this.state.opens && !passing) {
        if (this.method.ends && !this.run.open) {
          this.state.step = this.run.update.length - 1;
          this.keepEnd = true;
        }
        this.state.opens = false;
      }
      if (this.dueStep !== null && !passing) {
        this.state.step = this.dueStep;
        this.dueStep = null;
        this.keepEnd = this.state.step >= this.run.update.length - 1;
      } // a step that the run before did not have
      if (this.state.step > this.run.update.length - 1 || stick) this.state.step = this.run.update.length - 1;
      this.zones = null;
    }
    this._frame();
    this.redraw();
  }

  async _askProof() {
    if (!this.run) {
      this._verdict();
      return;
    }
    const id = this.runId,
      found = await this.ask("prove", { task: taskOf(this.state) });
    if (id !== this.runId) return;
    this.verdict = found.error
      ? { sentence: found.error, separable: null, rows: [], multipliers: [], hull: [], error: true }
      : found;
    this.redraw();
    this.options.told?.(this);
  }

  // An answer that a picture needs; the one at hand until it comes.
  later(name, key, verb, data) {
    const slot = (this.slots[name] ??= { busy: false, next: null, key: null, value: null, run: -1 });
    if (slot.key === key) return slot.value;
    slot.next = { key, verb, data, run: this.runId };
    if (!slot.busy) this._pump(slot);
    return slot.run === this.runId ? slot.value : null;
  }

  async _pump(slot) {
    slot.busy = true;
    while (slot.next) {
      const { key, verb, data, run } = slot.next;
      slot.next = null;
      const found = await this.ask(verb, { task: taskOf(this.state), ...data });
      Object.assign(slot, { key, value: found.error ? (verb === "gram" ? found : null) : found, run });
    }
    slot.busy = false;
    this.redraw();
  }

  fieldNow(c) {
    const at = this.index,
      f = this.frame,
      key = [this.runId, at, ...c.limits].join();
    return this.later("field", key, "field", {
      at,
      box: c.limits,
      size: this.state.table.X.length > 300 ? 61 : 81,
      frame: { c: f.c, e1: f.e1, e2: f.e2 },
    });
  }
  costNow(axes, at, box) {
    return this.later(
      "cost",
      [this.runId, axes, at.filter((_, k) => !axes.includes(k)), box].join(),
      "costs",
      { axes, at, box, size: 61 },
    );
  }
  surfaceNow() {
    const b = [0, 1].flatMap((j) => {
      const all = this.state.table.X.map((x) => x[j]),
        low = Math.min(...all),
        high = Math.max(...all),
        pad = 0.08 * (high - low) || 1;
      return [low - pad, high + pad];
    });
    return this.later("surface", [this.runId, ...b].join(), "surface", { box: b, size: 25 });
  }
  // The rows held out that are wrong, at each step.
  heldNow() {
    const { held, table } = this.state;
    if (!held || !this.run) return null;
    const used = [...new Set(table.y)].sort((a, b) => a - b),
      key = [this.runId, held.X.length].join();
    return this.later("held", key, "held", { rows: held.X, labels: held.y.map((k) => used.indexOf(k)) });
  }
  gramNow() {
    return this.later("gram", String(this.runId), "gram", {});
  }
  zonesNow() {
    const b = this.plane.c.limits;
    const found = this.later("zones", [this.runId, this.state.scheme, ...b].join(), "zones", {
      box: b,
      scheme: this.state.scheme,
    });
    if (found !== this.zones) {
      this.zones = found;
      if (found) queueMicrotask(() => this.plane.draw());
    }
    return found;
  }

  // -- what is on the page ---------------------------------------------------------------------

  get method() {
    return this.methods.find((m) => m.key === this.state.method);
  }
  get d() {
    return this.state.table.features.length;
  }
  get index() {
    return this.phase < 2 && this.state.step > 0 ? this.state.step - 1 : this.state.step;
  }
  get offset() {
    return this.state.settings.fit_intercept ?? true;
  }
  get curved() {
    return this.run.planes === 0 || !!this.run.lifted;
  }
  get street() {
    return this.state.method === "linear-svm" && this.run?.planes === 1 && !this.curved;
  }
  get canStart() {
    return this.method.settings.some((s) => s.name === "start") && this.run?.planes === 1;
  }

  _frame() {
    const { d } = this,
      names = this.state.table.features,
      X = this.state.table.X;
    if (d === 1) this.frame = { c: [0], e1: [1], e2: [0], names, flat: true };
    else if (d === 2) this.frame = { c: [0, 0], e1: [1, 0], e2: [0, 1], names, flat: false };
    else {
      const pair = /^(\d+),(\d+)$/.exec(this.state.proj),
        unit = (k) => names.map((_, j) => (j === k ? 1 : 0));
      if (!pair && this.run?.basis) {
        const { mean, axes } = this.run.basis;
        this.frame = {
          c: mean,
          e1: axes[0],
          e2: axes[1],
          names: ["first principal direction", "second principal direction"],
          flat: false,
        };
      } else {
        const [i, j] = pair ? [Math.min(d - 1, Number(pair[1])), Math.min(d - 1, Number(pair[2]))] : [0, 1];
        const mean = names.map((_, k) =>
          k === i || k === j ? 0 : X.reduce((s, x) => s + x[k], 0) / Math.max(1, X.length),
        );
        this.frame = { c: mean, e1: unit(i), e2: unit(j), names: [names[i], names[j]], flat: false };
      }
    }
    const key = this.frame.names.join() + d;
    if (key !== this.frameKey) {
      this.frameKey = key;
      if (this.plane) this.plane.box = null;
    }
    this._projections?.();
  }

  project(x) {
    const { c, e1, e2, flat } = this.frame;
    if (this.d === 2) return [x[0], x[1]];
    if (flat) return [x[0], 0];
    const off = x.map((v, j) => v - c[j]);
    return [dot(off, e1), dot(off, e2)];
  }

  unproject([u, v]) {
    const { c, e1, e2, flat } = this.frame;
    return flat ? [u] : this.d === 2 ? [u, v] : c.map((m, j) => m + u * e1[j] + v * e2[j]);
  }

  _planes(t) {
    const { c, e1, e2, flat } = this.frame,
      D = this.run.features.length,
      all = this.run.weights[t];
    return Array.from({ length: this.run.planes }, (_, k) => {
      const w = all.slice(k * (D + 1), k * (D + 1) + D),
        b = all[k * (D + 1) + D];
      return flat ? { w: [w[0], 0], b } : { w: [dot(w, e1), dot(w, e2)], b: dot(w, c) + b };
    });
  }
  planesNow() {
    return this._planes(this.index);
  }
  planesBefore() {
    return this.state.step > 0 && this.phase === 2 && this.run.planes === 1
      ? this._planes(this.state.step - 1)
      : null;
  }

  rawWeights() {
    return this.run.weights[this.index];
  }
  weightsNow() {
    return this.run.weights[this.index];
  }
  weightsBefore() {
    return this.phase === 2 && this.state.step > 0 ? this.run.weights[this.state.step - 1] : null;
  }
  path() {
    return this.run.planes === 1 ? this.run.weights : [];
  }
  goal() {
    return this.run.weights.at(-1);
  }
  hullPoint(t) {
    const p = this.run.points?.[t];
    return p?.length === 1 && p[0].length === this.run.weights[t].length ? p[0] : this.run.weights[t];
  }

  featureName(name, j) {
    return /^x\d+$/.test(name) ? `w${name.slice(1)}` : `w(${name})`;
  }
  weightNames() {
    return [...this.run.features.map((n, j) => this.featureName(n, j)), ...(this.offset ? ["b"] : [])];
  }
  allWeightNames() {
    if (this.run.planes === 0 && !this.method.kernel) return []; // many machines, none of which is the model
    if (this.run.planes === 0) return this.run.present.length === 2 ? ["b"] : [];
    const own = [...this.run.features.map((n, j) => this.featureName(n, j)), "b"];
    return this.run.planes === 1
      ? own
      : this.run.present.flatMap((k) => own.map((n) => `${this.className(k)}: ${n}`));
  }

  signOf(i) {
    return this.run?.present.length === 2 ? (this.state.table.y[i] === this.run.present[1] ? 1 : -1) : 0;
  }
  reflected() {
    const rows = this.run.lifted ?? this.state.table.X;
    return rows.map((x, i) => [...x, this.offset ? 1 : 0].map((v) => v * this.signOf(i)));
  }

  valuesNow() {
    const { run } = this;
    if (!run) return [];
    const rows = run.lifted ?? this.state.table.X,
      D = run.features.length,
      all = run.weights[this.index];
    if (run.planes === 0) {
      const gram = this.slots.gram?.run === this.runId ? this.slots.gram.value?.rows : null,
        alpha = this.alphaNow();
      if (!gram || !alpha) return rows.map(() => NaN);
      return rows.map(
        (_, i) =>
          this.signOf(i) *
          (alpha.reduce((s, a, j) => s + (a ? a * this.signOf(j) * gram[i][j] : 0), 0) + all[0]),
      );
    }
    return rows.map((x, i) => {
      const scores = Array.from({ length: run.planes }, (_, k) =>
        x.reduce((s, v, j) => s + v * all[k * (D + 1) + j], all[k * (D + 1) + D]),
      );
      if (run.planes === 1) return this.signOf(i) * scores[0];
      const own = run.present.indexOf(this.state.table.y[i]);
      return scores[own] - Math.max(...scores.filter((_, k) => k !== own));
    });
  }

  errorsNow() {
    return this.run?.errors[this.index] ?? [];
  }
  rowsNow() {
    const t = this.state.step;
    return this.run?.moved?.[t] ?? (this.rowNow() >= 0 ? [this.rowNow()] : []);
  }
  rowNow() {
    return this.run ? (this.run.row[this.state.step] ?? -1) : -1;
  }
  alphaNow() {
    return this.run?.alpha?.[this.index] ?? null;
  }
  // Rows with a share in the machine: those whose α is more than rounding leaves.
  supportNow() {
    const alpha = this.alphaNow(),
      most = Math.max(...(alpha ?? []), 1e-300);
    return (alpha ?? []).flatMap((a, i) => (a > 1e-7 * most ? [i] : []));
  }
  extraNow(name) {
    return this.run.extra[name]?.[this.index] ?? null;
  }
  get plainVerdict() {
    return (
      this.verdict &&
      !this.state.lift &&
      !(this.method.kernel && (this.state.settings.kernel ?? "rbf") !== "linear")
    );
  }
  proofRows() {
    return this.verdict && this.verdict.separable === false
      ? this.verdict.rows.filter((i) => i < this.state.table.X.length)
      : [];
  }

  _mixture(rows, shares, klass) {
    const own = rows.map((i, k) => [i, shares[k]]).filter(([i]) => this.state.table.y[i] === klass),
      total = own.reduce((s, [, m]) => s + m, 0);
    return total > 0
      ? this.state.table.features.map(
          (_, j) => own.reduce((s, [i, m]) => s + m * this.state.table.X[i][j], 0) / total,
        )
      : null;
  }

  nearestNow() {
    if (!this.run || this.run.present.length !== 2) return null;
    const two = this.run.points?.[this.index];
    if (two?.length === 2) return two;
    if (!this.plainVerdict || !this.verdict.hull.length || this.state.method === "kozinec") return null;
    const rows = this.verdict.hull.map((h) => h[0]),
      shares = this.verdict.hull.map((h) => Math.abs(h[1]));
    const ends = this.run.present.map((k) => this._mixture(rows, shares, k));
    return ends.every(Boolean) ? ends : null;
  }

  commonPoint() {
    if (
      !this.plainVerdict ||
      this.verdict.separable !== false ||
      this.run?.present.length !== 2 ||
      !this.offset
    )
      return null;
    const shares = this.verdict.multipliers.map((m) => {
      const [p, q] = m.split("/");
      return Number(p) / Number(q ?? 1);
    });
    return this._mixture(this.verdict.rows, shares, this.run.present[1]);
  }

  proofWords() {
    return this.verdict.rows
      .map((i, k) => `${ratio(this.verdict.multipliers[k])} of ${this.rowName(i)}`)
      .slice(0, 6)
      .join(", ");
  }

  className(k) {
    return String(this.state.table.shown?.[k] ?? this.state.table.classes[k]);
  }
  classWords(k) {
    const name = this.className(k);
    return /^class\b/.test(name) ? name : `class ${name}`;
  }
  rowName(i) {
    return this.state.table.rows?.[i] ?? `row ${i}`;
  }
  pointName(i) {
    const x = this.state.table.X[i],
      where = x
        .slice(0, 3)
        .map((v) => show(v))
        .join(", "),
      wrong = this._wrong?.has(i);
    const value = this._values?.[i];
    return (
      `${this.rowName(i)}, ${this.classWords(this.state.table.y[i])}, at ${where}` +
      (Number.isFinite(value) ? `, value ${show(value)}` : "") +
      (this.run ? (wrong ? ", wrong side" : ", right side") : "") +
      (this.chosen.has(i) ? ", chosen" : "")
    );
  }

  // What is said of a place of the picture: its numbers, its score, its class.
  placeName([u, v]) {
    const { run, frame } = this,
      at = frame.flat
        ? `${frame.names[0]} = ${show(Number(u.toPrecision(4)))}`
        : `${frame.names[0]} = ${show(Number(u.toPrecision(4)))}, ${frame.names[1]} = ${show(Number(v.toPrecision(4)))}`;
    const scores = run ? this._scoresAt(u, v) : [],
      ahead = scores.indexOf(Math.max(...scores)),
      told = (value) => show(Number(value.toPrecision(4)));
    if (!scores.every(Number.isFinite) || !scores.length) return at;
    if (!scores.some((f) => f !== 0)) return `${at}: undecided`;
    if (scores.length > 1)
      return `${at}: ${this.classWords(run.present[ahead])} is ahead by ${told(scores[ahead])}`;
    const f = scores[0],
      P = this.method.criterion === "Logistic" ? `, probability ${told(1 / (1 + Math.exp(-f)))}` : "";
    return `${at}: f(x) = ${told(f)}${P}, ${this.classWords(run.present[f > 0 ? 1 : 0])}`;
  }

  // f for two classes, else how far each class is ahead: from weights, or from the field that is shown.
  _scoresAt(u, v) {
    if (this.curved) {
      const { numbers, size, box } = this.slots.field?.value ?? {},
        [x0, x1, y0, y1] = box ?? [];
      if (!numbers || this.slots.field.run !== this.runId || this.plane.zoned) return [];
      const [s, t] = [
          ((u - x0) / (x1 - x0)) * (size - 1),
          (((this.frame.flat ? 0 : v) - y0) / (y1 - y0)) * (size - 1),
        ],
        [i, j] = [s, t].map((k) => Math.max(0, Math.min(size - 2, Math.floor(k))));
      return numbers.map((g) => {
        const at = (a, b) => g[(j + b) * size + i + a];
        return (
          (1 - t + j) * ((1 - s + i) * at(0, 0) + (s - i) * at(1, 0)) +
          (t - j) * ((1 - s + i) * at(0, 1) + (s - i) * at(1, 1))
        );
      });
    }
    const all = this.planesNow().map((p) => p.w[0] * u + p.w[1] * v + p.b);
    return all.length < 2 ? all : all.map((g, k) => g - Math.max(...all.filter((_, l) => l !== k)));
  }

  // -- steps -----------------------------------------------------------------------------------

  stepName() {
    const { run } = this,
      t = this.state.step,
      last = run.update.length - 1;
    if (run.closing && t === last)
      return `The weights that are kept${run.kept === null ? "" : `, of update ${run.kept}`}`;
    if (last === 0 && !run.open) return "The answer";
    if (t === 0)
      return `Start${last ? ` of ${run.update[last]}${run.open ? " and more" : ""} update${run.update[last] === 1 ? "" : "s"}` : ""}`;
    const of = `of ${run.update[last]}${run.open ? "+" : ""}`;
    if (run.update[t] === run.update[t - 1])
      return `Visit ${run.visit[t]}: no update (${run.update[t]} ${of} made)`;
    return `Update ${run.update[t]} ${of}` + (run.visit[t] ? `, visit ${run.visit[t]}` : "");
  }

  sentence(t) {
    const [pattern, ...numbers] = this.run.why[t],
      parts = this.run.patterns[pattern];
    return parts.map((p, i) => p + (numbers[i] ?? "")).join("");
  }

  sentenceNow() {
    const { run } = this,
      t = this.state.step;
    if (this.phase === 2 || t === 0) return this.sentence(t);
    const name = this.rowName(run.row[t]);
    if (this.phase === 0)
      return `Select: visit ${run.visit[t]} looks at ${name}, ${this.classWords(this.state.table.y[run.row[t]])}.`;
    const v = run.value[t];
    return `Test: y f(x) = ${show(v)} ${v > 0 ? "> 0" : v < 0 ? "< 0" : "= 0"}: ${name} is ${run.wrong[t] === false ? "right, nothing changes" : "wrong, so the weights are corrected"}.`;
  }

  seek(t) {
    this._halt();
    this._go(t);
  }

  _go(t, phase = 2) {
    if (!this.run) return;
    const last = this.run.update.length - 1;
    if (t > last && this.run.open && this.state.most < 20000) {
      this._more(t);
      return;
    }
    this.state.step = Math.min(last, Math.max(0, Math.round(t)));
    this.phase = this.state.sub && this.run.row[this.state.step] >= 0 && this.state.step > 0 ? phase : 2;
    this.keepEnd = this.state.step === last;
    this.redraw();
  }

  _more(t) {
    if (this.dueStep !== null) return;
    this.state.most = Math.min(20000, 4 * this.state.most);
    this.dueStep = t;
    this.keepEnd = false;
    this._askRun();
  }

  next() {
    if (!this.run) return;
    if (this.phase < 2) {
      this.phase += 1;
      this.redraw();
      return;
    }
    if (this.state.step < this.run.update.length - 1 || this.run.open) this._go(this.state.step + 1, 0);
  }

  back() {
    if (!this.run) return;
    const sub = this.state.sub && this.state.step > 0 && this.run.row[this.state.step] >= 0;
    if (sub && this.phase > 0) {
      this.phase -= 1;
      this.redraw();
      return;
    }
    this._go(this.state.step - 1);
  }

  pass() {
    if (!this.run) return;
    const due = this.run.visit[this.state.step] + this.run.n,
      t = this.run.visit.findIndex((v, k) => k > this.state.step && v >= due);
    this.seek(t < 0 ? this.run.update.length - 1 + (this.run.open ? 1 : 0) : t);
  }

  play() {
    if (this.playing !== null) return this._halt();
    if (!this.run) return;
    if (this.state.step >= this.run.update.length - 1 && !this.run.open) this._go(0);
    this.words.why.setAttribute("aria-live", "off");
    this._playLabel(true);
    const tick = () => {
      const speed = Number(this.speed.value),
        total = this.run?.update.length ?? 0;
      if (!this.run || (this.state.step >= total - 1 && !this.run.open && this.phase === 2))
        return this._halt();
      if (speed === 0) this._go(Math.min(total - 1, this.state.step + Math.max(1, Math.round(total / 250))));
      else this.next();
      this.playing = setTimeout(tick, speed === 0 ? Math.max(40, 10000 / total) : speed);
    };
    this.playing = setTimeout(tick, 150);
  }

  _halt() {
    clearTimeout(this.playing);
    this.playing = null;
    this.words.why.setAttribute("aria-live", "polite");
    this._playLabel(false);
  }

  _playLabel(on) {
    this.playButton.textContent = on ? "Pause" : "Play";
    this.playButton.setAttribute("aria-pressed", String(on));
  }

  // -- changes ---------------------------------------------------------------------------------

  // The rows as they are, with what they came from: what undo brings back.
  _rows() {
    const { table, set, clean, held, noise, test, settings } = this.state;
    return clone({ table, set, clean, held, noise, test, targets: settings.targets ?? null });
  }
  keepForUndo() {
    this.undo.keep(this._rows());
  }

  changed({ fit = false } = {}) {
    this._halt();
    this.phase = 2;
    this._targets((b) => (b.length === this.state.table.X.length ? b : null));
    if (fit && this.plane) this.plane.box = null;
    const same =
      this.run && this.run.n === this.state.table.X.length && this.shape === this.state.table.features.join();
    if (!same || fit) {
      this.run = null;
      this.verdict = null;
      this.zones = null;
      this.runId += 1;
    }
    this.shape = this.state.table.features.join();
    this._settings();
    this._frame();
    this.redraw();
    this._askRun();
  }

  _edited() {
    this.state.picks = [];
    this._own();
    this.changed();
  }

  // Targets, a number for each row, go with the rows; those of other rows are none.
  _targets(change) {
    const { targets, ...others } = this.state.settings,
      kept = targets && change(targets);
    if (targets) this.state.settings = kept ? { ...others, targets: kept } : others;
  }

  // From here on the rows are those of the page: no set, and no noise that could be taken away.
  _own() {
    Object.assign(this.state, { set: "", clean: null, noise: 0 });
    this.dataMenu.value = "";
  }

  // Noise on the rows, or a share of them held out; without both they are as they were.
  setRows(name, value) {
    if (!this.state.clean) {
      this.keepForUndo();
      this.state.clean = clone(wholeTable(this.state));
    }
    this.state[name] = value;
    Object.assign(this.state, withRows(this.state));
    if (!this.state.noise && !this.state.test) this.state.clean = null;
    this.state.picks = [];
    this.changed();
  }

  load(table, set = "") {
    this.keepForUndo();
    this._note("");
    this.chosen.clear();
    this._targets(() => null);
    Object.assign(this.state, {
      table: clone(table),
      set,
      clean: null,
      held: null,
      noise: 0,
      test: 0,
      step: 0,
      opens: true,
      picks: [],
    });
    this.dataMenu.value = set;
    this.state.axes = null;
    this.state.proj = "";
    this.klass = Math.min(this.klass, table.classes.length - 1);
    this.changed({ fit: true });
  }

  addPoint(at, other = false) {
    const { table } = this.state,
      n = table.X.length;
    this.keepForUndo();
    table.X.push(this.unproject(at));
    table.y.push(other ? (this.klass + 1) % table.classes.length : this.klass);
    if (table.rows) table.rows.push(`new ${n}`);
    this._targets((b) => [...b, 1]);
    this.plane.focus = n;
    this.say(`${this.rowName(n)} added, class ${this.className(table.y[n])}.`);
    this._edited();
  }

  _put(i, [u, v]) {
    const { table } = this.state,
      { e1, e2, flat } = this.frame;
    if (flat) table.X[i] = [u];
    else if (this.d === 2) table.X[i] = [u, v];
    else {
      const [a, b] = this.project(table.X[i]);
      table.X[i] = table.X[i].map((x, j) => x + (u - a) * e1[j] + (v - b) * e2[j]);
    }
  }

  // Points to new places of the picture; `live` while the hand is still moving.
  movePoints(places, live) {
    for (const [i, at] of places) this._put(i, at);
    this._own();
    if (this.run) this.phase = 2;
    if (live) this._askRun();
    else this.changed();
  }
  movePoint(i, at, live) {
    this.movePoints([[i, at]], live);
  }

  // Points that are moved, removed and given a class together.
  choose(rows) {
    this.chosen = new Set(rows);
    this.removeButton.disabled = !this.chosen.size && this.plane.focus < 0;
    if (this.chosen.size) this.say(`${this.chosen.size} points chosen.`);
    this.redraw();
  }

  // Many at once, one step to undo.
  addPoints(list) {
    const { table } = this.state;
    if (!list.length) return;
    this.keepForUndo();
    for (const at of list.slice(0, 5000 - table.X.length)) {
      if (table.rows) table.rows.push(`new ${table.X.length}`);
      table.X.push(this.unproject(at));
      table.y.push(this.klass);
      this._targets((b) => [...b, 1]);
    }
    this.say(`${list.length} points added, class ${this.className(this.klass)}.`);
    this._edited();
  }

  removePoints(rows) {
    const { table } = this.state,
      gone = new Set(rows),
      stays = (_, i) => !gone.has(i);
    if (!gone.size) return;
    this.keepForUndo();
    table.X = table.X.filter(stays);
    table.y = table.y.filter(stays);
    if (table.rows) table.rows = table.rows.filter(stays);
    this._targets((b) => b.filter(stays));
    this.plane.focus = this.lit = -1;
    this.chosen.clear();
    this.say(`${gone.size} points removed.`);
    this._edited();
  }

  jitter() {
    const b = this.plane.c.box,
      size = 0.02 * (b.x1 - b.x0),
      { e1, e2, flat } = this.frame;
    const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
    this.keepForUndo();
    this.state.table.X = this.state.table.X.map((x) => {
      const [s, t] = [size * normal(), flat ? 0 : size * normal()];
      return x.map((v, j) => Number((v + s * e1[j] + t * e2[j]).toPrecision(6)));
    });
    this._edited();
  }

  // The row that is looked at next; what was picked behind this step is forgotten.
  pick(i) {
    if (!this.method.picks) {
      this.say(`${this.method.title} looks at rows in its own order.`);
      return;
    }
    this.state.picks = [...this.state.picks.slice(0, this.state.step), i];
    this.dueStep = this.state.picks.length;
    this.state.opens = false;
    this.changed();
  }

  setPointer(kind) {
    this.pointer = kind;
    this.pointerMenu.value = kind;
    this.plane.svg.classList.toggle("brush", BRUSHES.includes(kind) || kind === "select");
    this.brushBox.hidden = !BRUSHES.includes(kind);
    if (kind !== "select") this.choose([]);
    if (kind !== "pick" && this.state.picks.length) {
      this.state.picks = [];
      this.state.step = 0;
      this.changed();
    }
    if (kind === "pick") {
      this._note(
        this.method.picks
          ? "Choose the row that the perceptron looks at next: click it, or Enter on it. A step back and another choice is another run."
          : `${this.method.title} looks at rows in its own order; the perceptron can be led by hand.`,
      );
      if (this.method.picks && !this.state.picks.length) this.seek(0);
    }
  }

  settled() {
    this.plane.box = inside(this.plane) ? this.plane.box : null;
    this.changed();
  }

  removePoint(i) {
    const { table } = this.state;
    this.keepForUndo();
    const name = this.rowName(i);
    table.X.splice(i, 1);
    table.y.splice(i, 1);
    table.rows?.splice(i, 1);
    this._targets((b) => b.filter((_, k) => k !== i));
    this.plane.focus = Math.min(i, table.X.length - 1);
    this.lit = -1;
    this.chosen.clear();
    this._edited();
    this.plane.marks[this.plane.focus]?.focus();
    this.say(`${name} removed.`);
  }

  setClass(i, k) {
    if (k >= this.state.table.classes.length) return;
    this.keepForUndo();
    for (const row of this.chosen.has(i) ? this.chosen : [i]) this.state.table.y[row] = k;
    this._edited();
  }

  editCell(i, j, value) {
    this.keepForUndo();
    this.state.table.X[i][j] = value;
    this._edited();
  }

  addClass() {
    const { table } = this.state;
    if (table.classes.length >= 10) return;
    this.keepForUndo();
    const label = nextLabel(table.classes);
    table.classes.push(label);
    table.shown = table.classes.map((c, k) =>
      k < table.classes.length - 1 ? (table.shown?.[k] ?? String(c)) : String(label),
    );
    this.klass = table.classes.length - 1;
    this._chips();
    this.redraw();
  }

  undoOnce(again = false) {
    const now = this._rows(),
      found = again ? this.undo.again(now) : this.undo.back(now);
    if (!found) return;
    this.chosen.clear();
    const { targets, ...rows } = found;
    Object.assign(this.state, rows);
    this._targets(() => targets);
    this.dataMenu.value = found.set;
    this.changed();
  }

  setMethod(key) {
    this._note("");
    this.state.method = key;
    this.state.settings = {};
    this.state.picks = [];
    this.state.view = "";
    this.state.step = 0;
    this.state.opens = true;
    this.changed();
  }
  setSetting(name, value) {
    this.state.settings = { ...this.state.settings, [name]: value };
    this.keepEnd = true;
    this.phase = 2;
    this._fitting();
    this._askRun();
    this._link();
  }
  // The method with a kernel, or the next kernel.
  nextKernel() {
    const { method, settings } = this.state,
      same = { "linear-svm": "kernel-svm", perceptron: "kernel-perceptron" }[method],
      kernels = this.method.settings.find((one) => one.name === "kernel")?.values;
    if (same) {
      const kept = Object.fromEntries(
        Object.entries(settings).filter(([name]) => name === "C" || name === "fit_intercept"),
      );
      this.setMethod(same);
      this.state.settings = kept;
      this.changed();
      this.say(this.method.title);
      return;
    }
    if (!kernels) {
      this.say(`${this.method.title} has no kernel.`);
      return;
    }
    const next = kernels[(kernels.indexOf(settings.kernel ?? kernels[0]) + 1) % kernels.length];
    this.settingsKey = "";
    this.state.settings = { ...settings, kernel: next };
    this.changed();
    this.say(`kernel ${next}`);
  }

  // What svm-train would be told.
  setFlags(text) {
    const found = readFlags(text, this.d);
    if (found.error) {
      this._note(found.error);
      return;
    }
    this._note("");
    Object.assign(this.state, {
      method: found.method,
      settings: chosenOf(
        found.settings,
        this.methods.find((m) => m.key === found.method),
      ),
      step: 0,
      opens: true,
      picks: [],
    });
    this.settingsKey = "";
    this.changed();
  }

  setStart(w) {
    const start = this.offset ? w : w.slice(0, -1);
    this.state.settings = { ...this.state.settings, start };
    this.state.step = 0;
    this.state.picks = [];
    this.keepEnd = false;
    this.say(`Start set to ${start.map((v) => show(v)).join(", ")}.`);
    this.changed();
  }
  setView(name) {
    this.state.view = name;
    this.zones = null;
    this.redraw();
  }
  light(i) {
    if (this.lit !== i) {
      this.lit = i;
      this.plane.draw();
      if (["loss", "weights", "probability"].includes(this.state.view)) this.second.draw();
    }
  }
  pointFocused(i) {
    if (["gram", "regions"].includes(this.state.view)) this.second.draw();
    this.removeButton.disabled = i < 0;
  }
  say(text) {
    this.live.textContent = text;
  }

  // -- the address -----------------------------------------------------------------------------

  _read(hash, start) {
    const { state, unknown, notes } = decodeState(hash);
    this.unknown = unknown;
    const given = !state.table && !state.set && start.task;
    if (given)
      Object.assign(
        state,
        clone({ ...start.task, picks: start.task.picks ?? [], ...(hash ? { step: state.step } : {}) }),
      );
    const known =
      given &&
      this.sets.find(
        (s) =>
          s.name === state.table.name &&
          JSON.stringify([s.X, s.y]) === JSON.stringify([state.table.X, state.table.y]),
      );
    if (known) state.set = known.name;
    else if (given && given.table.notes) notes.push(`${given.table.notes}.`);
    if (!this.methods.some((m) => m.key === state.method)) {
      notes.push(`There is no method ${state.method}.`);
      state.method = "perceptron";
    }
    const set = this.sets.find((s) => s.name === state.set) ?? (state.table ? null : this.sets[0]);
    if (state.set && set?.name !== state.set) notes.push(`There is no set ${state.set.slice(0, 40)}.`);
    if (set) {
      state.table = clone(set);
      state.set = set.name;
    }
    if (state.noise || state.test) {
      state.clean = clone(state.table);
      Object.assign(state, withRows(state));
    }
    state.settings = state.settings && typeof state.settings === "object" ? state.settings : {};
    state.settings = chosenOf(
      state.settings,
      this.methods.find((m) => m.key === state.method),
    );
    this.state = state;
    this.dataMenu.value = state.set;
    this.methodMenu.value = state.method;
    this.notes = notes;
    this.pointer = state.picks.length ? "pick" : "point";
    this.pointerMenu.value = this.pointer;
    this.chosen = new Set();
    this._note(notes.join(" "));
    this.slideBox.hidden = true;
    if (state.slide) this._slideBar();
  }

  _link() {
    if (!this.options.write) return;
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.options.write(encodeState(this.state, this.unknown)), 200);
  }

  // -- drawing ---------------------------------------------------------------------------------

  redraw() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this._draw();
    });
  }

  _draw() {
    if (!this.state.table || !this.plane) return;
    for (const lay of ["swap", "wide"])
      this.root.classList.toggle(lay === "swap" ? "swapped" : lay, this.state.lay.includes(lay));
    for (const part of [this.plane, this.second, this.curves]) part.measure(); // all before the first change: each later one would lay out the page anew
    this._values = this.run ? this.valuesNow() : [];
    this._wrong = new Set(this.errorsNow());
    this.plane.draw();
    this.second.draw();
    this.curves.draw();
    this.words.draw();
    this.points.draw();
    this._verdict();
    this._transport();
    this._chips();
    this._link();
    this.options.drawn?.(this);
  }

  _transport() {
    const last = this.run ? this.run.update.length - 1 : 0,
      t = this.state.step,
      s = this.slider;
    s.max = last;
    s.value = t;
    s.setAttribute(
      "aria-valuetext",
      this.run ? `${this.stepName()}, ${this.errorsNow().length} rows wrong` : "no run",
    );
    this.stepText.textContent = this.run ? `${t} / ${last}${this.run.open ? "+" : ""}` : "–";
    for (const [button, off] of [
      [this.buttons.first, t === 0],
      [this.buttons.back, t === 0 && this.phase === 2],
      [this.buttons.next, t >= last && !this.run?.open],
      [this.buttons.last, t >= last && !this.run?.open],
    ])
      button.setAttribute("aria-disabled", String(off));
    this.undoButton.disabled = !this.undo.before.length;
    this.redoButton.disabled = !this.undo.after.length;
  }

  _verdict() {
    const waits = this.run && this.root.ariaBusy === "true",
      v = waits ? null : this.verdict,
      box = this.verdictBox,
      kind = !this.run
        ? "none"
        : !v
          ? "wait"
          : v.separable === true
            ? "yes"
            : v.separable === false
              ? v.quasi
                ? "edge"
                : "no"
              : "open";
    box.dataset.kind = kind;
    this.verdictIcon.textContent = { yes: "✓", no: "✗", edge: "≈", open: "?", wait: "…", none: "–" }[kind];
    this.verdictText.textContent = !this.run
      ? this.error || (new Set(this.state.table.y).size > 1 ? "working …" : "Add points of two classes.")
      : v
        ? `${v.sentence[0].toUpperCase()}${v.sentence.slice(1).replace(/\.$/, "")}.`
        : waits
          ? "working …"
          : "deciding …";
    const early = this.run && this.state.step < this.run.update.length - 1 ? " at the end" : ""; // what is proved is proved about the fit
    this.fitText.textContent =
      this.run && v && !v.error
        ? [v.fit && v.fit + early, v.certificate].filter(Boolean).join(": ") + "."
        : "";
    this.verifyButton.disabled = this.whyButton.disabled = !v || v.error;
  }

  _chips() {
    const { table } = this.state,
      key = JSON.stringify([table.classes, table.shown, this.klass]);
    if (key === this.chipKey) return;
    this.chipKey = key;
    this.klass = Math.min(this.klass, table.classes.length - 1);
    const held = this.chips.contains(document.activeElement);
    this.chips.replaceChildren(
      ...table.classes.map((_, k) => {
        const chip = el("button", {
          type: "button",
          role: "radio",
          "aria-checked": String(k === this.klass),
          class: "chip",
          tabindex: k === this.klass ? "0" : "-1",
          title: `New points are of this class (key ${(k + 1) % 10})`,
          onclick: () => {
            this.klass = k;
            this.redraw();
          },
          onkeydown: (e) => {
            const s = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[e.key];
            if (s) {
              e.preventDefault();
              e.stopPropagation();
              this.klass = (k + s + table.classes.length) % table.classes.length;
              this._chips();
            }
          },
        });
        const icon = make(chip, "svg", { viewBox: "0 0 20 20", "aria-hidden": "true" });
        make(icon, "path", { d: marker(k, 10, 10, 6.5), style: colour(k) });
        chip.append(el("span", {}, this.className(k)));
        return chip;
      }),
    );
    if (held) this.chips.querySelector('[aria-checked="true"]')?.focus();
    this.addClassButton.disabled = table.classes.length >= 10;
  }

  // -- building --------------------------------------------------------------------------------

  _build() {
    const button = (text, label, act, more = {}) =>
      el(
        "button",
        { type: "button", "aria-label": spoken(text, label), title: label, onclick: act, ...more },
        text,
      );
    const word = (text) => el("span", { class: "label-word" }, text);
    const lectureSets = this.sets.filter(
      (s) => s.notes.startsWith("Lecture") || s.notes.startsWith("An instance"),
    );
    const options = [
      ["", "own points", "Own"],
      ...this.sets.map((s) => [s.name, s.name, lectureSets.includes(s) ? "Lectures" : "Drawn"]),
    ];
    this.dataMenu = chooser("Data", options, "", (v) => {
      const s = this.sets.find((one) => one.name === v);
      if (s) this.load(s, v);
      else this._empty();
    });
    this.methodMenu = chooser(
      "Method",
      this.methods.map((m) => [m.key, m.title]),
      "perceptron",
      (v) => this.setMethod(v),
    );
    this.liftField = el("input", {
      type: "text",
      class: "wide",
      placeholder: "no lift",
      "aria-label": "Lift: features such as x1, x2, x1**2 + x2**2",
      list: null,
      onchange: (e) => {
        this.state.lift = e.target.value.trim();
        this.state.view = "";
        this.state.step = 0;
        this.changed();
      },
    });
    const lifts = el(
      "datalist",
      { id: newId("lifts") },
      [
        "x1, x2, x1**2 + x2**2",
        "x1, x2, x1*x2",
        "x1, x2, (x1 - x2)**2",
        "x1, x1**2",
        "poly(2)",
        "poly(3)",
      ].map((v) => el("option", { value: v })),
    );
    this.liftField.setAttribute("list", lifts.id);
    this.undoButton = button("↶", "Undo (Z)", () => this.undoOnce());
    this.redoButton = button("↷", "Redo (shift Z)", () => this.undoOnce(true));
    this.projection = el("span", { class: "projection" });
    const head = el(
      "header",
      { class: "head" },
      el("h1", {}, "linsep ", el("span", {}, "lab")),
      el(
        "div",
        { class: "group", "data-part": "data" },
        el("label", {}, word("Data "), this.dataMenu),
        button("Open…", "Open a file or paste a table", () => this._openDialog()),
        button("Clear", "Start with an empty plane", () => this._empty()),
      ),
      el("div", { class: "group", "data-part": "method" }, el("label", {}, word("Method "), this.methodMenu)),
      el(
        "div",
        { class: "group", "data-part": "lift" },
        el("label", {}, word("Lift "), this.liftField),
        lifts,
      ),
      el(
        "div",
        { class: "group end" },
        button("Lectures", "Walk through a lecture (L)", () => this._lectureDialog(), {
          "data-part": "lectures",
        }),
        button("Share", "Copy a link to this very step", () => this._share(), { "data-part": "share" }),
        button("Export", "Save pictures, data, run, model, proof, code (E)", () => this._exportDialog(), {
          "data-part": "export",
        }),
        button("?", "Help and keys (?)", () => this._helpDialog()),
      ),
    );
    this.flagsField = el("input", {
      type: "text",
      "aria-label": "options as for svm-train",
      spellcheck: "false",
      onchange: (e) => this.setFlags(e.target.value),
    });
    this.settingsBox = el("section", {
      class: "settings",
      "data-part": "settings",
      "aria-label": "Settings",
    });
    const b = (this.buttons = {
      first: button("|‹", "First step (Home)", () => this.seek(0)),
      back: button("‹", "Step back (←)", () => {
        this._halt();
        this.back();
      }),
      next: button("›", "Step (→)", () => {
        this._halt();
        this.next();
      }),
      last: button("›|", "Last step (End)", () => this.toEnd()),
      pass: button("pass ›", "One pass over all rows (shift →)", () => this.pass()),
    });
    this.playButton = button("Play", "Play or pause (space)", () => this.play(), { class: "play" });
    this.slider = el("input", {
      type: "range",
      min: 0,
      max: 0,
      value: 0,
      step: 1,
      "aria-label": "Step",
      oninput: (e) => this.seek(Number(e.target.value)),
    });
    this.stepText = el("output", { class: "step-text" });
    this.speed = chooser("Speed", SPEEDS, "500", () => {});
    this.visitsBox = el("input", {
      type: "checkbox",
      onchange: (e) => {
        this.state.visits = e.target.checked;
        this.state.step = 0;
        this.changed();
      },
    });
    this.subBox = el("input", {
      type: "checkbox",
      onchange: (e) => {
        this.state.sub = e.target.checked;
        this.phase = 2;
        this.redraw();
      },
    });
    const transport = el(
      "div",
      { class: "transport", role: "group", "aria-label": "Playback", "data-part": "transport" },
      b.first,
      b.back,
      this.playButton,
      b.next,
      b.last,
      b.pass,
      this.slider,
      this.stepText,
      el("label", {}, word("Speed "), this.speed),
      el("label", { title: "Looks that change nothing are steps too (V)" }, this.visitsBox, " visits"),
      el("label", { title: "Select, test, correct (P)" }, this.subBox, " sub-steps"),
    );
    this.verdictIcon = el("span", { class: "verdict-icon", "aria-hidden": "true" });
    this.verdictText = el("strong", { class: "verdict-text" });
    this.fitText = el("span", { class: "fit-text" });
    this.verifyButton = button("Verify", "Check the proof again in exact arithmetic (C)", () =>
      this.verify(),
    );
    this.whyButton = button("Why", "The proof and the fit in full (W)", () => this._whyDialog());
    this.verdictBox = el(
      "section",
      { class: "verdict", "aria-label": "Certificate", "data-part": "verdict" },
      this.verdictIcon,
      el("div", { class: "verdict-words", role: "status" }, this.verdictText, " ", this.fitText),
      el("div", { class: "group" }, this.verifyButton, this.whyButton),
    );
    this.noteBox = el("p", { class: "note", hidden: true });
    this.live = el("p", { class: "unseen", "aria-live": "polite" });
    this.chips = el("div", { class: "chips", role: "radiogroup", "aria-label": "Class of new points" });
    this.addClassButton = button("+", "One more class", () => this.addClass(), { class: "small" });
    this.removeButton = button(
      "⌫",
      "Remove the point in focus (Delete)",
      () => {
        if (this.chosen.size) this.removePoints(this.chosen);
        else if (this.plane.focus >= 0) this.removePoint(this.plane.focus);
      },
      { disabled: true },
    );
    this.pointerMenu = chooser("Pointer", POINTERS, "point", (v) => this.setPointer(v), {
      title: "What the pointer does (B)",
      class: "pointer",
    });
    this.brush = el("input", {
      type: "range",
      min: 8,
      max: 60,
      step: 4,
      value: 16,
      "aria-label": "size of the brush",
    });
    this.brushBox = el("label", { class: "setting", hidden: true }, el("span", {}, "size"), this.brush);
    const edit = el(
      "span",
      { class: "group", "data-part": "edit" },
      this.removeButton,
      this.pointerMenu,
      this.brushBox,
      button("Jitter", "Move all points a little", () => this.jitter()),
      this.undoButton,
      this.redoButton,
    );
    const share = (name, text, most, title) => {
      const slider = el("input", {
        type: "range",
        min: 0,
        max: most,
        step: 0.05,
        value: 0,
        "aria-label": text,
        oninput: () => this.setRows(name, Number(slider.value)),
      });
      return [slider, el("label", { class: "setting", title }, el("span", {}, text), slider)];
    };
    const [noise, noiseBox] = share("noise", "noise", 1, "Noise on all points, as a share of their spread"),
      [test, testBox] = share("test", "held out", 0.5, "Rows kept from the method to test it: drawn hollow");
    this.rowSliders = { noise, test };
    const first = el(
      "section",
      { class: "panel first", "aria-label": "Data space", "data-part": "plane" },
      el(
        "div",
        { class: "tools" },
        this.chips,
        this.addClassButton,
        edit,
        el("span", { class: "group", "data-part": "rows" }, noiseBox, testBox),
        this.projection,
        el(
          "span",
          { class: "zoom" },
          button("+", "Zoom in", () => this.plane.zoom(0.8)),
          button("−", "Zoom out", () => this.plane.zoom(1.25)),
          button("fit", "Fit all points", () => this.plane.fit()),
        ),
      ),
    );
    const second = el("section", {
      class: "panel second-panel",
      "aria-label": "Second picture",
      "data-part": "second",
    });
    const words = el("section", { class: "panel words", "aria-label": "This step", "data-part": "words" });
    const curves = el("section", { class: "panel curves", "aria-label": "Curves", "data-part": "curves" });
    const points = el(
      "details",
      { class: "panel table", "data-part": "table" },
      el("summary", {}, "Points as a table"),
    );
    this.slideBox = el("section", { class: "slide", hidden: true, "aria-label": "Lecture" });
    this.root.replaceChildren(
      head,
      this.settingsBox,
      this.slideBox,
      el("section", { class: "sticky", "aria-label": "Run and proof" }, transport, this.verdictBox),
      this.noteBox,
      el("main", {}, first, second, words, curves, points),
      this.live,
    );
    this.plane = new DataPlane(this, first);
    this.second = new SecondView(this, second);
    this.words = new Words(this, words);
    this.curves = new Curves(this, curves);
    this.points = new PointTable(this, points);
    points.addEventListener("toggle", () => this.points.draw());
    for (const part of this.options.hide ?? [])
      for (const node of this.root.querySelectorAll(`[data-part="${CSS.escape(part)}"]`))
        node.classList.add("gone");
    this._drop();
  }

  toEnd() {
    this._halt();
    if (!this.run) return;
    if (this.run.open && this.state.most < 20000) {
      this.state.most = 20000;
      this.dueStep = 20000;
      this._askRun();
    } else this._go(this.run.update.length - 1);
  }

  _settings() {
    const m = this.method,
      key = `${m.key}|${JSON.stringify([this.state.settings.start, this.state.settings.targets])}`;
    this.visitsBox.checked = this.state.visits;
    this.subBox.checked = this.state.sub;
    this.liftField.value = this.state.lift;
    for (const [name, slider] of Object.entries(this.rowSliders)) {
      slider.value = this.state[name];
      slider.setAttribute("aria-valuetext", `${Math.round(100 * this.state[name])} %`);
    }
    this.methodMenu.value = m.key;
    this._fitting();
    if (key === this.settingsKey || this.settingsBox.contains(document.activeElement)) return;
    this.settingsKey = key;
    const words = chooser(
      "Letters of a lecture",
      [["", "plain"], ...["000", "001", "002", "003", "004"].map((c) => [c, `lecture ${c}`])],
      this.state.convention ?? "",
      (v) => {
        this.state.convention = v || null;
        this.changed();
      },
    );
    this.settingsBox.replaceChildren(
      ...m.settings.map((s) =>
        settingControl(s, this.state.settings[s.name], (name, value) => this.setSetting(name, value)),
      ),
      ...(m.steps ? [el("label", { class: "setting" }, el("span", {}, "words"), words)] : []),
      ...(FLAGGED.includes(m.key)
        ? [
            el(
              "label",
              {
                class: "setting flags",
                title:
                  "The options of LIBSVM's svm-train and svm-toy: -t 0 linear, 1 polynomial, 2 Gaussian, -d, -g, -r, -c",
              },
              el("span", {}, "svm-train"),
              this.flagsField,
            ),
          ]
        : []),
    );
    this._fitting();
  }

  // Settings that the chosen kernel does not have are not shown.
  _fitting() {
    if (document.activeElement !== this.flagsField)
      this.flagsField.value = flagsOf(this.state.method, this.state.settings);
    const kernel = this.state.settings.kernel ?? "rbf";
    for (const node of this.settingsBox.children)
      node.hidden =
        (["degree", "coef0"].includes(node.dataset.setting) && kernel !== "poly") ||
        (node.dataset.setting === "gamma" && kernel === "linear");
  }

  _projections() {
    if (!this.projection) return;
    const key = `${this.d}|${this.state.proj}|${!!this.run?.basis}`;
    if (key === this.projectionKey) return;
    this.projectionKey = key;
    this.projection.replaceChildren();
    if (this.d <= 2) return;
    const names = this.state.table.features.slice(0, 40),
      pair = /^(\d+),(\d+)$/.exec(this.state.proj);
    const set = (v) => {
      this.state.proj = v;
      this._frame();
      this.plane.box = null;
      this.redraw();
    };
    this.projection.append(
      "seen along ",
      chooser(
        "Projection",
        [
          ["", "principal directions"],
          ["0,1", "two features"],
        ],
        pair ? "0,1" : "",
        (v) => set(v),
      ),
    );
    if (!pair) return;
    const options = names.map((n, k) => [String(k), n]);
    this.projection.append(
      chooser("horizontal feature", options, pair[1], (v) => set(`${v},${pair[2]}`)),
      chooser("vertical feature", options, pair[2], (v) => set(`${pair[1]},${v}`)),
    );
  }

  _empty() {
    this.load({
      X: [],
      y: [],
      classes: [-1, 1],
      features: ["x1", "x2"],
      rows: null,
      name: "drawn",
      shown: ["−1", "+1"],
    });
    this.say("An empty plane: click to add points.");
  }

  _note(text) {
    this.noteBox.hidden = !text;
    this.noteBox.textContent = text;
  }

  async verify() {
    if (!this.verdict || this.verdict.error) return;
    const found = await this.ask("verify", { task: taskOf(this.state) });
    this._note(found.error ?? `${found.good ? "✓ " : "✗ "}${found.sentence}.`);
    this.say(this.noteBox.textContent);
  }

  // -- own data --------------------------------------------------------------------------------

  _drop() {
    const root = this.root;
    root.addEventListener("dragover", (e) => {
      e.preventDefault();
      root.classList.add("dropping");
    });
    root.addEventListener("dragleave", () => root.classList.remove("dropping"));
    root.addEventListener("drop", (e) => {
      e.preventDefault();
      root.classList.remove("dropping");
      const file = e.dataTransfer.files[0];
      if (file) this.readFile(file);
    });
    root.addEventListener("paste", (e) => {
      if (/^(INPUT|TEXTAREA)$/.test(e.target.tagName)) return;
      const text = e.clipboardData.getData("text");
      if (text.includes("\n")) {
        e.preventDefault();
        this.readText(text);
      }
    });
  }

  async readFile(file) {
    if (file.size > 8e6) {
      this._note(
        `${file.name} has ${Math.round(file.size / 1e6)} MB; the lab takes 8. Give a sample of the rows.`,
      );
      return false;
    }
    return this.readBytes(new Uint8Array(await file.arrayBuffer()), file.name);
  }
  readText(text) {
    return this.readBytes(
      new TextEncoder().encode(text),
      /^\s*\S+\s+\d+:/.test(text) ? "pasted.svm" : "pasted.csv",
    );
  }
  async readBytes(bytes, name) {
    let found;
    try {
      found = await this.channel.file(bytes, name);
    } catch (error) {
      found = { error: error.message };
    }
    if (found.error) {
      this._note(found.error);
      return false;
    }
    const { awaits } = this.state;
    this.load(found);
    this._note([found.notes, awaits ? this._arrived(awaits) : ""].filter(Boolean).join(" "));
    return true;
  }

  // Rows that a link was made for: they are known by their mark, and stand where the link says.
  _arrived(awaits) {
    const { table } = this.state,
      state = decodeState(awaits.hash).state,
      asMethod = this.methods.find((m) => m.key === state.method);
    this.state.awaits = null;
    if (markOf(table) !== awaits.mark) return "These are other rows than those that the link was made for.";
    if (asMethod)
      Object.assign(this.state, {
        ...state,
        table,
        set: "",
        awaits: null,
        settings: chosenOf(state.settings, asMethod),
      });
    if (state.noise || state.test)
      Object.assign(this.state, withRows({ ...this.state, clean: clone(table) }));
    this.methodMenu.value = this.state.method;
    this.settingsKey = "";
    this.changed({ fit: true });
    return "These are the rows of the link, at its step.";
  }

  _openDialog() {
    const area = el("textarea", {
      rows: 9,
      "aria-label": "Table as text",
      placeholder: "x1,x2,y\n1.0,2.0,a\n3.5,0.5,b\n\nor svmlight:  +1 1:0.5 2:1.2",
    });
    const file = el("input", {
      type: "file",
      "aria-label": "File",
      accept: ".csv,.tsv,.txt,.svm,.libsvm,.svmlight,.npz,.parquet,.arrow,.gz,.bz2",
    });
    const box = dialog(
      this.root,
      "Your own data",
      el(
        "p",
        {},
        "CSV (the last column, or one called y, class, label or target, is the class), svmlight, npz or Parquet; up to 1000 features and ten classes; of more than 5000 rows a sample. A file can also be dropped anywhere on the page. It stays on this machine.",
      ),
      el("p", {}, file),
      area,
      el(
        "p",
        {},
        el(
          "button",
          {
            type: "button",
            onclick: async () => {
              const text = area.value.trim();
              if (text && (await this.readText(text + "\n"))) box.close();
              else if (text) box.close();
            },
          },
          "Use this table",
        ),
      ),
    );
    file.addEventListener("change", async () => {
      if (file.files[0]) {
        await this.readFile(file.files[0]);
        box.close();
      }
    });
    area.focus();
  }

  // -- windows ---------------------------------------------------------------------------------

  _helpDialog() {
    dialog(
      this.root,
      "Help",
      el(
        "p",
        {},
        "Points are the data, shaded are the regions of the classes, the arrow w is the normal of the line. A ring is a row on the wrong side, a dashed ring the row that this step looked at. The strip above the pictures says whether any plane separates the classes, and what is proved about the model. Every number is that of Python: Export shows the lines that give this run.",
      ),
      el(
        "table",
        { class: "help" },
        el(
          "tbody",
          {},
          HELP.map(([keys, what]) =>
            el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, keys)), el("td", {}, what)),
          ),
        ),
      ),
    );
  }

  _whyDialog() {
    const v = this.verdict;
    if (!v) return;
    dialog(
      this.root,
      "Why",
      el("h3", {}, "The classes"),
      el("pre", { tabindex: "0" }, v.explain),
      el("h3", {}, "The fit"),
      el("pre", { tabindex: "0" }, v.summary || v.certificate),
    );
  }

  get title() {
    return `${this.method.title}, ${this.state.table.name || "own points"}`;
  }
  get line() {
    const set = Object.entries(this.state.settings)
      .map(([k, v]) => `${k}=${JSON.stringify(v)}`)
      .join(" ");
    return `${this.run ? this.stepName() : ""}${set ? `; ${set}` : ""}${this.state.lift ? `; lift ${this.state.lift}` : ""}${this.verdict ? `; ${this.verdict.sentence}` : ""}`;
  }

  async _file(kind) {
    const rows = ["csv", "svmlight"].includes(kind) ? { table: wholeTable(this.state), picks: [] } : {}; // points are all of them, those held out too
    const found = await this.ask("export", { task: taskOf({ ...this.state, ...rows }), kind });
    if (found.error) {
      this._note(found.error);
      return null;
    }
    return { ...found, bytes: Uint8Array.from(atob(found.data), (c) => c.charCodeAt(0)) };
  }

  async exportFile(kind) {
    const found = await this._file(kind);
    if (found) download(found.name, found.media, found.bytes);
  }

  // Text, or an image that is still being made, to the clipboard; what became of it is said.
  async copy(what, content) {
    const good = await copied(content);
    this.say(good ? `${what} copied.` : `The browser keeps its clipboard to itself: save ${what} as a file.`);
    this._note(good ? "" : this.live.textContent);
    return good;
  }

  async copyFile(kind) {
    const found = await this._file(kind);
    if (found) await this.copy(found.name, new TextDecoder().decode(found.bytes));
  }

  _exportDialog() {
    if (!this.run) {
      this._note(this.error);
      return;
    }
    const name = (this.state.table.name || "lab").replace(/[^\w-]+/g, "-"),
      classes = [...this.chips.children],
      noClasses = ["weights", "cost"].includes(this.state.view);
    const pictures = [
      ["Data space", this.plane.svg, "data", [...classes, ...this.plane.legend.children]],
      [VIEW_TITLE(this), this.second.svg, this.state.view, noClasses ? [] : classes],
      ...this.curves.panels.map(({ svg, title }, k) => [`Curve of ${title}`, svg, `curve-${k + 1}`, []]),
    ].map(([title, svg, word, legend]) => [title, word, [svg, this.title, this.line, legend]]);
    const row = (title, ...buttons) => el("tr", {}, el("th", { scope: "row" }, title), el("td", {}, buttons));
    const b = (text, label, act) =>
      el("button", { type: "button", "aria-label": spoken(text, label), onclick: act }, text);
    const file = (kind, text, label) => b(text, label, () => this.exportFile(kind)),
      copy = (kind, text, label) => b(text, label, () => this.copyFile(kind));
    const code = el(
      "pre",
      { class: "code", tabindex: "0", "aria-label": "Python code of this run" },
      this.run.code,
    );
    dialog(
      this.root,
      "Export",
      el(
        "table",
        { class: "exports" },
        el(
          "tbody",
          {},
          ...pictures.map(([title, word, parts]) =>
            row(
              title,
              b("SVG", `${title} as SVG`, () => saveSvg(`${name}-${word}`, ...parts)),
              b("PNG", `${title} as PNG`, async () =>
                download(`${name}-${word}.png`, "image/png", await pngOf(...parts)),
              ),
              b("copy", `Copy ${title}`, () => this.copy(title, pngOf(...parts))),
            ),
          ),
          row(
            "Points",
            file("csv", "CSV", "Points as CSV"),
            copy("csv", "copy", "Copy the rows as CSV"),
            file("svmlight", "svmlight", "Points as svmlight"),
            copy("svmlight", "copy", "Copy the rows as svmlight"),
          ),
          row(
            "Run",
            file("trace", "trace (JSON)", "Run as trace"),
            file("replay", "replay page (HTML)", "Run as a page that replays it"),
          ),
          row(
            "Answer",
            file("model", "model (JSON)", "Model file"),
            file("proof", "proof (JSON)", "Proof file"),
            copy("proof", "copy", "Copy the proof"),
            file("python", "Python", "Python file"),
          ),
        ),
      ),
      el("h3", {}, "The same in Python"),
      code,
      el(
        "p",
        {},
        b("Copy", "Copy the code", () => this.copy("the code", this.run.code)),
      ),
    );
  }

  async _share() {
    const link =
      this.options.link?.(encodeState(this.state, this.unknown)) ??
      `#${encodeState(this.state, this.unknown)}`;
    const whole = !/[#&]d=local/.test(link);
    const field = el("textarea", { rows: 4, readonly: true, "aria-label": "Link" }, link);
    dialog(
      this.root,
      "Share",
      el(
        "p",
        {},
        whole
          ? "This link opens at this step with the same numbers, in any lab: replace what stands before # by the address of another one."
          : "These rows do not fit into a link (more than 60). Share the file beside it: the link knows its rows by a mark, and opens at this step once the file is open.",
      ),
      field,
      el("p", {}, el("button", { type: "button", onclick: () => this.copy("the link", link) }, "Copy")),
      el(
        "p",
        { class: "quiet" },
        "A page with fewer controls: ?hide=data,method,lift,settings,edit,rows,lectures,share,export,transport,verdict,second,words,curves,table before the #.",
      ),
    );
    field.select();
  }

  // -- lectures --------------------------------------------------------------------------------

  _lectureDialog() {
    const box = dialog(
      this.root,
      "Lectures",
      ...this.lectures.map((lecture) =>
        el(
          "section",
          {},
          el("h3", {}, `${lecture.key} · ${lecture.title}`),
          el(
            "ol",
            { class: "slides" },
            lecture.slides.map((slide, k) =>
              el(
                "li",
                {},
                el(
                  "button",
                  {
                    type: "button",
                    class: "linky",
                    onclick: () => {
                      box.close();
                      this.slide(lecture.key, k);
                    },
                  },
                  slide.title,
                ),
              ),
            ),
          ),
        ),
      ),
    );
  }

  slide(key, k) {
    const lecture = this.lectures.find((l) => l.key === key),
      slide = lecture?.slides[k];
    if (!slide) return;
    const set = this.sets.find((s) => s.name === slide.set);
    this.keepForUndo();
    this._note("");
    Object.assign(this.state, freshState(), {
      table: clone(set),
      set: set.name,
      method: slide.method,
      settings: clone(slide.settings ?? {}),
      lift: slide.lift ?? "",
      visits: slide.visits ?? false,
      convention: slide.convention ?? null,
      step: slide.step ?? 0,
      opens: slide.step === undefined,
      lay: this.state.lay,
      view: slide.view ?? "",
      axes: slide.axes ?? null,
      scheme: slide.scheme ?? "",
      slide: `${key}:${k}`,
      test: slide.test ?? 0,
    });
    if (this.state.test) {
      this.state.clean = clone(set);
      Object.assign(this.state, withRows(this.state));
    }
    this.dataMenu.value = set.name;
    this.keepEnd = false;
    this.settingsKey = "";
    this._slideBar();
    this.changed({ fit: true });
  }

  _slideBar() {
    const [key, k] = this.state.slide.split(":"),
      lecture = this.lectures.find((l) => l.key === key),
      at = Number(k),
      slide = lecture?.slides[at];
    this.slideBox.hidden = !slide;
    if (!slide) return;
    const go = (text, label, to) =>
      el(
        "button",
        {
          type: "button",
          "aria-label": spoken(text.replace(/[‹›]/, "").trim(), label),
          disabled: !lecture.slides[to],
          onclick: () => this.slide(key, to),
        },
        text,
      );
    this.slideBox.replaceChildren(
      el(
        "div",
        {},
        el("strong", {}, `Lecture ${key} · ${at + 1} of ${lecture.slides.length} · ${slide.title}`),
        el("p", {}, slide.text),
      ),
      el(
        "div",
        { class: "group" },
        go("‹ Slide", "Slide before", at - 1),
        go("Slide ›", "Next slide", at + 1),
        el(
          "button",
          {
            type: "button",
            "aria-label": "Leave the lecture",
            onclick: () => {
              this.state.slide = "";
              this.slideBox.hidden = true;
              this._link();
            },
          },
          "✕",
        ),
      ),
    );
    this.say(slide.text);
  }

  // -- keys ------------------------------------------------------------------------------------

  _keys() {
    const acts = {
      " ": () => this.play(),
      ArrowRight: (e) => (e.shiftKey ? this.pass() : (this._halt(), this.next())),
      ArrowLeft: () => {
        this._halt();
        this.back();
      },
      Home: () => this.seek(0),
      End: () => this.toEnd(),
      z: (e) => this.undoOnce(e.shiftKey),
      n: () => this._newPoint(),
      c: () => this.verify(),
      w: () => this._whyDialog(),
      e: () => this._exportDialog(),
      l: () => this._lectureDialog(),
      "?": () => this._helpDialog(),
      p: () => {
        this.subBox.click();
      },
      v: () => {
        this.visitsBox.click();
      },
      k: () => this.nextKernel(),
      h: () => {
        this.showHulls = !this.showHulls;
        this.redraw();
      },
      f: () => this._lay("swap"),
      g: () => this._lay("wide"),
      b: () =>
        this.setPointer(POINTERS[(POINTERS.findIndex(([k]) => k === this.pointer) + 1) % POINTERS.length][0]),
      "+": () => this.plane.zoom(0.8),
      "=": () => this.plane.zoom(0.8),
      "-": () => this.plane.zoom(1.25),
      ".": () => this.plane.fit(),
    };
    const handle = (event) => {
      const { target } = event,
        tag = target.tagName;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("dialog")) return;
      if (
        tag === "SELECT" ||
        tag === "TEXTAREA" ||
        (tag === "INPUT" && !(target === this.slider && event.key === " ") && target.type !== "checkbox")
      )
        return;
      if (
        (tag === "BUTTON" || tag === "SUMMARY" || target.type === "checkbox") &&
        (event.key === " " || event.key === "Enter")
      )
        return;
      const row = target.dataset?.row;
      if (row !== undefined && this.plane.key(event, Number(row))) {
        event.preventDefault();
        return;
      }
      if (/^\d$/.test(event.key)) {
        const k = (Number(event.key) + 9) % 10;
        event.preventDefault();
        if (row !== undefined) this.setClass(Number(row), k);
        else if (k < this.state.table.classes.length) {
          this.klass = k;
          this.redraw();
        }
        return;
      }
      const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (act) {
        event.preventDefault();
        act(event);
      }
    };
    this.root.addEventListener("keydown", handle);
    if (this.options.whole)
      document.addEventListener("keydown", (e) => {
        if (e.target === document.body) handle(e);
      });
  }

  _lay(which) {
    const now = this.state.lay.split(".").filter(Boolean);
    this.state.lay = (now.includes(which) ? now.filter((w) => w !== which) : [...now, which]).join(".");
    this.redraw();
  }

  _newPoint() {
    const b = this.plane.c.box,
      i = this.plane.focus,
      from = i >= 0 ? this.plane.points[i] : [(b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2],
      w = b.x1 - b.x0;
    this.addPoint([
      Number((from[0] + 0.04 * w).toFixed(3)),
      this.frame.flat ? 0 : Number((from[1] + 0.04 * w).toFixed(3)),
    ]);
    requestAnimationFrame(() => requestAnimationFrame(() => this.plane.marks.at(-1)?.focus()));
  }
}

const root_width = (node) => node.clientWidth;
const VIEW_TITLE = (lab) =>
  lab.second.tabs.querySelector('[aria-selected="true"]')?.textContent ?? "Second picture";
function inside(plane) {
  const b = plane.c.box;
  return plane.lab.state.table.X.every((x) => {
    const [u, v] = plane.lab.project(x);
    return u >= b.x0 && u <= b.x1 && v >= b.y0 && v <= b.y1;
  });
}

export async function mount(root, channel, options = {}) {
  return new Lab(root, channel, options).open();
}
