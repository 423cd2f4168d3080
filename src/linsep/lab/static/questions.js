// Questions to the server and what it answered: the run, its proof, and what single pictures need.
// A question is never asked while one of its kind is out; of those that come up meanwhile the last
// one counts.
import { taskOf } from "./state.js";

const SLOW = 300; // milliseconds after which a run is waited for in words

// The classes that have rows, in the order in which the server numbers them.
const usedClasses = (labels) => [...new Set(labels)].sort((a, b) => a - b);

export class Questions {
  constructor(lab) {
    this.lab = lab;
    this.run = null;
    this.verdict = null;
    this.error = "";
    this._asking = { busy: false, again: false };
    this._slots = {};
    this._runId = 0; // answers that belong to another run are not shown
  }

  get busy() {
    return this._asking.busy || Object.values(this._slots).some((slot) => slot.busy);
  }

  async ask(verb, data) {
    const { channel, root } = this.lab;
    try {
      const found = await channel.ask(verb, data);
      root.classList.remove("away");
      return found;
    } catch (error) {
      root.classList.add("away");
      const help = 'Start it again with "linsep lab"; what is on the page is kept.';
      return { error: `The lab does not answer (${error.message}). ${help}` };
    }
  }

  // A question about what is on the page.
  about(verb, data = {}) {
    return this.ask(verb, { task: taskOf(this.lab.state), ...data });
  }

  // The rows are others than those of the run.
  forget() {
    this.run = null;
    this.verdict = null;
    this._runId += 1;
  }

  // -- the run and its proof ------------------------------------------------------------------

  async askRun() {
    this._asking.again = this._asking.busy;
    if (this._asking.busy) return;
    this._asking.busy = true;
    do {
      this._asking.again = false;
      const { playback, state } = this.lab;
      const used = usedClasses(state.table.y);
      const stick = playback.sticks;
      const slow = setTimeout(() => this._wait(true), SLOW); // what is seen is the run before this one
      const found = await this.about("run");
      clearTimeout(slow);
      const passing = this._asking.again; // shown while the next one is on its way
      if (!passing || !found.error) this._taken(found, used, stick, passing);
    } while (this._asking.again);
    this._asking.busy = false;
    this._wait(false);
    this._askProof();
  }

  _wait(yes) {
    this.lab.root.setAttribute("aria-busy", String(yes));
    this.lab.strip.draw();
  }

  _taken(found, used, stick, passing) {
    this._runId += 1;
    if (!passing) this.verdict = null;
    this.run = found.error ? null : found;
    this.error = found.error ?? "";
    if (this.run) {
      this.run.present = this.run.present.map((k) => used[k]);
      if (this.run.value.length !== this.run.update.length) this.run.value = [];
    }
    this.lab.playback.meet(this.run, stick, passing);
    this.lab.reframe();
    this.lab.redraw();
  }

  async _askProof() {
    if (!this.run) {
      this.lab.strip.draw();
      return;
    }
    const id = this._runId;
    const found = await this.about("prove");
    if (id !== this._runId) return;
    const none = { sentence: found.error, separable: null, rows: [], multipliers: [], hull: [], error: true };
    this.verdict = found.error ? none : found;
    this.lab.redraw();
    this.lab.options.told?.(this.lab);
  }

  // -- what pictures need ---------------------------------------------------------------------

  // Scores on a grid of the picture.
  field(limits) {
    const { moment, frame, state } = this.lab;
    const { c, e1, e2 } = frame;
    const size = state.table.X.length > 300 ? 61 : 81;
    return this._later("field", "field", [moment.index, ...limits], {
      at: moment.index,
      box: limits,
      size,
      frame: { c, e1, e2 },
    });
  }

  // The cost over two weights, the others held.
  cost(axes, at, box) {
    const others = at.filter((_, k) => !axes.includes(k));
    return this._later("cost", "costs", [axes, others, box], { axes, at, box, size: 61 });
  }

  // The lifted ground under the rows.
  surface() {
    const box = [0, 1].flatMap((j) => {
      const all = this.lab.state.table.X.map((x) => x[j]);
      const [low, high] = [Math.min(...all), Math.max(...all)];
      const pad = 0.08 * (high - low) || 1;
      return [low - pad, high + pad];
    });
    return this._later("surface", "surface", box, { box, size: 25 });
  }

  // The rows held out that are wrong, at each step.
  held() {
    const { held, table } = this.lab.state;
    if (!held || !this.run) return null;
    const used = usedClasses(table.y);
    const labels = held.y.map((k) => used.indexOf(k));
    return this._later("held", "held", [held.X.length], { rows: held.X, labels });
  }

  // The Gram matrix; where there is none, the error that says why.
  gram() {
    return this._later("gram", "gram", []);
  }

  // Who decides where in the data space.
  zones() {
    const { scheme } = this.lab.state;
    const { limits } = this.lab.plane.c;
    return this._later("zones", "zones", [scheme, ...limits], { box: limits, scheme });
  }

  // What is known under a name about this run; undefined where nothing is.
  seen(name) {
    const slot = this._slots[name];
    return slot && slot.run === this._runId ? (slot.value ?? undefined) : undefined;
  }

  // An answer for a picture: asked for if need be; until it comes, the one at hand for this run.
  _later(name, verb, about, data = {}) {
    const slot = (this._slots[name] ??= { busy: false, next: null, key: null, value: null, run: -1 });
    const key = [this._runId, ...about].join();
    if (slot.key !== key) {
      slot.next = { key, verb, data, run: this._runId };
      if (!slot.busy) this._pump(slot);
    }
    return this.seen(name) ?? null;
  }

  async _pump(slot) {
    slot.busy = true;
    while (slot.next) {
      const { key, verb, data, run } = slot.next;
      slot.next = null;
      const found = await this.about(verb, data);
      Object.assign(slot, { key, value: found.error && verb !== "gram" ? null : found, run });
    }
    slot.busy = false;
    this.lab.redraw();
  }
}
