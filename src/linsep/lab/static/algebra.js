// Pure functions of numbers: hulls, contours, fields, projections. Nothing here knows a page.

export const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);

// Corners of the convex hull, counter-clockwise (Andrew's monotone chain).
export function hullOf(points) {
  const sorted = [...points].sort((p, q) => p[0] - q[0] || p[1] - q[1]);
  if (sorted.length < 3) return sorted;
  const turn = (o, p, q) => (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0]);
  const half = (list) => {
    const out = [];
    for (const p of list) {
      while (out.length > 1 && turn(out.at(-2), out.at(-1), p) <= 0) out.pop();
      out.push(p);
    }
    out.pop();
    return out;
  };
  return [...half(sorted), ...half(sorted.reverse())];
}

// The area of a polygon, whichever way it is walked.
export const areaOf = (p) =>
  Math.abs(p.reduce((s, [x, y], i) => s + x * p.at(i - 1)[1] - y * p.at(i - 1)[0], 0)) / 2;

// Numbers of a text: float32, base64.
export function unpacked(text) {
  const raw = atob(text),
    bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

// Levels between the least and the largest value, denser near the least: those of a valley.
export function levels(values, count) {
  let low = Infinity,
    high = -Infinity;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high && Number.isFinite(v)) high = v;
  }
  return Array.from({ length: count }, (_, k) => low + (high - low) * ((k + 0.5) / count) ** 2.5);
}

// A turn about the vertical axis and a tilt towards the eye; the third number is the depth.
export function turned([x, y, z], yaw, tilt) {
  const u = x * Math.cos(yaw) - y * Math.sin(yaw),
    v = x * Math.sin(yaw) + y * Math.cos(yaw);
  return [u, v * Math.sin(tilt) + z * Math.cos(tilt), v * Math.cos(tilt) - z * Math.sin(tilt)];
}

// A number with no more digits than a grid of this width can show.
export function rounded(value, width) {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(width || 1)));
  return Number(value.toFixed(Math.min(digits, 12)));
}

// The part of a line w.x + b = 0 inside a box, or null.
export function lineInBox(w, b, [x0, x1, y0, y1]) {
  const hits = [];
  const add = (x, y) => {
    if (x >= x0 - 1e-12 && x <= x1 + 1e-12 && y >= y0 - 1e-12 && y <= y1 + 1e-12) hits.push([x, y]);
  };
  if (w[1] !== 0) for (const x of [x0, x1]) add(x, -(w[0] * x + b) / w[1]);
  if (w[0] !== 0) for (const y of [y0, y1]) add(-(w[1] * y + b) / w[0], y);
  let best = null,
    far = 0;
  for (const p of hits)
    for (const q of hits) {
      const size = Math.hypot(p[0] - q[0], p[1] - q[1]);
      if (size > far) {
        far = size;
        best = [p, q];
      }
    }
  return best;
}

// A ratio as it stands while it is short, else as a number.
export function ratio(text) {
  const [p, q] = text.split("/").map(Number);
  return text.length < 10 ? text : `≈ ${Number((p / (q ?? 1)).toPrecision(4))}`;
}

// The middle of a word beside a line, in pixels: on the side of the normal n, inside the frame and
// off the points; null where that side has no room for it.
export function beside([p, q], n, half, frame, points) {
  const off = Math.abs(n[0]) * (half[0] + 6) + Math.abs(n[1]) * (half[1] + 6);
  let best = null,
    most = -Infinity;
  for (let k = 0; k <= 24; k++) {
    const t = 0.03 + (0.94 * k) / 24,
      [x, y] = [0, 1].map((j) => p[j] + (q[j] - p[j]) * t + off * n[j]);
    if (
      Math.abs(x - frame.x - frame.width / 2) > frame.width / 2 - half[0] ||
      Math.abs(y - frame.y - frame.height / 2) > frame.height / 2 - half[1]
    )
      continue;
    const free = points.reduce(
      (least, [u, v]) =>
        Math.min(
          least,
          Math.hypot(Math.max(0, Math.abs(u - x) - half[0]), Math.max(0, Math.abs(v - y) - half[1])),
        ),
      18,
    );
    if (free + 4 * Math.abs(t - 0.5) > most) {
      most = free + 4 * Math.abs(t - 0.5);
      best = [x, y];
    }
  }
  return best;
}

// Losses as functions of y f(x), for the picture that compares them.
export const LOSSES = {
  "0/1": (m) => (m <= 0 ? 1 : 0),
  perceptron: (m) => Math.max(0, -m),
  hinge: (m) => Math.max(0, 1 - m),
  logistic: (m) => (m < -30 ? -m : Math.log1p(Math.exp(-m))) / Math.LN2,
  squared: (m) => (1 - m) ** 2,
};
