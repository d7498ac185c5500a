// The composer: a growing field for prompts, with attachments, settings and the queue.

import { h, messageOf, setText } from "../dom.js";
import { createAttachments, runInput, acceptFiles } from "./attachments.js";
import { matchCommands } from "./commands.js";
import { createCompletion } from "./completion.js";
import { insertMention, loadDraft, mentionAt, mentionsIn, recallPrompt, saveDraft } from "./drafts.js";
import { icon } from "./icons.js";
import { composerAction, whenBusy } from "./keys.js";
import { createQueue } from "./queue.js";
import { createSettings } from "./settings.js";

/**
 * @typedef {import("../store.js").Session} Session @typedef {import("./conversation.js").Rpc} Rpc
 * @typedef {ReturnType<typeof createComposer>} Composer
 * @typedef {{text: string, attached: import("./attachments.js").AttachedFile[], mentions: string[]}} Written
 */

/** @param {{session: Session, rpc: Rpc, onSent: () => void, commands: () => import("./commands.js").Command[]}} options */
export function createComposer({ session, rpc, onSent, commands }) {
  const field = h("textarea", { rows: 1, "aria-label": "Prompt", placeholder: "Ask a question or describe a task", enterkeyhint: "send", "data-testid": "prompt" });
  const problem = h("p", { class: "error-text", role: "alert", "data-testid": "problem" });
  const send = h("button", { type: "submit", class: "primary", "data-testid": "send" }, "Send");
  const stopButton = h("button", { type: "button", class: "stop", title: "Stop (Esc)", "data-testid": "stop", hidden: true }, icon("stop"), "Stop");
  const keys = h("span", { class: "keys muted", "aria-hidden": "true" });
  let draft = loadDraft(sessionStorage, session.id);
  let at = -1; // steps back in earlier prompts; -1: the draft
  let lastKeyAt = -Infinity;
  let stopping = "";

  /** @param {string} message */
  const showError = (message) => setText(problem, message);
  const attachments = createAttachments({ onChange: () => update(), onError: showError });
  const settings = createSettings({ session, rpc, onError: showError });
  const queue = createQueue({ session, rpc, onError: showError });
  /** @param {string} path @param {number} from */
  const mentionFile = (path, from) => {
    const next = insertMention(field.value, from, field.selectionStart, path);
    draft.mentions.push(path);
    set(next.text);
    field.setSelectionRange(next.caret, next.caret);
  };
  /** @type {import("./completion.js").Source} */
  const files = { label: "Files", match(text, caret) {
    const found = mentionAt(text, caret);
    if (!found) return null;
    return { later: async () => {
      const { files } = await rpc.call("portal.files.complete", { session_id: session.id, query: found.query });
      return files.map((/** @type {{path: string, name: string}} */ { path, name }) => ({ name, hint: path.slice(0, path.length - name.length), accept: () => mentionFile(path, found.from) }));
    } };
  } };
  /** @type {import("./completion.js").Source} */
  const slash = { label: "Commands", match(text) {
    const matches = matchCommands(text, commands());
    if (matches.length === 0) return null;
    return { now: matches.map(({ command, argument }) => ({ name: `/${command.name}${command.argument ? ` ${argument || command.argument}` : ""}`, hint: command.label, accept() {
      set("");
      showError("");
      command.run(argument);
    } })) };
  } };
  const completion = createCompletion(field, [slash, files]);
  const box = h("div", { class: "box" }, field, attachments.node, h("div", { class: "actions" },
    attachments.button, attachments.picker, ...settings.nodes, keys, stopButton, send));
  const node = h("form", { class: "composer", "aria-label": "Prompt" }, queue.node, problem, completion.node, box);

  /** @param {string} text */
  const set = (text) => {
    field.value = text;
    saveCurrentDraft();
    update();
  };
  const saveCurrentDraft = () => {
    draft = { text: field.value, mentions: mentionsIn(field.value, draft.mentions) };
    saveDraft(sessionStorage, session.id, draft);
  };
  const update = () => {
    const running = session.run !== "";
    const empty = !field.value.trim() && attachments.list().length === 0;
    grow(field);
    stopButton.hidden = !running;
    stopButton.disabled = running && stopping === session.run;
    send.hidden = running && empty;
    send.disabled = empty || session.closed;
    setText(send, running ? "Queue" : "Send");
    setText(keys, running && !empty ? "Enter to queue, Ctrl+Enter to steer" : "");
    settings.update();
    queue.update();
  };

  /** @param {Written} written @param {"queue" | "steer"} busy */
  const start = async (written, busy) => {
    const { input, attachments: files } = runInput(written.text, written.attached, written.mentions);
    const portal = { mode: settings.mode(), when_busy: busy, attachments: files };
    const entry = queue.add(written.text || written.attached.map(({ name }) => name).join(", "));
    try {
      const { run_id: run } = await rpc.call("run.start", { session_id: session.id, input, portal });
      queue.accepted(entry, run);
    } catch (error) {
      queue.remove(entry);
      restore(written);
      showError(messageOf(error));
    }
  };
  /** Puts back what could not be sent. @param {Written} written */
  const restore = ({ text, attached, mentions }) => {
    draft.mentions.push(...mentions);
    attachments.set([...attached, ...attachments.list()]);
    set([text, field.value].filter((part) => part.trim()).join("\n\n"));
  };
  /** @param {"send" | "steer"} action */
  const submit = (action) => {
    if (send.disabled) return;
    const written = { text: field.value.trim(), attached: attachments.list(), mentions: mentionsIn(field.value, draft.mentions) };
    showError("");
    at = -1;
    attachments.set([]);
    set("");
    onSent();
    void start(written, whenBusy(action));
  };
  const stop = () => {
    const run = session.run;
    if (!run || stopping === run) return false;
    stopping = run;
    update();
    rpc.call("run.cancel", { run_id: run }).catch((error) => {
      stopping = "";
      showError(error.message);
      update();
    });
    return true;
  };
  const prompts = () => session.items.flatMap((item) => (item.kind === "prompt" ? [item.text] : []));
  let unsent = "";
  /** @param {1 | -1} step */
  const recall = (step) => {
    if (at < 0) unsent = field.value;
    const found = recallPrompt(prompts(), at, step);
    at = found.at;
    set(found.text ?? unsent);
    field.setSelectionRange(field.value.length, field.value.length);
  };

  field.addEventListener("keydown", (event) => {
    lastKeyAt = performance.now();
    if (completion.key(event)) return event.preventDefault();
    const before = field.value.slice(0, field.selectionStart);
    const after = field.value.slice(field.selectionEnd);
    const action = composerAction(event, { text: field.value, atStart: !before.includes("\n"), atEnd: !after.includes("\n"), recalling: at >= 0 });
    if (action === "none") return;
    event.preventDefault();
    if (action === "send" || action === "steer") submit(action);
    else if (action === "previous") recall(1);
    else if (action === "next") recall(-1);
  });
  field.addEventListener("input", () => {
    at = -1;
    saveCurrentDraft();
    update();
  });
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    submit("send");
  });
  stopButton.addEventListener("click", stop);
  acceptFiles(node, (files) => void attachments.add(files));
  field.value = draft.text;
  update();

  return {
    node,
    update,
    stop,
    chooseModel: settings.choose,
    permit: settings.permit,
    focus: () => field.focus({ preventScroll: true }),
    /** Tells questions whether they can take the focus. */
    typing: () => ({ inComposer: document.activeElement === field, text: field.value, sinceKey: performance.now() - lastKeyAt }),
    /** Compacts the conversation. */
    compact: () => rpc.call("portal.session.compact", { session_id: session.id }).then(onSent, (error) => showError(error.message)),
    /** Resends the prompt of a run. @param {string} run */
    retry(run) {
      const item = session.items.find((item) => item.kind === "prompt" && item.run === run);
      if (item?.kind !== "prompt") return;
      showError("");
      onSent();
      void start({ text: item.text, attached: [], mentions: [] }, "queue");
    },
    dispose: saveCurrentDraft,
  };
}

/** Sets the height to that of the text, in browsers without field-sizing. @param {HTMLTextAreaElement} field */
function grow(field) {
  if (CSS.supports("field-sizing", "content")) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + 2}px`;
}
