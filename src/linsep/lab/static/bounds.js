// The bounds of the margin that some methods tell at every step, and where they have to come.
import { make, show } from "./plot.js";

const LOWER = "lower bound of the margin";
const UPPER = "upper bound of the margin";

// Both after this step, and where the lower one has to come for the run to end; null for none.
export function boundsNow({ moment, state, method }) {
  const eps = state.settings.eps ?? method.settings.find((one) => one.name === "eps")?.default ?? NaN;
  const [lower, upper] = [moment.extra(LOWER), moment.extra(UPPER)];
  return { lower, upper, eps, stop: upper - eps };
}

// The two bounds on one line.
export function boundsBar(lab, width) {
  const { lower, upper, stop } = boundsNow(lab);
  const all = lab.run.extra[UPPER].filter(Number.isFinite);
  const low = Math.min(0, lower);
  const most = Math.max(...all, 1e-12);
  const x = (v) => 12 + ((width - 24) * (v - low)) / (most - low);
  const told = `Bounds of the margin: ${show(lower)} and ${show(upper)}`;
  const label = `${told}; the run ends when the lower one is at least ${show(stop)}`;
  const size = { viewBox: `0 0 ${width} 46`, height: 46 };
  const svg = make(null, "svg", { ...size, role: "img", class: "bounds-bar", "aria-label": label });
  make(svg, "line", { x1: x(low), x2: x(most), y1: 24, y2: 24, class: "axis" });
  make(svg, "line", { x1: x(lower), x2: x(upper), y1: 24, y2: 24, class: "bounds-gap" });
  const mark = (v, kind) => {
    if (v >= low) make(svg, "line", { x1: x(v), x2: x(v), y1: 15, y2: 33, class: kind });
  };
  mark(lower, "bound-low");
  mark(upper, "bound-high");
  mark(stop, "bound-stop");
  const word = (at, y, anchor, text) =>
    make(svg, "text", { x: at, y, "text-anchor": anchor, class: "halo" }, text);
  const inside = (at) => (at < 150 ? "start" : at > width - 150 ? "end" : "middle");
  if (x(upper) - x(lower) > 190) {
    word(x(lower), 11, "start", `lower ${show(lower)}`);
    word(x(upper), 11, "end", `upper ${show(upper)}`);
  } else {
    const middle = (x(lower) + x(upper)) / 2;
    word(middle, 11, inside(x(upper)), `lower ${show(lower)}, upper ${show(upper)}`);
  }
  if (stop >= low) word(x(stop), 44, inside(x(stop)), "ends here (upper − ε)");
  return svg;
}
