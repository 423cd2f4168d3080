// The page of the server: its channel is HTTP to where it came from, its state the address.
import { mount } from "./lab.js";
import { el } from "./widgets.js";

async function post(verb, body, headers) {
  const answer = await fetch(`/ask/${verb}`, { method: "POST", body, headers, credentials: "same-origin" });
  if (answer.status === 413) return answer.json();
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

const channel = {
  ask: (verb, data) => post(verb, JSON.stringify(data), { "Content-Type": "application/json" }),
  file: (bytes, name) =>
    post("read", bytes, {
      "Content-Type": "application/octet-stream",
      "X-File-Name": encodeURIComponent(name),
    }),
};

const hide = (new URLSearchParams(location.search).get("hide") ?? "").split(",").filter(Boolean);
let written = "";
const lab = await mount(document.getElementById("linsep-lab"), channel, {
  whole: true,
  hide,
  hash: () => location.hash,
  write: (text) => {
    written = `#${text}`;
    if (location.hash !== written) history.replaceState(null, "", written);
  },
  link: (text) => `${location.origin}${location.pathname}${location.search}#${text}`,
}).catch((error) => {
  document
    .getElementById("linsep-lab")
    .replaceChildren(el("p", { class: "note" }, `The lab cannot start: ${error.message}`));
  throw error;
});
window.addEventListener("hashchange", (event) => {
  const { hash } = new URL(event.newURL); // the page itself may have written another one since
  lab.address.forget();
  if (hash !== written) lab.address.open(hash);
});
window.lab = lab;
