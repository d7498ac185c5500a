// The view of one operation: its log with foldable thoughts, and its result.

import { h, keepFocus, messageOf, setHTML, setText, whileBusy } from "../dom.js";
import { GONE, TYPES, Watch, append, isFirst, isOpen, newLog } from "../operations.js";
import { sessionAddress } from "../route.js";

/** @typedef {import("../operations.js").Entry} Entry @typedef {import("../operations.js").Operation} Operation */

const STATES = /** @type {Record<string, string>} */ ({
  pending: "Queued", running: "Running", completed: "Completed", failed: "Failed", cancelled: "Cancelled", interrupted: "Interrupted",
});
const NEAR_END = 40; // px
const REFRESH = 3000; // ms, while it is open: its WebSocket carries no status

/**
 * @param {{id: string, rpc: import("../rpc.js").Connection, visitor: import("../visitor.js").Visitor, onChange: () => void,
 *   onTitle: (title: string) => void}} options
 * @returns {import("../app.js").View}
 */
export function operationView({ id, rpc, visitor, onChange, onTitle }) {
  const log = newLog();
  const title = h("h1", { "data-testid": "title" }, "Operation");
  const about = h("p", { class: "subtitle muted" });
  const status = h("p", { class: "status", role: "status", "data-testid": "status" });
  const cancel = h("button", { type: "button", class: "stop", "data-testid": "stop", hidden: true }, "Cancel");
  const entries = h("ol", { class: "log", "data-testid": "log", "aria-label": "Log" });
  const note = h("p", { class: "muted", role: "status", "data-testid": "note" });
  const result = h("section", { class: "result", "aria-label": "Result", "data-testid": "result", hidden: true });
  const scroll = h("div", { class: "scroll", tabindex: "0" }, h("div", { class: "column operation" }, entries, note, result));
  const node = h("section", { class: "page operation-page" }, h("header", { class: "top" }, h("div", { class: "top-text" }, title, about), status, cancel), scroll);
  const focus = () => scroll.focus({ preventScroll: true });
  /** @type {Map<number, (entry: Entry) => void>} */
  const shown = new Map();
  let connectionNote = "";
  let cancelProblem = "";
  let loadProblem = "";
  let timer = 0;
  let loads = 0; // so far
  let isMissing = false; // the operation no longer exists

  const load = async () => {
    clearTimeout(timer);
    const mine = ++loads;
    try {
      const operation = await visitor.call("GET", `operations/${encodeURIComponent(id)}`);
      if (mine !== loads) return;
      loadProblem = "";
      describe(operation);
    } catch (error) {
      if (mine !== loads) return;
      loadProblem = messageOf(error);
    }
    if (isOpen(node.dataset.state ?? "pending") && !(isMissing && loadProblem)) timer = window.setTimeout(load, REFRESH);
    onChange();
  };
  /** @param {Operation} operation */
  const describe = (operation) => {
    const { type, feature, status: state, working_directory: directory = "", model = "", copilot_session_id: session } = operation;
    setText(title, [TYPES[type] ?? type, feature].filter(Boolean).join(" · "));
    onTitle(title.textContent ?? "");
    const place = JSON.stringify([directory, model, session]);
    if (about.dataset.place !== place) about.replaceChildren(h("bdi", {}, directory), model && ` · ${model}`, ...(session ? [" · ", h("a", { href: sessionAddress(session) }, "Session")] : []));
    about.dataset.place = place;
    setText(status, STATES[state] ?? state);
    node.dataset.state = state;
    keepFocus(cancel, () => (cancel.hidden = !isOpen(state)), focus);
    if (!isOpen(state) && result.hidden) void showResult(operation);
  };
  /** @param {Operation} operation */
  const showResult = async ({ result: output }) => {
    if (!output?.document) return;
    const { html } = await rpc.call("portal.markdown", { text: output.document }).catch(() => ({ html: "" }));
    const text = h("div", { class: "markdown" });
    if (html) setHTML(text, html);
    else text.append(h("pre", {}, output.document));
    const { path, commit } = output.persisted ?? {};
    result.replaceChildren(h("h2", {}, "Result"), text, ...(path ? [h("p", { class: "muted" }, "Written to ", h("code", {}, path), commit ? `, committed as ${commit.slice(0, 8)}.` : ".")] : []));
    result.hidden = false;
  };

  const watch = new Watch({
    visitor: (renew) => visitor.id(renew),
    url: (visitorID, last) => visitor.socket(id, visitorID, last),
    last: () => log.last,
    onMessage(message) {
      if (isFirst(message)) {
        entries.replaceChildren();
        shown.clear();
      }
      if (append(log, message)) onChange();
      if (isFirst(message) || message.type === "complete") void load();
    },
    onState(state, reason) {
      connectionNote = state === "lost" ? "Connection lost. Reconnecting…" : reason;
      if (state === "open") void load();
      if (reason === GONE) isMissing = true;
      onChange();
    },
  });
  cancel.addEventListener("click", () => whileBusy(cancel, () => visitor.call("POST", `operations/${encodeURIComponent(id)}/cancel`), (why) => {
    cancelProblem = why;
    onChange();
  }));

  void load();
  void watch.open();
  return {
    node,
    update() {
      const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR_END;
      for (const entry of log.entries.slice(Math.max(0, shown.size - 1))) {
        const known = shown.get(entry.key);
        if (known) known(entry);
        else shown.set(entry.key, addEntry(entries, entry, log.entries[shown.size - 1]?.section ?? ""));
      }
      setText(note, cancelProblem || connectionNote || loadProblem || (log.skipped > 0 ? `Skipped ${log.skipped} thoughts because this window is too slow.` : ""));
      if (atEnd) scroll.scrollTop = scroll.scrollHeight;
    },
    focus,
    dispose() {
      loads++; // what is being loaded is ignored
      clearTimeout(timer);
      watch.close();
    },
  };
}

/**
 * Appends an entry, and returns a function that updates it.
 * @param {HTMLElement} list @param {Entry} entry @param {string} previousSection
 * @returns {(entry: Entry) => void}
 */
function addEntry(list, entry, previousSection) {
  const { type, lines, section, at } = entry;
  const time = new Date(at).toLocaleTimeString();
  const text = h("p", { class: "log-text" }, lines.join("\n"));
  if (type !== "thinking") {
    list.append(h("li", { class: `log-${type}`, title: time, "data-type": type }, ...(section && section !== previousSection ? [h("p", { class: "muted log-section" }, section)] : []), text));
    return () => {};
  }
  const count = h("span", { class: "muted" }, last(lines));
  list.append(h("li", { class: "log-thinking", title: time, "data-type": type }, h("details", {}, h("summary", {}, "Thinking ", count), text)));
  return ({ lines: updated }) => {
    setText(text, updated.join("\n"));
    setText(count, last(updated));
  };
}

/** @param {string[]} lines */
const last = (lines) => lines.at(-1) ?? "";
