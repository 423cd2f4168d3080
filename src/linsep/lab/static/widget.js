// The lab in a notebook: the last part of one module; questions and answers are messages of a widget.
function render({ model, el: host }) {
  const waiting = new Map();
  let last = 0;
  model.on("msg:custom", (message) => {
    const done = waiting.get(message.id);
    if (done) {
      waiting.delete(message.id);
      done(message.answer);
    }
  });
  const send = (content) =>
    new Promise((done) => {
      const id = `${Date.now()}-${++last}`;
      waiting.set(id, done);
      model.send({ ...content, id });
    });
  const channel = {
    ask: (verb, data) => send({ verb, data }),
    file: (bytes, name) =>
      send({ verb: "read", name, data: btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")) }),
  };
  const root = document.createElement("div");
  host.append(root);
  root.dataset.lmSuppressShortcuts = "true"; // X is no reason for a notebook to cut its cell
  root.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
  const told = (lab) => {
    model.set("task", taskOf(lab.state));
    model.set("step", lab.state.step);
    model.set("method", lab.state.method);
    model.set("verdict", lab.verdict?.sentence ?? "");
    model.save_changes();
  };
  mount(root, channel, {
    hide: model.get("hide"),
    told,
    drawn: (lab) => {
      if (model.get("step") !== lab.state.step) {
        model.set("step", lab.state.step);
        model.save_changes();
      }
    },
  }).then((lab) =>
    model.on("change:step", () => {
      if (lab.state.step !== model.get("step")) lab.playback.seek(model.get("step"));
    }),
  );
}
export default { render };
