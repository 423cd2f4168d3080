// The player: one step at a time of a recorded run.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const total = data.count.length,
  planes = data.classes.length === 2 ? 1 : data.classes.length;
const nameOf = (row) => (data.rows ? data.rows[row] : `row ${row}`);
const unit = data.looks ? "visit" : "update";
let now = 0,
  timer = null;

// Sentences are kept as patterns and the numbers to fill in.
function sentence(t) {
  const [pattern, ...numbers] = data.why[t];
  return data.patterns[pattern].map((part, i) => part + (numbers[i] ?? "")).join("");
}

// Weights of step t as scores of the two coordinates of the picture, one for each class.
function scores(t) {
  const d = data.flat ? 1 : 2,
    w = data.weights[t];
  const each = Array.from({ length: planes }, (_, k) => {
    const own = w.slice(k * (d + 1), (k + 1) * (d + 1));
    return { w: [own[0], d === 2 ? own[1] : 0], b: own[d] };
  });
  if (planes > 1) return each;
  const minus = { w: each[0].w.map((v) => -v), b: -each[0].b };
  return [minus, each[0]];
}

function value(i, planesNow) {
  const [x, y] = data.X[i],
    all = planesNow.map((s) => s.w[0] * x + s.w[1] * y + s.b);
  const own = all[data.labels[i]];
  if (planes === 1) return own;
  return own - Math.max(...all.filter((_, k) => k !== data.labels[i]));
}

function wrongRows(t) {
  if (data.errors) return data.errors[t];
  if (!data.X || !data.plane) return null;
  const all = scores(t),
    wrong = [];
  data.X.forEach((_, i) => {
    if (value(i, all) <= 0) wrong.push(data.ids ? data.ids[i] : i);
  });
  return wrong;
}

// y f(x) of row i of the table, where all weights are known.
function tableValue(i, t) {
  const x = data.table[i],
    d = x.length,
    w = data.weights[t];
  if (w.length !== planes * (d + 1) || data.names.length !== w.length) return null;
  const all = Array.from({ length: planes }, (_, k) =>
    x.reduce((sum, v, j) => sum + v * w[k * (d + 1) + j], w[k * (d + 1) + d]),
  );
  const own = data.labels[i];
  if (planes === 1) return own === 1 ? all[0] : -all[0];
  return all[own] - Math.max(...all.filter((_, k) => k !== own));
}

// What a step is: the start, an update, a look that changed nothing, or what is kept in the end.
const changed = (t) => t > 0 && data.update[t] !== data.update[t - 1];
const closes = (t) => data.closing && t === total - 1;
const symbol = (t) => {
  const update = closes(t) ? data.kept : data.update[t];
  return data.symbol && update !== null ? `${data.symbol[0]}${update + data.symbol[2]}${data.symbol[1]}` : "";
};

function stepName(t) {
  if (closes(t)) return "The weights that are kept" + (data.kept === null ? "" : `, of update ${data.kept}`);
  const place = `of ${data.update[total - 1]}`;
  if (data.looks && t > 0 && !changed(t))
    return `Visit ${data.visit[t]}: no update (${data.update[t]} ${place} made)`;
  return `Update ${data.update[t]} ${place}, visit ${data.visit[t]}`;
}

// -- the picture ---------------------------------------------------------------------------

const at = new Map(data.X ? data.X.map((_, i) => [data.ids ? data.ids[i] : i, i]) : []);
const view = {};

// Pictures are drawn in pixels of the page, so that text keeps its size.
const widthOf = (id, most) => Math.min(most, Math.max(280, Math.round($(id).parentElement.clientWidth)));

function setUpPlane() {
  const W = widthOf("plot", 800),
    H = data.flat ? 170 : Math.round(0.74 * W),
    pad = { l: 46, r: 8, t: 8, b: 40 };
  const box = around(data.X, W - pad.l - pad.r, H - pad.t - pad.b, !data.flat);
  view.box = box;
  view.x = (v) => pad.l + ((v - box.x0) / (box.x1 - box.x0)) * (W - pad.l - pad.r);
  view.y = (v) => H - pad.b - ((v - box.y0) / (box.y1 - box.y0)) * (H - pad.t - pad.b);
  const svg = $("plot");
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
  const frame = { x: pad.l, y: pad.t, width: W - pad.l - pad.r, height: H - pad.t - pad.b };
  make(make(svg, "clipPath", { id: "inside" }), "rect", frame);
  view.under = make(svg, "g", { "clip-path": "url(#inside)" });
  make(svg, "rect", { ...frame, class: "axis" });
  const across = ticks(box.x0, box.x1, 8),
    up = ticks(box.y0, box.y1, 6),
    [told, toldUp] = [across, up].map(tickNames);
  across.forEach((v, k) =>
    make(svg, "text", { x: view.x(v), y: H - pad.b + 16, "text-anchor": "middle" }, told.names[k]),
  );
  make(svg, "text", { x: (W + pad.l) / 2, y: H - 6, "text-anchor": "middle" }, data.axes[0] + told.more);
  if (!data.flat) {
    up.forEach((v, k) =>
      make(svg, "text", { x: pad.l - 6, y: view.y(v) + 4, "text-anchor": "end" }, toldUp.names[k]),
    );
    make(
      svg,
      "text",
      { x: 12, y: H / 2, transform: `rotate(-90 12 ${H / 2})`, "text-anchor": "middle" },
      data.axes[1] + toldUp.more,
    );
  } else {
    make(svg, "line", { x1: pad.l, x2: W - pad.r, y1: view.y(0), y2: view.y(0), class: "axis" });
  }
  view.size = data.X.length > 400 ? 2.6 : data.X.length > 80 ? 4.2 : 6;
  data.X.forEach(([x, y], i) =>
    make(svg, "path", {
      d: marker(data.labels[i], view.x(x), view.y(y), view.size),
      class: "mark",
      style: colour(data.labels[i]),
    }),
  );
  view.over = make(svg, "g", { "clip-path": "url(#inside)" });
  if (data.ground?.pieces.length) hatches(svg);
}

// -- regions that do not follow from weights: pieces of the plane, or a field for each step ----

const UNDECIDED = { "-1": ["none", "no class"], "-2": ["many", "several classes"] };

function hatches(svg) {
  const defs = make(svg, "defs");
  for (const [id, turn] of [
    ["none", 45],
    ["many", -45],
  ]) {
    const box = make(defs, "pattern", {
      id,
      width: 8,
      height: 8,
      patternUnits: "userSpaceOnUse",
      patternTransform: `rotate(${turn})`,
    });
    make(box, "line", { x1: 0, y1: 0, x2: 0, y2: 8, class: "hatch" });
  }
}

function drawGround(t) {
  const { pieces, box, size, steps } = data.ground;
  for (const [who, piece] of pieces) {
    const points = piece.map(([x, y]) => `${view.x(x)},${view.y(y)}`).join(" ");
    make(
      view.under,
      "polygon",
      who < 0
        ? { points, class: "undecided", fill: `url(#${UNDECIDED[who][0]})` }
        : { points, class: "region", style: colour(who) },
    );
  }
  if (pieces.length) return;
  const words = new Int16Array(Uint8Array.from(atob(steps[t]), (c) => c.charCodeAt(0)).buffer),
    cells = size * size;
  const fields = Array.from({ length: words.length / cells }, (_, k) =>
    Float32Array.from(
      words.subarray(k * cells, (k + 1) * cells),
      (v) => 1e-12 * Math.sinh((v / 32766) * Math.asinh(1e12)),
    ),
  );
  fieldImage(
    view.under,
    view,
    fields,
    size,
    box,
    coloursOf(
      document.body,
      data.classes.map((_, k) => k),
    ),
  );
  for (const curve of borders(fields, size, box)) {
    make(view.under, "polyline", {
      points: curve.map(([x, y]) => `${view.x(x).toFixed(1)},${view.y(y).toFixed(1)}`).join(" "),
      class: "line",
    });
  }
}

// End points of the line between classes k and l, far outside the picture.
function boundary(all, k, l) {
  const w = [0, 1].map((i) => all[k].w[i] - all[l].w[i]),
    b = all[k].b - all[l].b;
  const size = w[0] ** 2 + w[1] ** 2,
    { x0, x1, y0, y1 } = view.box;
  if (!(size > 0)) return null;
  const cx = (x0 + x1) / 2,
    cy = (y0 + y1) / 2,
    s = (w[0] * cx + w[1] * cy + b) / size;
  const reach = (4 * (x1 - x0 + y1 - y0)) / Math.sqrt(size),
    foot = [cx - s * w[0], cy - s * w[1]];
  return {
    foot,
    w,
    size,
    ends: [-1, 1].map((m) => [foot[0] - m * reach * w[1], foot[1] + m * reach * w[0]]),
  };
}

function drawLine(parent, ends, kind) {
  const [[a, b], [c, d]] = ends;
  make(parent, "line", { x1: view.x(a), y1: view.y(b), x2: view.x(c), y2: view.y(d), class: kind });
}

function drawNormal(line) {
  const { foot, w, size } = line,
    { x0, x1 } = view.box;
  const reach = (0.12 * (x1 - x0)) / Math.sqrt(size);
  const [x, y] = [view.x(foot[0]), data.flat ? view.y(0) - 40 : view.y(foot[1])];
  const [u, v] = [
    view.x(foot[0] + reach * w[0]) - view.x(foot[0]),
    view.y(foot[1] + reach * w[1]) - view.y(foot[1]),
  ];
  const [e, f] = [x + u, y + v],
    long = Math.hypot(u, v);
  make(view.over, "line", { x1: x, y1: y, x2: e, y2: f, class: "normal" });
  const [p, q] = [u / long, v / long];
  make(view.over, "path", {
    d: `M${e},${f}L${e - 9 * p + 4 * q},${f - 9 * q - 4 * p}L${e - 9 * p - 4 * q},${f - 9 * q + 4 * p}Z`,
    class: "normal",
  });
  make(view.over, "text", { x: e + 6 * p + 4, y: f + 6 * q + 4 }, "w");
}

function drawPlane(t) {
  view.under.replaceChildren();
  view.over.replaceChildren();
  const { x0, x1, y0, y1 } = view.box,
    all = data.plane ? scores(t) : [];
  const corners = [
    [x0, y0],
    [x1, y0],
    [x1, y1],
    [x0, y1],
  ];
  all.forEach((own, k) => {
    let area = corners;
    all.forEach((other, l) => {
      if (l !== k)
        area = clip(
          area,
          [0, 1].map((i) => own.w[i] - other.w[i]),
          own.b - other.b,
        );
    });
    const points = area.map(([x, y]) => `${view.x(x)},${view.y(y)}`).join(" ");
    make(view.under, "polygon", {
      points,
      class: "region",
      style: colour(k) + (planes > 1 ? ";stroke:var(--ink);stroke-width:4" : ""),
    });
  });
  if (data.ground) drawGround(t);
  if (planes === 1 && data.plane) {
    const line = boundary(all, 1, 0),
      before = t > 0 && boundary(scores(t - 1), 1, 0);
    if (before) drawLine(view.under, before.ends, "before");
    if (line) {
      drawLine(view.under, line.ends, "line");
      drawNormal(line);
    }
  }
  const rings = (row, r, kind) => {
    const i = at.get(row);
    if (i === undefined) return;
    make(view.over, "circle", { cx: view.x(data.X[i][0]), cy: view.y(data.X[i][1]), r, class: kind });
  };
  for (const row of wrongRows(t) ?? []) rings(row, view.size + 4.5, "wrong");
  if (data.row[t] >= 0) rings(data.row[t], view.size + 9, "row");
}

function setUpBars() {
  view.width = widthOf("plot", 720);
  view.largest = data.weights.flat().reduce((most, v) => Math.max(most, Math.abs(v ?? 0)), 1e-300);
  view.wide = Math.min(0.35 * view.width, 14 + 7 * Math.max(...data.names.map((s) => s.length)));
  $("plot").setAttribute("viewBox", `0 0 ${view.width} ${24 * data.names.length + 12}`);
}

function drawBars(t) {
  const svg = $("plot"),
    half = (view.width - 72 - view.wide) / 2,
    zero = view.wide + half;
  const unit = (half - 4) / view.largest,
    letters = Math.floor((view.wide - 8) / 6.5);
  svg.replaceChildren();
  data.order.forEach((j, place) => {
    const name = data.names[j],
      v = data.weights[t][j] ?? 0,
      y = 24 * place + 8,
      w = Math.abs(v) * unit;
    const short = name.length > letters ? name.slice(0, letters - 1) + "…" : name;
    make(svg, "text", { x: view.wide - 8, y: y + 13, "text-anchor": "end" }, short);
    make(svg, "rect", {
      x: v < 0 ? zero - w : zero,
      y,
      width: w,
      height: 18,
      class: `bar ${v < 0 ? "minus" : "plus"}`,
    });
    make(svg, "text", { x: view.width - 66, y: y + 13 }, show(data.weights[t][j]));
  });
  make(svg, "line", { x1: zero, x2: zero, y1: 2, y2: 24 * data.names.length + 8, class: "axis" });
}

function legend() {
  const item = (draw, text) => {
    const li = document.createElement("li"),
      svg = make(li, "svg", { viewBox: "0 0 20 20", "aria-hidden": "true" });
    draw(svg);
    li.append(text);
    $("legend").append(li);
  };
  if (!data.X) return;
  data.classes.forEach((c, k) =>
    item((s) => make(s, "path", { d: marker(k, 10, 10, 6), style: colour(k) }), c),
  );
  const line = (kind) => (s) => make(s, "line", { x1: 1, y1: 10, x2: 19, y2: 10, class: kind });
  if (planes === 1 && data.plane) {
    item(line("line"), data.flat ? "threshold" : "line");
    item(line("before"), "before this update");
  }
  for (const who of new Set(data.ground?.pieces.map((piece) => piece[0]).filter((k) => k < 0)))
    item(
      (s) =>
        make(s, "rect", {
          x: 1,
          y: 1,
          width: 18,
          height: 18,
          class: "undecided",
          fill: `url(#${UNDECIDED[who][0]})`,
        }),
      UNDECIDED[who][1],
    );
  if (data.ground && !data.ground.pieces.length)
    item(line("line"), planes === 1 ? "f(x) = 0" : "border of the classes");
  item((s) => make(s, "circle", { cx: 10, cy: 10, r: 8, class: "wrong" }), "misclassified");
  item((s) => make(s, "circle", { cx: 10, cy: 10, r: 8, class: "row" }), `row of this ${unit}`);
}

// -- the curve -----------------------------------------------------------------------------

const CURVE = { w: 1000, h: 140, l: 46, r: 14, t: 8, b: 24 };
const curveX = (t) => CURVE.l + (total < 2 ? 0.5 : t / (total - 1)) * (CURVE.w - CURVE.l - CURVE.r);
const most = data.count.reduce((a, b) => Math.max(a, b), 1);
const curveY = (v) => CURVE.h - CURVE.b - (v / most) * (CURVE.h - CURVE.t - CURVE.b);

function setUpCurve() {
  const svg = $("curve");
  CURVE.w = widthOf("curve", 1200);
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${CURVE.w} ${CURVE.h}`);
  for (const v of ticks(0, most, 3).filter(Number.isInteger)) {
    make(svg, "text", { x: CURVE.l - 8, y: curveY(v) + 4, "text-anchor": "end" }, v);
    make(svg, "line", { x1: CURVE.l, x2: CURVE.w - CURVE.r, y1: curveY(v), y2: curveY(v), class: "axis" });
  }
  for (const t of ticks(0, Math.max(total - 1, 1), CURVE.w / 90).filter(
    (v) => Number.isInteger(v) && v < total,
  )) {
    make(svg, "text", { x: curveX(t), y: CURVE.h - 6, "text-anchor": "middle" }, data[unit][t]);
  }
  make(svg, "polyline", {
    points: data.count.map((v, t) => `${curveX(t).toFixed(1)},${curveY(v).toFixed(1)}`).join(" "),
    class: "errors",
  });
  view.now = make(svg, "line", { y1: CURVE.t, y2: CURVE.h - CURVE.b, class: "now" });
  view.dot = make(svg, "circle", { r: 5, class: "dot" });
}

$("curve").addEventListener("click", (event) => {
  const box = $("curve").getBoundingClientRect(),
    x = ((event.clientX - box.left) / box.width) * CURVE.w;
  jump(((x - CURVE.l) / (CURVE.w - CURVE.l - CURVE.r)) * (total - 1));
});

// -- words and tables ----------------------------------------------------------------------

function cells(row, values) {
  for (const [kind, text, number] of values) {
    const cell = document.createElement(kind);
    if (kind === "th") cell.scope = "row";
    if (number) cell.className = "number";
    cell.textContent = text;
    row.append(cell);
  }
}

function drawWords(t) {
  const count = data.count[t],
    wrong = wrongRows(t);
  $("count").textContent = stepName(t);
  $("weights").caption.textContent =
    symbol(t) || (closes(t) ? "In the end" : t === 0 ? "At the start" : `After this ${unit}`);
  $("why").textContent = sentence(t);
  $("errors").textContent = count;
  const listed = (wrong ?? []).slice(0, 12).map(nameOf).join(", ");
  $("wrong").textContent =
    count === 0 ? "none" : listed + (wrong && count > 12 ? ` and ${count - 12} more` : "");
  const body = $("weights").tBodies[0];
  body.replaceChildren();
  const facts = Object.entries(data.extra).map(([name, values]) => [name, values[t]]);
  const pairs = data.order
    .map((j) => [data.names[j], data.weights[t][j]])
    .concat(facts.filter((f) => f[1] !== null));
  for (const [name, v] of pairs)
    cells(body.insertRow(), [
      ["th", name],
      ["td", show(v), true],
    ]);
  $("plot").setAttribute(
    "aria-label",
    `${data.X ? "Rows and boundary" : "Weights"} after update ` +
      `${data.update[t]}: ${count} of ${data.n} rows misclassified`,
  );
}

function drawRows(t) {
  if (!$("rows").open) return;
  const table = $("rows").querySelector("table"),
    wrong = new Set(wrongRows(t));
  table.tHead.replaceChildren();
  table.tBodies[0].replaceChildren();
  const all = data.X && data.plane ? scores(t) : [],
    rows = data.table ?? data.X;
  const valueOf = (i) => (data.table ? tableValue(i, t) : data.plane ? value(i, all) : null);
  const known = valueOf(0) !== null;
  const names = ["row", ...data.features, "class", ...(known ? ["value"] : []), ""];
  const head = table.tHead.insertRow();
  for (const name of names)
    head.append(Object.assign(document.createElement("th"), { scope: "col", textContent: name }));
  rows.slice(0, 500).forEach((x, i) => {
    const id = data.ids ? data.ids[i] : i,
      note = [];
    if (wrong.has(id)) note.push("misclassified");
    if (data.row[t] === id) note.push(`row of this ${unit}`);
    const shown = x.slice(0, data.features.length).map((v) => ["td", show(v), true]);
    cells(table.tBodies[0].insertRow(), [
      ["th", nameOf(id)],
      ...shown,
      ["td", data.classes[data.labels[i]]],
      ...(known ? [["td", show(valueOf(i)), true]] : []),
      ["td", note.join(", ")],
    ]);
  });
}

// -- playing -------------------------------------------------------------------------------

function go(t) {
  now = Math.min(total - 1, Math.max(0, Math.round(t)));
  if (data.X) drawPlane(now);
  else drawBars(now);
  drawWords(now);
  drawRows(now);
  view.now.setAttribute("x1", curveX(now));
  view.now.setAttribute("x2", curveX(now));
  view.dot.setAttribute("cx", curveX(now));
  view.dot.setAttribute("cy", curveY(data.count[now]));
  $("slider").value = now;
  $("slider").setAttribute(
    "aria-valuetext",
    `update ${data.update[now]}, ${data.count[now]} rows misclassified`,
  );
  for (const id of ["first", "back"]) $(id).setAttribute("aria-disabled", now === 0);
  for (const id of ["last", "next"]) $(id).setAttribute("aria-disabled", now === total - 1);
}

function pause() {
  clearTimeout(timer);
  timer = null;
  $("play").textContent = "Play";
  $("play").setAttribute("aria-label", "Play");
  $("why").setAttribute("aria-live", "polite");
}

function tick() {
  const chosen = Number($("speed").value),
    whole = chosen === 0;
  if (now === total - 1) return pause();
  go(now + (whole ? Math.max(1, total / 200) : 1));
  timer = setTimeout(tick, whole ? Math.max(50, 10000 / total) : chosen);
}

function play() {
  if (timer !== null) return pause();
  if (now === total - 1) go(0);
  $("play").textContent = "Pause";
  $("play").setAttribute("aria-label", "Pause");
  $("why").setAttribute("aria-live", "off");
  timer = setTimeout(tick, 250);
}

const jump = (t) => {
  pause();
  go(t);
};
const keys = {
  ArrowRight: () => jump(now + 1),
  ArrowLeft: () => jump(now - 1),
  Home: () => jump(0),
  End: () => jump(total - 1),
  " ": play,
};
document.addEventListener("keydown", (event) => {
  const inside = event.target.tagName;
  if (event.ctrlKey || event.metaKey || event.altKey || inside === "SELECT") return;
  if (inside === "INPUT" && event.key !== " ") return;
  if (event.key === " " && (inside === "BUTTON" || inside === "SUMMARY")) return;
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});
$("first").onclick = keys.Home;
$("back").onclick = keys.ArrowLeft;
$("next").onclick = keys.ArrowRight;
$("last").onclick = keys.End;
$("play").onclick = play;
$("slider").max = total - 1;
$("slider").oninput = (event) => jump(Number(event.target.value));
$("rows").ontoggle = () => drawRows(now);
$("rows").open = !data.X && data.table.length <= 12;
for (const id of ["curve-title", "curve"]) {
  const words = `Misclassified rows after each ${unit}`;
  if (id === "curve") $(id).setAttribute("aria-label", words);
  else $(id).textContent = words;
}
$("note").textContent = data.note;
legend();

function layOut() {
  if (data.X) setUpPlane();
  else setUpBars();
  setUpCurve();
  go(now);
}

let width = 0;
window.addEventListener("resize", () => {
  if (document.body.clientWidth !== width) {
    width = document.body.clientWidth;
    layOut();
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => go(now));
now = Math.min(total - 1, Number(location.hash.slice(1)) || 0);
layOut();
