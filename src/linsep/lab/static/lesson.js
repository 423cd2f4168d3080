// Lectures: their slides in a window, the slide that is shown, and the way to the next one.
import { withRows } from "./shares.js";
import { clone, freshState } from "./state.js";
import { button, dialog, el } from "./widgets.js";

export class Lesson {
  constructor(lab) {
    this.lab = lab;
    this.node = el("section", { class: "slide", hidden: true, "aria-label": "Lecture" });
  }

  open() {
    const box = dialog(
      this.lab.root,
      "Lectures",
      ...this.lab.lectures.map(({ key, title, slides }) => {
        const show = (k) => {
          box.close();
          this.show(key, k);
        };
        const entry = (slide, k) =>
          el("li", {}, el("button", { type: "button", class: "linky", onclick: () => show(k) }, slide.title));
        return el(
          "section",
          {},
          el("h3", {}, `${key} · ${title}`),
          el("ol", { class: "slides" }, slides.map(entry)),
        );
      }),
    );
  }

  _slides(key) {
    return this.lab.lectures.find((lecture) => lecture.key === key)?.slides ?? [];
  }

  // Slide k of a lecture: its rows, method and step.
  show(key, k) {
    const { lab } = this;
    const slide = this._slides(key)[k];
    if (!slide) return;
    const set = lab.sets.find((one) => one.name === slide.set);
    lab.editing.keep();
    lab.note("");
    Object.assign(lab.state, freshState(), {
      table: clone(set),
      set: set.name,
      method: slide.method,
      settings: clone(slide.settings ?? {}),
      lift: slide.lift ?? "",
      visits: slide.visits ?? false,
      convention: slide.convention ?? null,
      step: slide.step ?? 0,
      opens: slide.step === undefined,
      lay: lab.state.lay,
      view: slide.view ?? "",
      axes: slide.axes ?? null,
      scheme: slide.scheme ?? "",
      slide: `${key}:${k}`,
      test: slide.test ?? 0,
    });
    if (lab.state.test) Object.assign(lab.state, withRows({ ...lab.state, clean: clone(set) }));
    lab.playback.stayAtEnd(false);
    this.tell();
    lab.changed({ fit: true });
  }

  // The words of the slide that the state names; none for none.
  tell() {
    const [key, number] = this.lab.state.slide.split(":");
    const slides = this._slides(key);
    const k = Number(number);
    const slide = slides[k];
    this.node.hidden = !slide;
    if (!slide) return;
    const go = (text, label, to) => {
      const more = { "aria-label": label, title: null, disabled: !slides[to] };
      return button(text, label, () => this.show(key, to), more);
    };
    const heading = el("strong", {}, `Lecture ${key} · ${k + 1} of ${slides.length} · ${slide.title}`);
    this.node.replaceChildren(
      el("div", {}, heading, el("p", {}, slide.text)),
      el(
        "div",
        { class: "group" },
        go("‹ Slide", "Slide before", k - 1),
        go("Slide ›", "Next slide", k + 1),
        button("✕", "Leave the lecture", () => this._leave(), { title: null }),
      ),
    );
    this.lab.say(slide.text);
  }

  _leave() {
    this.lab.state.slide = "";
    this.node.hidden = true;
    this.lab.address.write();
  }
}
