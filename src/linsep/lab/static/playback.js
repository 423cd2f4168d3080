// Playback: which step is shown, and the bar that moves it; forwards, back, a pass, by itself.
import { button, chooser, el, word } from "./widgets.js";

// The parts of a step, where it is shown in three.
export const PHASE = { select: 0, test: 1, correct: 2 };

const SPEEDS = [
  ["1200", "slow"],
  ["500", "normal"],
  ["120", "fast"],
  ["0", "whole run in 10 s"],
];
const MOST_STEPS = 20000; // of a run that the page asks for

export class Playback {
  constructor(lab) {
    this.lab = lab;
    this.phase = PHASE.correct;
    this.playing = null; // the timer of the next picture
    this._keepEnd = false; // whether the last step was chosen: that of the next run is, too
    this._dueStep = null; // a step that the run at hand does not have yet
    this._build();
  }

  _build() {
    const { lab } = this;
    this._buttons = {
      first: button("|‹", "First step (Home)", () => this.seek(0)),
      back: button("‹", "Step back (←)", () => this.back()),
      play: button("Play", "Play or pause (space)", () => this.play(), { class: "play" }),
      next: button("›", "Step (→)", () => this.next()),
      last: button("›|", "Last step (End)", () => this.toEnd()),
      pass: button("pass ›", "One pass over all rows (shift →)", () => this.pass()),
    };
    this.slider = el("input", {
      ...{ type: "range", min: 0, max: 0, value: 0, step: 1, "aria-label": "Step" },
      oninput: (e) => this.seek(Number(e.target.value)),
    });
    this._place = el("output", { class: "step-text" });
    this._speed = chooser("Speed", SPEEDS, "500", () => {});
    this.visits = el("input", {
      type: "checkbox",
      onchange: (e) => {
        Object.assign(lab.state, { visits: e.target.checked, step: 0 });
        lab.changed();
      },
    });
    this.sub = el("input", {
      type: "checkbox",
      onchange: (e) => {
        lab.state.sub = e.target.checked;
        this.phase = PHASE.correct;
        lab.redraw();
      },
    });
    this.node = el(
      "div",
      { class: "transport", role: "group", "aria-label": "Playback", "data-part": "transport" },
      ...Object.values(this._buttons),
      this.slider,
      this._place,
      el("label", {}, word("Speed "), this._speed),
      el("label", { title: "Looks that change nothing are steps too (V)" }, this.visits, " visits"),
      el("label", { title: "Select, test, correct (P)" }, this.sub, " sub-steps"),
    );
  }

  // -- where it stands ------------------------------------------------------------------------

  get _last() {
    return this.lab.run.update.length - 1;
  }

  get _ended() {
    return this.lab.state.step >= this._last && !this.lab.run.open;
  }

  // Whether the next run is to be shown at its end, as this one is.
  get sticks() {
    const { run, state } = this.lab;
    return !!run && state.step === this._last && this._last > 0 && this._keepEnd;
  }

  // A new run: shown where its method begins, at the step that was asked for, or where the run
  // before it stood. One that is only passing changes none of these.
  meet(run, stick, passing) {
    const { state, method } = this.lab;
    if (!run) {
      this._dueStep = null;
      return;
    }
    if (state.opens && !passing) {
      if (method.ends && !run.open) {
        state.step = this._last;
        this._keepEnd = true;
      }
      state.opens = false;
    }
    if (this._dueStep !== null && !passing) {
      state.step = this._dueStep;
      this._dueStep = null;
      this._keepEnd = state.step >= this._last;
    }
    if (stick) state.step = this._last;
    state.step = Math.min(state.step, this._last);
  }

  // Whether the run that is asked for next is shown at its end, if this one is.
  stayAtEnd(yes) {
    this._keepEnd = yes;
  }

  // The run that is asked for next is shown at this step.
  expect(step) {
    this._dueStep = step;
    this.lab.state.opens = false;
  }

  // A step that was shown in parts is shown whole.
  showWhole() {
    this.phase = PHASE.correct;
  }

  // -- moves ----------------------------------------------------------------------------------

  seek(t) {
    this.halt();
    this._go(t);
  }

  next() {
    this.halt();
    this._forward();
  }

  back() {
    this.halt();
    const { run, state } = this.lab;
    if (!run) return;
    if (this._inParts(state.step) && this.phase > PHASE.select) {
      this.phase -= 1;
      this.lab.redraw();
    } else this._go(state.step - 1);
  }

  pass() {
    const { run, state } = this.lab;
    if (!run) return;
    const due = run.visit[state.step] + run.n;
    const t = run.visit.findIndex((visit, k) => k > state.step && visit >= due);
    this.seek(t < 0 ? this._last + (run.open ? 1 : 0) : t);
  }

  toEnd() {
    this.halt();
    const { run, state, questions } = this.lab;
    if (!run) return;
    if (run.open && state.most < MOST_STEPS) {
      state.most = MOST_STEPS;
      this._dueStep = MOST_STEPS;
      questions.askRun();
    } else this._go(this._last);
  }

  _forward() {
    const { run, state } = this.lab;
    if (!run) return;
    if (this.phase < PHASE.correct) {
      this.phase += 1;
      this.lab.redraw();
    } else if (!this._ended) this._go(state.step + 1, PHASE.select);
  }

  _inParts(t) {
    return this.lab.state.sub && t > 0 && this.lab.run.row[t] >= 0;
  }

  _go(t, phase = PHASE.correct) {
    const { run, state } = this.lab;
    if (!run) return;
    if (t > this._last && run.open && state.most < MOST_STEPS) {
      this._longer(t);
      return;
    }
    state.step = Math.min(this._last, Math.max(0, Math.round(t)));
    this.phase = this._inParts(state.step) ? phase : PHASE.correct;
    this._keepEnd = state.step === this._last;
    this.lab.redraw();
  }

  // Behind the last step of a run that was cut: a longer one is asked for.
  _longer(t) {
    if (this._dueStep !== null) return;
    this.lab.state.most = Math.min(MOST_STEPS, 4 * this.lab.state.most);
    this._dueStep = t;
    this._keepEnd = false;
    this.lab.questions.askRun();
  }

  // -- by itself ------------------------------------------------------------------------------

  play() {
    if (this.playing !== null) return this.halt();
    if (!this.lab.run) return;
    if (this._ended) this._go(0);
    this._plays(true);
    this.playing = setTimeout(() => this._tick(), 150);
  }

  _tick() {
    const { run, state } = this.lab;
    if (!run || (this._ended && this.phase === PHASE.correct)) return this.halt();
    const speed = Number(this._speed.value);
    const total = run.update.length;
    if (speed === 0) this._go(Math.min(total - 1, state.step + Math.max(1, Math.round(total / 250))));
    else this._forward();
    this.playing = setTimeout(() => this._tick(), speed === 0 ? Math.max(40, 10000 / total) : speed);
  }

  halt() {
    clearTimeout(this.playing);
    this.playing = null;
    this._plays(false);
  }

  _plays(yes) {
    this.lab.words.hush(yes);
    this._buttons.play.textContent = yes ? "Pause" : "Play";
    this._buttons.play.setAttribute("aria-pressed", String(yes));
  }

  // -- the bar --------------------------------------------------------------------------------

  refresh() {
    this.visits.checked = this.lab.state.visits;
    this.sub.checked = this.lab.state.sub;
  }

  draw() {
    const { run, state, names, moment } = this.lab;
    const t = state.step;
    const last = run ? this._last : 0;
    this.slider.max = last;
    this.slider.value = t;
    const words = run ? `${names.step()}, ${moment.errors().length} rows wrong` : "no run";
    this.slider.setAttribute("aria-valuetext", words);
    this._place.textContent = run ? `${t} / ${last}${run.open ? "+" : ""}` : "–";
    const ended = t >= last && !run?.open;
    const off = (name, yes) => this._buttons[name].setAttribute("aria-disabled", String(yes));
    off("first", t === 0);
    off("back", t === 0 && this.phase === PHASE.correct);
    off("next", ended);
    off("last", ended);
  }
}
