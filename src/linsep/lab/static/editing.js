// Editing: every change of the rows by hand, which of them are chosen, and the way back.
import { wholeTable, withRows } from "./shares.js";
import { clone, nextLabel, Undo } from "./state.js";

const MOST_ROWS = 5000;
const MOST_CLASSES = 10;

export class Editing {
  constructor(lab) {
    this.lab = lab;
    this.klass = 0; // of new points
    this.chosen = new Set(); // rows that are moved, removed and given a class together
    this._history = new Undo();
  }

  get _table() {
    return this.lab.state.table;
  }

  get canUndo() {
    return this._history.before.length > 0;
  }

  get canRedo() {
    return this._history.after.length > 0;
  }

  get canAddClass() {
    return this._table.classes.length < MOST_CLASSES;
  }

  // What depends on how many rows and classes there are.
  refresh() {
    const count = this._table.X.length;
    this._setTargets((list) => (list.length === count ? list : null));
    if (this.lab.plane.focus >= count) this.lab.plane.focus = -1;
    this.klass = Math.min(this.klass, this._table.classes.length - 1);
  }

  // The rows are others: none of them is chosen.
  forget() {
    this.chosen.clear();
    this.lab.plane.focus = this.lab.lit = -1;
  }

  // -- whole tables ---------------------------------------------------------------------------

  load(table, set = "") {
    const { lab } = this;
    this.keep();
    lab.note("");
    this._setTargets(() => null);
    const plain = { clean: null, held: null, noise: 0, test: 0, picks: [], axes: null, proj: "" };
    Object.assign(lab.state, plain, { table: clone(table), set, step: 0, opens: true });
    lab.changed({ fit: true });
  }

  empty() {
    const features = ["x1", "x2"];
    this.load({ X: [], y: [], classes: [-1, 1], features, rows: null, name: "drawn", shown: ["−1", "+1"] });
    this.lab.say("An empty plane: click to add points.");
  }

  // Noise on the rows, or a share of them held out; without both they are as they were.
  setShare(name, share) {
    const { state } = this.lab;
    if (!state.clean) {
      this.keep();
      state.clean = clone(wholeTable(state));
    }
    state[name] = share;
    Object.assign(state, withRows(state));
    if (!state.noise && !state.test) state.clean = null;
    state.picks = [];
    this.lab.changed();
  }

  // -- points ---------------------------------------------------------------------------------

  // A point at a place of the picture, of the chosen class or of the one after it.
  add(at, other = false) {
    const { names, plane } = this.lab;
    const k = other ? (this.klass + 1) % this._table.classes.length : this.klass;
    this.keep();
    plane.focus = this._append(at, k);
    this.lab.say(`${names.row(plane.focus)} added, class ${names.className(k)}.`);
    this._edited();
  }

  // A point beside the one in focus, or in the middle.
  addNearby() {
    const { plane, frame } = this.lab;
    const box = plane.c.box;
    const [u, v] = plane.points[plane.focus] ?? [(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2];
    const beside = (z) => Number((z + 0.04 * (box.x1 - box.x0)).toFixed(3));
    this.add([beside(u), frame.flat ? 0 : beside(v)]);
    requestAnimationFrame(() => requestAnimationFrame(() => plane.marks.at(-1)?.focus()));
  }

  // Many at once, one step to undo.
  addMany(places) {
    if (!places.length) return;
    this.keep();
    for (const at of places.slice(0, MOST_ROWS - this._table.X.length)) this._append(at, this.klass);
    this.lab.say(`${places.length} points added, class ${this.lab.names.className(this.klass)}.`);
    this._edited();
  }

  remove(i) {
    const { plane, names } = this.lab;
    const name = names.row(i);
    this._takeOut([i]);
    plane.focus = Math.min(i, this._table.X.length - 1);
    this._edited();
    plane.marks[plane.focus]?.focus();
    this.lab.say(`${name} removed.`);
  }

  removeMany(rows) {
    const count = new Set(rows).size;
    if (!count) return;
    this._takeOut(rows);
    this.lab.plane.focus = -1;
    this.lab.say(`${count} points removed.`);
    this._edited();
  }

  // Those that are chosen, else the one in focus.
  removeSelected() {
    const { focus } = this.lab.plane;
    if (this.chosen.size) this.removeMany(this.chosen);
    else if (focus >= 0) this.remove(focus);
  }

  // Points to new places of the picture; `live` while the hand is still moving.
  move(places, live) {
    const { frame, playback, questions } = this.lab;
    for (const [i, at] of places) this._table.X[i] = frame.moved(this._table.X[i], at);
    this._own();
    playback.showWhole();
    if (live) questions.askRun();
    else this.lab.changed();
  }

  jitter() {
    const { frame, plane, state } = this.lab;
    const size = 0.02 * (plane.c.box.x1 - plane.c.box.x0);
    const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
    this.keep();
    state.table.X = state.table.X.map((x) => {
      const off = [size * normal(), frame.flat ? 0 : size * normal()];
      return frame.shifted(x, off).map((v) => Number(v.toPrecision(6)));
    });
    this._edited();
  }

  editCell(i, j, value) {
    this.keep();
    this._table.X[i][j] = value;
    this._edited();
  }

  // -- classes --------------------------------------------------------------------------------

  takeClass(k) {
    if (k >= this._table.classes.length) return;
    this.klass = k;
    this.lab.redraw();
  }

  setClass(i, k) {
    if (k >= this._table.classes.length) return;
    this.keep();
    for (const row of this.chosen.has(i) ? this.chosen : [i]) this._table.y[row] = k;
    this._edited();
  }

  addClass() {
    if (!this.canAddClass) return;
    this.keep();
    const { classes, shown } = this._table;
    const label = nextLabel(classes);
    this._table.shown = [...classes.map((c, k) => shown?.[k] ?? String(c)), String(label)];
    classes.push(label);
    this.takeClass(classes.length - 1);
  }

  // -- which rows -----------------------------------------------------------------------------

  choose(rows) {
    this.chosen = new Set(rows);
    if (this.chosen.size) this.lab.say(`${this.chosen.size} points chosen.`);
    this.lab.redraw();
  }

  toggle(i) {
    this.choose(this.chosen.has(i) ? [...this.chosen].filter((k) => k !== i) : [...this.chosen, i]);
  }

  // The row that is looked at next; what was picked behind this step is forgotten.
  pick(i) {
    const { state, method, playback } = this.lab;
    if (!method.picks) {
      this.lab.say(`${method.title} looks at rows in its own order.`);
      return;
    }
    state.picks = [...state.picks.slice(0, state.step), i];
    playback.expect(state.picks.length);
    this.lab.changed();
  }

  forgetPicks() {
    const { state } = this.lab;
    if (!state.picks.length) return;
    Object.assign(state, { picks: [], step: 0 });
    this.lab.changed();
  }

  // -- the way back ---------------------------------------------------------------------------

  // The rows as they are, before something is done to them.
  keep() {
    this._history.keep(this._rows());
  }

  undo() {
    this._bringBack(this._history.back(this._rows()));
  }

  redo() {
    this._bringBack(this._history.again(this._rows()));
  }

  _bringBack(found) {
    if (!found) return;
    const { targets, ...rows } = found;
    this.chosen.clear();
    Object.assign(this.lab.state, rows);
    this._setTargets(() => targets);
    this.lab.changed();
  }

  // The rows with what they came from.
  _rows() {
    const { table, set, clean, held, noise, test, settings } = this.lab.state;
    return clone({ table, set, clean, held, noise, test, targets: settings.targets ?? null });
  }

  // -- what all changes share -----------------------------------------------------------------

  _append(at, k) {
    const n = this._table.X.length;
    this._table.X.push(this.lab.frame.unproject(at));
    this._table.y.push(k);
    this._table.rows?.push(`new ${n}`);
    this._setTargets((list) => [...list, 1]);
    return n;
  }

  _takeOut(rows) {
    const gone = new Set(rows);
    const stays = (_, i) => !gone.has(i);
    const table = this._table;
    this.keep();
    table.X = table.X.filter(stays);
    table.y = table.y.filter(stays);
    if (table.rows) table.rows = table.rows.filter(stays);
    this._setTargets((list) => list.filter(stays));
    this.chosen.clear();
    this.lab.lit = -1;
  }

  _edited() {
    this.lab.state.picks = [];
    this._own();
    this.lab.changed();
  }

  // From here on the rows are those of the page: no set, and no noise that could be taken away.
  _own() {
    Object.assign(this.lab.state, { set: "", clean: null, noise: 0 });
  }

  // Targets, a number for each row, go with the rows; those of other rows are none.
  _setTargets(change) {
    const { targets, ...others } = this.lab.state.settings;
    if (!targets) return;
    const kept = change(targets);
    this.lab.state.settings = kept ? { ...others, targets: kept } : others;
  }
}
