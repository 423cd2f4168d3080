// The moment that is shown: weights, values, errors, rows and shares of the run at the step of the
// page. It only reads.
import { PHASE } from "./playback.js";

export class Moment {
  constructor(lab) {
    this.lab = lab;
  }

  // The step whose weights hold: before the correction of a step, those of the step before.
  get index() {
    const { state, playback } = this.lab;
    return playback.phase < PHASE.correct && state.step > 0 ? state.step - 1 : state.step;
  }

  get atEnd() {
    return this.lab.state.step === this.lab.run.update.length - 1;
  }

  // -- of what kind the model is --------------------------------------------------------------

  get offset() {
    return this.lab.state.settings.fit_intercept ?? true;
  }

  get curved() {
    return this.lab.run.planes === 0 || !!this.lab.run.lifted;
  }

  get street() {
    return this.lab.method.key === "linear-svm" && this.lab.run?.planes === 1 && !this.curved;
  }

  get canStart() {
    return this.lab.method.settings.some((s) => s.name === "start") && this.lab.run?.planes === 1;
  }

  // -- weights --------------------------------------------------------------------------------

  weights() {
    return this.lab.run.weights[this.index];
  }

  // The weights that this step has changed; null at the start, and until they are corrected.
  weightsBefore() {
    const { state, playback, run } = this.lab;
    return playback.phase === PHASE.correct && state.step > 0 ? run.weights[state.step - 1] : null;
  }

  path() {
    return this.lab.run.planes === 1 ? this.lab.run.weights : [];
  }

  goal() {
    return this.lab.run.weights.at(-1);
  }

  // The point of the hull that belongs to step t: the weights, where the method keeps no other.
  hullPoint(t) {
    const { points, weights } = this.lab.run;
    const [own, ...more] = points?.[t] ?? [];
    return own && !more.length && own.length === weights[t].length ? own : weights[t];
  }

  // Weights and offset of each linear function of step t.
  functions(t = this.index) {
    const { features, planes, weights } = this.lab.run;
    const long = features.length + 1;
    return Array.from({ length: planes }, (_, k) => {
      const own = weights[t].slice(k * long, (k + 1) * long);
      return { w: own.slice(0, -1), b: own.at(-1) };
    });
  }

  // The same as lines of the picture.
  planes() {
    return this.functions().map(({ w, b }) => this.lab.frame.cut(w, b));
  }

  planeBefore() {
    const { state, playback, run, frame } = this.lab;
    if (playback.phase < PHASE.correct || state.step === 0 || run.planes !== 1) return null;
    const [{ w, b }] = this.functions(state.step - 1);
    return frame.cut(w, b);
  }

  // -- rows -----------------------------------------------------------------------------------

  // 1 and -1 for the rows of two classes; 0 where there are others.
  sign(i) {
    const { run, state } = this.lab;
    if (run?.present.length !== 2) return 0;
    return state.table.y[i] === run.present[1] ? 1 : -1;
  }

  // Rows as the model gets them.
  inputs() {
    return this.lab.run.lifted ?? this.lab.state.table.X;
  }

  // Rows with a constant 1, those of the first class times minus one.
  reflected() {
    return this.inputs().map((x, i) => [...x, this.offset ? 1 : 0].map((v) => v * this.sign(i)));
  }

  // y f(x) of each row; with many classes, how far its own is ahead.
  values() {
    const { run, state } = this.lab;
    if (!run) return [];
    if (run.planes === 0) return this._kernelValues();
    const functions = this.functions();
    return this.inputs().map((x, i) => {
      const scores = functions.map(({ w, b }) => x.reduce((sum, v, j) => sum + v * w[j], b));
      if (run.planes === 1) return this.sign(i) * scores[0];
      const own = run.present.indexOf(state.table.y[i]);
      return scores[own] - Math.max(...scores.filter((_, k) => k !== own));
    });
  }

  // Known once a picture has asked for the Gram matrix.
  _kernelValues() {
    const rows = this.inputs();
    const gram = this.lab.questions.seen("gram")?.rows;
    const alpha = this.alpha();
    if (!gram || !alpha) return rows.map(() => NaN);
    const [b] = this.weights();
    const f = (i) => alpha.reduce((sum, a, j) => sum + (a ? a * this.sign(j) * gram[i][j] : 0), 0) + b;
    return rows.map((_, i) => this.sign(i) * f(i));
  }

  errors() {
    return this.lab.run?.errors[this.index] ?? [];
  }

  // The row that this step looked at, -1 for none; and all that it moved.
  row() {
    return this.lab.run?.row[this.lab.state.step] ?? -1;
  }

  rows() {
    const row = this.row();
    return this.lab.run?.moved?.[this.lab.state.step] ?? (row >= 0 ? [row] : []);
  }

  alpha() {
    return this.lab.run?.alpha?.[this.index] ?? null;
  }

  // Rows with a share in the machine: those whose α is more than rounding leaves.
  support() {
    const alpha = this.alpha() ?? [];
    const most = Math.max(...alpha, 1e-300);
    return alpha.flatMap((a, i) => (a > 1e-7 * most ? [i] : []));
  }

  // A number that the method tells beside its weights.
  extra(name) {
    return this.lab.run.extra[name]?.[this.index] ?? null;
  }

  // -- places ---------------------------------------------------------------------------------

  // f for two classes, else how far each class is ahead: from weights, or from the field shown.
  scoresAt(u, v) {
    if (this.curved) return this._fieldAt(u, v);
    const all = this.planes().map((p) => p.w[0] * u + p.w[1] * v + p.b);
    return all.length < 2 ? all : all.map((g, k) => g - Math.max(...all.filter((_, l) => l !== k)));
  }

  _fieldAt(u, v) {
    const { numbers, size, box } = this.lab.questions.seen("field") ?? {};
    if (!numbers || this.lab.plane.zoned) return [];
    const [x0, x1, y0, y1] = box;
    const s = ((u - x0) / (x1 - x0)) * (size - 1);
    const t = (((this.lab.frame.flat ? 0 : v) - y0) / (y1 - y0)) * (size - 1);
    const [i, j] = [s, t].map((k) => Math.max(0, Math.min(size - 2, Math.floor(k))));
    return numbers.map((g) => {
      const at = (a, b) => g[(j + b) * size + i + a];
      const low = (1 - s + i) * at(0, 0) + (s - i) * at(1, 0);
      const high = (1 - s + i) * at(0, 1) + (s - i) * at(1, 1);
      return (1 - t + j) * low + (t - j) * high;
    });
  }
}
