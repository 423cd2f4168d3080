// The second picture: which ones fit what is on the page, their tabs, and the one that is shown.
import { Gram } from "./gram.js";
import { Hulls } from "./hulls.js";
import { Lift } from "./lift.js";
import { Losses, Probability } from "./losses.js";
import { make } from "./plot.js";
import { Reflected } from "./reflected.js";
import { Regions } from "./regions.js";
import { CostSpace, WeightSpace } from "./weights.js";
import { el } from "./widgets.js";

const PICTURES = {
  weights: WeightSpace,
  cost: CostSpace,
  reflected: Reflected,
  hulls: Hulls,
  loss: Losses,
  probability: Probability,
  lift: Lift,
  regions: Regions,
  gram: Gram,
};

export class SecondView {
  constructor(lab, host) {
    this.lab = lab;
    this._tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Second picture" });
    this.tools = el("div", { class: "tools" });
    this._body = el("div", { class: "second-body", role: "tabpanel" });
    this._note = el("p", { class: "quiet" });
    this.more = el("div", { class: "more" });
    host.append(this._tabs, this.tools, this._body, this.more, this._note);
    this.picture = null;
    this._key = "";
  }

  // -- what others ask ------------------------------------------------------------------------

  get name() {
    return this.lab.state.view;
  }

  get title() {
    return this._kind.tab(this.lab);
  }

  get hasClasses() {
    return this._kind.hasClasses;
  }

  get _kind() {
    return PICTURES[this.name];
  }

  rowLit() {
    if (this._kind?.lights) this.draw();
  }

  rowFocused() {
    if (this._kind?.follows) this.draw();
  }

  // -- drawing --------------------------------------------------------------------------------

  measure() {
    this.room = this._body.clientWidth;
  }

  draw() {
    const { lab } = this;
    if (!lab.run) {
      if (lab.error) this._clear();
      return;
    }
    const offered = Object.keys(PICTURES).filter((name) => PICTURES[name].fits(lab));
    lab.state.view = this._choice(offered);
    this._showTabs(offered);
    this.width = Math.max(260, Math.min(900, Math.round(this.room)));
    this.height = Math.round(Math.min(0.78 * this.width, Math.max(300, 0.62 * innerHeight)));
    this._setUp();
    this._note.textContent = "";
    this.more.replaceChildren();
    this.picture.draw();
  }

  // The chosen picture, else the one that shows the method best.
  _choice(offered) {
    const { state, method } = this.lab;
    if (state.lift && !state.view && offered.includes("lift")) return "lift";
    return [state.view, method.view].find((name) => offered.includes(name)) ?? offered[0];
  }

  // A new picture where another is wanted, or where the one at hand was made for something else.
  _setUp() {
    const key = [this.name, this._kind.key(this.lab)].join();
    if (this.picture && key === this._key) return;
    this._key = key;
    this.tools.replaceChildren();
    this.svg = make(null, "svg", { role: "img", class: `second ${this.name}` });
    this._body.replaceChildren(this.svg);
    this._body.setAttribute("aria-label", this._kind.title);
    this.picture = new this._kind(this);
  }

  // What a picture says below itself, and to those who cannot see it.
  tell(note, label) {
    this._note.textContent = note;
    this.svg.setAttribute("aria-label", label);
  }

  _clear() {
    for (const part of [this._body, this.more, this.tools, this._note]) part.replaceChildren();
    this.picture = null;
  }

  // -- tabs -----------------------------------------------------------------------------------

  _showTabs(offered) {
    const { lab } = this;
    const key = offered.join() + this.name + !!lab.run.lifted;
    if (key === this._tabsKey) return;
    this._tabsKey = key;
    const held = this._tabs.contains(document.activeElement);
    this._tabs.replaceChildren(...offered.map((name) => this._tab(name, offered)));
    if (held) this._tabs.querySelector('[aria-selected="true"]').focus();
  }

  _tab(name, offered) {
    const { lab } = this;
    const own = name === this.name;
    const walk = (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      lab.setView(offered[(offered.indexOf(name) + by + offered.length) % offered.length]);
    };
    return el(
      "button",
      {
        type: "button",
        role: "tab",
        "aria-selected": String(own),
        tabindex: own ? "0" : "-1",
        onclick: () => lab.setView(name),
        onkeydown: walk,
      },
      PICTURES[name].tab(lab),
    );
  }
}
