// The reference view: all requests of the portal's REST and JSON-RPC contracts, each with a form to try it.

import { debounce, h, messageOf, setText, withCode } from "../dom.js";
import { findEntries, readOpenAPI, readOpenRPC, requestOf } from "../reference.js";

/** @typedef {import("../reference.js").Entry} Entry */

const MAX_SHOWN = 64 << 10; // characters of a response
const REQUEST_MARK = "Try it";

/** @returns {import("../app.js").View} */
export function referenceView() {
  const search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search the reference", "data-testid": "reference-search", disabled: true });
  const list = h("div", { class: "reference-list", "data-testid": "reference-list" }, h("p", { class: "muted loading" }, "Loading…"));
  const node = h("section", { class: "page", "data-testid": "reference" },
    h("header", { class: "top" }, h("h1", {}, "API reference")),
    h("div", { class: "scroll" }, h("div", { class: "column reference-page" },
      h("p", { class: "muted" }, "REST and JSON-RPC of this portal. Requests that you try here are sent to it with your credentials. ", ...downloads()), search, list)));
  const leave = new AbortController();
  /** @type {Entry[]} */
  let entries = [];

  const draw = () => {
    const found = findEntries(entries, search.value);
    const groups = [...new Set(found.map(({ group }) => group))];
    if (found.length === 0) return list.replaceChildren(h("p", { class: "muted" }, "Nothing matches."));
    list.replaceChildren(...groups.map((group) => h("section", { class: "reference-group", "aria-label": group }, h("h2", {}, group),
      ...found.filter((entry) => entry.group === group).map((entry) => entryNode(entry, leave.signal)))));
  };
  const load = async () => {
    try {
      const [rest, rpc] = await Promise.all(["spec/openapi.json", "spec/openrpc.json"].map(readJSON));
      entries = [...readOpenAPI(rest), ...readOpenRPC(rpc, "JSON-RPC, POST /rpc")];
      search.disabled = false;
      draw();
    } catch (error) {
      list.replaceChildren(h("p", { class: "error-text", role: "alert" }, `The contracts could not be loaded: ${messageOf(error)}`));
    }
  };
  search.addEventListener("input", debounce(80, draw));
  void load();
  return {
    node,
    update() {},
    focus() {
      search.focus();
    },
    dispose() {
      leave.abort();
    },
  };
}

/** @param {string} address */
async function readJSON(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: status ${response.status}`);
  return response.json();
}

/** @returns {(Node | string)[]} */
function downloads() {
  const files = [["openapi.yaml", "OpenAPI"], ["openrpc.json", "OpenRPC"], ["ui.schema.json", "UI messages"], ["streams.asyncapi.yaml", "AsyncAPI of streams"], ["operations.asyncapi.yaml", "of operations"]];
  return ["Download: ", ...files.flatMap(([file, name], i) => [...(i > 0 ? [", "] : []), h("a", { href: `spec/${file}`, download: file }, name)]), "."];
}

/** One request, folded. Its content is built when it is opened. @param {Entry} entry @param {AbortSignal} leave */
function entryNode(entry, leave) {
  const node = h("details", { class: "reference-entry", "data-testid": "reference-entry", "data-id": entry.id },
    h("summary", {}, h("code", { class: "reference-method" }, entry.method), h("code", { class: "reference-path" }, entry.path), h("span", { class: "muted" }, entry.summary)));
  node.addEventListener("toggle", () => {
    if (node.open && node.childElementCount === 1) node.append(...contentOf(entry, leave));
  });
  return node;
}

/** @param {Entry} entry @param {AbortSignal} leave @returns {Node[]} */
function contentOf(entry, leave) {
  return [
    ...(entry.text ? [h("p", {}, ...withCode(entry.text))] : []),
    ...(entry.fields.length > 0 ? [table("Parameters", entry.fields.map(({ name, required, type, text }) => [`${name}${required ? "" : " (optional)"}`, type, text]))] : []),
    tryForm(entry, leave),
    ...(entry.answers.length > 0 ? [table(entry.method === "RPC" ? "Errors" : "Responses", entry.answers.map(({ status, text }) => [status, text]))] : []),
  ];
}

/** @param {string} caption @param {string[][]} rows the first cell is a name */
function table(caption, rows) {
  return h("div", { class: "reference-table" }, h("table", {}, h("caption", {}, caption),
    h("tbody", {}, ...rows.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, name)), ...cells.map((cell) => h("td", {}, ...withCode(cell))))))));
}

/** @param {Entry} entry @param {AbortSignal} leave */
function tryForm(entry, leave) {
  const inputs = entry.fields.filter((field) => field.in !== "body").map((field) => ({
    field, input: h("input", { type: "text", name: field.name, value: field.example, placeholder: field.type, required: field.in === "path", spellcheck: "false", autocomplete: "off" }),
  }));
  const body = h("textarea", { rows: Math.min(12, (entry.body?.example ?? "").split("\n").length), spellcheck: "false", "aria-label": `Body, ${entry.body?.type}`, "data-testid": "reference-body" });
  body.value = entry.body?.example ?? "";
  const send = h("button", { type: "submit", class: "primary", "data-testid": "reference-send" }, REQUEST_MARK);
  const status = h("p", { role: "status", "data-testid": "reference-status" });
  const output = h("pre", { class: "reference-output", tabindex: "0", "aria-label": "Response", "data-testid": "reference-output", hidden: true });
  const form = h("form", { class: "reference-form" },
    ...inputs.map(({ field, input }) => h("label", {}, h("span", {}, field.name, ...(field.required ? [] : [" (optional)"])), input)),
    ...(entry.body ? [body] : []), h("div", { class: "reference-send" }, send, status), output);
  /** @type {AbortController | undefined} */
  let running;

  const run = async () => {
    running = new AbortController();
    send.textContent = "Stop";
    output.hidden = true;
    setText(status, "Waiting…");
    try {
      const { address, init } = requestOf(entry, Object.fromEntries(inputs.map(({ field, input }) => [field.name, input.value])), body.value);
      const response = await fetch(address, { ...init, signal: AbortSignal.any([running.signal, leave]) });
      setText(status, `${response.status} ${response.statusText}`.trim());
      await showBody(response, output);
    } catch (error) {
      setText(status, running.signal.aborted ? "Stopped" : `No response: ${messageOf(error)}`);
    }
    running = undefined;
    send.textContent = REQUEST_MARK;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running) running.abort();
    else void run();
  });
  return form;
}

/** Shows a response as it arrives: some are streams. @param {Response} response @param {HTMLElement} output */
async function showBody(response, output) {
  const decoder = new TextDecoder();
  let text = "";
  const reader = response.body?.getReader();
  while (reader && text.length < MAX_SHOWN) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    show(text);
  }
  await reader?.cancel();
  show(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n…` : formatted(text));

  /** @param {string} shown */
  function show(shown) {
    output.hidden = shown === "";
    setText(output, shown);
  }
}

/** @param {string} text */
function formatted(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
