// The lab: it holds the state and the parts of the page, and says who is told of a change and who
// draws. `mount` puts it into an element.
import { Address } from "./address.js";
import { Bar } from "./bar.js";
import { Controls } from "./controls.js";
import { Curves } from "./curves.js";
import { Editing } from "./editing.js";
import { Exports } from "./exports.js";
import { Files } from "./files.js";
import { frameOf } from "./frame.js";
import { listen } from "./keys.js";
import { Lesson } from "./lesson.js";
import { Moment } from "./moment.js";
import { Names } from "./names.js";
import { DataPlane } from "./plane.js";
import { Playback } from "./playback.js";
import { PointTable } from "./points.js";
import { Proof } from "./proof.js";
import { Questions } from "./questions.js";
import { SecondView } from "./second.js";
import { freshState } from "./state.js";
import { Strip } from "./strip.js";
import { Tools } from "./tools.js";
import { el } from "./widgets.js";
import { Words } from "./words.js";

const LAYOUTS = { swap: "swapped", wide: "wide" }; // words of the state, and classes of the page

class Lab {
  constructor(root, channel, options) {
    this.root = root;
    this.channel = channel;
    this.options = options;
    this.state = freshState(); // all that the address tells; see state.js
    this.unknown = {}; // what the address says and this lab does not understand
    this.lit = -1; // the row under the pointer, in whichever picture
    this.questions = new Questions(this);
    root.classList.add("lab");
    root.setAttribute("aria-busy", "true");
  }

  async open() {
    this.start = await this.questions.ask("start", {});
    this.sets = this.start.sets;
    this.methods = this.start.methods;
    this.lectures = this.start.lectures;
    this._build();
    this._watch();
    listen(this, this.options.whole);
    this.address.open(this.options.hash?.() ?? "");
    return this;
  }

  // -- what all parts read --------------------------------------------------------------------

  // The run on the page, null until there is one; what is proved of it; what is wrong instead.
  get run() {
    return this.questions.run;
  }

  get verdict() {
    return this.questions.verdict;
  }

  get error() {
    return this.questions.error;
  }

  get method() {
    return this.methods.find((m) => m.key === this.state.method);
  }

  get d() {
    return this.state.table.features.length;
  }

  // -- changes --------------------------------------------------------------------------------

  // Rows, method or settings are others; `fit` where the rows are another table.
  changed({ fit = false } = {}) {
    const { table } = this.state;
    this.playback.halt();
    this.playback.showWhole();
    if (fit) {
      this.plane.forgetView();
      this.editing.forget();
    }
    const shape = table.features.join();
    if (fit || this.run?.n !== table.X.length || this._shape !== shape) this.questions.forget();
    this._shape = shape;
    for (const part of [this.editing, this.bar, this.controls, this.playback, this.tools]) part.refresh();
    this.reframe();
    this.redraw();
    this.questions.askRun();
  }

  // The plane of the picture, which follows from rows, run and choice.
  reframe() {
    const before = this.frame?.key;
    this.frame = frameOf(this.state.table, this.state.proj, this.run?.basis);
    if (this.frame.key !== before) this.plane.forgetView();
    this.tools.showProjection();
  }

  setProjection(projection) {
    this.state.proj = projection;
    this.reframe();
    this.plane.forgetView();
    this.redraw();
  }

  setView(name) {
    this.state.view = name;
    this.redraw();
  }

  toggleLayout(name) {
    const now = this.state.lay.split(".").filter(Boolean);
    const next = now.includes(name) ? now.filter((word) => word !== name) : [...now, name];
    this.state.lay = next.join(".");
    this.redraw();
  }

  // A row is under the pointer, in whichever picture.
  light(i) {
    if (this.lit === i) return;
    this.lit = i;
    this.plane.draw();
    this.second.rowLit();
  }

  rowFocused() {
    this.second.rowFocused();
    this.tools.draw();
  }

  // For those who hear the page, and for those who see it.
  say(text) {
    this.live.textContent = text;
  }

  note(text) {
    this.noteBox.hidden = !text;
    this.noteBox.textContent = text;
  }

  // -- drawing --------------------------------------------------------------------------------

  redraw() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.draw();
    });
  }

  draw() {
    if (!this.state.table) return;
    const { plane, second, curves, words, points, strip, playback, tools, bar } = this;
    for (const [name, kind] of Object.entries(LAYOUTS)) {
      this.root.classList.toggle(kind, this.state.lay.includes(name));
    }
    // all before the first change: each later one would lay out the page anew
    for (const part of [plane, second, curves]) part.measure();
    for (const part of [plane, second, curves, words, points, strip, playback, tools, bar]) part.draw();
    this.address.write();
    this.options.drawn?.(this);
  }

  _watch() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    let wide = -1;
    new ResizeObserver(() => {
      if (wide === this.root.clientWidth) return;
      wide = this.root.clientWidth;
      this.redraw();
    }).observe(this.root);
  }

  // -- building -------------------------------------------------------------------------------

  _build() {
    this.moment = new Moment(this);
    this.proof = new Proof(this);
    this.names = new Names(this);
    this.address = new Address(this);
    this.editing = new Editing(this);
    this.files = new Files(this);
    this.exports = new Exports(this);
    this.lesson = new Lesson(this);
    this.tools = new Tools(this);
    this.bar = new Bar(this);
    this.controls = new Controls(this);
    this.playback = new Playback(this);
    this.strip = new Strip(this);
    this.noteBox = el("p", { class: "note", hidden: true });
    this.live = el("p", { class: "unseen", "aria-live": "polite" });
    const first = panel("first", "Data space", "plane");
    const second = panel("second-panel", "Second picture", "second");
    const words = panel("words", "This step", "words");
    const curves = panel("curves", "Curves", "curves");
    const summary = el("summary", {}, "Points as a table");
    const points = el("details", { class: "panel table", "data-part": "table" }, summary);
    const proved = { class: "sticky", "aria-label": "Run and proof" };
    this.root.replaceChildren(
      this.bar.node,
      this.controls.node,
      this.lesson.node,
      el("section", proved, this.playback.node, this.strip.node),
      this.noteBox,
      el("main", {}, first, second, words, curves, points),
      this.live,
    );
    this.plane = new DataPlane(this, first, this.tools.node);
    this.second = new SecondView(this, second);
    this.words = new Words(this, words);
    this.curves = new Curves(this, curves);
    this.points = new PointTable(this, points);
    for (const part of this.options.hide ?? []) this._hide(part);
  }

  _hide(part) {
    const nodes = this.root.querySelectorAll(`[data-part="${CSS.escape(part)}"]`);
    for (const node of nodes) node.classList.add("gone");
  }
}

const panel = (kind, label, part) =>
  el("section", { class: `panel ${kind}`, "aria-label": label, "data-part": part });

export async function mount(root, channel, options = {}) {
  return new Lab(root, channel, options).open();
}
