// The strip of what is proved: the verdict about the classes, what is proved of the fit, the check of
// both, and why.
import { button, capital, dialog, el } from "./widgets.js";

const ICONS = { yes: "✓", no: "✗", edge: "≈", open: "?", wait: "…", none: "–" };

const kindOf = (verdict) => {
  if (verdict.separable === true) return "yes";
  if (verdict.separable !== false) return "open";
  return verdict.quasi ? "edge" : "no";
};

const asSentence = (text) => `${capital(text).replace(/\.$/, "")}.`;

export class Strip {
  constructor(lab) {
    this.lab = lab;
    this._icon = el("span", { class: "verdict-icon", "aria-hidden": "true" });
    this._classes = el("strong", { class: "verdict-text" });
    this._fit = el("span", { class: "fit-text" });
    this._verifyButton = button("Verify", "Check the proof again in exact arithmetic (C)", () =>
      this.verify(),
    );
    this._whyButton = button("Why", "The proof and the fit in full (W)", () => this.why());
    this.node = el(
      "section",
      { class: "verdict", "aria-label": "Certificate", "data-part": "verdict" },
      this._icon,
      el("div", { class: "verdict-words", role: "status" }, this._classes, " ", this._fit),
      el("div", { class: "group" }, this._verifyButton, this._whyButton),
    );
  }

  draw() {
    const { run } = this.lab;
    const verdict = this._current();
    const kind = !run ? "none" : !verdict ? "wait" : kindOf(verdict);
    this.node.dataset.kind = kind;
    this._icon.textContent = ICONS[kind];
    this._classes.textContent = this._ofClasses(verdict);
    this._fit.textContent = this._ofFit(verdict);
    this._verifyButton.disabled = this._whyButton.disabled = !verdict || verdict.error;
  }

  // The verdict, where it is about what is seen: not while another run is waited for.
  get _waits() {
    return !!this.lab.run && this.lab.root.ariaBusy === "true";
  }

  _current() {
    return this._waits ? null : this.lab.verdict;
  }

  _ofClasses(verdict) {
    const { run, error, state } = this.lab;
    if (run) return verdict ? asSentence(verdict.sentence) : this._waits ? "working …" : "deciding …";
    if (error) return error;
    return new Set(state.table.y).size > 1 ? "working …" : "Add points of two classes.";
  }

  // What is proved is proved about the fit, which is the end of the run.
  _ofFit(verdict) {
    const { run, moment } = this.lab;
    if (!run || !verdict || verdict.error) return "";
    const fit = verdict.fit && verdict.fit + (moment.atEnd ? "" : " at the end");
    return [fit, verdict.certificate].filter(Boolean).join(": ") + ".";
  }

  async verify() {
    const { verdict, questions } = this.lab;
    if (!verdict || verdict.error) return;
    const found = await questions.about("verify");
    if (this.lab.verdict !== verdict) return; // the rows are others by now
    const told = found.error ?? `${found.good ? "✓ " : "✗ "}${found.sentence}.`;
    this.lab.note(told);
    this.lab.say(told);
  }

  why() {
    const { verdict, root } = this.lab;
    if (!verdict) return;
    const text = (words) => el("pre", { tabindex: "0" }, words);
    const classes = [el("h3", {}, "The classes"), text(verdict.explain)];
    dialog(root, "Why", ...classes, el("h3", {}, "The fit"), text(verdict.summary || verdict.certificate));
  }
}
