// Words and tables: what a step did, the weights, the points as numbers that can be edited.
import { show } from "./plot.js";
import { el } from "./widgets.js";

export class Words {
  constructor(lab, host) {
    this.lab = lab;
    this.name = el("h2", { class: "step-name" });
    this.rule = el("p", { class: "rule" });
    this.why = el("p", { class: "why", "aria-live": "polite", "aria-atomic": "true" });
    this.phases = el("ol", { class: "phases", "aria-label": "Sub-steps" });
    this.table = el("table", { class: "weights" }, el("caption", {}, "Weights"), el("tbody"));
    this.wrong = el("p", { class: "quiet" });
    this.held = el("p", { class: "quiet held-out" });
    this.message = el("p", { class: "message" });
    host.append(this.name, this.rule, this.phases, this.why, this.message, this.table, this.wrong, this.held);
  }

  draw() {
    const { lab } = this,
      run = lab.run,
      t = lab.state.step;
    this.rule.textContent = lab.method?.rule ?? "";
    const tested = lab.heldNow()?.errors[lab.index],
      { held } = lab.state;
    this.held.textContent = !tested
      ? ""
      : `Held out: ${tested.length} of ${held.X.length} rows on the wrong side${
          tested.length
            ? `: ${tested
                .slice(0, 8)
                .map((i) => held.rows[i])
                .join(", ")}${tested.length > 8 ? ", …" : ""}`
            : ""
        }.`;
    this.phases.hidden = !lab.state.sub || !run || run.row[t] < 0;
    if (!run) {
      this.name.textContent = lab.error ? "No run" : "…";
      this.why.textContent = lab.error || "";
      this.message.textContent = "";
      this.table.tBodies[0].replaceChildren();
      this.wrong.textContent = "";
      return;
    }
    this.name.textContent = lab.stepName();
    this.why.textContent = lab.sentenceNow();
    if (!this.phases.hidden) {
      this.phases.replaceChildren(
        ...["select", "test", "correct"].map((word, k) =>
          el("li", { "aria-current": k === lab.phase ? "step" : null }, word),
        ),
      );
    }
    const last = t === run.update.length - 1 && run.message !== lab.sentence(t);
    this.message.textContent = last ? `${run.message[0].toUpperCase()}${run.message.slice(1)}.` : "";
    this.message.classList.toggle("good", last && run.ok && !run.open);
    const names = lab.allWeightNames(),
      w = lab.rawWeights();
    const before = lab.phase < 2 || t === 0 ? null : run.weights[t - 1];
    const body = this.table.tBodies[0];
    body.replaceChildren();
    this.table.hidden = !names.length;
    this.table.caption.textContent = run.symbol
      ? `${run.symbol[0]}${run.update[t] + run.symbol[2]}${run.symbol[1]}`
      : !lab.method.steps
        ? "Weights"
        : t === 0
          ? "At the start"
          : "After this step";
    const most = 14;
    names.slice(0, most).forEach((name, k) => {
      const moved = before && before[k] !== w[k];
      body.append(
        el(
          "tr",
          { class: moved ? "moved" : null },
          el("th", { scope: "row" }, name),
          el("td", { class: "number", title: String(w[k]) }, show(w[k])),
        ),
      );
    });
    if (names.length > most)
      body.append(el("tr", {}, el("th", { scope: "row" }, `… ${names.length - most} more`), el("td")));
    for (const [name, values] of Object.entries(run.extra)) {
      if (values[t] === null || values[t] === undefined) continue;
      const [what, flag] = name.split(" (1 = yes)");
      body.append(
        el(
          "tr",
          { class: "fact" },
          el("th", { scope: "row" }, what),
          el("td", { class: "number" }, flag === undefined ? show(values[t]) : values[t] ? "yes" : "no"),
        ),
      );
    }
    if (run.alpha)
      body.append(
        el(
          "tr",
          { class: "fact" },
          el("th", { scope: "row" }, "support rows"),
          el("td", { class: "number" }, String(lab.supportNow().length)),
        ),
      );
    const wrong = lab.errorsNow(),
      listed = wrong
        .slice(0, 8)
        .map((i) => lab.rowName(i))
        .join(", ");
    this.wrong.textContent = wrong.length
      ? `Wrong side: ${listed}${wrong.length > 8 ? ` and ${wrong.length - 8} more` : ""}.`
      : "Every row is on its own side.";
  }
}

const MOST_SHOWN = 300;

export class PointTable {
  constructor(lab, host) {
    this.lab = lab;
    this.host = host;
    this.table = el("table", { class: "points" }, el("caption", {}, "Points"), el("thead"), el("tbody"));
    this.more = el("p", { class: "quiet" });
    host.append(
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Points as a table" },
        this.table,
      ),
      this.more,
    );
    this.shape = "";
  }

  draw() {
    const { lab } = this,
      table = lab.state.table;
    if (!table || this.host.hidden || !this.host.open) return;
    const shape = `${table.X.length}x${lab.d}:${table.classes.join("|")}:${table.features.join("|")}`;
    if (shape !== this.shape) this._build(shape);
    const values = lab.valuesNow(),
      wrong = new Set(lab.errorsNow()),
      row = lab.rowNow(),
      alpha = lab.alphaNow();
    this.rows.forEach((cells, i) => {
      cells.inputs.forEach((input, j) => {
        if (input !== document.activeElement) input.value = table.X[i][j];
      });
      if (cells.label !== document.activeElement) cells.label.value = String(table.y[i]);
      cells.value.textContent = values[i] === undefined || !Number.isFinite(values[i]) ? "" : show(values[i]);
      cells.note.textContent = [
        wrong.has(i) ? "wrong side" : "",
        i === row ? "row of this step" : "",
        alpha?.[i] > 1e-9 ? `α = ${show(Number(alpha[i].toPrecision(5)))}` : "",
      ]
        .filter(Boolean)
        .join(", ");
    });
  }

  _build(shape) {
    const { lab } = this,
      table = lab.state.table,
      d = Math.min(lab.d, 12);
    this.shape = shape;
    const heads = ["row", ...table.features.slice(0, d), "class", "value", "note", "remove"];
    this.table.tHead.replaceChildren(
      el(
        "tr",
        {},
        heads.map((h, k) =>
          el("th", { scope: "col" }, k < heads.length - 2 ? h : el("span", { class: "unseen" }, h)),
        ),
      ),
    );
    const body = this.table.tBodies[0];
    body.replaceChildren();
    this.rows = table.X.slice(0, MOST_SHOWN).map((x, i) => {
      const name = lab.rowName(i);
      const inputs = x.slice(0, d).map((v, j) =>
        el("input", {
          type: "number",
          step: "any",
          value: v,
          "aria-label": `${name}, ${table.features[j]}`,
          onchange: (e) => {
            const value = Number(e.target.value);
            if (e.target.value !== "" && Number.isFinite(value)) lab.editCell(i, j, value);
          },
        }),
      );
      const label = el(
        "select",
        { "aria-label": `${name}, class`, onchange: (e) => lab.setClass(i, Number(e.target.value)) },
        table.classes.map((_, k) => el("option", { value: String(k) }, lab.className(k))),
      );
      label.value = String(table.y[i]);
      const value = el("td", { class: "number" }),
        note = el("td");
      const remove = el(
        "button",
        { type: "button", class: "small", "aria-label": `Remove ${name}`, onclick: () => lab.removePoint(i) },
        "✕",
      );
      body.append(
        el(
          "tr",
          { onpointerenter: () => lab.light(i), onpointerleave: () => lab.light(-1) },
          el("th", { scope: "row" }, name),
          inputs.map((n) => el("td", {}, n)),
          el("td", {}, label),
          value,
          note,
          el("td", {}, remove),
        ),
      );
      return { inputs, label, value, note };
    });
    this.more.textContent =
      table.X.length > MOST_SHOWN ? `The first ${MOST_SHOWN} of ${table.X.length} rows.` : "";
  }
}
