// The view of all interfaces, with a form that creates one from an API description.

import { age, h, hasKeyboard, keyedRows, messageOf, setText } from "../dom.js";
import { summaryOf } from "../interfaces.js";
import { interfaceAddress } from "../route.js";
import { isGone, newConnections } from "../rpc.js";
import { SAMPLE, SAMPLE_NAME } from "../sample.js";
import { startKeys } from "../start-key.js";
import { createDraftField } from "./draft-field.js";
import { keep, loadKept } from "./kept.js";

/**
 * @typedef {import("../interfaces.js").Listed} Listed
 * @typedef {{rpc: import("../rpc.js").Connection, navigate: (address: string) => void, onChange: () => void}} Options
 */

const REFRESH = 5000; // ms; other tabs and programs create interfaces, too

/**
 * @param {Options} options
 * @returns {import("../app.js").View}
 */
export function interfacesView({ rpc, navigate, onChange }) {
  const list = h("ul", { class: "job-list", "data-testid": "interfaces" });
  const empty = h("p", { class: "muted", "data-testid": "empty" }, "Loading…");
  const form = createForm({ rpc, navigate });
  const node = h("section", { class: "page" }, h("header", { class: "top" }, h("h1", {}, "Interfaces")),
    h("div", { class: "scroll" }, h("div", { class: "column start" },
      h("p", { class: "muted" }, "Turn an API description into a working interface, then ask for changes. It runs in a sandboxed frame and calls the API only if you allow it."),
      form.node, h("section", { class: "history", "aria-label": "Your interfaces" }, h("h2", {}, "Your interfaces"), empty, list))));
  const rows = keyedRows((/** @type {Listed} */ { interface_id: id }) => id, ({ interface_id: id }) => createRow(id));
  const isNewConnection = newConnections(rpc);

  const load = async () => {
    try {
      /** @type {{interfaces: Listed[]}} */
      const { interfaces } = await rpc.call("portal.interfaces.list");
      setText(empty, interfaces.length > 0 ? "" : "No interfaces yet.");
      rows.show(list, interfaces);
    } catch (error) {
      if (!isGone(error)) setText(empty, messageOf(error));
    }
    onChange();
  };
  const clock = setInterval(() => !document.hidden && rpc.state === "open" && void load(), REFRESH);
  return {
    node,
    update() {
      if (isNewConnection()) void load();
    },
    focus: () => form.focus(),
    dispose() {
      clearInterval(clock);
      form.dispose();
    },
  };
}

/** @param {string} id */
function createRow(id) {
  const [name, about, time] = [h("strong", {}), h("span", { class: "muted" }), h("time", { class: "muted" })];
  const link = h("a", { href: interfaceAddress(id), class: "interface-row" }, name, about, time);
  return {
    node: h("li", {}, link),
    /** @param {Listed} info */
    update(info) {
      setText(name, info.title);
      setText(about, summaryOf(info));
      setText(time, age(Date.now() - Date.parse(info.created_at)));
      time.dateTime = info.created_at;
    },
  };
}

/** The form that takes a description by drop, file picker or paste. @param {{rpc: import("../rpc.js").Connection, navigate: (address: string) => void}} options */
function createForm({ rpc, navigate }) {
  const file = h("input", { type: "file", id: "description-file", class: "hidden-file", accept: ".json,.yaml,.yml,.graphql,.graphqls,.gql,.txt", "data-testid": "file" });
  const text = h("textarea", { rows: 5, "aria-label": "API description", "data-testid": "description", spellcheck: "false", autocapitalize: "off", placeholder: "Drop an OpenAPI, Swagger or GraphQL file here, or paste its text" });
  const choose = h("label", { class: "button", for: "description-file" }, "Choose file");
  const sample = h("button", { type: "button", class: "quiet", "data-testid": "sample" }, "Use sample");
  const send = h("button", { class: "primary", type: "submit", disabled: true, "data-testid": "send" }, "Create interface");
  const problem = h("p", { class: "error-text problem-text", role: "alert", "data-testid": "problem" });
  const node = h("form", { class: "start-form drop", "data-testid": "drop" }, h("div", { class: "box" }, text, h("div", { class: "actions" }, choose, file, sample, h("span", { class: "keys" }), send)), problem);
  const NAME = "interfaces:name"; // of the file whose text is the draft
  let name = loadKept(sessionStorage, NAME) ?? "";
  let sending = false;
  const starts = startKeys(sessionStorage, "start:interface");
  const show = () => {
    send.disabled = sending || !text.value.trim();
    setText(send, sending ? "Creating…" : "Create interface");
  };
  /** @param {string} file */
  const setName = (file) => {
    name = file;
    keep(sessionStorage, NAME, file || undefined);
  };
  const written = createDraftField({ field: text, id: "interfaces", onChange() {
    setName("");
    show();
  } });
  const create = async () => {
    sending = true;
    setText(problem, "");
    show();
    try {
      const described = text.value;
      const { interface: created } = await rpc.call("portal.interfaces.create", starts.with({ name, text: described }));
      starts.done();
      written.forget(described.trim());
      navigate(interfaceAddress(created.interface_id));
    } catch (error) {
      setText(problem, messageOf(error));
    }
    sending = false;
    show();
  };
  /** @param {File | undefined} description */
  const createFrom = async (description) => {
    if (!description || sending) return;
    written.set(await description.text());
    setName(description.name);
    await create();
  };
  file.addEventListener("change", async () => {
    await createFrom(file.files?.[0]);
    file.value = "";
  });
  sample.addEventListener("click", () => {
    written.set(SAMPLE);
    setName(SAMPLE_NAME);
    send.focus();
  });
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!send.disabled) void create();
  });
  for (const kind of ["dragenter", "dragover"]) node.addEventListener(kind, (event) => {
    event.preventDefault();
    node.classList.add("dropping");
  });
  node.addEventListener("dragleave", (event) => event.relatedTarget instanceof Node && node.contains(event.relatedTarget) || node.classList.remove("dropping"));
  node.addEventListener("drop", (event) => {
    event.preventDefault();
    node.classList.remove("dropping");
    const dropped = event.dataTransfer?.files[0];
    if (dropped) return void createFrom(dropped);
    written.set(event.dataTransfer?.getData("text/plain") ?? "");
  });
  show();
  return { node, focus: () => hasKeyboard() && text.focus(), dispose: written.dispose };
}
