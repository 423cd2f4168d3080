// What the verdict shows in the pictures: the rows that prove it, the nearest points of two hulls, or
// a point that both have.
import { ratio } from "./algebra.js";

export class Proof {
  constructor(lab) {
    this.lab = lab;
  }

  // Whether the verdict is about the rows as they stand in the picture.
  get _plain() {
    const { verdict, state, method } = this.lab;
    return !!verdict && !state.lift && !(method.kernel && (state.settings.kernel ?? "rbf") !== "linear");
  }

  rows() {
    const { verdict, state } = this.lab;
    return verdict?.separable === false ? verdict.rows.filter((i) => i < state.table.X.length) : [];
  }

  // The nearest points of the two hulls: those of the method, else those of the proof.
  nearest() {
    const { verdict, run, method, moment } = this.lab;
    if (run?.present.length !== 2) return null;
    const two = run.points?.[moment.index];
    if (two?.length === 2) return two;
    if (!this._plain || !verdict.hull.length || method.key === "kozinec") return null;
    const rows = verdict.hull.map(([row]) => row);
    const shares = verdict.hull.map(([, share]) => Math.abs(share));
    const ends = run.present.map((k) => this._mixture(rows, shares, k));
    return ends.every(Boolean) ? ends : null;
  }

  common() {
    const { verdict, run, moment } = this.lab;
    if (!this._plain || verdict.separable !== false || run?.present.length !== 2 || !moment.offset)
      return null;
    const shares = verdict.multipliers.map((text) => {
      const [p, q] = text.split("/");
      return Number(p) / Number(q ?? 1);
    });
    return this._mixture(verdict.rows, shares, run.present[1]);
  }

  words() {
    const { rows, multipliers } = this.lab.verdict;
    const parts = rows.slice(0, 6).map((i, k) => `${ratio(multipliers[k])} of ${this.lab.names.row(i)}`);
    return parts.join(", ");
  }

  // The rows of one class, mixed by their shares.
  _mixture(rows, shares, klass) {
    const { X, y, features } = this.lab.state.table;
    const own = rows.map((i, k) => [i, shares[k]]).filter(([i]) => y[i] === klass);
    const total = own.reduce((sum, [, share]) => sum + share, 0);
    if (!(total > 0)) return null;
    return features.map((_, j) => own.reduce((sum, [i, share]) => sum + share * X[i][j], 0) / total);
  }
}
