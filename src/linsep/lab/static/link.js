// The state as what stands behind # in an address, and back. Nothing here knows a page.
import { cutAt, wholeTable } from "./shares.js";
import { freshState } from "./state.js";

const MOST_ROWS_IN_LINK = 60;
const MOST_FEATURES_IN_LINK = 12;
const MOST_NAME = 60;
const MOST_TOLD = 40; // letters of what a link says wrong
const PLAIN = ["view", "proj", "scheme", "slide", "lay"]; // words that stand for themselves

const toText = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
const toBytes = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

const packedTable = (table) =>
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

function unpackedTable(text) {
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

// All of the state, and nothing that is a default.
export function encodeState(state, unknown = {}) {
  const out = new URLSearchParams();
  const usual = freshState();
  if (state.set) out.set("set", state.set);
  else encodeTable(out, state.clean ?? (state.table && wholeTable(state)));
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
  for (const key of PLAIN) if (state[key]) out.set(key, state[key]);
  for (const [key, value] of Object.entries(unknown)) out.set(key, value);
  return out.toString();
}

// The rows themselves, or a mark by which they are known again.
function encodeTable(out, table) {
  if (!table) return;
  const small = table.X.length <= MOST_ROWS_IN_LINK && (table.X[0] ?? []).length <= MOST_FEATURES_IN_LINK;
  const name = (table.name ?? "").slice(0, MOST_NAME);
  out.set("d", small ? packedTable(table) : `local.${markOf(table)}.${name}`);
}

// A whole number of a text, at least and at most so large.
const whole = (text, least, most = Infinity) =>
  /^\d{1,7}$/.test(text) ? Math.min(most, Math.max(least, Number(text))) : least;
const shareOf = (text, most) => Math.min(most, Math.max(0, Number(text) || 0));

const numbersOf = (text, kind) =>
  text
    .split(",")
    .filter((one) => kind.test(one))
    .map(Number);

// What a word of an address says of the state.
const READERS = new Map(
  Object.entries({
    set: (text) => ({ set: text }),
    d: (text) => (/^local\b/.test(text) ? { awaits: awaited(text) } : { table: unpackedTable(text) }),
    noise: (text) => ({ noise: shareOf(text, 5) }),
    test: (text) => ({ test: shareOf(text, 0.9) }),
    held: () => ({}), // once all rows are there
    m: (text) => ({ method: text }),
    s: (text) => ({ settings: JSON.parse(text) }),
    l: (text) => ({ lift: text }),
    visits: (text) => ({ visits: text === "1" }),
    sub: (text) => ({ sub: text === "1" }),
    c: (text) => ({ convention: text }),
    t: (text) => ({ step: whole(text, 0), opens: false }),
    pick: (text) => ({ picks: numbersOf(text, /^\d{1,4}$/) }),
    most: (text) => ({ most: whole(text, 1, 20000) }),
    axes: (text) => ({ axes: text.split(",", 2).map((one) => whole(one, 0)) }),
  }),
);
for (const key of PLAIN) READERS.set(key, (text) => ({ [key]: text }));

// Rows that a link was made for and does not hold.
function awaited(text) {
  const [, mark = "", name = ""] = /^local\.([0-9a-f]{16})\.(.*)$/s.exec(text) ?? [];
  return { mark, name, hash: "" };
}

// The state of an address; what is not understood is kept and told.
export function decodeState(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = freshState();
  const unknown = {};
  const notes = [];
  for (const [key, text] of given) {
    const said = `The link says ${key}=${text.slice(0, MOST_TOLD)}, which`;
    const read = READERS.get(key);
    if (!read) {
      unknown[key] = text;
      notes.push(`${said} this lab does not know; it is kept.`);
      continue;
    }
    try {
      Object.assign(state, read(text));
    } catch {
      notes.push(`${said} cannot be read.`);
    }
  }
  if (state.awaits) {
    const { awaits } = state;
    awaits.hash = given.toString();
    const which = awaits.name && ` (${awaits.name})`;
    notes.push(
      `This link was made for rows that are not in it${which}: more than 60, or of many features. Open ` +
        "the file itself; method, settings and step then are those of the link.",
    );
  }
  const held = whole(given.get("held") ?? "", 0);
  const count = held && state.table ? state.table.X.length : 0;
  if (held < count)
    Object.assign(
      state,
      cutAt(state.table, (i) => i >= count - held),
    );
  return { state, unknown, notes };
}
