// Pictures as files: an SVG with its styles in it, and the same as a PNG.
import { download } from "./widgets.js";

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity", "fill-opacity", "stroke-opacity", "font-size", "font-family", "font-weight", "paint-order", "visibility"];

// A text in rows of at most so many letters, cut between words.
export function wrapped(text, most) {
  const rows = [""];
  for (const word of text.split(" ")) {
    if (rows.at(-1) && rows.at(-1).length + word.length >= most) rows.push(word); else rows[rows.length - 1] += (rows.at(-1) ? " " : "") + word;
  }
  return rows;
}

// A copy of a picture that needs no style sheet, with a title and the line of settings below.
export function standalone(svg, title, line) {
  const copy = svg.cloneNode(true), from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of KEPT) { const v = style.getPropertyValue(name); if (v && v !== "none" || name === "fill") to[i].style.setProperty(name, v); }
    for (const name of [...to[i].attributes].map((a) => a.name)) if (/^(on|data-|tabindex|aria-roledescription)/.test(name)) to[i].removeAttribute(name);
  });
  const [, , w, h] = svg.getAttribute("viewBox").split(" ").map(Number), space = svg.namespaceURI;
  copy.setAttribute("xmlns", space);
  copy.setAttribute("width", w);
  const rows = wrapped(line, Math.floor((w - 16) / 6)), high = h + 30 + 14 * rows.length;
  copy.setAttribute("height", high);
  copy.setAttribute("viewBox", `0 -24 ${w} ${high}`);
  copy.setAttribute("role", "img");
  const style = getComputedStyle(svg.closest(".lab")), paper = style.getPropertyValue("--paper").trim(), ink = style.getPropertyValue("--ink").trim();
  const ground = document.createElementNS(space, "rect");
  for (const [k, v] of Object.entries({ x: 0, y: -24, width: w, height: high, fill: paper })) ground.setAttribute(k, v);
  copy.prepend(ground);
  for (const [text, y, size, weight] of [[title, -7, 14, 600], ...rows.map((row, k) => [row, h + 14 + 14 * k, 11, 400])]) {
    const node = document.createElementNS(space, "text");
    for (const [k, v] of Object.entries({ x: 8, y, fill: ink, "font-size": size, "font-weight": weight, "font-family": "system-ui, sans-serif" })) node.setAttribute(k, v);
    node.textContent = text;
    copy.append(node);
  }
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(svg, name, title, line) { download(`${name}.svg`, "image/svg+xml", standalone(svg, title, line)); }

export async function pngOf(svg, title, line) {
  const text = standalone(svg, title, line), image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  await image.decode();
  const canvas = document.createElement("canvas"), scale = 2;
  canvas.width = image.width * scale;
  canvas.height = image.height * scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
