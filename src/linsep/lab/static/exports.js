// What goes out of the page: pictures, rows, run, model, proof and code, as files, on the clipboard,
// or as a link.
import { pngOf, saveSvg } from "./snapshot.js";
import { encodeState } from "./link.js";
import { wholeTable } from "./shares.js";
import { taskOf } from "./state.js";
import { button, copied, dialog, download, el } from "./widgets.js";

const ROWS = ["csv", "svmlight"]; // kinds of files that hold rows and nothing else
const WHOLE_LINK =
  "This link opens at this step with the same numbers, in any lab: replace what stands before # by the " +
  "address of another one.";
const LINK_WITHOUT_ROWS =
  "These rows do not fit into a link (more than 60). Share the file beside it: the link knows its rows " +
  "by a mark, and opens at this step once the file is open.";
const PARTS =
  "data,method,lift,settings,edit,rows,lectures,share,export,transport,verdict,second,words,curves,table";

export class Exports {
  constructor(lab) {
    this.lab = lab;
  }

  // -- files ----------------------------------------------------------------------------------

  // A file as the server makes it; null where it says why there is none.
  async file(kind) {
    const { state, questions } = this.lab;
    const whole = ROWS.includes(kind) ? { table: wholeTable(state), picks: [] } : {}; // those held out too
    const found = await questions.ask("export", { task: taskOf({ ...state, ...whole }), kind });
    if (found.error) {
      this.lab.note(found.error);
      return null;
    }
    return { ...found, bytes: Uint8Array.from(atob(found.data), (c) => c.charCodeAt(0)) };
  }

  async save(kind) {
    const found = await this.file(kind);
    if (found) download(found.name, found.media, found.bytes);
  }

  // Text, or an image that is still being made, to the clipboard; what became of it is said.
  async copy(what, content) {
    const good = await copied(content);
    const told = good
      ? `${what} copied.`
      : `The browser keeps its clipboard to itself: save ${what} as a file.`;
    this.lab.say(told);
    this.lab.note(good ? "" : told);
  }

  async copyFile(kind) {
    const found = await this.file(kind);
    if (found) await this.copy(found.name, new TextDecoder().decode(found.bytes));
  }

  // -- pictures -------------------------------------------------------------------------------

  get _title() {
    return `${this.lab.method.title}, ${this.lab.state.table.name || "own points"}`;
  }

  // Step, settings, lift and verdict: what a picture alone does not say.
  get _line() {
    const { run, names, state, verdict } = this.lab;
    const set = Object.entries(state.settings).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    const parts = [set.join(" "), state.lift && `lift ${state.lift}`, verdict?.sentence];
    return [run ? names.step() : "", ...parts.filter(Boolean)].join("; ");
  }

  // Title of each picture, a word for its file, and what a file of it holds.
  _pictures() {
    const { plane, second, curves, tools } = this.lab;
    const classes = [...tools.chips.children];
    return [
      ["Data space", "data", plane.svg, [...classes, ...plane.legend.children]],
      [second.title, second.name, second.svg, second.hasClasses ? classes : []],
      ...curves.panels.map(({ svg, title }, k) => [`Curve of ${title}`, `curve-${k + 1}`, svg, []]),
    ].map(([title, name, svg, legend]) => ({ title, name, parts: [svg, this._title, this._line, legend] }));
  }

  // -- windows --------------------------------------------------------------------------------

  open() {
    const { run, error, root } = this.lab;
    if (!run) {
      this.lab.note(error);
      return;
    }
    const code = { class: "code", tabindex: "0", "aria-label": "Python code of this run" };
    dialog(
      root,
      "Export",
      el("table", { class: "exports" }, el("tbody", {}, ...this._pictureRows(), ...this._fileRows())),
      el("h3", {}, "The same in Python"),
      el("pre", code, run.code),
      el(
        "p",
        {},
        plain("Copy", "Copy the code", () => this.copy("the code", run.code)),
      ),
    );
  }

  _pictureRows() {
    const base = (this.lab.state.table.name || "lab").replace(/[^\w-]+/g, "-");
    return this._pictures().map(({ title, name, parts }) => {
      const save = async () => download(`${base}-${name}.png`, "image/png", await pngOf(...parts));
      return line(
        title,
        plain("SVG", `${title} as SVG`, () => saveSvg(`${base}-${name}`, ...parts)),
        plain("PNG", `${title} as PNG`, save),
        plain("copy", `Copy ${title}`, () => this.copy(title, pngOf(...parts))),
      );
    });
  }

  _fileRows() {
    const file = (kind, text, label) => plain(text, label, () => this.save(kind));
    const copy = (kind, label) => plain("copy", label, () => this.copyFile(kind));
    return [
      line(
        "Points",
        file("csv", "CSV", "Points as CSV"),
        copy("csv", "Copy the rows as CSV"),
        file("svmlight", "svmlight", "Points as svmlight"),
        copy("svmlight", "Copy the rows as svmlight"),
      ),
      line(
        "Run",
        file("trace", "trace (JSON)", "Run as trace"),
        file("replay", "replay page (HTML)", "Run as a page that replays it"),
      ),
      line(
        "Answer",
        file("model", "model (JSON)", "Model file"),
        file("proof", "proof (JSON)", "Proof file"),
        copy("proof", "Copy the proof"),
        file("python", "Python", "Python file"),
      ),
    ];
  }

  share() {
    const { state, unknown, options, root } = this.lab;
    const hash = encodeState(state, unknown);
    const link = options.link?.(hash) ?? `#${hash}`;
    const field = el("textarea", { rows: 4, readonly: true, "aria-label": "Link" }, link);
    const copy = el("button", { type: "button", onclick: () => this.copy("the link", link) }, "Copy");
    dialog(
      root,
      "Share",
      el("p", {}, /[#&]d=local/.test(link) ? LINK_WITHOUT_ROWS : WHOLE_LINK),
      field,
      el("p", {}, copy),
      el("p", { class: "quiet" }, `A page with fewer controls: ?hide=${PARTS} before the #.`),
    );
    field.select();
  }
}

// A button whose name is told where the window is read, not over it.
const plain = (text, label, act) => button(text, label, act, { title: null });

const line = (title, ...buttons) => el("tr", {}, el("th", { scope: "row" }, title), el("td", {}, buttons));
