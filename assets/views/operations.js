// The view of all operations, with a form that starts one.

import { age, h, hasKeyboard, keyedRows, messageOf, setText } from "../dom.js";
import { TYPES, isOpen } from "../operations.js";
import { operationAddress } from "../route.js";
import { newConnections } from "../rpc.js";
import { createChip } from "./chip.js";
import { directoryField, fillDirectory, saveDirectory } from "./directory.js";
import { createDraftField } from "./draft-field.js";
import { modelChoices, preferredModel } from "./models.js";

/**
 * @typedef {import("../operations.js").Operation} Operation
 * @typedef {{rpc: import("../rpc.js").Connection, visitor: import("../visitor.js").Visitor, navigate: (address: string) => void,
 *   list: () => import("../list.js").List}} Options
 */

/** @type {{id: string, text: string}[]} */
const KINDS = [
  { id: "clarify", text: "Find open questions in a specification." },
  { id: "analyze", text: "Find gaps and risks in a task list." },
  { id: "plan", text: "Plan how to implement a specification." },
  { id: "prompt", text: "Run any prompt." },
];
const REFRESH = 3000; // ms, while an operation is open
const STORAGE_KEY = "portal.model";

/**
 * @param {Options} options
 * @returns {import("../app.js").View}
 */
export function operationsView({ rpc, visitor, navigate, list: sessions }) {
  const list = h("ul", { class: "operations", "data-testid": "operations" });
  const empty = h("p", { class: "muted" }, "Loading…");
  const form = operationForm({ rpc, visitor, navigate, list: sessions });
  const node = h("section", { class: "page" }, h("header", { class: "top" }, h("h1", {}, "Operations")),
    h("div", { class: "scroll" }, h("div", { class: "column start" },
      h("p", { class: "muted" }, "Let Copilot work on a document. Any number of windows and programs can watch."),
      form.node, h("section", { class: "history", "aria-label": "History" }, h("h2", {}, "History"), empty, list))));
  const rows = keyedRows((/** @type {Operation} */ { operation_id: id }) => id, createRow);
  let timer = 0;
  let isDisposed = false;

  const load = async () => {
    clearTimeout(timer);
    try {
      const { operations } = await visitor.call("GET", "operations?limit=50");
      if (isDisposed) return;
      rows.show(list, operations);
      setText(empty, operations.length === 0 ? "No operations yet. Operations are kept for ten minutes after they end." : "");
      if (operations.some((/** @type {Operation} */ { status }) => isOpen(status))) timer = window.setTimeout(load, REFRESH);
    } catch (error) {
      setText(empty, messageOf(error));
    }
  };
  const isNewConnection = newConnections(rpc);
  return {
    node,
    update() {
      if (isNewConnection()) {
        void load();
        void form.load();
      }
    },
    focus: () => form.focus(),
    dispose() {
      isDisposed = true;
      clearTimeout(timer);
      form.dispose();
    },
  };
}

/** @param {Operation} operation */
function createRow({ operation_id: id, type, created_at: created }) {
  const [about, state] = [h("span", { class: "operation-about" }), h("span", { class: "muted" })];
  const time = h("time", { class: "muted", datetime: created, title: new Date(created).toLocaleString() });
  const link = h("a", { href: operationAddress(id), class: "operation-row" }, h("strong", {}, TYPES[type] ?? type), about, state, time);
  return {
    node: h("li", {}, link),
    /** @param {Operation} operation */
    update({ feature, message, status, progress }) {
      link.dataset.state = status;
      setText(about, feature || message || "");
      setText(state, isOpen(status) ? `${progress} %` : status);
      setText(time, age(Date.now() - Date.parse(created)));
    },
  };
}

/** @param {Options} options */
function operationForm({ rpc, visitor, navigate, list }) {
  const kinds = h("div", { class: "permissions kinds", role: "radiogroup", "aria-label": "Operation", "data-testid": "kind" },
    ...KINDS.map(({ id, text }, i) => h("label", { class: "permission" },
      h("input", { type: "radio", name: "kind", value: id, checked: i === 0 }), h("strong", {}, TYPES[id]), h("span", { class: "muted" }, text))));
  const document = h("textarea", { rows: 6, "aria-label": "Document", "data-testid": "document", placeholder: "Paste a document (text or Markdown)", spellcheck: "false" });
  const path = h("input", { type: "text", id: "document-path", "data-testid": "document-path", placeholder: "Or a file path, such as specs/orders.md", spellcheck: "false", autocomplete: "off" });
  const target = h("input", { type: "text", id: "persist-path", "data-testid": "persist-path", placeholder: "File path (optional)", spellcheck: "false", autocomplete: "off" });
  const commit = h("input", { type: "checkbox", id: "persist-commit", "data-testid": "persist-commit" });
  const directory = directoryField({ rpc });
  const model = createChip({ label: "Model", id: "model", onChoose: () => show() });
  const problem = h("p", { class: "error-text", role: "alert", "data-testid": "problem" });
  const send = h("button", { class: "primary", type: "submit", "data-testid": "send", disabled: true }, "Start");
  const node = h("form", { class: "start-form" }, kinds,
    h("div", { class: "box" }, document, h("div", { class: "actions" }, path, send)), problem,
    directory.node,
    h("details", { class: "more" }, h("summary", {}, "Model and output"),
      h("div", { class: "field" }, h("span", { class: "field-name" }, "Model"), model.node),
      h("div", { class: "field" }, h("label", { for: "persist-path" }, "Output file"), target),
      h("label", { class: "check", for: "persist-commit" }, commit, " Commit to git")));
  let sending = false;

  /** Resolves ~, which the portal knows. */
  const absolute = async () => {
    const path = directory.value.trim();
    return path ? (await rpc.call("portal.directory.describe", { path })).path : undefined;
  };
  const kind = () => kinds.querySelector(/** @type {"input"} */ ("input:checked"))?.value ?? "clarify";
  const show = () => {
    const isPrompt = kind() === "prompt";
    document.placeholder = isPrompt ? "Describe the task" : "Paste a document (text or Markdown)";
    document.setAttribute("aria-label", isPrompt ? "Prompt" : "Document");
    send.disabled = sending || !model.value || (!document.value.trim() && (isPrompt || !path.value.trim()));
    setText(send, sending ? "Starting…" : "Start");
    commit.disabled = !target.value.trim();
  };
  const request = async () => {
    const text = document.value.trim() ? document.value : undefined;
    const type = kind();
    return {
      type, working_directory: await absolute(), model: model.value,
      path: path.value.trim() || undefined, ...(type === "prompt" ? { prompt: text } : { document: text }),
      persist: target.value.trim() ? { path: target.value.trim(), commit: commit.checked } : undefined,
    };
  };
  const start = async () => {
    sending = true;
    problem.textContent = "";
    show();
    const sent = document.value.trim();
    try {
      const { operation_id: id } = await visitor.call("POST", "operations", await request());
      saveDirectory(directory.value);
      written.forget(sent);
      navigate(operationAddress(id));
    } catch (error) {
      problem.textContent = messageOf(error);
    }
    sending = false;
    show();
  };
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!send.disabled) void start();
  });
  const written = createDraftField({ field: document, id: "operations", onChange: show });
  node.addEventListener("input", show);
  model.select("", "Loading models…");
  show();
  return {
    node,
    dispose: written.dispose,
    focus: () => hasKeyboard() && document.focus(),
    async load() {
      await fillDirectory(directory, rpc, list());
      const found = await rpc.call("model.list", { include_details: true }).catch(() => ({ models: [] }));
      model.show(modelChoices(found), preferredModel(found, model.value || (localStorage.getItem(STORAGE_KEY) ?? "")), "No models available");
      show();
    },
  };
}
