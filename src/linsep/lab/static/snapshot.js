// Pictures as files: an SVG with its styles in it, and the same as a PNG.
import { download } from "./widgets.js";

const KEPT = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "stroke-linecap",
  "opacity",
  "fill-opacity",
  "stroke-opacity",
  "font-size",
  "font-family",
  "font-weight",
  "paint-order",
  "visibility",
];

// A text in rows of at most so many letters, cut between words.
export function wrapped(text, most) {
  const rows = [""];
  for (const word of text.split(" ")) {
    if (rows.at(-1) && rows.at(-1).length + word.length >= most) rows.push(word);
    else rows[rows.length - 1] += (rows.at(-1) ? " " : "") + word;
  }
  return rows;
}

// A copy that needs no style sheet.
function styled(svg) {
  const copy = svg.cloneNode(true),
    from = [svg, ...svg.querySelectorAll("*")],
    to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of KEPT) {
      const v = style.getPropertyValue(name);
      if ((v && v !== "none") || name === "fill") to[i].style.setProperty(name, v);
    }
    for (const name of [...to[i].attributes].map((a) => a.name))
      if (/^(on|data-|tabindex|aria-roledescription)/.test(name)) to[i].removeAttribute(name);
  });
  return copy;
}

// Places of the items of a legend, in pixels, in rows of at most so many; and how many rows.
export function placed(words, most) {
  const places = [];
  let x = 8,
    row = 0;
  for (const word of words) {
    const wide = 34 + 6.4 * word.length;
    if (x > 8 && x + wide > most) {
      x = 8;
      row += 1;
    }
    places.push([x, row]);
    x += wide;
  }
  return { places, rows: words.length ? row + 1 : 0 };
}

// A picture with a title, the line of settings and a legend below: `legend` are nodes of the page
// that hold a little picture and words.
function standalone(svg, title, line, legend = []) {
  const copy = styled(svg),
    words = legend.map((node) => node.textContent);
  const [, , w, h] = svg.getAttribute("viewBox").split(" ").map(Number),
    space = svg.namespaceURI;
  copy.setAttribute("xmlns", space);
  copy.setAttribute("width", w);
  const rows = wrapped(line, Math.floor((w - 16) / 6)),
    { places, rows: more } = placed(words, w - 8),
    low = h + 12 + 14 * rows.length,
    high = low + 18 + 18 * more;
  copy.setAttribute("height", high);
  copy.setAttribute("viewBox", `0 -24 ${w} ${high}`);
  copy.setAttribute("role", "img");
  const style = getComputedStyle(svg.closest(".lab")),
    paper = style.getPropertyValue("--paper").trim(),
    ink = style.getPropertyValue("--ink").trim();
  const ground = document.createElementNS(space, "rect");
  for (const [k, v] of Object.entries({ x: 0, y: -24, width: w, height: high, fill: paper }))
    ground.setAttribute(k, v);
  copy.prepend(ground);
  legend.forEach((node, k) => {
    const icon = styled(node.querySelector("svg")),
      [x, row] = places[k];
    for (const [name, v] of Object.entries({ x, y: low + 18 * row - 8, width: 14, height: 14 }))
      icon.setAttribute(name, v);
    copy.append(icon);
  });
  const texts = [
    [title, 8, -7, 14, 600],
    ...rows.map((row, k) => [row, 8, h + 14 + 14 * k, 11, 400]),
    ...words.map((word, k) => [word, places[k][0] + 19, low + 18 * places[k][1] + 3, 11, 400]),
  ];
  for (const [text, x, y, size, weight] of texts) {
    const node = document.createElementNS(space, "text");
    for (const [k, v] of Object.entries({
      x,
      y,
      fill: ink,
      "font-size": size,
      "font-weight": weight,
      "font-family": "system-ui, sans-serif",
    }))
      node.setAttribute(k, v);
    node.textContent = text;
    copy.append(node);
  }
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(name, ...parts) {
  download(`${name}.svg`, "image/svg+xml", standalone(...parts));
}

export async function pngOf(...parts) {
  const text = standalone(...parts),
    image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  await image.decode();
  const canvas = document.createElement("canvas"),
    scale = 2;
  canvas.width = image.width * scale;
  canvas.height = image.height * scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
