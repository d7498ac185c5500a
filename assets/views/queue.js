// The queue: prompts being sent, and prompts of any client that wait for the current run. Those can be edited, moved, sent now and removed.

import { h, hasKeyboard, messageOf, setChildren, setText } from "../dom.js";
import { isCapable } from "../store.js";
import { clientName } from "./question-text.js";
import { icon } from "./icons.js";
import { keptIn } from "./kept.js";
import { isComposing, isSubmit } from "./keys.js";

/** @typedef {import("../store.js").Waiting} Waiting */
/** @typedef {{text: string, run: string}} Entry a prompt being sent; run: "" until the portal accepted it */
/** @typedef {{node: HTMLElement, show: (waiting: Waiting, i: number, all: Waiting[], steers: boolean) => void, unsaved: () => string}} Row */

/** Prompts being sent, by session: the view can be left and opened again meanwhile. @type {Map<string, Entry[]>} */
const sending = new Map();

/** @type {Entry[]} */
const NONE = [];

/**
 * @param {object} options
 * @param {import("../store.js").Session} options.session
 * @param {import("./conversation.js").Rpc} options.rpc
 * @param {(message: string) => void} options.onError
 * @param {(text: string) => void} options.onLost a prompt has left the queue while the user was editing it
 */
export function createQueue({ session, rpc, onError, onLost }) {
  /** Queued prompts, by run. @type {Map<string, Row>} */
  const shown = new Map();
  /** @type {Waiting[] | null} */
  let drawn = null;
  let drawnSending = NONE;
  /** What is written in a row, by run. */
  const edits = keptIn(sessionStorage, `queued:${session.id}`);
  const list = h("ul", { class: "queue", "aria-label": "Queued prompts", hidden: true, "data-testid": "queue" });

  const entries = () => sending.get(session.id) ?? NONE;
  /** @param {Entry[]} list */
  const setEntries = (list) => void (list.length > 0 ? sending.set(session.id, list) : sending.delete(session.id));
  /** @param {Entry} entry */
  const remove = (entry) => {
    setEntries(entries().filter((other) => other !== entry));
    update();
  };
  /** Reports whether the session has a run, queued or started. @param {string} run */
  const isKnown = (run) => run !== "" && (run === session.run || run in session.runs || session.waiting.some((waiting) => waiting.run === run));
  const update = () => {
    if (entries().some(({ run }) => isKnown(run))) setEntries(entries().filter(({ run }) => !isKnown(run)));
    if (drawn !== session.waiting || drawnSending !== entries()) draw();
  };
  const draw = () => {
    const focused = /** @type {HTMLElement | null} */ (list.contains(document.activeElement) ? document.activeElement : null);
    drawn = session.waiting;
    drawnSending = entries();
    for (const [run, row] of shown) {
      if (drawn.some((waiting) => waiting.run === run)) continue;
      shown.delete(run);
      if (row.unsaved()) onLost(row.unsaved());
      edits.delete(run);
    }
    const rows = drawn.map((waiting, i, all) => {
      const row = shown.get(waiting.run) ?? createRow({ run: waiting.run, call, onError, edits });
      shown.set(waiting.run, row);
      row.show(waiting, i, all, isCapable(session, "steering"));
      return row.node;
    });
    setChildren(list, [...rows, ...drawnSending.map(sendingRow)]);
    list.hidden = list.children.length === 0;
    if (focused && focused !== document.activeElement && focused.isConnected) focused.focus();
  };
  /** Changes the queue. The portal then tells every window. @param {string} method @param {Record<string, string>} params */
  const call = (method, params) => rpc.call(method, { session_id: session.id, ...params });

  setEntries(entries().filter(({ run }) => run === "")); // the session has the others, perhaps where it is not loaded
  update();
  return {
    node: list,
    update,
    remove,
    /** Shows a prompt that is being sent. @param {string} text @returns {Entry} */
    add(text) {
      const entry = { text, run: "" };
      setEntries([...entries(), entry]);
      update();
      return entry;
    },
    /** Sets the run of an accepted prompt. @param {Entry} entry @param {string} run */
    accepted(entry, run) {
      entry.run = run;
      update();
    },
  };
}

/** @param {Entry} entry */
const sendingRow = ({ text }) => h("li", { class: "waiting", title: text.slice(0, 1000) }, h("span", { class: "waiting-text" }, text.split("\n", 1)[0]), h("span", { class: "muted" }, "Sending…"));

/**
 * A queued prompt.
 * @param {{run: string, call: (method: string, params: Record<string, string>) => Promise<any>, onError: (message: string) => void, edits: import("./kept.js").Kept}} options
 * @returns {Row}
 */
function createRow({ run, call, onError, edits }) {
  let before = ""; // the prompt before which "up" moves it
  let after = ""; // the prompt before which "down" moves it
  let whole = ""; // the text that is being edited, as it was
  const text = h("span", { class: "waiting-text" });
  const by = h("span", { class: "muted" });
  const buttons = {
    send: button("steer", "Send now", "queue-send", () => act("portal.queue.send", {})),
    edit: button("edit", "Edit", "queue-edit", () => edit()),
    up: button("up", "Move up", "queue-up", () => act("portal.queue.move", { before })),
    down: button("down", "Move down", "queue-down", () => act("portal.queue.move", { before: after })),
    remove: button("close", "Remove", "queue-remove", () => {
      edits.delete(run);
      void act("run.cancel", {});
    }),
  };
  const line = h("div", { class: "waiting-line" }, text, by, h("span", { class: "waiting-buttons" }, ...Object.values(buttons)));
  const field = h("textarea", { rows: 1, "aria-label": "Edit prompt", "data-testid": "queue-text" });
  const save = h("button", { type: "button", class: "primary small", "data-testid": "queue-save", click: () => void submit() }, "Save");
  const cancel = h("button", { type: "button", class: "small", click: () => close() }, "Cancel");
  const editor = h("div", { class: "waiting-editor", hidden: true }, field, h("span", { class: "waiting-buttons" }, cancel, save));
  const node = h("li", { class: "waiting" }, line, editor);

  /** @param {string} method @param {Record<string, string>} params */
  const act = async (method, params) => {
    const all = Object.values(buttons);
    for (const one of all) one.disabled = true;
    const focused = document.activeElement;
    onError("");
    try {
      await call(method, { run_id: run, ...params });
    } catch (error) {
      onError(messageOf(error));
    }
    for (const one of all) one.disabled = false;
    if (!(focused instanceof HTMLElement) || !node.contains(focused)) return;
    (focused.hidden ? all.find(({ hidden }) => !hidden) : focused)?.focus(); // a disabled button has lost it
  };
  const edit = async () => {
    try {
      const { waiting } = await call("portal.queue.list", {});
      const found = waiting.find((/** @type {{run_id: string}} */ { run_id: id }) => id === run);
      if (!found) return;
      whole = found.text;
      field.value = edits.get(run) ?? whole;
    } catch (error) {
      return onError(messageOf(error));
    }
    line.hidden = true;
    editor.hidden = false;
    field.focus();
  };
  const close = () => {
    const hadFocus = editor.contains(document.activeElement);
    whole = field.value = "";
    edits.delete(run);
    editor.hidden = true;
    line.hidden = false;
    if (hadFocus) buttons.edit.focus();
  };
  const submit = async () => {
    onError("");
    try {
      await call("portal.queue.edit", { run_id: run, text: field.value });
      close();
    } catch (error) {
      onError(messageOf(error));
    }
  };
  field.addEventListener("input", () => edits.set(run, field.value));
  field.addEventListener("keydown", (event) => {
    if (isComposing(event)) return;
    if (isSubmit(event, !hasKeyboard())) {
      if (!event.repeat) void submit();
    } else if (event.key === "Escape") {
      if (field.value === whole) close(); // changed text stays
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    node,
    show(waiting, i, all, steers) {
      const label = waiting.text || "Compact conversation";
      setText(text, label);
      node.title = label.slice(0, 1000);
      setText(by, waiting.by && waiting.by !== "ui" ? `by ${clientName(waiting.by)}` : "");
      before = all[i - 1]?.run ?? "";
      after = all[i + 2]?.run ?? "";
      buttons.edit.hidden = waiting.text === "";
      buttons.send.hidden = waiting.text === "" || !steers;
      buttons.up.hidden = i === 0;
      buttons.down.hidden = i === all.length - 1;
      for (const [name, one] of Object.entries(buttons)) one.setAttribute("aria-label", `${NAMES[name]}: ${label.slice(0, 60)}`);
    },
    unsaved() {
      if (editor.hidden) return edits.get(run) ?? "";
      return field.value === whole ? "" : field.value;
    },
  };
}

/** @type {Record<string, string>} */
const NAMES = { send: "Send now", edit: "Edit", up: "Move up", down: "Move down", remove: "Remove" };

/** @param {import("./icons.js").IconName} name @param {string} title @param {string} id @param {() => void} act */
const button = (name, title, id, act) => h("button", { type: "button", class: "quiet tiny", title, "data-testid": id, click: act }, icon(name));
