// Noise on the rows, and rows that are held out: the same for the same rows, wherever a link is opened.
// Nothing here knows a page.

// Numbers in [0, 1) from a seed (mulberry32).
function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Rows moved by normal numbers, whose size is a share of the spread of each feature.
function noisy(table, share) {
  if (!share || !table.X.length) return table;
  const draw = random(1);
  const n = table.X.length;
  const spread = table.features.map((_, j) => {
    const mean = table.X.reduce((s, x) => s + x[j] / n, 0);
    return Math.sqrt(table.X.reduce((s, x) => s + (x[j] - mean) ** 2 / n, 0)) || 1;
  });
  const normal = () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
  return {
    ...table,
    X: table.X.map((x) => x.map((v, j) => Number((v + share * spread[j] * normal()).toPrecision(6)))),
  };
}

// A share of the rows of every class, and the others: what is learned from, and what is held out.
function parted(table, share) {
  const draw = random(2);
  const keys = table.y.map(() => draw());
  const out = new Set();
  for (const k of new Set(table.y)) {
    const own = table.y.flatMap((c, i) => (c === k ? [i] : [])).sort((i, j) => keys[i] - keys[j]);
    for (const i of own.slice(0, Math.min(own.length - 1, Math.round(share * own.length)))) out.add(i);
  }
  return out.size ? cutAt(table, (i) => out.has(i)) : { table, held: null };
}

// A table without the rows that are held out, and those.
export function cutAt(table, isHeld) {
  const some = (list, held) => list?.filter((_, i) => isHeld(i) === held) ?? null;
  const rows = table.rows ?? table.X.map((_, i) => `row ${i}`); // numbers would change their meaning
  return {
    table: { ...table, X: some(table.X, false), y: some(table.y, false), rows: some(rows, false) },
    held: { X: some(table.X, true), y: some(table.y, true), rows: some(rows, true) },
  };
}

// All rows of a page: those that are learned from, then those that are held out.
export function wholeTable({ table, held }) {
  if (!held) return table;
  const both = (name) => [...table[name], ...held[name]];
  return { ...table, X: both("X"), y: both("y"), rows: both("rows") };
}

// The rows of a page as they follow from those that were given.
export function withRows(state) {
  return state.clean ? { ...state, ...parted(noisy(state.clean, state.noise), state.test) } : state;
}
