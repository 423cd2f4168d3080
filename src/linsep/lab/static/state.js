// What a page shows, as a plain object; its address; undo. Nothing here knows a page.

export const KEYS = ["m", "s", "l", "visits", "c", "t", "view", "axes", "proj", "scheme", "sub", "set", "d", "most", "slide", "pick", "lay"];
const MOST_IN_LINK = 60;

export function freshState() {
  return {
    table: null, method: "perceptron", settings: {}, lift: "", visits: false, convention: null, most: 500,
    step: 0, view: "", axes: null, proj: "", scheme: "", sub: false, set: "", slide: "", picks: [], lay: "",
    opens: true,  // nobody has chosen the step yet: the method says where to begin
    awaits: null,  // the rows that a link was made for and does not hold: their name and mark
  };
}

const toText = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const toBytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

export const packedTable = (table) => toText(new TextEncoder().encode(JSON.stringify([
  table.X, table.y, table.classes, table.features, table.rows, table.name, table.shown ?? null,
])));

export function unpackedTable(text) {
  const [X, y, classes, features, rows, name, shown] = JSON.parse(new TextDecoder().decode(toBytes(text)));
  return { X, y, classes, features, rows, name, shown };
}

// A mark of rows, by which a link knows them again: FNV-1a, twice, over their numbers and labels.
export function markOf(table) {
  const text = JSON.stringify([table.X, table.y.map((k) => table.classes[k])]), words = [0x811c9dc5, 0x01000193];
  for (let i = 0; i < text.length; i++) for (const k of [0, 1]) words[k] = Math.imul(words[k] ^ (text.charCodeAt(i) + 7 * k), 0x01000193) >>> 0;
  return words.map((w) => w.toString(16).padStart(8, "0")).join("");
}

// The state as what stands behind # in an address: all of it, and nothing that is a default.
export function encodeState(state, unknown = {}) {
  const out = new URLSearchParams(), usual = freshState();
  if (state.set) out.set("set", state.set);
  else if (state.table && state.table.X.length <= MOST_IN_LINK && (state.table.X[0] ?? []).length <= 12) out.set("d", packedTable(state.table));
  else if (state.table) out.set("d", `local.${markOf(state.table)}.${(state.table.name ?? "").slice(0, 60)}`);
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
  const given = new URLSearchParams(hash.replace(/^#/, "")), state = freshState(), unknown = {}, notes = [];
  const whole = (text, least) => (/^\d{1,7}$/.test(text) ? Math.max(least, Number(text)) : least);
  for (const [key, value] of given) {
    try {
      if (key === "set") state.set = value;
      else if (key === "d" && /^local\b/.test(value)) {
        const [, mark = "", name = ""] = /^local\.([0-9a-f]{16})\.(.*)$/s.exec(value) ?? [];
        state.awaits = { mark, name, hash: "" };
        notes.push(`This link was made for rows that are not in it${name ? ` (${name})` : ""}: more than 60, or of many features. Open the file itself; method, settings and step then are those of the link.`);
      }
      else if (key === "d") state.table = unpackedTable(value);
      else if (key === "m") state.method = value;
      else if (key === "s") state.settings = JSON.parse(value);
      else if (key === "l") state.lift = value;
      else if (key === "visits") state.visits = value === "1";
      else if (key === "sub") state.sub = value === "1";
      else if (key === "c") state.convention = value;
      else if (key === "t") { state.step = whole(value, 0); state.opens = false; }
      else if (key === "pick") state.picks = value.split(",").filter((v) => /^\d{1,4}$/.test(v)).map(Number);
      else if (key === "most") state.most = Math.min(20000, whole(value, 1));
      else if (key === "axes") state.axes = value.split(",").map((v) => whole(v, 0)).slice(0, 2);
      else if (["view", "proj", "scheme", "slide", "lay"].includes(key)) state[key] = value;
      else { unknown[key] = value; notes.push(`The link says ${key}=${value.slice(0, 40)}, which this lab does not know; it is kept.`); }
    } catch {
      notes.push(`The link says ${key}=${value.slice(0, 40)}, which cannot be read.`);
    }
  }
  if (state.awaits) state.awaits.hash = given.toString();
  return { state, unknown, notes };
}

// Settings without those that the method has anyway.
export const chosenOf = (settings, method) => Object.fromEntries(Object.entries(settings ?? {})
  .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(method?.settings.find((s) => s.name === name)?.default)));

// Tables before and after each change.
export class Undo {
  constructor(most = 200) { this.most = most; this.before = []; this.after = []; }
  keep(entry) { this.before.push(entry); if (this.before.length > this.most) this.before.shift(); this.after = []; }
  back(now) { if (!this.before.length) return null; this.after.push(now); return this.before.pop(); }
  again(now) { if (!this.after.length) return null; this.before.push(now); return this.after.pop(); }
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
    table: { X, y: y.map((k) => used.indexOf(k)), classes: used.map((k) => classes[k]), features, rows: rows ?? null, name: name ?? "" },
    method: state.method, settings: state.settings, lift: state.lift, visits: state.visits,
    convention: state.convention, most: state.most, ...(state.picks.length ? { picks: state.picks } : {}),
  };
}
