// The address of the page: what it says is shown, and what is shown is written into it.
import { decodeState, encodeState } from "./link.js";
import { withRows } from "./shares.js";
import { chosenOf, clone } from "./state.js";

const PAUSE = 200; // milliseconds without a change before the address is written

export class Address {
  constructor(lab) {
    this.lab = lab;
    this._timer = null;
  }

  // Show what an address says, with what the page was started with where it says nothing.
  open(hash) {
    this.forget();
    this._read(hash);
    this.lab.changed({ fit: true });
  }

  _read(hash) {
    const { lab } = this;
    const { state, unknown, notes } = decodeState(hash);
    this._begin(state, notes, hash);
    this._findMethod(state, notes);
    this._findSet(state, notes);
    lab.state = state;
    lab.unknown = unknown;
    lab.tools.showPointer(state.picks.length ? "pick" : "point");
    lab.note(notes.join(" "));
    lab.lesson.tell();
  }

  // Rows and method that the page was started with, where the address has no rows.
  _begin(state, notes, hash) {
    const { start, sets } = this.lab;
    if (state.table || state.set || !start.task) return;
    const step = hash ? { step: state.step } : {};
    Object.assign(state, clone({ ...start.task, picks: start.task.picks ?? [], ...step }));
    const { name, X, y, notes: told } = state.table;
    const same = (set) => set.name === name && JSON.stringify([set.X, set.y]) === JSON.stringify([X, y]);
    if (sets.some(same)) state.set = name;
    else if (told) notes.push(`${told}.`);
  }

  _findMethod(state, notes) {
    const { methods } = this.lab;
    let method = methods.find((m) => m.key === state.method);
    if (!method) {
      notes.push(`There is no method ${state.method}.`);
      method = methods.find((m) => m.key === "perceptron");
      state.method = method.key;
    }
    const settings = state.settings && typeof state.settings === "object" ? state.settings : {};
    state.settings = chosenOf(settings, method);
  }

  _findSet(state, notes) {
    const { sets } = this.lab;
    const set = sets.find((s) => s.name === state.set) ?? (state.table ? null : sets[0]);
    if (state.set && set?.name !== state.set) notes.push(`There is no set ${state.set.slice(0, 40)}.`);
    if (set) Object.assign(state, { table: clone(set), set: set.name });
    if (state.noise || state.test) Object.assign(state, withRows({ ...state, clean: clone(state.table) }));
  }

  // Soon, and once for many changes.
  write() {
    const { options } = this.lab;
    if (!options.write) return;
    this.forget();
    this._timer = setTimeout(() => options.write(encodeState(this.lab.state, this.lab.unknown)), PAUSE);
  }

  forget() {
    clearTimeout(this._timer);
  }
}
