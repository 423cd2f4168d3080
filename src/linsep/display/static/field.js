// Scores on a square grid: their image, and the curves where they take a level. A module of the lab,
// and a part of the replay page.
import { make } from "./plot.js";

// Curves where a field takes a level, each a list of points. Inside a cell the field is bilinear, so
// a curve there is a piece of a hyperbola: it gets the point where that bends most, which at a saddle
// is the crossing itself.
export function contour(values, size, box, level) {
  const [x0, x1, y0, y1] = box,
    dx = (x1 - x0) / (size - 1),
    dy = (y1 - y0) / (size - 1),
    parts = [];
  for (let r = 0; r + 1 < size; r++) {
    for (let c = 0; c + 1 < size; c++) {
      const i = r * size + c,
        v = [
          values[i] - level,
          values[i + 1] - level,
          values[i + size + 1] - level,
          values[i + size] - level,
        ];
      const up = v.map((one) => one > 0);
      if (up[0] === up[1] && up[1] === up[2] && up[2] === up[3]) continue;
      const cut = (j, k) => v[j] / (v[j] - v[k]);
      // name, and place in the cell: below, right, above, left
      const edges = [
        up[0] !== up[1] && [2 * i, cut(0, 1), 0],
        up[1] !== up[2] && [2 * (i + 1) + 1, 1, cut(1, 2)],
        up[3] !== up[2] && [2 * (i + size), cut(3, 2), 1],
        up[0] !== up[3] && [2 * i + 1, 0, cut(0, 3)],
      ].filter(Boolean);
      const twist = v[0] - v[1] + v[2] - v[3],
        s = (v[0] - v[3]) / twist,
        t = (v[0] - v[1]) / twist,
        centre = v[0] - twist * s * t;
      // four cuts: the corners on the side of the middle hang together
      if (edges.length === 4 && centre > 0 !== up[0]) edges.push(edges.shift());
      for (let k = 0; k + 1 < edges.length; k += 2) {
        const [[from, a, b], [to, p, q]] = [edges[k], edges[k + 1]],
          m = [(a + p) / 2, (b + q) / 2];
        const way = 1 - Math.sqrt(-centre / (twist * (m[0] - s) * (m[1] - t))),
          bend = [m[0] + way * (s - m[0]), m[1] + way * (t - m[1])];
        const inside =
          Math.abs(twist) > 1e-9 * Math.max(...v.map(Math.abs)) && bend.every((z) => z >= 0 && z <= 1);
        parts.push({
          ends: [from, to],
          points: [[a, b], ...(inside ? [bend] : []), [p, q]].map(([u, w]) => [
            x0 + (c + u) * dx,
            y0 + (r + w) * dy,
          ]),
        });
      }
    }
  }
  return joined(parts);
}

// Parts that meet at an edge of the grid as one curve, so that dashes run along it.
function joined(parts) {
  const at = new Map(),
    out = [],
    used = new Set();
  for (const part of parts) for (const end of part.ends) at.set(end, [...(at.get(end) ?? []), part]);
  const grow = (points, end) => {
    for (;;) {
      const next = at.get(end).find((part) => !used.has(part));
      if (!next) return points;
      used.add(next);
      const [from, to] = next.ends;
      points.push(...(from === end ? next.points : [...next.points].reverse()).slice(1));
      end = from === end ? to : from;
    }
  };
  for (const part of parts) {
    if (used.has(part)) continue;
    used.add(part);
    const ahead = grow([...part.points], part.ends[1]);
    out.push([...grow([ahead[0]], part.ends[0]).slice(1).reverse(), ...ahead]);
  }
  return out;
}

// The borders of the classes: every one is a border of a class that is not the last.
export const borders = (scores, size, box) =>
  scores.slice(0, Math.max(1, scores.length - 1)).flatMap((one) => contour(one, size, box, 0));

// A field as an image: one colour for each sign or class, stronger where the score is larger.
export function fieldImage(parent, c, scores, size, box, colours) {
  const canvas = Object.assign(document.createElement("canvas"), { width: size, height: size }),
    pen = canvas.getContext("2d"),
    image = pen.createImageData(size, size);
  const sorted = Float32Array.from(scores[0], Math.abs).sort(),
    most = Math.max(1e-12, sorted[Math.floor(0.9 * sorted.length)]);
  for (let r = 0; r < size; r++) {
    for (let k = 0; k < size; k++) {
      const i = r * size + k,
        j = 4 * ((size - 1 - r) * size + k);
      let which = 0,
        strength = 0.2;
      if (scores.length === 1) {
        which = scores[0][i] > 0 ? 1 : 0;
        strength = 0.1 + 0.3 * Math.min(1, Math.abs(scores[0][i]) / most);
      } else for (let m = 1; m < scores.length; m++) if (scores[m][i] > scores[which][i]) which = m;
      image.data.set([...colours[which], 255 * strength], j);
    }
  }
  pen.putImageData(image, 0, 0);
  const [x0, x1, y0, y1] = box,
    [hx, hy] = [(x1 - x0) / (size - 1) / 2, (y1 - y0) / (size - 1) / 2];
  make(parent, "image", {
    href: canvas.toDataURL(),
    x: c.x(x0 - hx),
    y: c.y(y1 + hy),
    width: c.x(x1 + hx) - c.x(x0 - hx),
    height: c.y(y0 - hy) - c.y(y1 + hy),
    preserveAspectRatio: "none",
  });
}

// The colours of classes as numbers, as the style of an element has them.
export function coloursOf(node, classes) {
  const style = getComputedStyle(node);
  return classes.map((k) => {
    const hex = style.getPropertyValue(`--c${k % 10}`).trim();
    return [1, 3, 5].map((p) => parseInt(hex.slice(p, p + 2), 16));
  });
}
