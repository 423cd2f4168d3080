// Pure modules of the lab under node: node --test tests/unit/lab
import assert from "node:assert/strict";
import test from "node:test";

const home = new URL("../../../src/linsep/lab/static/", import.meta.url);
const { beside, hullOf, levels, lineInBox, ratio, rounded, turned, unpacked } = await import(
  new URL("algebra.js", home)
);
const { contour } = await import(new URL("../../display/static/field.js", home));
const { chosenOf, freshState, nextLabel, taskOf, Undo } = await import(new URL("state.js", home));
const { decodeState, encodeState, markOf } = await import(new URL("link.js", home));
const { frameOf } = await import(new URL("frame.js", home));
const { withRows } = await import(new URL("shares.js", home));
const { flagsOf, readFlags } = await import(new URL("flags.js", home));
const { placed, wrapped } = await import(new URL("snapshot.js", home));
const { logTicks, tickNames, ticks } = await import(new URL("../../display/static/plot.js", home));

test("a logarithmic axis has powers of ten, or round numbers within one", () => {
  assert.deepEqual(
    logTicks(-10.2, 0.3, 3).map((t) => t[1]),
    ["1e−10", "1e−6", "0.01"],
  );
  assert.deepEqual(
    logTicks(0.26, 0.74, 3).map((t) => t[1]),
    ["2", "4"],
  );
  for (const [place, name] of logTicks(0.26, 0.74, 3)) assert.ok(Math.abs(10 ** place - Number(name)) < 1e-9);
});

test("items of a legend stand in rows, one beside the other and within the picture", () => {
  const words = ["0", "1", "w·x + b = 0", "before this step", "wrong side", "rows that prove it"],
    { places, rows } = placed(words, 300);
  assert.equal(rows, 1 + Math.max(...places.map((p) => p[1])));
  places.forEach(([x, row], k) => {
    assert.ok(x + 34 + 6.4 * words[k].length <= 300);
    if (k && places[k - 1][1] === row) assert.ok(x > places[k - 1][0] + 6.4 * words[k - 1].length);
  });
  assert.deepEqual(placed([], 300), { places: [], rows: 0 });
});

test("names of ticks differ, are short, and the axis says what they leave out", () => {
  for (const [low, high] of [
    [-1, 4],
    [1e6, 1e6 + 3],
    [-2e-12, 3e-12],
    [-1e9, 2e9],
    [12340.5, 12341],
    [-0.02, 0.001],
  ]) {
    const all = ticks(low, high, 5),
      { names, more } = tickNames(all);
    assert.equal(new Set(names).size, all.length);
    assert.ok(
      names.every((name) => name.length < 8),
      names.join(),
    );
    const [, sign, off] = / ([−+]) ([\d.]+)/.exec(more) ?? [0, "−", 0],
      power = Number(/in (1e.*)/.exec(more)?.[1].replace("−", "-") ?? 1);
    names.forEach((name, k) =>
      assert.ok(
        Math.abs(Number(name.replace("−", "-")) * power + (sign === "−" ? 1 : -1) * Number(off) - all[k]) <
          1e-6 * (high - low),
        `${name}${more}`,
      ),
    );
  }
  assert.deepEqual(tickNames([0, 0.5, 1]), { names: ["0", "0.5", "1"], more: "" });
});

test("a long line is cut between words, and nothing of it is lost", () => {
  const text =
    "Update 8 of 8, visit 87; lift x1, x2, x1**2 + x2**2; separable, margin between 0.8776 and 0.8777";
  const rows = wrapped(text, 40);
  assert.equal(rows.join(" "), text);
  assert.ok(rows.length > 1 && rows.every((row) => row.length <= 40));
});

test("a share is short, or a number", () => {
  assert.deepEqual(["1/4", "3", "18874622156397123440954641/41500993308971727745016884"].map(ratio), [
    "1/4",
    "3",
    "≈ 0.4548",
  ]);
});

test("a word stands on its side of a line, in the frame and off the points", () => {
  const frame = { x: 0, y: 0, width: 200, height: 100 },
    line = [
      [100, 0],
      [100, 100],
    ],
    half = [20, 8];
  const [x, y] = beside(line, [1, 0], half, frame, [
    [126, 90],
    [126, 50],
  ]);
  assert.ok(x - 20 > 100 && x + 20 <= 200 && y - 8 >= 0 && y + 8 < 32);
  assert.equal(
    beside(
      [
        [180, 0],
        [180, 100],
      ],
      [1, 0],
      half,
      frame,
      [],
    ),
    null,
  );
});

test("a hull has the corners and nothing else", () => {
  const points = [
    [0, 0],
    [2, 0],
    [2, 2],
    [0, 2],
    [1, 1],
    [1, 0],
  ];
  assert.deepEqual(new Set(hullOf(points).map(String)), new Set(["0,0", "2,0", "2,2", "0,2"]));
  assert.equal(hullOf([[1, 1]]).length, 1);
});

// The field of a function on a square grid over [-1, 1] twice.
const fieldOf = (f, size) =>
  Array.from({ length: size * size }, (_, i) =>
    f((2 * (i % size)) / (size - 1) - 1, (2 * Math.floor(i / size)) / (size - 1) - 1),
  );
const BOX = [-1, 1, -1, 1];

test("the contour of a plane is one curve on its line, that of a circle is closed", () => {
  const [line, ...more] = contour(
    fieldOf((x, y) => x + 2 * y - 0.3, 11),
    11,
    BOX,
    0,
  );
  assert.ok(line.length > 8 && more.length === 0);
  for (const [x, y] of line) assert.ok(Math.abs(x + 2 * y - 0.3) < 1e-9);
  const [ring, ...other] = contour(
    fieldOf((x, y) => x * x + y * y, 41),
    41,
    BOX,
    0.49,
  );
  assert.deepEqual([ring[0], other.length], [ring.at(-1), 0]);
  for (const [x, y] of ring) assert.ok(Math.abs(Math.hypot(x, y) - 0.7) < 2e-3);
});

test("at a saddle the curves cross where they do, on a node of the grid or inside a cell", () => {
  for (const size of [21, 20])
    for (const shift of [0, 1e-12, 1e-3]) {
      const curves = contour(
        fieldOf((x, y) => -x * y + shift, size),
        size,
        BOX,
        0,
      );
      assert.ok(curves.length <= 2 + (shift > 0 ? 0 : 2));
      for (const curve of curves)
        for (const [x, y] of curve) assert.ok(Math.abs(x * y - shift) < 1e-9, `${size} ${shift}: ${x} ${y}`);
      const all = curves.flat(),
        near = Math.min(...all.map(([x, y]) => Math.hypot(x, y)));
      assert.ok(near <= Math.sqrt(2 * shift) + 1e-6, `${size} ${shift}: ${near}`);
    }
});

test("levels lie between the least and the largest value", () => {
  const found = levels([1, 5, 9], 6);
  assert.ok(found.every((v, i) => v > 1 && v < 9 && (i === 0 || v > found[i - 1])));
});

test("a line is cut to the box, and none is no line", () => {
  assert.deepEqual(
    lineInBox([1, 0], -0.5, [0, 1, 0, 1]).map((p) => p[0]),
    [0.5, 0.5],
  );
  assert.equal(lineInBox([1, 0], -5, [0, 1, 0, 1]), null);
  assert.equal(lineInBox([0, 0], 1, [0, 1, 0, 1]), null);
});

test("a turn keeps lengths", () => {
  const [x, y, z] = turned([1, 2, 3], 0.7, 0.3);
  assert.ok(Math.abs(Math.hypot(x, y, z) - Math.hypot(1, 2, 3)) < 1e-12);
});

test("numbers survive their text", () => {
  const bytes = new Uint8Array(new Float32Array([1.5, -2, 0]).buffer);
  assert.deepEqual([...unpacked(btoa(String.fromCharCode(...bytes)))], [1.5, -2, 0]);
  assert.equal(rounded(1.23456, 10), 1.2);
  assert.equal(rounded(1.23456, 0.9), 1.235);
});

test("an address gives the state back, number by number", () => {
  const table = {
    X: [
      [1 / 3, 0.1],
      [2, -7.25],
    ],
    y: [0, 1],
    classes: ["ano", "né"],
    features: ["x1", "x2"],
    rows: null,
    name: "own",
    shown: null,
  };
  const state = {
    ...freshState(),
    table,
    method: "linear-svm",
    settings: { C: "inf" },
    step: 17,
    view: "hulls",
    lift: "x1, x1*x2",
    axes: [0, 2],
    visits: true,
    most: 2000,
    picks: [1, 0, 1],
    lay: "swap.wide",
    opens: false,
  };
  const again = decodeState("#" + encodeState(state, { later: "x" }));
  assert.deepEqual(again.state, state);
  assert.deepEqual(again.unknown, { later: "x" });
  assert.match(again.notes.join(), /later=x/);
});

test("many rows are not in the address, and that is said", () => {
  const table = {
    X: Array.from({ length: 61 }, () => [1, 2]),
    y: Array(61).fill(0),
    classes: [0, 1],
    features: ["x1", "x2"],
    rows: null,
    name: "",
  };
  const found = decodeState(
    encodeState({ ...freshState(), table: { ...table, name: "a.b c.csv" }, step: 4, opens: false }),
  );
  assert.match(found.notes[0], /not in it \(a\.b c\.csv\)/);
  assert.equal(found.state.awaits.mark, markOf(table));
  assert.equal(decodeState(found.state.awaits.hash).state.step, 4);
  const other = { ...table, X: table.X.map((x, i) => (i ? x : [1, 2.0000000000000004])) };
  assert.notEqual(markOf(other), markOf(table));
  assert.notEqual(markOf({ ...table, classes: [1, 0] }), markOf(table));
  assert.equal(decodeState("d=local").state.awaits.mark, "");
});

test("settings that a method has anyway are not in the address", () => {
  const method = {
    settings: [
      { name: "eta", default: 1 },
      { name: "start", default: null },
    ],
  };
  assert.deepEqual(chosenOf({ eta: 1, start: null, order: "cyclic" }, method), { order: "cyclic" });
  assert.deepEqual(chosenOf({ eta: 0.5, start: [1, 2] }, method), { eta: 0.5, start: [1, 2] });
});

test("addresses that are broken are told and change nothing", () => {
  const { state, notes } = decodeState("d=!!!&s={&t=-3&m=perceptron");
  assert.equal(state.table, null);
  assert.equal(state.step, 0);
  assert.equal(notes.length, 2);
});

test("a frame shows rows where they lie, and moves them in what it shows alone", () => {
  const X = [1, 5, 2, 8].map((v, i) => [v, i, v * i, 7]);
  const table = { features: ["a", "b", "c", "d"], X };
  const pair = frameOf(table, "2,0", null);
  assert.deepEqual(pair.names, ["c", "a"]);
  assert.deepEqual(pair.project(X[2]), [4, 2]);
  assert.deepEqual(pair.moved(X[2], [-1, 3]), [3, 2, -1, 7]);
  const axes = [0.6, 0.8].map((v, k) => [v, (k ? -1 : 1) * (1.4 - v), 0, 0]); // (0.6, 0.8), (0.8, -0.6)
  const slanted = frameOf(table, "", { mean: [4, 1.5, 8, 7], axes });
  const [u, v] = slanted.project(X[1]);
  const moved = slanted.moved(X[1], [u + 1, v - 2]);
  assert.deepEqual(moved.slice(2), X[1].slice(2));
  for (const [k, to] of slanted.project(moved).entries()) assert.ok(Math.abs(to - [u + 1, v - 2][k]) < 1e-12);
  const { w, b } = slanted.cut([1, 2, 3, 4], -5); // the same value, where the rows lie in the picture
  const x = slanted.unproject([0.3, -0.7]);
  const value = x[0] + 2 * x[1] + 3 * x[2] + 4 * x[3] - 5;
  assert.ok(Math.abs(w[0] * 0.3 - w[1] * 0.7 + b - value) < 1e-12);
  const line = frameOf({ features: ["a"], X: [[1], [2]] }, "", null);
  assert.deepEqual([line.flat, line.project([2]), line.unproject([3, 9])], [true, [2, 0], [3]]);
  assert.notEqual(line.key, pair.key);
});

test("undo and redo walk the same way back", () => {
  const undo = new Undo(3);
  for (const k of [1, 2, 3, 4]) undo.keep(k);
  assert.equal(undo.back(5), 4);
  assert.equal(undo.back(4), 3);
  assert.equal(undo.again(3), 4);
  assert.equal(undo.back(4), 3);
  assert.equal(undo.back(3), 2);
  assert.equal(undo.back(2), null);
});

test("classes without points are left out of a question", () => {
  const table = {
    X: [[1], [2]],
    y: [2, 0],
    classes: ["a", "b", "c"],
    features: ["x1"],
    rows: null,
    name: "n",
  };
  const task = taskOf({ ...freshState(), table });
  assert.deepEqual(task.table.classes, ["a", "c"]);
  assert.deepEqual(task.table.y, [1, 0]);
  assert.equal(nextLabel([-1, 1]), 2);
  assert.equal(nextLabel(["a", "b"]), "class 3");
});

test("noise and the rows held out are the same wherever a link is opened, and classes keep a row", () => {
  const table = {
    X: Array.from({ length: 30 }, (_, i) => [i, i % 7]),
    y: Array.from({ length: 30 }, (_, i) => (i === 29 ? 2 : i % 2)),
    classes: ["a", "b", "c"],
    features: ["x1", "x2"],
    rows: null,
    name: "n",
    shown: null,
  };
  const state = withRows({
    ...freshState(),
    table,
    clean: table,
    noise: 0.2,
    test: 0.5,
    method: "linear-svm",
  });
  assert.ok(state.table.X.every((x) => x.every(Number.isFinite)) && state.table.X[0][0] !== table.X[0][0]);
  assert.deepEqual([state.table.X.length, state.held.X.length, state.table.y.includes(2)], [15, 15, true]);
  assert.equal(new Set([...state.table.rows, ...state.held.rows]).size, 30);
  const { state: told } = decodeState(encodeState(state));
  const again = withRows({ ...told, clean: told.table });
  assert.deepEqual([again.table, again.held], [state.table, state.held]);
  const edited = { ...state, clean: null, noise: 0 }; // a point was moved since
  const moved = decodeState(encodeState(edited)).state;
  assert.deepEqual([moved.table, moved.held], [edited.table, edited.held]);
  const none = withRows({ ...state, noise: 0, test: 0 });
  assert.deepEqual([none.table, none.held], [table, null]);
});

test("options of svm-train are settings, and what the lab has not is said", () => {
  assert.deepEqual(readFlags("-t 1 -d 2 -g 1 -r 1 -c inf", 2).settings, {
    kernel: "poly",
    gamma: 1,
    degree: 2,
    coef0: 1,
    C: "inf",
  });
  assert.deepEqual(readFlags("-t 2 -c 100", 4), {
    method: "kernel-svm",
    settings: { kernel: "rbf", gamma: 0.25, C: 100 },
  });
  for (const text of ["-t 0 -c 3", "-t 2 -g 0.1", "-t 1 -d 4 -g 2 -r 0.5 -c 7 -q"]) {
    const { method, settings } = readFlags(text, 2);
    assert.deepEqual(readFlags(flagsOf(method, settings), 2), { method, settings });
  }
  assert.match(readFlags("-s 2", 2).error, /-s 2 is not in the lab/);
  assert.match(readFlags("-z 1", 2).error, /-z is no option/);
  assert.match(readFlags("-c", 2).error, /-c needs a number/);
  assert.match(readFlags("-c 0", 2).error, /above 0/);
});
