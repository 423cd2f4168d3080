// What the pictures beside the data share. `static` says what a picture is and when it fits; one is
// made anew when its key changes, and drawn at every step.
import { chart } from "./chart.js";
import { around, colour, marker, make } from "./plot.js";

export class Picture {
  static title = "";
  static lights = false; // whether it shows the row under the pointer
  static follows = false; // whether it tells of the row in focus
  static hasClasses = true; // whether it is drawn in the colours of the classes

  static fits() {
    return true;
  }

  static key(lab) {
    return lab.state.lift;
  }

  static tab() {
    return this.title;
  }

  constructor(view) {
    this.view = view;
    this.lab = view.lab;
  }

  // The chart to draw on, in the size of the view.
  chart(box, names, { equal = true, height = this.view.height } = {}) {
    this.c = chart(this.view.svg, this.view.width, height, box, names, { equal });
    return this.c;
  }

  // A chart of all these points.
  chartOf(points, names, { equal = true, height = this.view.height } = {}) {
    return this.chart(around(points, this.view.width, this.view.height, equal), names, { equal, height });
  }

  // A mark of row i that is lit while the pointer is on it.
  lightMark(i, x, y) {
    const { lab } = this;
    const k = lab.state.table.y[i];
    const d = marker(k, x, y, i === lab.lit ? 7 : 4.5);
    const mark = make(this.c.over, "path", { d, class: "mark tick", style: colour(k) });
    mark.addEventListener("pointerenter", () => lab.light(i));
    mark.addEventListener("pointerleave", () => lab.light(-1));
  }
}
