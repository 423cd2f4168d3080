// The tools above the data: class of new points, what the pointer does, undo, noise, the projection.
import { featurePair } from "./frame.js";
import { colour, make, marker } from "./plot.js";
import { button, chooser, el, refill } from "./widgets.js";

const POINTERS = [
  ["point", "add, drag"],
  ["spray", "spray"],
  ["erase", "erase"],
  ["magnet", "magnet"],
  ["select", "select"],
  ["pick", "pick next row"],
];
const BRUSHES = ["spray", "erase", "magnet"];
const SHARES = [
  { name: "noise", text: "noise", most: 1, title: "Noise on all points, as a share of their spread" },
  { name: "test", text: "held out", most: 0.5, title: "Rows kept from the method to test it: drawn hollow" },
];
const MOST_FEATURES = 40; // in the menus of a projection

export class Tools {
  constructor(lab) {
    this.lab = lab;
    this.pointer = "point";
    this._build();
  }

  _build() {
    const { editing } = this.lab;
    this.chips = el("div", { class: "chips", role: "radiogroup", "aria-label": "Class of new points" });
    this._addClass = button("+", "One more class", () => editing.addClass(), { class: "small" });
    const remove = "Remove the point in focus (Delete)";
    this._remove = button("⌫", remove, () => editing.removeSelected(), { disabled: true });
    this._pointerMenu = chooser("Pointer", POINTERS, "point", (kind) => this.setPointer(kind), {
      title: "What the pointer does (B)",
      class: "pointer",
    });
    const size = { type: "range", min: 8, max: 60, step: 4, value: 16, "aria-label": "size of the brush" };
    this._brush = el("input", size);
    this._brushBox = el("label", { class: "setting", hidden: true }, el("span", {}, "size"), this._brush);
    this._undo = button("↶", "Undo (Z)", () => editing.undo());
    this._redo = button("↷", "Redo (shift Z)", () => editing.redo());
    const jitter = button("Jitter", "Move all points a little", () => editing.jitter());
    this._shares = SHARES.map(({ name, text, most }) => this._share(name, text, most));
    const shares = SHARES.map(({ text, title }, k) =>
      el("label", { class: "setting", title }, el("span", {}, text), this._shares[k]),
    );
    this._projection = el("span", { class: "projection" });
    this.node = el(
      "div",
      { class: "tools" },
      this.chips,
      this._addClass,
      el(
        "span",
        { class: "group", "data-part": "edit" },
        ...[this._remove, this._pointerMenu, this._brushBox, jitter, this._undo, this._redo],
      ),
      el("span", { class: "group", "data-part": "rows" }, shares),
      this._projection,
    );
  }

  // A slider of a share of the rows.
  _share(name, text, most) {
    const slider = el("input", {
      ...{ type: "range", min: 0, max: most, step: 0.05, value: 0, "aria-label": text },
      oninput: () => this.lab.editing.setShare(name, Number(slider.value)),
    });
    return slider;
  }

  get brushSize() {
    return Number(this._brush.value);
  }

  // -- the pointer ----------------------------------------------------------------------------

  setPointer(kind) {
    const { editing } = this.lab;
    this.showPointer(kind);
    if (kind !== "select") editing.choose([]);
    if (kind === "pick") this._beginPicking();
    else editing.forgetPicks();
  }

  nextPointer() {
    const at = POINTERS.findIndex(([kind]) => kind === this.pointer);
    this.setPointer(POINTERS[(at + 1) % POINTERS.length][0]);
  }

  // The pointer is this one, and nothing else changes.
  showPointer(kind) {
    this.pointer = kind;
    this._pointerMenu.value = kind;
    this.lab.plane.svg.classList.toggle("brush", BRUSHES.includes(kind) || kind === "select");
    this._brushBox.hidden = !BRUSHES.includes(kind);
  }

  _beginPicking() {
    const { method, state, playback } = this.lab;
    if (!method.picks) {
      this.lab.note(`${method.title} looks at rows in its own order; the perceptron can be led by hand.`);
      return;
    }
    this.lab.note(
      "Choose the row that the perceptron looks at next: click it, or Enter on it. " +
        "A step back and another choice is another run.",
    );
    if (!state.picks.length) playback.seek(0);
  }

  // -- what is shown --------------------------------------------------------------------------

  refresh() {
    this._shares.forEach((slider, k) => {
      const share = this.lab.state[SHARES[k].name];
      slider.value = share;
      slider.setAttribute("aria-valuetext", `${Math.round(100 * share)} %`);
    });
  }

  draw() {
    const { editing, plane } = this.lab;
    this._chips();
    this._addClass.disabled = !editing.canAddClass;
    this._remove.disabled = !editing.chosen.size && plane.focus < 0;
    this._undo.disabled = !editing.canUndo;
    this._redo.disabled = !editing.canRedo;
  }

  _chips() {
    const { state, editing } = this.lab;
    const { classes, shown } = state.table;
    const key = JSON.stringify([classes, shown, editing.klass]);
    if (key === this._chipKey) return;
    this._chipKey = key;
    const held = this.chips.contains(document.activeElement);
    this.chips.replaceChildren(...classes.map((_, k) => this._chip(k)));
    if (held) this.chips.querySelector('[aria-checked="true"]')?.focus();
  }

  _chip(k) {
    const { editing, names, state } = this.lab;
    const own = k === editing.klass;
    const chip = el("button", {
      type: "button",
      role: "radio",
      "aria-checked": String(own),
      class: "chip",
      tabindex: own ? "0" : "-1",
      title: `New points are of this class (key ${(k + 1) % 10})`,
      onclick: () => editing.takeClass(k),
      onkeydown: (e) => {
        const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[e.key];
        if (!by) return;
        e.preventDefault();
        e.stopPropagation();
        const count = state.table.classes.length;
        editing.takeClass((k + by + count) % count);
        this._chips();
      },
    });
    const icon = make(chip, "svg", { viewBox: "0 0 20 20", "aria-hidden": "true" });
    make(icon, "path", { d: marker(k, 10, 10, 6.5), style: colour(k) });
    chip.append(el("span", {}, names.className(k)));
    return chip;
  }

  // Along which directions rows of more than two features are seen.
  showProjection() {
    const { d, run, state } = this.lab;
    const key = `${d}|${state.proj}|${!!run?.basis}`;
    if (key === this._projectionKey) return;
    this._projectionKey = key;
    refill(this._projection, ...(d > 2 ? this._projectionMenus() : []));
  }

  _projectionMenus() {
    const { state } = this.lab;
    const kinds = [
      ["", "principal directions"],
      ["0,1", "two features"],
    ];
    const pair = featurePair(state.proj);
    const set = (projection) => this.lab.setProjection(projection);
    const menus = ["seen along ", chooser("Projection", kinds, pair ? "0,1" : "", set)];
    if (!pair) return menus;
    const [i, j] = pair;
    const options = state.table.features.slice(0, MOST_FEATURES).map((name, k) => [String(k), name]);
    return [
      ...menus,
      chooser("horizontal feature", options, i, (k) => set(`${k},${j}`)),
      chooser("vertical feature", options, j, (k) => set(`${i},${k}`)),
    ];
  }
}
