// The head of the page: which rows, which method, which lift, and the windows that can be opened.
import { showHelp } from "./keys.js";
import { button, chooser, el, newId, word } from "./widgets.js";

const LIFTS = [
  "x1, x2, x1**2 + x2**2",
  "x1, x2, x1*x2",
  "x1, x2, (x1 - x2)**2",
  "x1, x1**2",
  "poly(2)",
  "poly(3)",
];
const OF_LECTURES = /^(Lecture|An instance)/; // what the notes of a set begin with

export class Bar {
  constructor(lab) {
    this.lab = lab;
    this._build();
  }

  _build() {
    const { lab } = this;
    const sets = lab.sets.map((s) => [s.name, s.name, OF_LECTURES.test(s.notes) ? "Lectures" : "Drawn"]);
    this.data = chooser("Data", [["", "own points", "Own"], ...sets], "", (name) => this._load(name));
    const methods = lab.methods.map((m) => [m.key, m.title]);
    this._method = chooser("Method", methods, "perceptron", (key) => lab.controls.setMethod(key));
    const lifts = el(
      "datalist",
      { id: newId("lifts") },
      LIFTS.map((value) => el("option", { value })),
    );
    this._lift = el("input", {
      type: "text",
      class: "wide",
      placeholder: "no lift",
      "aria-label": "Lift: features such as x1, x2, x1**2 + x2**2",
      list: lifts.id,
      onchange: (e) => {
        Object.assign(lab.state, { lift: e.target.value.trim(), view: "", step: 0 });
        lab.changed();
      },
    });
    const part = (name, ...content) => el("div", { class: "group", "data-part": name }, ...content);
    this.node = el(
      "header",
      { class: "head" },
      el("h1", {}, "linsep ", el("span", {}, "lab")),
      part(
        "data",
        el("label", {}, word("Data "), this.data),
        button("Open…", "Open a file or paste a table", () => lab.files.open()),
        button("Clear", "Start with an empty plane", () => lab.editing.empty()),
      ),
      part("method", el("label", {}, word("Method "), this._method)),
      part("lift", el("label", {}, word("Lift "), this._lift), lifts),
      el("div", { class: "group end" }, this._windows()),
    );
  }

  _windows() {
    const { lesson, exports, root } = this.lab;
    return [
      button("Lectures", "Walk through a lecture (L)", () => lesson.open(), { "data-part": "lectures" }),
      button("Share", "Copy a link to this very step", () => exports.share(), { "data-part": "share" }),
      button("Export", "Save pictures, data, run, model, proof, code (E)", () => exports.open(), {
        "data-part": "export",
      }),
      button("?", "Help and keys (?)", () => showHelp(root)),
    ];
  }

  _load(name) {
    const { editing, sets } = this.lab;
    const set = sets.find((one) => one.name === name);
    if (set) editing.load(set, name);
    else editing.empty();
  }

  refresh() {
    const { state } = this.lab;
    this._method.value = state.method;
    this._lift.value = state.lift;
  }

  draw() {
    this.data.value = this.lab.state.set;
  }
}
