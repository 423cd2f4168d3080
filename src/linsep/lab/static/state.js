// What a page shows, as a plain object; undo; and what is asked of the server. Nothing here knows a page.

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

// Settings without those that the method has anyway.
export const chosenOf = (settings, method) =>
  Object.fromEntries(
    Object.entries(settings ?? {}).filter(
      ([name, value]) =>
        JSON.stringify(value) !== JSON.stringify(method?.settings.find((s) => s.name === name)?.default),
    ),
  );

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
