// Marks, scales and clipping; no state. A module of the lab, and a part of the replay page.
let space = null;

export function make(parent, kind, attributes = {}, text = null) {
  space ??= Object.assign(document.createElement("div"), { innerHTML: "<svg/>" }).firstChild.namespaceURI;
  const node = document.createElementNS(space, kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") node.style.cssText = value;
    else node.setAttribute(name, value);
  }
  if (text !== null) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}

export function show(number) {
  if (number === null) return "–";
  const text = Number(number.toPrecision(6));
  return String(text === 0 ? 0 : text).replace("-", "−");
}

// The outline of the marker of class k, around (x, y).
export function marker(k, x, y, r) {
  const corners = {
    0: [
      [-1, -1],
      [1, -1],
      [1, 1],
      [-1, 1],
    ],
    2: [
      [0, -1.25],
      [1.15, 0.9],
      [-1.15, 0.9],
    ],
    3: [
      [0, -1.35],
      [1.35, 0],
      [0, 1.35],
      [-1.35, 0],
    ],
    4: [
      [0, 1.25],
      [1.15, -0.9],
      [-1.15, -0.9],
    ],
    5: [
      [-1.3, -0.4],
      [-0.4, -0.4],
      [-0.4, -1.3],
      [0.4, -1.3],
      [0.4, -0.4],
      [1.3, -0.4],
      [1.3, 0.4],
      [0.4, 0.4],
      [0.4, 1.3],
      [-0.4, 1.3],
      [-0.4, 0.4],
      [-1.3, 0.4],
    ],
    6: [
      [0, -1.3],
      [1.25, -0.4],
      [0.8, 1.1],
      [-0.8, 1.1],
      [-1.25, -0.4],
    ],
    7: [
      [-1, -1.2],
      [0, -0.45],
      [1, -1.2],
      [0.45, 0],
      [1, 1.2],
      [0, 0.45],
      [-1, 1.2],
      [-0.45, 0],
    ],
    8: [
      [1.25, 0],
      [-0.9, 1.15],
      [-0.9, -1.15],
    ],
    9: [
      [-1.25, 0],
      [0.9, 1.15],
      [0.9, -1.15],
    ],
  }[k % 10];
  if (!corners)
    return (
      `M${x - 1.05 * r},${y}a${1.05 * r},${1.05 * r} 0 1 0 ${2.1 * r},0` +
      `a${1.05 * r},${1.05 * r} 0 1 0 ${-2.1 * r},0Z`
    );
  return (
    "M" +
    corners.map(([a, b]) => `${(x + 0.92 * r * a).toFixed(2)},${(y + 0.92 * r * b).toFixed(2)}`).join("L") +
    "Z"
  );
}

export const colour = (k) => `fill:var(--c${k % 10})`;

// Round numbers that cover [low, high] with about `count` steps.
export function ticks(low, high, count) {
  const rough = (high - low) / count,
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const out = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) out.push(k * step);
  return out;
}

// Names of ticks that tell them apart and are short, and what the name of the axis says beside them:
// what was taken off all values, or the power of ten that they are told in.
export function tickNames(values) {
  const most = Math.max(...values.map(Math.abs)),
    step = values.length > 1 ? values[1] - values[0] : most;
  const from = step < 1e-4 * most ? Number(values[0].toPrecision(12)) : 0,
    size = from ? values.at(-1) - from : most;
  const power = size > 0 && (size < 1e-3 || size >= 1e6) ? Math.floor(Math.log10(size)) : 0;
  const off = from ? ` ${from > 0 ? "−" : "+"} ${Math.abs(from)}` : "";
  return {
    names: values.map((v) => show((v - from) / 10 ** power)),
    more: off + (power ? `, in 1e${power}`.replace("-", "−") : ""),
  };
}

// Places and names of the ticks of a logarithmic axis from 10^low to 10^high: powers of ten, or
// round numbers where no two powers fit in.
export function logTicks(low, high, count) {
  const first = Math.ceil(low - 1e-9),
    last = Math.floor(high + 1e-9),
    by = Math.max(1, Math.ceil((last - first) / count));
  if (last <= first)
    return ticks(10 ** low, 10 ** high, count)
      .filter((v) => v > 0)
      .map((v) => [Math.log10(v), show(v)]);
  return Array.from({ length: Math.floor((last - first) / by) + 1 }, (_, k) => first + by * k).map((p) => [
    p,
    Math.abs(p) < 4 ? show(Number(`1e${p}`)) : `1e${p}`.replace("-", "−"),
  ]);
}

// The part of a convex polygon where w.x + b >= 0.
export function clip(polygon, w, b) {
  const out = [];
  polygon.forEach((here, i) => {
    const before = polygon.at(i - 1);
    const [v, u] = [here, before].map((p) => w[0] * p[0] + w[1] * p[1] + b);
    if (v >= 0 !== u >= 0) {
      const s = u / (u - v);
      out.push([before[0] + s * (here[0] - before[0]), before[1] + s * (here[1] - before[1])]);
    }
    if (v >= 0) out.push(here);
  });
  return out;
}

// A box around points, of the shape of the picture where both axes share a scale.
export function around(points, width, height, equal) {
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of points) {
    x0 = Math.min(x0, x);
    x1 = Math.max(x1, x);
    y0 = Math.min(y0, y);
    y1 = Math.max(y1, y);
  }
  const whole = Math.max(x1 - x0, y1 - y0) || Math.max(1, Math.abs(x0), Math.abs(y0));
  let w = 1.3 * Math.max(x1 - x0, 0.2 * whole),
    h = 1.3 * Math.max(y1 - y0, 0.2 * whole);
  if (equal) [w, h] = [Math.max(w, (h * width) / height), Math.max(h, (w * height) / width)];
  const [cx, cy] = [(x0 + x1) / 2, (y0 + y1) / 2];
  return { x0: cx - w / 2, x1: cx + w / 2, y0: cy - h / 2, y1: cy + h / 2 };
}
