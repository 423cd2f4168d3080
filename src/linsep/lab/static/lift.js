// Rows in the space of their features, where the boundary is a plane, over the ground where it is not.
import { dot, lineInBox } from "./algebra.js";
import { ring, segment } from "./chart.js";
import { contour } from "./field.js";
import { Picture } from "./picture.js";
import { colour, make, marker } from "./plot.js";
import { Space } from "./space.js";
import { el } from "./widgets.js";

export class Lift extends Picture {
  static title = "3-D";

  static fits({ run, d }) {
    return run.lifted ? run.features.length >= 2 : d === 3;
  }

  static tab({ run }) {
    return run.lifted ? "Lift" : this.title;
  }

  constructor(view) {
    super(view);
    const { run } = this.lab;
    if (!run.lifted || run.features.length > 2) this._addSlider();
  }

  // From the plane to space.
  _addSlider() {
    const slider = el("input", {
      ...{ type: "range", min: 0, max: 1, step: 0.02, value: 1 },
      "aria-label": "height: from the plane to space",
      oninput: () => this._space?.raise(Number(slider.value)),
    });
    this.view.tools.append(el("label", {}, "flat ", slider, " space"));
  }

  draw() {
    if (this.lab.moment.inputs()[0].length === 2) this._flat();
    else this._deep();
  }

  _flat() {
    const { run, moment, state } = this.lab;
    const { y } = state.table;
    const rows = moment.inputs();
    const wrong = new Set(moment.errors());
    const c = this.chartOf(rows, run.features, { equal: false });
    const [plane] = moment.functions();
    const line = run.planes === 1 && lineInBox(plane.w, plane.b, c.limits);
    if (line) segment(c.under, c, line, "line");
    rows.forEach(([u, v], i) => {
      make(c.marks, "path", { d: marker(y[i], c.x(u), c.y(v), 6), class: "mark", style: colour(y[i]) });
      if (wrong.has(i)) ring(c, [u, v], 10, "wrong");
    });
    this.view.tell(
      "The rows in the space of the features, where the boundary is a line.",
      "The lifted rows and the separating line",
    );
  }

  _deep() {
    const { run, moment, state, questions, d } = this.lab;
    const { svg, width, height } = this.view;
    const rows = moment.inputs();
    const points = rows.map((row) => row.slice(0, 3));
    const tail = rows[0].length > 3;
    const surface = run.lifted && d === 2 ? questions.surface() : null;
    const plane = run.planes === 1 && !tail ? moment.functions()[0] : null;
    const names = run.features.slice(0, 3);
    this._space ??= new Space(svg);
    this._space.show({
      width,
      height,
      names,
      points,
      labels: state.table.y,
      rings: new Set(moment.errors()),
      row: moment.row(),
      drops: true,
      mesh: surface,
      plane,
      curves: surface && plane ? cutOf(surface, plane, points) : [],
    });
    const about = tail
      ? `The first three of ${rows[0].length} features. `
      : "The plane cuts the surface in the boundary, which is dashed on the ground. ";
    this.view.tell(
      `${about}Drag or use arrows to turn.`,
      `The rows in the space of ${names.join(", ")}, with the separating plane; arrows turn it`,
    );
  }
}

// Where a plane cuts a surface, and the same on the ground below all.
function cutOf({ rows, size }, { w, b }, points) {
  const values = rows.map((p) => dot(p, w) + b);
  const curves = contour(values, size, [0, size - 1, 0, size - 1], 0);
  const cut = curves.map((curve) => curve.map((place) => onSurface(rows, size, place)));
  const low = Math.min(...rows.map((p) => p[2]), ...points.map((p) => p[2]));
  const shadow = cut.map((curve) => curve.map(([x, y]) => [x, y, low]));
  return [
    { list: cut, kind: "line" },
    { list: shadow, kind: "before" },
  ];
}

// The point of a surface at a place of its grid, between its four corners.
function onSurface(rows, size, [x, y]) {
  const [i, j] = [x, y].map((v) => Math.min(size - 2, Math.floor(v)));
  const [s, t] = [x - i, y - j];
  const corner = (a, b, k) => rows[(j + b) * size + i + a][k];
  return [0, 1, 2].map(
    (k) =>
      corner(0, 0, k) * (1 - s) * (1 - t) +
      corner(1, 0, k) * s * (1 - t) +
      corner(0, 1, k) * (1 - s) * t +
      corner(1, 1, k) * s * t,
  );
}
