// The control of one setting, of the kind that the setting is: a choice, a flag, a number, a list.
import { chooser, el, newId } from "./widgets.js";

const WORDS = { "<=": "value ≤ 0", "<": "value < 0" };

// The control; it calls `changed` with the name and each new value.
export function settingControl(setting, value, changed) {
  const { name, label, kind } = setting;
  const id = newId("set");
  const now = value === undefined ? setting.default : value;
  const parts = KINDS[kind](setting, now, id, (next) => changed(name, next));
  const how = {
    class: `setting setting-${kind}`,
    "data-setting": name,
    for: id,
    title: setting.help || null,
  };
  return el("label", how, ...(kind === "flag" ? parts : [el("span", {}, label), ...parts]));
}

const KINDS = {
  choice: choiceParts,
  flag: flagParts,
  log: logParts,
  start: startParts,
  list: listParts,
  number: numberParts,
  whole: numberParts,
};

function choiceParts({ label, values }, now, id, changed) {
  const options = values.map((value) => [value, WORDS[value] ?? value]);
  return [chooser(label, options, now, changed, { id })];
}

function flagParts({ label }, now, id, changed) {
  const box = { type: "checkbox", id, checked: now, "aria-label": label };
  return [el("input", { ...box, onchange: (e) => changed(e.target.checked) }), el("span", {}, label)];
}

// A slider of powers of ten, and the number itself; `endless` has a place behind the largest.
function logParts({ label, low, high, endless }, now, id, changed) {
  const [first, last] = [Math.log10(low), Math.log10(high)];
  const end = endless ? last + (last - first) / 40 : last;
  const text = (value) => (value === "inf" ? "∞" : String(Number(Number(value).toPrecision(3))));
  const placeOf = (value) => (value === "inf" ? end : Math.log10(value));
  const slider = el("input", {
    ...{ type: "range", id, min: first, max: end, step: (last - first) / 80, value: placeOf(now) },
    "aria-label": label,
    oninput: () => {
      const place = Number(slider.value);
      take(endless && place > last + 1e-9 ? "inf" : Number((10 ** place).toPrecision(3)));
    },
  });
  const field = el("input", {
    ...{ type: "text", inputmode: "decimal", class: "short", "aria-label": `${label}, number` },
    onchange: () => {
      const typed = field.value.trim().replace("∞", "inf").replace(",", ".");
      const value = endless && typed === "inf" ? typed : Number(typed);
      if (value !== "inf" && !(value > 0)) {
        field.value = text(current);
        return;
      }
      slider.value = placeOf(value);
      take(value);
    },
  });
  let current = now;
  const tell = (value) => {
    current = value;
    field.value = text(value);
    slider.setAttribute("aria-valuetext", text(value));
  };
  const take = (value) => {
    tell(value);
    changed(value);
  };
  tell(now);
  return [slider, field];
}

function startParts(setting, now, id, changed) {
  return numbersParts(now, id, changed, "zeros", "start: weights, offset last, or random", ["random"]);
}

function listParts({ label }, now, id, changed) {
  return numbersParts(now, id, changed, "ones", `${label}: a number for each row`, []);
}

// Numbers one after the other, nothing at all, or a word.
function numbersParts(now, id, changed, placeholder, name, words) {
  const value = Array.isArray(now) ? now.join(" ") : words.includes(now) ? now : "";
  const field = el("input", {
    ...{ type: "text", id, class: "wide", placeholder, value, "aria-label": name },
    onchange: () => {
      const typed = field.value.trim();
      const told = typed
        .split(/[\s;,]+/)
        .filter(Boolean)
        .map(Number);
      const word = typed === "" || words.includes(typed);
      const wrong = !word && told.some(Number.isNaN);
      field.setAttribute("aria-invalid", String(wrong));
      if (!wrong) changed(word ? typed || null : told);
    },
  });
  return [field];
}

// A number of at least 0, or none, which the method then chooses; a whole one has to be there.
function numberParts({ label, kind }, now, id, changed) {
  const isWhole = kind === "whole";
  const field = el("input", {
    ...{ type: "number", id, class: "short", step: "any", min: 0, value: now ?? "", placeholder: "auto" },
    "aria-label": label,
    onchange: () => {
      const value = field.value === "" ? null : Number(field.value);
      if (value === null ? isWhole : value < 0) return;
      changed(isWhole ? Math.round(value) : value);
    },
  });
  return [field];
}
