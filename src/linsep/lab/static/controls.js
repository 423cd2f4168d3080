// The method and its settings: a control for each, and the options of svm-train beside them.
import { show } from "./plot.js";
import { flagsOf, readFlags } from "./flags.js";
import { chosenOf } from "./state.js";
import { settingControl } from "./settings.js";
import { chooser, el, refill } from "./widgets.js";

const FLAGGED = ["linear-svm", "kernel-svm"]; // methods that svm-train has as well
const FLAGS =
  "The options of LIBSVM's svm-train and svm-toy: -t 0 linear, 1 polynomial, 2 Gaussian, -d, -g, -r, -c";
const WITH_KERNEL = { "linear-svm": "kernel-svm", perceptron: "kernel-perceptron" };
const KEPT_WITH_KERNEL = ["C", "fit_intercept"];
const LETTERS = [["", "plain"], ...["000", "001", "002", "003", "004"].map((key) => [key, `lecture ${key}`])];

export class Controls {
  constructor(lab) {
    this.lab = lab;
    this.node = el("section", { class: "settings", "data-part": "settings", "aria-label": "Settings" });
    this._flags = el("input", {
      type: "text",
      "aria-label": "options as for svm-train",
      spellcheck: "false",
      onchange: (e) => this.setFlags(e.target.value),
    });
    const title = el("span", {}, "svm-train");
    this._flagged = el("label", { class: "setting flags", title: FLAGS }, title, this._flags);
    this._shown = ""; // what the controls were made for
  }

  // -- changes --------------------------------------------------------------------------------

  setMethod(key, settings = {}) {
    const { lab } = this;
    lab.note("");
    Object.assign(lab.state, { method: key, settings, picks: [], view: "", step: 0, opens: true });
    lab.changed();
  }

  setSetting(name, value) {
    const { state, playback, questions, address } = this.lab;
    this._byHand(() => (state.settings = { ...state.settings, [name]: value }));
    playback.stayAtEnd(true);
    playback.showWhole();
    this._fit();
    questions.askRun();
    address.write();
  }

  // Where a run begins, chosen in a picture: all weights of a plane, offset last.
  setStart(weights) {
    const { state, playback, moment } = this.lab;
    const start = moment.offset ? weights : weights.slice(0, -1);
    Object.assign(state, { settings: { ...state.settings, start }, step: 0, picks: [] });
    playback.stayAtEnd(false);
    this.lab.say(`Start set to ${start.map((v) => show(v)).join(", ")}.`);
    this.lab.changed();
  }

  // The method with a kernel, or the next kernel.
  nextKernel() {
    const { state, method } = this.lab;
    const same = WITH_KERNEL[method.key];
    if (same) {
      const kept = Object.entries(state.settings).filter(([name]) => KEPT_WITH_KERNEL.includes(name));
      this.setMethod(same, Object.fromEntries(kept));
      this.lab.say(this.lab.method.title);
      return;
    }
    const kernels = method.settings.find((one) => one.name === "kernel")?.values;
    if (!kernels) {
      this.lab.say(`${method.title} has no kernel.`);
      return;
    }
    const at = kernels.indexOf(state.settings.kernel ?? kernels[0]);
    const kernel = kernels[(at + 1) % kernels.length];
    state.settings = { ...state.settings, kernel };
    this.lab.changed();
    this.lab.say(`kernel ${kernel}`);
  }

  // What svm-train would be told.
  setFlags(text) {
    const { state, methods, d } = this.lab;
    const found = readFlags(text, d);
    this.lab.note(found.error ?? "");
    if (found.error) return;
    const method = methods.find((m) => m.key === found.method);
    const settings = chosenOf(found.settings, method);
    Object.assign(state, { method: method.key, settings, step: 0, opens: true, picks: [] });
    this.lab.changed();
  }

  // -- the controls ---------------------------------------------------------------------------

  get _wanted() {
    const { method, settings, convention } = this.lab.state;
    return JSON.stringify([method, settings, convention]);
  }

  // A change that a control has made itself: it shows it already.
  _byHand(change) {
    const same = this._shown === this._wanted;
    change();
    if (same) this._shown = this._wanted;
  }

  refresh() {
    this._fit();
    if (this._shown === this._wanted) return;
    this._shown = this._wanted;
    const { method, state } = this.lab;
    const controls = method.settings.map((one) =>
      settingControl(one, state.settings[one.name], (name, value) => this.setSetting(name, value)),
    );
    if (method.steps) {
      controls.push(el("label", { class: "setting" }, el("span", {}, "words"), this._letters()));
    }
    if (FLAGGED.includes(method.key)) controls.push(this._flagged);
    refill(this.node, ...controls);
    this._fit();
  }

  // In whose letters a run is told.
  _letters() {
    const { state } = this.lab;
    return chooser("Letters of a lecture", LETTERS, state.convention ?? "", (key) => {
      this._byHand(() => (state.convention = key || null));
      this.lab.changed();
    });
  }

  // Settings that the chosen kernel does not have are not shown.
  _fit() {
    const { method, settings } = this.lab.state;
    if (document.activeElement !== this._flags) this._flags.value = flagsOf(method, settings);
    const kernel = settings.kernel ?? "rbf";
    const without =
      kernel === "poly" ? [] : kernel === "linear" ? ["degree", "coef0", "gamma"] : ["degree", "coef0"];
    for (const node of this.node.children) node.hidden = without.includes(node.dataset.setting);
  }
}
