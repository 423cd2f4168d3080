// Parts of a page: elements, menus, dialogs, files.

let lastId = 0;
export const newId = (word) => `lab-${word}-${++lastId}`;

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && typeof value !== "string" && name !== "list") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return node;
}

// A sentence begins with a capital letter.
export const capital = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

// The name of a button for those who hear it: with what is written on it, for those who say that.
const spoken = (text, label) =>
  /\p{L}{2}/u.test(text) && !label.toLowerCase().includes(text.toLowerCase().replace("…", ""))
    ? `${text}: ${label}`
    : label;

export function button(text, label, act, more = {}) {
  const name = spoken(text, label);
  return el("button", { type: "button", "aria-label": name, title: label, onclick: act, ...more }, text);
}

// Other content in a node, with the focus on the control of the same name as before.
export function refill(node, ...content) {
  const active = document.activeElement;
  const held = node.contains(active) ? active.getAttribute("aria-label") : null;
  node.replaceChildren(...content);
  if (held) node.querySelector(`[aria-label="${CSS.escape(held)}"]`)?.focus();
}

// A word before a control, which a narrow page leaves out.
export const word = (text) => el("span", { class: "label-word" }, text);

// A select with its label.
export function chooser(label, options, value, changed, attributes = {}) {
  const box = el(
    "select",
    { "aria-label": label, ...attributes },
    options.map(([key, text, group]) =>
      Object.assign(el("option", { value: key }, text), group ? { group } : {}),
    ),
  );
  const groups = [...new Set(options.map((o) => o[2]).filter(Boolean))];
  if (groups.length) {
    box.replaceChildren(
      ...groups.map((g) =>
        el(
          "optgroup",
          { label: g },
          options.filter((o) => o[2] === g).map(([key, text]) => el("option", { value: key }, text)),
        ),
      ),
    );
  }
  box.value = value;
  box.addEventListener("change", () => changed(box.value));
  return box;
}

// A window over the page; Escape and a click beside it close it.
export function dialog(root, title, ...content) {
  const head = newId("title");
  const box = el(
    "dialog",
    { "aria-labelledby": head, class: "window" },
    el(
      "header",
      {},
      el("h2", { id: head }, title),
      el("button", { type: "button", "aria-label": "Close", onclick: () => box.close() }, "✕"),
    ),
    el("div", { class: "window-body" }, ...content),
  );
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => {
    if (event.target === box) box.close();
  });
  root.append(box);
  box.showModal();
  return box;
}

export function download(name, media, content) {
  const blob = content instanceof Blob ? content : new Blob([content], { type: media });
  const url = URL.createObjectURL(blob),
    link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 5000);
}

// Text, or the promise of a picture, on the clipboard; false where the browser does not let.
export async function copied(content) {
  try {
    if (typeof content === "string") await navigator.clipboard.writeText(content);
    else await navigator.clipboard.write([new ClipboardItem({ "image/png": content })]);
    return true;
  } catch {
    return false;
  }
}
