// What things are called on the page: rows, classes, weights, places, and the step in a sentence.
import { show } from "./plot.js";
import { PHASE } from "./playback.js";

const weightName = (feature) => (/^x\d+$/.test(feature) ? `w${feature.slice(1)}` : `w(${feature})`);
const fourDigits = (value) => show(Number(value.toPrecision(4)));

export class Names {
  constructor(lab) {
    this.lab = lab;
  }

  // -- rows and classes -----------------------------------------------------------------------

  className(k) {
    const { shown, classes } = this.lab.state.table;
    return String(shown?.[k] ?? classes[k]);
  }

  classWords(k) {
    const name = this.className(k);
    return /^class\b/.test(name) ? name : `class ${name}`;
  }

  row(i) {
    return this.lab.state.table.rows?.[i] ?? `row ${i}`;
  }

  rowClass(i) {
    return this.classWords(this.lab.state.table.y[i]);
  }

  // A point for those who hear it, with its value and its side.
  point(i, value = this.lab.moment.values()[i], wrong = this.lab.moment.errors().includes(i)) {
    const where = this.lab.state.table.X[i].slice(0, 3).map((v) => show(v));
    const parts = [this.row(i), this.rowClass(i), `at ${where.join(", ")}`];
    if (Number.isFinite(value)) parts.push(`value ${show(value)}`);
    if (this.lab.run) parts.push(wrong ? "wrong side" : "right side");
    if (this.lab.editing.chosen.has(i)) parts.push("chosen");
    return parts.join(", ");
  }

  // A place of the picture: its numbers, its score, its class.
  place([u, v]) {
    const { run, frame, method, moment } = this.lab;
    const at = [u, ...(frame.flat ? [] : [v])]
      .map((z, k) => `${frame.names[k]} = ${fourDigits(z)}`)
      .join(", ");
    const scores = run ? moment.scoresAt(u, v) : [];
    if (!scores.length || !scores.every(Number.isFinite)) return at;
    if (scores.every((f) => f === 0)) return `${at}: undecided`;
    if (scores.length > 1) {
      const best = Math.max(...scores);
      return `${at}: ${this.classWords(run.present[scores.indexOf(best)])} is ahead by ${fourDigits(best)}`;
    }
    const [f] = scores;
    const P = method.criterion === "Logistic" ? `, probability ${fourDigits(1 / (1 + Math.exp(-f)))}` : "";
    return `${at}: f(x) = ${fourDigits(f)}${P}, ${this.classWords(run.present[f > 0 ? 1 : 0])}`;
  }

  // -- weights --------------------------------------------------------------------------------

  // Those of one plane that a method may choose.
  weights() {
    const { run, moment } = this.lab;
    return [...run.features.map(weightName), ...(moment.offset ? ["b"] : [])];
  }

  // Those of the whole model, as a table lists them.
  allWeights() {
    const { run, method } = this.lab;
    if (run.planes === 0 && !method.kernel) return []; // many machines, none of which is the model
    if (run.planes === 0) return run.present.length === 2 ? ["b"] : [];
    const own = [...run.features.map(weightName), "b"];
    if (run.planes === 1) return own;
    return run.present.flatMap((k) => own.map((name) => `${this.className(k)}: ${name}`));
  }

  // -- steps ----------------------------------------------------------------------------------

  step() {
    const { run, state } = this.lab;
    const t = state.step;
    const last = run.update.length - 1;
    const made = run.update[last];
    if (run.closing && t === last)
      return `The weights that are kept${run.kept === null ? "" : `, of update ${run.kept}`}`;
    if (last === 0 && !run.open) return "The answer";
    if (t === 0)
      return last ? `Start of ${made}${run.open ? " and more" : ""} update${made === 1 ? "" : "s"}` : "Start";
    const of = `of ${made}${run.open ? "+" : ""}`;
    if (run.update[t] === run.update[t - 1])
      return `Visit ${run.visit[t]}: no update (${run.update[t]} ${of} made)`;
    return `Update ${run.update[t]} ${of}` + (run.visit[t] ? `, visit ${run.visit[t]}` : "");
  }

  // What step t did: a pattern of words, and the numbers in it.
  sentence(t) {
    const { why, patterns } = this.lab.run;
    const [pattern, ...numbers] = why[t];
    return patterns[pattern].map((part, i) => part + (numbers[i] ?? "")).join("");
  }

  // The same at the step and phase that are shown.
  told() {
    const { run, state, playback } = this.lab;
    const t = state.step;
    if (playback.phase === PHASE.correct || t === 0) return this.sentence(t);
    const name = this.row(run.row[t]);
    if (playback.phase === PHASE.select)
      return `Select: visit ${run.visit[t]} looks at ${name}, ${this.rowClass(run.row[t])}.`;
    const value = run.value[t];
    const side = value > 0 ? "> 0" : value < 0 ? "< 0" : "= 0";
    const end = run.wrong[t] === false ? "right, nothing changes" : "wrong, so the weights are corrected";
    return `Test: y f(x) = ${show(value)} ${side}: ${name} is ${end}.`;
  }
}
