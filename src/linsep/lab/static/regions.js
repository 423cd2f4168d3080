// Regions of many classes: the lines of the machines, the rule that decides, and who votes for what.
import { dot, lineInBox } from "./algebra.js";
import { arrow, marksOf, ring, segment } from "./chart.js";
import { Picture } from "./picture.js";
import { show } from "./plot.js";
import { chooser, el } from "./widgets.js";

const RULES = [
  ["", "its own"],
  ["unanimous", "unanimous"],
  ["votes", "votes"],
  ["argmax", "largest score"],
];
const MOST_TIED = 6; // classes whose pairs have a line each
const MOST_VOTES = 45; // machines that are listed

// A sentence of many classes, without its longest list.
const shortened = (text) => (text.length > 300 ? text.split("; no common boundary")[0] : text);

export class Regions extends Picture {
  static title = "Regions";
  static follows = true;

  static fits({ run, d, state }) {
    return run.present.length > 2 && d === 2 && !state.lift;
  }

  static key({ state }) {
    return state.method;
  }

  constructor(view) {
    super(view);
    const { lab } = this;
    const duels = lab.method.key === "one-vs-one"; // without them there are no votes
    const options = RULES.filter(([rule]) => duels || rule !== "votes");
    this._rules = options.map(([rule]) => rule);
    this._menu = chooser("rule of decision", options, lab.state.scheme, (rule) => {
      lab.state.scheme = rule;
      lab.redraw();
    });
    view.tools.append(el("span", {}, "rule "), this._menu);
  }

  draw() {
    const { lab } = this;
    const { state, run, frame } = lab;
    if (!this._rules.includes(state.scheme)) state.scheme = "";
    this._menu.value = state.scheme;
    const zones = lab.questions.zones();
    const lines = zones?.lines ?? [];
    const points = state.table.X.map((x) => frame.project(x));
    const c = this.chartOf(points, frame.names);
    for (const machine of lines) this._machine(c, machine);
    if (zones && !lines.length && run.planes > 2 && run.planes <= MOST_TIED) this._ties(c);
    marksOf(c, points, state.table.y, 4.5);
    const focus = points[lab.plane.focus];
    if (zones && focus) {
      ring(c, focus, 10, "lit");
      this.view.more.append(this._votes(lab.plane.focus, lines));
    }
    this._tell(zones);
  }

  _tell(zones) {
    const { moment, plane } = this.lab;
    if (!zones) {
      this.view.tell("", "Lines of the machines");
      return;
    }
    const early = moment.atEnd ? "" : "After the last step: ";
    const help = plane.focus < 0 ? " Choose a point to see who votes for what." : "";
    this.view.tell(`${early}${shortened(zones.sentence)}.${help}`, zones.sentence);
  }

  // A line in the colour of one class; in dashes, of another.
  _coloured(c, line, kind, k) {
    segment(c.under, c, line, kind).style.stroke = `var(--c${this.lab.run.present[k] % 10})`;
  }

  // The line of one machine, and the side where it says yes.
  _machine(c, { w, b, classes }) {
    const line = lineInBox(w, b, c.limits);
    if (!line) return;
    this._coloured(c, line, "machine", classes.at(-1));
    if (classes.length > 1) this._coloured(c, line, "machine second-class", classes[0]);
    const s = (0.05 * (c.box.x1 - c.box.x0)) / Math.hypot(...w);
    const [u, v] = [0, 1].map((k) => 0.85 * line[0][k] + 0.15 * line[1][k]);
    arrow(c.under, [c.x(u), c.y(v)], [c.x(u + s * w[0]), c.y(v + s * w[1])], "normal");
  }

  // Where two classes are as good as each other: the edges of a linear machine lie on these lines.
  _ties(c) {
    const all = this.lab.moment.planes();
    all.forEach((p, k) =>
      all.slice(0, k).forEach((q, l) => {
        const line = lineInBox([p.w[0] - q.w[0], p.w[1] - q.w[1]], p.b - q.b, c.limits);
        if (!line) return;
        this._coloured(c, line, "machine thin", k);
        this._coloured(c, line, "machine thin second-class", l);
      }),
    );
  }

  // -- votes ----------------------------------------------------------------------------------

  // What every machine says about row i.
  _votes(i, lines) {
    const { names, run, state } = this.lab;
    const said = lines.length ? this._opinions(state.table.X[i], lines) : this._scores(state.table.X[i]);
    const count = (k) => said.filter(({ choice }) => choice === k).length;
    const votes = run.present.map((_, k) => `${this._name(k)}: ${count(k)}`);
    const total = lines.length ? `; votes: ${votes.join(", ")}` : "";
    const rows = said.slice(0, MOST_VOTES).map(({ who, value, says }) => {
      const number = el("td", { class: "number" }, show(value));
      return el("tr", {}, el("th", { scope: "row" }, who), number, el("td", {}, says));
    });
    const caption = el("caption", {}, `${names.row(i)}, ${names.rowClass(i)}${total}`);
    return el("table", { class: "votes" }, caption, el("tbody", {}, rows));
  }

  _name(k) {
    return this.lab.names.className(this.lab.run.present[k]);
  }

  // Machines of one class against the rest, or of a pair.
  _opinions(x, lines) {
    return lines.map(({ w, b, classes: [k, l] }) => {
      const value = dot(w, x) + b;
      if (l === undefined) {
        const yes = value > 0;
        const says = yes ? `accepts ${this._name(k)}` : "rejects";
        return { who: `${this._name(k)} against the rest`, value, says, choice: yes ? k : -1 };
      }
      const choice = value > 0 ? l : k;
      const who = `${this._name(k)} against ${this._name(l)}`;
      return { who, value, says: this._name(choice), choice };
    });
  }

  // Functions of which the largest decides.
  _scores(x) {
    const values = this.lab.moment.functions().map(({ w, b }) => dot(w, x) + b);
    const best = Math.max(...values);
    const says = (value) => (value === best ? "largest" : "");
    return values.map((value, k) => ({ who: `g of ${this._name(k)}`, value, says: says(value) }));
  }
}
