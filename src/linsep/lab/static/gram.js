// The Gram matrix: kernels between all rows, sorted by class, and what makes f at one of them.
import { Picture } from "./picture.js";
import { colour, make, marker, show } from "./plot.js";

const MARGIN = { top: 24, both: 40, side: 46 }; // room for the marks of the rows
const MOST_WRITTEN = 9; // rows whose values are written into the cells

export class Gram extends Picture {
  static title = "Gram matrix";
  static follows = true;

  static fits({ method }) {
    return !!method.kernel;
  }

  constructor(view) {
    super(view);
    view.svg.addEventListener("pointerleave", () => this.lab.light(-1));
  }

  draw() {
    const { lab, view } = this;
    const gram = lab.questions.gram();
    view.svg.replaceChildren();
    if (!gram) return;
    if (gram.error) {
      view.tell(gram.error, Gram.title);
      return;
    }
    const { y } = lab.state.table;
    const order = y.map((_, i) => i).sort((i, j) => y[i] - y[j] || i - j);
    const side = Math.min(view.width, view.height) - MARGIN.side;
    view.svg.setAttribute("viewBox", `0 0 ${view.width} ${side + MARGIN.both}`);
    view.svg.setAttribute("height", side + MARGIN.both);
    const left = (view.width - side) / 2;
    const root = make(view.svg, "g", { transform: `translate(${left},${MARGIN.top})` });
    this._cells(root, gram.rows, order, side / order.length);
    this._marks(root, order, side / order.length);
    const note = `${gram.name} between all rows, sorted by class. ${this._parts(gram.rows)}`;
    view.tell(note, `Gram matrix of ${order.length} rows, ${gram.name}`);
  }

  _cells(root, rows, order, cell) {
    const most = Math.max(...rows.flat().map(Math.abs), 1e-300);
    order.forEach((i, r) =>
      order.forEach((j, s) => {
        const value = rows[i][j];
        const place = { x: s * cell, y: r * cell, width: cell + 0.3, height: cell + 0.3 };
        const kind = `cell ${value < 0 ? "minus" : "plus"}`;
        const depth = (Math.abs(value) / most).toFixed(3);
        const node = make(root, "rect", { ...place, class: kind, "fill-opacity": depth });
        make(node, "title", {}, `K(row ${i}, row ${j}) = ${show(value)}`);
        node.addEventListener("pointerenter", () => this.lab.light(j));
        if (order.length > MOST_WRITTEN) return;
        const middle = { x: (s + 0.5) * cell, y: (r + 0.5) * cell + 4, "text-anchor": "middle" };
        make(root, "text", { ...middle, class: "halo" }, show(Number(value.toPrecision(3))));
      }),
    );
  }

  // Marks of the rows beside and above the cells.
  _marks(root, order, cell) {
    if (!(cell > 7)) return;
    order.forEach((i, r) => {
      const k = this.lab.state.table.y[i];
      const [at, size] = [(r + 0.5) * cell, Math.min(5, cell / 2.5)];
      make(root, "path", { d: marker(k, -9, at, size), style: colour(k) });
      make(root, "path", { d: marker(k, at, -9, size), style: colour(k) });
    });
  }

  // The rows that make f at the one in focus.
  _parts(rows) {
    const { moment, names, plane } = this.lab;
    const own = rows[plane.focus];
    const alpha = moment.alpha();
    if (!own || !alpha) return "";
    const parts = alpha.map((a, j) => [a * moment.sign(j) * own[j], j]).filter(([value]) => value);
    if (!parts.length) return "";
    parts.sort((p, q) => Math.abs(q[0]) - Math.abs(p[0]));
    const told = parts.slice(0, 4).map(([value, j]) => `${show(value)} from ${names.row(j)}`);
    return `f at ${names.row(plane.focus)}: ${told.join(", ")}${parts.length > 4 ? ", …" : ""}.`;
  }
}
