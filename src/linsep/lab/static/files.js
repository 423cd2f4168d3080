// Own data: a table that is pasted, dropped on the page or opened from a file.
import { decodeState, markOf } from "./link.js";
import { withRows } from "./shares.js";
import { chosenOf, clone } from "./state.js";
import { dialog, el } from "./widgets.js";

const MOST_BYTES = 8e6;
const ENDINGS = ".csv,.tsv,.txt,.svm,.libsvm,.svmlight,.npz,.parquet,.arrow,.gz,.bz2";
const FORMATS =
  "CSV (the last column, or one called y, class, label or target, is the class), svmlight, npz or " +
  "Parquet; up to 1000 features and ten classes; of more than 5000 rows a sample. A file can also be " +
  "dropped anywhere on the page. It stays on this machine.";
const EXAMPLE = "x1,x2,y\n1.0,2.0,a\n3.5,0.5,b\n\nor svmlight:  +1 1:0.5 2:1.2";

export class Files {
  constructor(lab) {
    this.lab = lab;
    this._listen(lab.root);
  }

  _listen(root) {
    root.addEventListener("dragover", (e) => {
      e.preventDefault();
      root.classList.add("dropping");
    });
    root.addEventListener("dragleave", () => root.classList.remove("dropping"));
    root.addEventListener("drop", (e) => {
      e.preventDefault();
      root.classList.remove("dropping");
      const [file] = e.dataTransfer.files;
      if (file) this.readFile(file);
    });
    root.addEventListener("paste", (e) => {
      if (/^(INPUT|TEXTAREA)$/.test(e.target.tagName)) return;
      const text = e.clipboardData.getData("text");
      if (!text.includes("\n")) return;
      e.preventDefault();
      this.readText(text);
    });
  }

  // The window for a file or a text.
  open() {
    const area = el("textarea", { rows: 9, "aria-label": "Table as text", placeholder: EXAMPLE });
    const file = el("input", { type: "file", "aria-label": "File", accept: ENDINGS });
    const use = el("button", { type: "button" }, "Use this table");
    const box = dialog(
      this.lab.root,
      "Your own data",
      el("p", {}, FORMATS),
      el("p", {}, file),
      area,
      el("p", {}, use),
    );
    use.addEventListener("click", async () => {
      const text = area.value.trim();
      if (!text) return;
      await this.readText(text + "\n");
      box.close();
    });
    file.addEventListener("change", async () => {
      if (!file.files[0]) return;
      await this.readFile(file.files[0]);
      box.close();
    });
    area.focus();
  }

  async readFile(file) {
    if (file.size > MOST_BYTES) {
      const size = Math.round(file.size / 1e6);
      this.lab.note(`${file.name} has ${size} MB; the lab takes 8. Give a sample of the rows.`);
      return;
    }
    await this._read(new Uint8Array(await file.arrayBuffer()), file.name);
  }

  readText(text) {
    const name = /^\s*\S+\s+\d+:/.test(text) ? "pasted.svm" : "pasted.csv";
    return this._read(new TextEncoder().encode(text), name);
  }

  async _read(bytes, name) {
    const { lab } = this;
    const found = await lab.channel.file(bytes, name).catch((error) => ({ error: error.message }));
    if (found.error) {
      lab.note(found.error);
      return;
    }
    const { awaits } = lab.state;
    lab.editing.load(found);
    lab.note([found.notes, awaits ? this._arrived(awaits) : ""].filter(Boolean).join(" "));
  }

  // Rows that a link was made for: they are known by their mark, and stand where the link says.
  _arrived(awaits) {
    const { lab } = this;
    const { table } = lab.state;
    lab.state.awaits = null;
    if (markOf(table) !== awaits.mark) return "These are other rows than those that the link was made for.";
    const { state } = decodeState(awaits.hash);
    const method = lab.methods.find((m) => m.key === state.method);
    if (method) {
      const settings = chosenOf(state.settings, method);
      Object.assign(lab.state, { ...state, table, set: "", awaits: null, settings });
    }
    if (state.noise || state.test) Object.assign(lab.state, withRows({ ...lab.state, clean: clone(table) }));
    lab.changed({ fit: true });
    return "These are the rows of the link, at its step.";
  }
}
