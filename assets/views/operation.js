// One operation, while it goes on and after it: thoughts that unfold, what was said and done, and the result.

import { h, setHTML, setText } from "../dom.js";
import { TYPES, Watch, isOpen, newTold, take } from "../operations.js";
import { addressOf } from "../route.js";

/** @typedef {import("../operations.js").Entry} Entry @typedef {import("../operations.js").Operation} Operation */

const STATES = /** @type {Record<string, string>} */ ({
  pending: "Waiting for its turn", running: "Working", completed: "Completed", failed: "Failed", cancelled: "Cancelled", interrupted: "Interrupted",
});
const NEAR = 40; // px from the end, within which a reader is at the end

/**
 * @param {{id: string, rpc: import("../rpc.js").Connection, visitor: import("../visitor.js").Visitor, onChange: () => void,
 *   onTitle: (title: string) => void}} options
 * @returns {import("../app.js").View}
 */
export function operationView({ id, rpc, visitor, onChange, onTitle }) {
  const told = newTold();
  const title = h("h1", { "data-testid": "title" }, "Operation");
  const about = h("p", { class: "subtitle muted" });
  const status = h("p", { class: "status", role: "status", "data-testid": "status" });
  const cancel = h("button", { type: "button", class: "stop", "data-testid": "stop", hidden: true }, "Cancel");
  const entries = h("ol", { class: "told", "data-testid": "told", "aria-label": "What happened" });
  const note = h("p", { class: "muted", role: "status", "data-testid": "note" });
  const result = h("section", { class: "result", "aria-label": "Result", "data-testid": "result", hidden: true });
  const scroll = h("div", { class: "scroll", tabindex: "0" }, h("div", { class: "column operation" }, entries, note, result));
  const node = h("section", { class: "page" }, h("header", { class: "top" }, h("div", { class: "top-text" }, title, about), status, cancel), scroll);
  /** @type {Map<number, (entry: Entry) => void>} */
  const shown = new Map();
  let connected = "";

  const load = async () => {
    try {
      describe(await visitor.call("GET", `operations/${encodeURIComponent(id)}`));
    } catch (error) {
      setText(note, error instanceof Error ? error.message : String(error));
    }
  };
  /** @param {Operation} operation */
  const describe = (operation) => {
    const { type, feature, status: state, working_directory: directory = "", model = "", copilot_session_id: session } = operation;
    setText(title, [TYPES[type] ?? type, feature].filter(Boolean).join(" · "));
    onTitle(title.textContent ?? "");
    about.replaceChildren(h("bdi", {}, directory), model && ` · ${model}`, ...(session ? [" · ", h("a", { href: addressOf(session) }, "the session")] : []));
    setText(status, STATES[state] ?? state);
    node.dataset.state = state;
    cancel.hidden = !isOpen(state);
    if (!isOpen(state)) void showResult(operation);
  };
  /** @param {Operation} operation */
  const showResult = async ({ result: found }) => {
    if (!found?.document) return;
    const { html } = await rpc.call("portal.markdown", { text: found.document }).catch(() => ({ html: "" }));
    const text = h("div", { class: "markdown" });
    if (html) setHTML(text, html);
    else text.append(h("pre", {}, found.document));
    const { path, commit } = found.persisted ?? {};
    result.replaceChildren(h("h2", {}, "Result"), text, ...(path ? [h("p", { class: "muted" }, "Written to ", h("code", {}, path), commit ? `, committed as ${commit.slice(0, 8)}.` : ".")] : []));
    result.hidden = false;
  };

  const watch = new Watch({
    visitor: (renew) => visitor.id(renew),
    url: (who, last) => visitor.socket(id, who, last),
    last: () => told.last,
    onMessage(message) {
      if (take(told, message)) onChange();
      if (message.type === "complete") void load();
    },
    onState(state, why) {
      connected = state === "lost" ? "The connection is lost; it is tried again by itself." : why;
      onChange();
    },
  });
  cancel.addEventListener("click", async () => {
    cancel.disabled = true;
    await visitor.call("POST", `operations/${encodeURIComponent(id)}/cancel`).catch((error) => setText(note, error.message));
    cancel.disabled = false;
  });

  void load();
  void watch.open();
  return {
    node,
    update() {
      const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR;
      for (const entry of told.entries.slice(Math.max(0, shown.size - 1))) {
        const known = shown.get(entry.key);
        if (known) known(entry);
        else shown.set(entry.key, addEntry(entries, entry, told.entries[shown.size - 1]?.section ?? ""));
      }
      setText(note, connected || (told.skipped > 0 ? `This window was too slow for ${told.skipped} thoughts.` : ""));
      if (atEnd) scroll.scrollTop = scroll.scrollHeight;
    },
    focus: () => scroll.focus({ preventScroll: true }),
    leave: () => watch.close(),
  };
}

/**
 * Shows an entry, and returns what shows how it has grown.
 * @param {HTMLElement} list @param {Entry} entry @param {string} before the section of the one before
 * @returns {(entry: Entry) => void}
 */
function addEntry(list, entry, before) {
  const { type, lines, section, at } = entry;
  const time = new Date(at).toLocaleTimeString();
  const text = h("p", { class: "told-text" }, lines.join("\n"));
  if (type !== "thinking") {
    list.append(h("li", { class: `told-${type}`, title: time, "data-type": type }, ...(section && section !== before ? [h("p", { class: "muted told-section" }, section)] : []), text));
    return () => {};
  }
  const count = h("span", { class: "muted" }, last(lines));
  list.append(h("li", { class: "told-thinking", title: time, "data-type": type }, h("details", {}, h("summary", {}, "Thinking ", count), text)));
  return ({ lines: now }) => {
    setText(text, now.join("\n"));
    setText(count, last(now));
  };
}

/** @param {string[]} lines */
const last = (lines) => lines.at(-1) ?? "";
