// An SVG with axes, and what is drawn on it: segments, arrows, polygons, curves, marks of rows.
import { colour, make, marker, tickNames, ticks } from "./plot.js";

const PAD = { l: 44, r: 10, t: 10, b: 34 };

// An SVG with axes, in pixels of the page: scales, a group below the marks and one above.
export function chart(svg, width, height, box, names, { equal = true } = {}) {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const w = width - PAD.l - PAD.r;
  const h = height - PAD.t - PAD.b;
  if (equal) box = widened(box, w, h);
  const x = (v) => PAD.l + ((v - box.x0) / (box.x1 - box.x0)) * w;
  const y = (v) => height - PAD.b - ((v - box.y0) / (box.y1 - box.y0)) * h;
  const back = (px, py) => [
    box.x0 + ((px - PAD.l) / w) * (box.x1 - box.x0),
    box.y0 + ((height - PAD.b - py) / h) * (box.y1 - box.y0),
  ];
  const id = `inside-${Math.random().toString(36).slice(2, 9)}`;
  const frame = { x: PAD.l, y: PAD.t, width: w, height: h };
  make(make(svg, "clipPath", { id }), "rect", frame);
  const ground = make(svg, "rect", { ...frame, class: "ground" });
  const under = make(svg, "g", { "clip-path": `url(#${id})` });
  const grid = make(svg, "g", { class: "grid", "aria-hidden": "true" });
  make(svg, "rect", { ...frame, class: "axis" });
  const c = { svg, box, x, y, back, under, ground, width, height, frame };
  axes(grid, c, names);
  c.marks = make(svg, "g");
  c.over = make(svg, "g", { "clip-path": `url(#${id})`, class: "over" });
  c.limits = [box.x0, box.x1, box.y0, box.y1];
  return c;
}

// The box of the same middle that has one scale for both axes.
function widened(box, w, h) {
  const scale = Math.max((box.x1 - box.x0) / w, (box.y1 - box.y0) / h);
  const [cx, cy] = [(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2];
  return {
    x0: cx - (scale * w) / 2,
    x1: cx + (scale * w) / 2,
    y0: cy - (scale * h) / 2,
    y1: cy + (scale * h) / 2,
  };
}

function axes(grid, { box, x, y, frame, height }, [across, up]) {
  const [low, left] = [frame.y + frame.height, frame.x];
  const columns = ticks(box.x0, box.x1, Math.max(2, frame.width / 70));
  const rows = ticks(box.y0, box.y1, Math.max(2, frame.height / 55));
  const [told, toldUp] = [columns, rows].map(tickNames);
  columns.forEach((v, k) => {
    make(grid, "text", { x: x(v), y: low + 15, "text-anchor": "middle" }, told.names[k]);
  });
  rows.forEach((v, k) => {
    make(grid, "text", { x: left - 5, y: y(v) + 4, "text-anchor": "end" }, toldUp.names[k]);
  });
  const name = { "text-anchor": "middle", class: "name" };
  make(grid, "text", { x: left + frame.width / 2, y: height - 4, ...name }, across + told.more);
  if (!up) return;
  const middle = frame.y + frame.height / 2;
  make(grid, "text", { x: 11, y: middle, transform: `rotate(-90 11 ${middle})`, ...name }, up + toldUp.more);
}

export const cornersOf = ({ x0, x1, y0, y1 }) => [
  [x0, y0],
  [x1, y0],
  [x1, y1],
  [x0, y1],
];

// Where an event of the pointer is, in pixels of the chart.
export function pixelOf(c, event) {
  const box = c.svg.getBoundingClientRect();
  const scale = c.width / box.width;
  return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
}

export const polygonText = (c, points) =>
  points.map(([u, v]) => `${c.x(u).toFixed(2)},${c.y(v).toFixed(2)}`).join(" ");

export function segment(parent, c, [p, q], kind) {
  return make(parent, "line", { x1: c.x(p[0]), y1: c.y(p[1]), x2: c.x(q[0]), y2: c.y(q[1]), class: kind });
}

export function ring(c, [u, v], r, kind) {
  return make(c.over, "circle", { cx: c.x(u), cy: c.y(v), r, class: kind });
}

// An arrow between two places in pixels.
export function arrow(parent, [x, y], [u, v], kind) {
  const long = Math.hypot(u - x, v - y);
  if (!(long > 3)) return;
  const [p, q] = [(u - x) / long, (v - y) / long];
  const s = Math.min(9, long / 2);
  const [a, b] = [u - s * p, v - s * q];
  make(parent, "line", { x1: x, y1: y, x2: a, y2: b, class: kind });
  const tip = `M${u},${v}L${a + (s / 2) * q},${b - (s / 2) * p}L${a - (s / 2) * q},${b + (s / 2) * p}Z`;
  make(parent, "path", { d: tip, class: `${kind} tip` });
}

export function curvesPath(parent, c, list, kind) {
  if (!list.length) return;
  const place = ([u, v]) => `${c.x(u).toFixed(1)},${c.y(v).toFixed(1)}`;
  make(parent, "path", { d: list.map((curve) => `M${curve.map(place).join("L")}`).join(""), class: kind });
}

// A small cross where both weights are 0.
export function origin(c) {
  const d = `M${c.x(0) - 5},${c.y(0)}h10M${c.x(0)},${c.y(0) - 5}v10`;
  make(c.under, "path", { d, class: "origin" });
}

// Points that cannot be moved, one shape for each class.
export function marksOf(c, points, labels, size) {
  for (const k of new Set(labels)) {
    const d = points.map(([u, v], i) => (labels[i] === k ? marker(k, c.x(u), c.y(v), size) : ""));
    make(c.marks, "path", { d: d.join(""), class: "mark", style: colour(k) });
  }
}
