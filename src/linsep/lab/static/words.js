// The step in words: its name, what it did, the weights, and the rows on the wrong side.
import { show } from "./plot.js";
import { capital, el } from "./widgets.js";

const MOST_WEIGHTS = 14;
const MOST_NAMED = 8; // rows of a list

export class Words {
  constructor(lab, host) {
    this.lab = lab;
    this._name = el("h2", { class: "step-name" });
    this._rule = el("p", { class: "rule" });
    this._why = el("p", { class: "why", "aria-live": "polite", "aria-atomic": "true" });
    this._phases = el("ol", { class: "phases", "aria-label": "Sub-steps" });
    this._message = el("p", { class: "message" });
    this._table = el("table", { class: "weights" }, el("caption", {}, "Weights"), el("tbody"));
    this._wrong = el("p", { class: "quiet" });
    this._held = el("p", { class: "quiet held-out" });
    host.append(
      this._name,
      this._rule,
      this._phases,
      this._why,
      this._message,
      this._table,
      this._wrong,
      this._held,
    );
  }

  // While a run plays by itself its sentences are not read out.
  hush(yes) {
    this._why.setAttribute("aria-live", yes ? "off" : "polite");
  }

  draw() {
    const { run, method } = this.lab;
    this._rule.textContent = method.rule ?? "";
    this._tellHeld();
    this._showPhases();
    if (run) this._tellStep();
    else this._tellNone();
  }

  _tellNone() {
    const { error } = this.lab;
    this._name.textContent = error ? "No run" : "…";
    this._why.textContent = error;
    this._message.textContent = "";
    this._wrong.textContent = "";
    this._table.tBodies[0].replaceChildren();
  }

  _tellStep() {
    const { run, names, moment, state } = this.lab;
    this._name.textContent = names.step();
    this._why.textContent = names.told();
    const last = moment.atEnd && run.message !== names.sentence(state.step);
    this._message.textContent = last ? `${capital(run.message)}.` : "";
    this._message.classList.toggle("good", last && run.ok && !run.open);
    this._listWeights();
    const wrong = moment.errors();
    const listed = wrong.slice(0, MOST_NAMED).map((i) => names.row(i));
    const more = wrong.length > MOST_NAMED ? ` and ${wrong.length - MOST_NAMED} more` : "";
    const told = `Wrong side: ${listed.join(", ")}${more}.`;
    this._wrong.textContent = wrong.length ? told : "Every row is on its own side.";
  }

  _tellHeld() {
    const { questions, moment, state } = this.lab;
    const wrong = questions.held()?.errors[moment.index];
    if (!wrong) {
      this._held.textContent = "";
      return;
    }
    const { X, rows } = state.held;
    const listed = wrong.slice(0, MOST_NAMED).map((i) => rows[i]);
    const more = wrong.length > MOST_NAMED ? ", …" : "";
    const which = wrong.length ? `: ${listed.join(", ")}${more}` : "";
    this._held.textContent = `Held out: ${wrong.length} of ${X.length} rows on the wrong side${which}.`;
  }

  _showPhases() {
    const { run, state, playback } = this.lab;
    this._phases.hidden = !state.sub || !run || run.row[state.step] < 0;
    if (this._phases.hidden) return;
    const phase = (word, k) => el("li", { "aria-current": k === playback.phase ? "step" : null }, word);
    this._phases.replaceChildren(...["select", "test", "correct"].map(phase));
  }

  // Weights, those that this step moved marked, and what else the method tells.
  _listWeights() {
    const { names, moment } = this.lab;
    const all = names.allWeights();
    const now = moment.weights();
    const before = moment.weightsBefore();
    const rows = all.slice(0, MOST_WEIGHTS).map((name, k) => {
      const moved = before && before[k] !== now[k];
      const value = el("td", { class: "number", title: String(now[k]) }, show(now[k]));
      return el("tr", { class: moved ? "moved" : null }, el("th", { scope: "row" }, name), value);
    });
    const more = `… ${all.length - MOST_WEIGHTS} more`;
    if (all.length > MOST_WEIGHTS) rows.push(el("tr", {}, el("th", { scope: "row" }, more), el("td")));
    this._table.hidden = !all.length;
    this._table.caption.textContent = this._caption();
    this._table.tBodies[0].replaceChildren(...rows, ...this._facts());
  }

  _caption() {
    const { run, method, state } = this.lab;
    const t = state.step;
    if (run.symbol) return `${run.symbol[0]}${run.update[t] + run.symbol[2]}${run.symbol[1]}`;
    if (!method.steps) return "Weights";
    return t === 0 ? "At the start" : "After this step";
  }

  _facts() {
    const { run, state, moment } = this.lab;
    const fact = (name, text) =>
      el("tr", { class: "fact" }, el("th", { scope: "row" }, name), el("td", { class: "number" }, text));
    const rows = [];
    for (const [name, values] of Object.entries(run.extra)) {
      const value = values[state.step] ?? null;
      if (value === null) continue;
      const [what, flag] = name.split(" (1 = yes)");
      rows.push(fact(what, flag === undefined ? show(value) : value ? "yes" : "no"));
    }
    if (run.alpha) rows.push(fact("support rows", String(moment.support().length)));
    return rows;
  }
}
