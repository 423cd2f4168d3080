// What a page shows, as a plain object; its address; undo. Nothing here knows a page.

export const KEYS = [
  "m",
  "s",
  "l",
  "visits",
  "c",
  "t",
  "view",
  "axes",
  "proj",
  "scheme",
  "sub",
  "set",
  "d",
  "noise",
  "test",
  "held",
  "most",
  "slide",
  "pick",
  "lay",
];
const MOST_IN_LINK = 60;

export const clone = (value) => JSON.parse(JSON.stringify(value));

export function freshState() {
  return {
    table: null,
    method: "perceptron",
    settings: {},
    lift: "",
    visits: false,
    convention: null,
    most: 500,
    step: 0,
    view: "",
    axes: null,
    proj: "",
    scheme: "",
    sub: false,
    set: "",
    slide: "",
    picks: [],
    lay: "",
    opens: true, // nobody has chosen the step yet: the method says where to begin
    clean: null,
    noise: 0,
    test: 0, // the rows before noise and the cut, where the page was asked for either
    held: null, // rows that are kept from the method, to test it: { X, y, rows }
    awaits: null, // the rows that a link was made for and does not hold: their name and mark
  };
}

const toText = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
const toBytes = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

export const packedTable = (table) =>
  toText(
    new TextEncoder().encode(
      JSON.stringify([
        table.X,
        table.y,
        table.classes,
        table.features,
        table.rows,
        table.name,
        table.shown ?? null,
      ]),
    ),
  );

export function unpackedTable(text) {
  const [X, y, classes, features, rows, name, shown] = JSON.parse(new TextDecoder().decode(toBytes(text)));
  return { X, y, classes, features, rows, name, shown };
}

// A mark of rows, by which a link knows them again: FNV-1a, twice, over their numbers and labels.
export function markOf(table) {
  const text = JSON.stringify([table.X, table.y.map((k) => table.classes[k])]),
    words = [0x811c9dc5, 0x01000193];
  for (let i = 0; i < text.length; i++)
    for (const k of [0, 1]) words[k] = Math.imul(words[k] ^ (text.charCodeAt(i) + 7 * k), 0x01000193) >>> 0;
  return words.map((w) => w.toString(16).padStart(8, "0")).join("");
}

// -- noise, and rows that are held out: the same for the same rows, wherever a link is opened ------

// Numbers in [0, 1) from a seed (mulberry32).
export function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Rows moved by normal numbers, whose size is a share of the spread of each feature.
export function noisy(table, share) {
  if (!share || !table.X.length) return table;
  const draw = random(1),
    n = table.X.length,
    spread = table.features.map((_, j) => {
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
export function parted(table, share) {
  const draw = random(2),
    keys = table.y.map(() => draw()),
    out = new Set();
  for (const k of new Set(table.y)) {
    const own = table.y.flatMap((c, i) => (c === k ? [i] : [])).sort((i, j) => keys[i] - keys[j]);
    for (const i of own.slice(0, Math.min(own.length - 1, Math.round(share * own.length)))) out.add(i);
  }
  return out.size ? cutAt(table, (i) => out.has(i)) : { table, held: null };
}

function cutAt(table, isHeld) {
  const some = (list, held) => list?.filter((_, i) => isHeld(i) === held) ?? null;
  const rows = table.rows ?? table.X.map((_, i) => `row ${i}`); // numbers would change their meaning
  return {
    table: { ...table, X: some(table.X, false), y: some(table.y, false), rows: some(rows, false) },
    held: { X: some(table.X, true), y: some(table.y, true), rows: some(rows, true) },
  };
}

// All rows of a page: those that are learned from, then those that are held out.
export function wholeTable({ table, held }) {
  return held
    ? {
        ...table,
        X: [...table.X, ...held.X],
        y: [...table.y, ...held.y],
        rows: [...table.rows, ...held.rows],
      }
    : table;
}

// The rows of a page as they follow from those that were given.
export function withRows(state) {
  return state.clean ? { ...state, ...parted(noisy(state.clean, state.noise), state.test) } : state;
}

// The state as what stands behind # in an address: all of it, and nothing that is a default.
export function encodeState(state, unknown = {}) {
  const out = new URLSearchParams(),
    usual = freshState(),
    table = state.clean ?? (state.table && wholeTable(state));
  if (state.set) out.set("set", state.set);
  else if (table && table.X.length <= MOST_IN_LINK && (table.X[0] ?? []).length <= 12)
    out.set("d", packedTable(table));
  else if (table) out.set("d", `local.${markOf(table)}.${(table.name ?? "").slice(0, 60)}`);
  if (state.clean && state.noise) out.set("noise", String(state.noise));
  if (state.clean && state.test) out.set("test", String(state.test));
  if (!state.clean && state.held) out.set("held", String(state.held.X.length));
  if (state.method !== usual.method) out.set("m", state.method);
  if (Object.keys(state.settings).length) out.set("s", JSON.stringify(state.settings));
  if (state.lift) out.set("l", state.lift);
  if (state.visits) out.set("visits", "1");
  if (state.sub) out.set("sub", "1");
  if (state.convention) out.set("c", state.convention);
  if (!state.opens) out.set("t", String(state.step));
  if (state.picks.length) out.set("pick", state.picks.join(","));
  if (state.most !== usual.most) out.set("most", String(state.most));
  if (state.axes) out.set("axes", state.axes.join(","));
  for (const key of ["view", "proj", "scheme", "slide", "lay"]) if (state[key]) out.set(key, state[key]);
  for (const [key, value] of Object.entries(unknown)) out.set(key, value);
  return out.toString();
}

// The state of an address; what is not understood is kept and told.
export function decodeState(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, "")),
    state = freshState(),
    unknown = {},
    notes = [];
  let last = 0;
  const whole = (text, least) => (/^\d{1,7}$/.test(text) ? Math.max(least, Number(text)) : least);
  for (const [key, value] of given) {
    try {
      if (key === "set") state.set = value;
      else if (key === "d" && /^local\b/.test(value)) {
        const [, mark = "", name = ""] = /^local\.([0-9a-f]{16})\.(.*)$/s.exec(value) ?? [];
        state.awaits = { mark, name, hash: "" };
        notes.push(
          `This link was made for rows that are not in it${name ? ` (${name})` : ""}: more than 60, or of many features. Open the file itself; method, settings and step then are those of the link.`,
        );
      } else if (key === "d") state.table = unpackedTable(value);
      else if (key === "noise" || key === "test")
        state[key] = Math.min(key === "test" ? 0.9 : 5, Math.max(0, Number(value) || 0));
      else if (key === "held") last = whole(value, 0);
      else if (key === "m") state.method = value;
      else if (key === "s") state.settings = JSON.parse(value);
      else if (key === "l") state.lift = value;
      else if (key === "visits") state.visits = value === "1";
      else if (key === "sub") state.sub = value === "1";
      else if (key === "c") state.convention = value;
      else if (key === "t") {
        state.step = whole(value, 0);
        state.opens = false;
      } else if (key === "pick")
        state.picks = value
          .split(",")
          .filter((v) => /^\d{1,4}$/.test(v))
          .map(Number);
      else if (key === "most") state.most = Math.min(20000, whole(value, 1));
      else if (key === "axes")
        state.axes = value
          .split(",")
          .map((v) => whole(v, 0))
          .slice(0, 2);
      else if (["view", "proj", "scheme", "slide", "lay"].includes(key)) state[key] = value;
      else {
        unknown[key] = value;
        notes.push(`The link says ${key}=${value.slice(0, 40)}, which this lab does not know; it is kept.`);
      }
    } catch {
      notes.push(`The link says ${key}=${value.slice(0, 40)}, which cannot be read.`);
    }
  }
  if (state.awaits) state.awaits.hash = given.toString();
  if (state.table && last && last < state.table.X.length)
    Object.assign(
      state,
      cutAt(state.table, (i) => i >= state.table.X.length - last),
    );
  return { state, unknown, notes };
}

// Settings without those that the method has anyway.
export const chosenOf = (settings, method) =>
  Object.fromEntries(
    Object.entries(settings ?? {}).filter(
      ([name, value]) =>
        JSON.stringify(value) !== JSON.stringify(method?.settings.find((s) => s.name === name)?.default),
    ),
  );

// -- the options of svm-train, which svm-toy takes as well -----------------------------------------

const SVM_KERNELS = ["linear", "poly", "rbf"];

export function flagsOf(method, settings) {
  const kernel = method === "linear-svm" ? "linear" : (settings.kernel ?? "rbf"),
    out = [`-s 0 -t ${SVM_KERNELS.indexOf(kernel)}`];
  if (kernel === "poly") out.push(`-d ${settings.degree ?? 2}`);
  if (kernel !== "linear") out.push(`-g ${settings.gamma ?? 0.5}`);
  if (kernel === "poly") out.push(`-r ${settings.coef0 ?? 1}`);
  return [...out, `-c ${settings.C ?? 1}`].join(" ");
}

// The method and settings of such options, with the defaults of svm-train; or an error in words.
export function readFlags(text, d) {
  const words = text.trim().split(/\s+/).filter(Boolean),
    given = {};
  for (let k = 0; k < words.length; k += 2) {
    const [flag, value] = [words[k], words[k + 1]],
      name = {
        "-s": "type",
        "-t": "kernel",
        "-d": "degree",
        "-g": "gamma",
        "-r": "coef0",
        "-c": "C",
        "-e": "tol",
        "-m": "memory",
        "-h": "shrinking",
        "-q": "quiet",
      }[flag];
    if (name === "quiet") {
      k -= 1;
      continue;
    }
    if (!name)
      return {
        error: `${flag} is no option that the lab takes; it takes -s 0, -t 0 to 2, -d, -g, -r and -c.`,
      };
    const number = name === "C" && value === "inf" ? "inf" : Number(value);
    if (value === undefined || Number.isNaN(number)) return { error: `${flag} needs a number.` };
    given[name] = number;
  }
  const { type = 0, kernel = 2, degree = 3, gamma = 1 / d, coef0 = 0, C = 1 } = given;
  if (type !== 0) return { error: `-s ${type} is not in the lab; -s 0 is, the machine with a cost C.` };
  if (!SVM_KERNELS[kernel])
    return { error: `-t ${kernel} is not in the lab; 0 is linear, 1 polynomial, 2 Gaussian.` };
  if (!(gamma > 0) || !(C === "inf" || C > 0) || !(degree >= 1) || coef0 < 0)
    return { error: "-g and -c must be above 0, -d at least 1, -r at least 0." };
  const own = { linear: {}, poly: { gamma, degree: Math.round(degree), coef0 }, rbf: { gamma } }[
    SVM_KERNELS[kernel]
  ];
  return { method: "kernel-svm", settings: { kernel: SVM_KERNELS[kernel], ...own, C } };
}

// Tables before and after each change.
export class Undo {
  constructor(most = 200) {
    this.most = most;
    this.before = [];
    this.after = [];
  }
  keep(entry) {
    this.before.push(entry);
    if (this.before.length > this.most) this.before.shift();
    this.after = [];
  }
  back(now) {
    if (!this.before.length) return null;
    this.after.push(now);
    return this.before.pop();
  }
  again(now) {
    if (!this.after.length) return null;
    this.before.push(now);
    return this.after.pop();
  }
}

// A label for one more class, of the kind of the others.
export function nextLabel(classes) {
  if (classes.length && classes.every((c) => Number.isInteger(c))) return Math.max(...classes) + 1;
  for (let k = classes.length + 1; ; k++) if (!classes.includes(`class ${k}`)) return `class ${k}`;
}

// The task that a question is about.
export function taskOf(state) {
  const { X, y, classes, features, rows, name } = state.table;
  const used = [...new Set(y)].sort((a, b) => a - b);
  return {
    table: {
      X,
      y: y.map((k) => used.indexOf(k)),
      classes: used.map((k) => classes[k]),
      features,
      rows: rows ?? null,
      name: name ?? "",
    },
    method: state.method,
    settings: state.settings,
    lift: state.lift,
    visits: state.visits,
    convention: state.convention,
    most: state.most,
    ...(state.picks.length ? { picks: state.picks } : {}),
  };
}
