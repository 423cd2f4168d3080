// The pointer and the keys on the plane of the data: points are added, dragged, brushed and walked.
import { rounded } from "./algebra.js";
import { Stroke } from "./brush.js";
import { pixelOf } from "./chart.js";

const STILL = 5; // pixels that a hand moves while it clicks
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

const rowOf = (event) => {
  const row = event.target.dataset?.row;
  return row === undefined ? -1 : Number(row);
};

export class Pointer {
  constructor(plane) {
    this.plane = plane;
    this.lab = plane.lab;
    this._drag = null; // points under the hand: the first, how far off each is, and whether they moved
    this._press = null; // where a click has begun
    this._stroke = null;
    this._listen(plane.svg);
  }

  _listen(svg) {
    svg.addEventListener("pointerdown", (event) => this._down(event));
    svg.addEventListener("pointermove", (event) => this._move(event));
    svg.addEventListener("pointerup", (event) => this._up(event));
    svg.addEventListener("pointercancel", () => {
      this._press = null;
      this._end();
    });
    svg.addEventListener("pointerleave", () => {
      this.plane.here.textContent = "";
    });
    svg.addEventListener("focusin", (event) => this._focus(event));
    svg.addEventListener("wheel", (event) => this._wheel(event), { passive: false });
  }

  // -- places ---------------------------------------------------------------------------------

  _at(event) {
    return this.plane.c.back(...pixelOf(this.plane.c, event));
  }

  _inside(event) {
    const [x, y] = pixelOf(this.plane.c, event);
    const f = this.plane.c.frame;
    return x > f.x && x < f.x + f.width && y > f.y && y < f.y + f.height;
  }

  // With no more digits than the picture can show.
  snapped([u, v]) {
    const { x0, x1 } = this.plane.c.box;
    return [rounded(u, x1 - x0), this.lab.frame.flat ? 0 : rounded(v, x1 - x0)];
  }

  // -- pointer --------------------------------------------------------------------------------

  _down(event) {
    if (event.button) return;
    const { plane, lab } = this;
    const row = rowOf(event);
    const tool = lab.tools.pointer;
    const held = lab.editing.chosen.has(row);
    if (["spray", "erase", "magnet"].includes(tool) || (tool === "select" && !held)) {
      this._stroke = new Stroke(this, tool, event);
    } else if (tool === "pick") {
      if (row < 0) return;
      plane.marks[row].focus({ preventScroll: true });
      lab.editing.pick(row);
    } else if (row < 0) {
      this._press = [event.clientX, event.clientY];
      return;
    } else this._grab(row, held ? [...lab.editing.chosen] : [row], event);
    event.preventDefault();
  }

  _grab(row, rows, event) {
    const { plane } = this;
    const [u, v] = this._at(event);
    const offs = rows.map((k) => [k, [plane.points[k][0] - u, plane.points[k][1] - v]]);
    this._drag = { row, offs, moved: false };
    plane.svg.setPointerCapture(event.pointerId);
    plane.marks[row].focus({ preventScroll: true });
  }

  _move(event) {
    const { plane, lab } = this;
    if (this._stroke) {
      this._stroke.go(event);
      return;
    }
    if (event.pointerType !== "touch" && plane.c) {
      plane.here.textContent = this._inside(event) ? lab.names.place(this._at(event)) : "";
    }
    if (this._drag) this._pull(event);
  }

  // Marks follow the hand at once; the run is asked for behind them.
  _pull(event) {
    const { plane, lab, _drag: drag } = this;
    const [u, v] = this._at(event);
    const places = drag.offs.map(([k, off]) => [k, this.snapped([u + off[0], v + off[1]])]);
    if (!drag.moved) {
      const [, to] = places.find(([k]) => k === drag.row);
      const [x, y] = plane.pixel(to);
      const [a, b] = plane.pixel(plane.points[drag.row]);
      if (Math.hypot(x - a, y - b) < 2) return;
      lab.editing.keep();
      drag.moved = true;
    }
    for (const [k, to] of places) plane.place(k, to);
    lab.editing.move(places, true);
  }

  _up(event) {
    const press = this._press;
    this._press = null;
    if (this._drag || this._stroke) {
      this._end();
      return;
    }
    const { clientX: x, clientY: y, shiftKey } = event;
    if (!press || Math.hypot(x - press[0], y - press[1]) >= STILL || !this._inside(event)) return;
    this.lab.editing.add(this.snapped(this._at(event)), shiftKey);
  }

  _end() {
    const { plane, lab, _stroke: stroke, _drag: drag } = this;
    this._stroke = this._drag = null;
    if (stroke) {
      plane.forgetMarks();
      stroke.end();
    } else if (drag) {
      if (drag.moved) {
        plane.refit();
        lab.changed();
      }
      plane.focus = drag.row;
    }
  }

  _focus(event) {
    const { plane, lab } = this;
    const row = rowOf(event);
    if (row < 0) return;
    plane.focus = row;
    event.target.setAttribute("aria-label", lab.names.point(row));
    lab.rowFocused();
  }

  _wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.plane.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, this._at(event));
  }

  // -- keys -----------------------------------------------------------------------------------

  // A key on the point of row i; true where it was for it.
  key(event, i) {
    const { lab } = this;
    const { chosen } = lab.editing;
    const rows = chosen.has(i) ? [...chosen] : [i];
    if (MOVES[event.key]) this._nudge(rows, MOVES[event.key], event.shiftKey);
    else if (event.key === "Enter" && lab.tools.pointer === "select") lab.editing.toggle(i);
    else if (event.key === "Enter" && lab.method.picks) {
      lab.editing.pick(i);
      lab.tools.showPointer("pick");
    } else if (event.key === "Delete" || event.key === "Backspace") {
      if (rows.length > 1) lab.editing.removeMany(rows);
      else lab.editing.remove(i);
    } else if (event.key === "]") this._walk(i, 1);
    else if (event.key === "[") this._walk(i, -1);
    else return false;
    return true;
  }

  _nudge(rows, [du, dv], fine) {
    const { plane, lab } = this;
    const { x0, x1 } = plane.c.box;
    const step = (x1 - x0) * (fine ? 0.002 : 0.02);
    const places = rows.map((k) => {
      const [u, v] = plane.points[k];
      return [k, this.snapped([u + step * du, v + step * dv])];
    });
    lab.editing.keep();
    lab.editing.move(places, false);
  }

  // To the point after or before, round and round.
  _walk(i, by) {
    const { plane } = this;
    const count = plane.marks.length;
    plane.focus = (i + by + count) % count;
    plane.marks[i].setAttribute("tabindex", "-1");
    plane.marks[plane.focus].setAttribute("tabindex", "0");
    plane.marks[plane.focus].focus();
  }
}
