// The keyboard: what every key does, and the window that lists them.
import { dialog, el } from "./widgets.js";

const HELP = [
  ["space", "play, pause"],
  ["→ ←", "a step on, back"],
  ["shift →", "a whole pass on"],
  ["Home, End", "first, last step"],
  ["click", "add a point of the chosen class; shift: of the next one"],
  ["drag, arrows", "move a point (shift: finer)"],
  ["Delete", "remove the point"],
  ["N", "add a point"],
  ["Enter", "look at this row next (perceptron)"],
  ["B", "pointer: add, spray, erase, magnet, select (Enter takes a point in or out), pick"],
  ["1 … 9, 0", "class of the point, or of new points"],
  ["[ ]", "walk the points"],
  ["Z, shift Z", "undo, redo"],
  ["P", "sub-steps: select, test, correct"],
  ["V", "visits: looks that change nothing too"],
  ["C", "verify the proof again"],
  ["W", "why: the proof in full"],
  ["K", "the same with a kernel; the next kernel"],
  ["H", "hulls in the data"],
  ["F", "swap the two pictures"],
  ["G", "larger pictures"],
  ["+ − .", "zoom in, out, fit"],
  ["E", "export"],
  ["L", "lectures"],
  ["?", "this list"],
];
const GUIDE =
  "Points are the data, shaded are the regions of the classes, the arrow w is the normal of the line. A " +
  "ring is a row on the wrong side, a dashed ring the row that this step looked at. The strip above the " +
  "pictures says whether any plane separates the classes, and what is proved about the model. Every " +
  "number is that of Python: Export shows the lines that give this run.";

export function showHelp(root) {
  const rows = HELP.map(([keys, what]) =>
    el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, keys)), el("td", {}, what)),
  );
  dialog(root, "Help", el("p", {}, GUIDE), el("table", { class: "help" }, el("tbody", {}, rows)));
}

// Whether an element has its own use for a key.
function takes({ tagName, type }, key, isSlider) {
  if (tagName === "SELECT" || tagName === "TEXTAREA") return true;
  if (tagName === "INPUT" && type !== "checkbox") return !(isSlider && key === " ");
  return (
    (tagName === "BUTTON" || tagName === "SUMMARY" || type === "checkbox") && (key === " " || key === "Enter")
  );
}

// The keys of a lab that has all its parts; `whole` where it is all of its page.
export function listen(lab, whole) {
  const { root, playback, editing, tools, controls, plane, strip, exports, lesson } = lab;
  const acts = {
    " ": () => playback.play(),
    ArrowRight: (e) => (e.shiftKey ? playback.pass() : playback.next()),
    ArrowLeft: () => playback.back(),
    Home: () => playback.seek(0),
    End: () => playback.toEnd(),
    z: (e) => (e.shiftKey ? editing.redo() : editing.undo()),
    n: () => editing.addNearby(),
    c: () => strip.verify(),
    w: () => strip.why(),
    e: () => exports.open(),
    l: () => lesson.open(),
    "?": () => showHelp(root),
    p: () => playback.sub.click(),
    v: () => playback.visits.click(),
    k: () => controls.nextKernel(),
    h: () => plane.toggleHulls(),
    f: () => lab.toggleLayout("swap"),
    g: () => lab.toggleLayout("wide"),
    b: () => tools.nextPointer(),
    "+": () => plane.zoom(0.8),
    "=": () => plane.zoom(0.8),
    "-": () => plane.zoom(1.25),
    ".": () => plane.fit(),
  };

  // True where the key was for this.
  const act = (event) => {
    const { target, key } = event;
    const row = target.dataset?.row;
    if (row !== undefined && plane.pointer.key(event, Number(row))) return true;
    if (/^\d$/.test(key)) {
      const k = (Number(key) + 9) % 10;
      if (row !== undefined) editing.setClass(Number(row), k);
      else editing.takeClass(k);
      return true;
    }
    const found = acts[key.length === 1 ? key.toLowerCase() : key];
    found?.(event);
    return !!found;
  };

  const handle = (event) => {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("dialog")) return;
    if (takes(target, key, target === playback.slider)) return;
    if (act(event)) event.preventDefault();
  };
  root.addEventListener("keydown", handle);
  if (!whole) return;
  document.addEventListener("keydown", (event) => {
    if (event.target === document.body) handle(event);
  });
}
