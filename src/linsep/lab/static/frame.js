// The plane of the picture: the two directions of the rows that it shows, and where rows lie on it.
// Nothing here knows a page.
import { dot } from "./algebra.js";

// The two features that a projection names, as digits; null for principal directions.
export const featurePair = (projection) => /^(\d+),(\d+)$/.exec(projection)?.slice(1) ?? null;

export class Frame {
  // A point c of the plane, and its directions e1 and e2; `flat` where it is a line.
  constructor(c, e1, e2, names, flat = false) {
    Object.assign(this, { c, e1, e2, names, flat });
  }

  // Frames of one key may share a view: same directions, as many features.
  get key() {
    return this.names.join() + this.c.length;
  }

  project(x) {
    if (this.flat) return [x[0], 0];
    if (x.length === 2) return [x[0], x[1]];
    const off = x.map((v, j) => v - this.c[j]);
    return [dot(off, this.e1), dot(off, this.e2)];
  }

  unproject([u, v]) {
    if (this.flat) return [u];
    return this.c.length === 2 ? [u, v] : this.c.map((m, j) => m + u * this.e1[j] + v * this.e2[j]);
  }

  // A row moved so that it lies at a place of the picture; what the picture does not show stays.
  moved(x, [u, v]) {
    if (x.length <= 2) return this.unproject([u, v]);
    const [a, b] = this.project(x);
    return this.shifted(x, [u - a, v - b]);
  }

  shifted(x, [s, t]) {
    return x.map((v, j) => v + s * this.e1[j] + t * this.e2[j]);
  }

  // A plane w.x + b = 0 of the rows as a line of the picture.
  cut(w, b) {
    if (this.flat) return { w: [w[0], 0], b };
    return { w: [dot(w, this.e1), dot(w, this.e2)], b: dot(w, this.c) + b };
  }
}

// The frame of a table: its two features; of more, a chosen pair at the means of the others, or the
// principal directions where the run has found them.
export function frameOf({ features, X }, projection, basis) {
  const d = features.length;
  if (d === 1) return new Frame([0], [1], [0], features, true);
  if (d === 2) return new Frame([0, 0], [1, 0], [0, 1], features);
  const pair = featurePair(projection);
  if (!pair && basis) {
    const names = ["first principal direction", "second principal direction"];
    return new Frame(basis.mean, basis.axes[0], basis.axes[1], names);
  }
  const [i, j] = (pair ?? [0, 1]).map((k) => Math.min(d - 1, Number(k)));
  const unit = (k) => features.map((_, l) => (l === k ? 1 : 0));
  const meanOf = (k) => X.reduce((sum, x) => sum + x[k], 0) / Math.max(1, X.length);
  const middle = features.map((_, k) => (k === i || k === j ? 0 : meanOf(k)));
  return new Frame(middle, unit(i), unit(j), [features[i], features[j]]);
}
