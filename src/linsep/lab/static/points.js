// The points as a table: their numbers and classes can be edited, and their values are read.
import { show } from "./plot.js";
import { el } from "./widgets.js";

const MOST_SHOWN = 300;
const MOST_COLUMNS = 12;

export class PointTable {
  constructor(lab, host) {
    this.lab = lab;
    this.host = host;
    this._table = el("table", { class: "points" }, el("caption", {}, "Points"), el("thead"), el("tbody"));
    this._more = el("p", { class: "quiet" });
    const scroll = { class: "scroll", tabindex: "0", role: "region", "aria-label": "Points as a table" };
    host.append(el("div", scroll, this._table), this._more);
    host.addEventListener("toggle", () => this.draw());
    this._shape = "";
  }

  draw() {
    const { table } = this.lab.state;
    if (!table || this.host.hidden || !this.host.open) return;
    const { X, classes, shown, features, rows } = table;
    const shape = JSON.stringify([X.length, classes, shown, features, rows]);
    if (shape !== this._shape) this._build(shape);
    this._fill();
  }

  _fill() {
    const { moment, state } = this.lab;
    const { X, y } = state.table;
    const values = moment.values();
    const wrong = new Set(moment.errors());
    this._rows.forEach(({ inputs, label, value, note }, i) => {
      inputs.forEach((input, j) => {
        if (input !== document.activeElement) input.value = X[i][j];
      });
      if (label !== document.activeElement) label.value = String(y[i]);
      value.textContent = Number.isFinite(values[i]) ? show(values[i]) : "";
      note.textContent = this._note(i, wrong.has(i));
    });
  }

  _note(i, wrong) {
    const { moment } = this.lab;
    const a = moment.alpha()?.[i] ?? 0;
    const parts = [
      wrong ? "wrong side" : "",
      i === moment.row() ? "row of this step" : "",
      a > 1e-9 ? `α = ${show(Number(a.toPrecision(5)))}` : "",
    ];
    return parts.filter(Boolean).join(", ");
  }

  _build(shape) {
    const { table } = this.lab.state;
    const d = Math.min(table.features.length, MOST_COLUMNS);
    this._shape = shape;
    const seen = ["row", ...table.features.slice(0, d), "class", "value"];
    const unseen = ["note", "remove"].map((name) => el("span", { class: "unseen" }, name));
    const heads = [...seen, ...unseen].map((head) => el("th", { scope: "col" }, head));
    this._table.tHead.replaceChildren(el("tr", {}, heads));
    this._rows = table.X.slice(0, MOST_SHOWN).map((x, i) => this._row(x.slice(0, d), i));
    this._table.tBodies[0].replaceChildren(...this._rows.map(({ node }) => node));
    const more = `The first ${MOST_SHOWN} of ${table.X.length} rows.`;
    this._more.textContent = table.X.length > MOST_SHOWN ? more : "";
  }

  // The cells of row i that are filled, and the row that holds them.
  _row(x, i) {
    const { editing } = this.lab;
    const name = this.lab.names.row(i);
    const inputs = x.map((v, j) => this._number(v, i, j));
    const label = this._classMenu(i);
    const value = el("td", { class: "number" });
    const note = el("td");
    const act = { type: "button", class: "small", "aria-label": `Remove ${name}` };
    const remove = el("button", { ...act, onclick: () => editing.remove(i) }, "✕");
    const node = el(
      "tr",
      { onpointerenter: () => this.lab.light(i), onpointerleave: () => this.lab.light(-1) },
      el("th", { scope: "row" }, name),
      inputs.map((input) => el("td", {}, input)),
      el("td", {}, label),
      value,
      note,
      el("td", {}, remove),
    );
    return { node, inputs, label, value, note };
  }

  _number(v, i, j) {
    const name = `${this.lab.names.row(i)}, ${this.lab.state.table.features[j]}`;
    return el("input", {
      ...{ type: "number", step: "any", value: v, "aria-label": name },
      onchange: ({ target }) => {
        const value = Number(target.value);
        if (target.value !== "" && Number.isFinite(value)) this.lab.editing.editCell(i, j, value);
      },
    });
  }

  _classMenu(i) {
    const { names, editing, state } = this.lab;
    const options = state.table.classes.map((_, k) => el("option", { value: String(k) }, names.className(k)));
    const how = { "aria-label": `${names.row(i)}, class` };
    const change = (event) => editing.setClass(i, Number(event.target.value));
    const menu = el("select", { ...how, onchange: change }, options);
    menu.value = String(state.table.y[i]);
    return menu;
  }
}
