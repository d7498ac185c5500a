// The box for prompts, in a session and before there is one: a growing field with attachments, completion of files and commands, and a
// draft that survives a reload.

import { h, hasKeyboard, setText } from "../dom.js";
import { acceptFiles, createAttachments } from "./attachments.js";
import { matchCommands } from "./commands.js";
import { createCompletion } from "./completion.js";
import { createDraftField } from "./draft-field.js";
import { insertMention, joinTexts, mentionAt, recallPrompt, removeText } from "./drafts.js";
import { composerAction } from "./keys.js";

/**
 * @typedef {{text: string, attached: import("./attachments.js").AttachedFile[], mentions: string[]}} Written
 *
 * @typedef {object} Options
 * @property {string} draft what the draft belongs to: a session, or "new"
 * @property {HTMLElement[]} [above] what stands above the box
 * @property {HTMLElement[]} buttons right of the field
 * @property {HTMLElement[]} chips below the box
 * @property {(query: string) => Promise<{files: {path: string, name: string}[]}>} findFiles for `@`
 * @property {() => import("./commands.js").Command[]} commands for `/`
 * @property {() => string[]} prompts earlier ones, for ↑
 * @property {(action: "send" | "steer") => void} onSubmit
 * @property {() => void} onChange the text or the attachments have changed
 */

/** Attachments of boxes, by draft, while the page is open: files cannot be kept longer. @type {Map<string, import("./attachments.js").AttachedFile[]>} */
const kept = new Map();

/** @param {Options} options */
export function createBox({ draft: id, above = [], buttons, chips, findFiles, commands, prompts, onSubmit, onChange }) {
  const field = h("textarea", { rows: 1, "aria-label": "Prompt", placeholder: "Ask, or describe a task", enterkeyhint: hasKeyboard() ? "send" : "enter", "data-testid": "prompt" });
  const problem = h("p", { class: "error-text", role: "alert", "data-testid": "problem" });
  let at = -1; // steps back in earlier prompts; -1: the draft
  let unsent = "";
  let lastKeyAt = -Infinity;

  /** @param {string} message */
  const showError = (message) => setText(problem, message);
  const changed = () => {
    grow(field);
    onChange();
  };
  const attachments = createAttachments({ attached: kept.get(id) ?? [], onError: showError, onChange() {
    if (attachments.list().length > 0) kept.set(id, attachments.list());
    else kept.delete(id);
    changed();
  } });
  const draft = createDraftField({
    field, id, onChange: changed,
    onRestore: (/** @type {Written} */ { attached }, why) => {
      completion.close();
      attachments.set([...attached, ...(kept.get(id) ?? [])]);
      showError(why);
    },
    onForget: () => clear(),
  });
  /** @param {string} text */
  const set = (text) => {
    completion.close();
    draft.set(text);
  };
  /** @param {string} path @param {number} from */
  const mentionFile = (path, from) => {
    const next = insertMention(field.value, from, field.selectionStart, path);
    draft.mention(path);
    set(next.text);
    field.setSelectionRange(next.caret, next.caret);
  };
  /** @type {import("./completion.js").Source} */
  const files = { label: "Files", match(text, caret) {
    const found = mentionAt(text, caret);
    if (!found) return null;
    return { later: async () => {
      const { files } = await findFiles(found.query);
      return files.map(({ path, name }) => ({ name, hint: path.slice(0, path.length - name.length), accept: () => mentionFile(path, found.from) }));
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
  const node = h("form", { class: "composer", "aria-label": "Prompt" }, ...above, problem,
    h("div", { class: "box-place" }, completion.node, h("div", { class: "box" }, attachments.node,
      h("div", { class: "box-row" }, attachments.button, attachments.picker, field, h("div", { class: "box-buttons" }, ...buttons)))),
    h("div", { class: "composer-chips" }, ...chips));

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
    const action = composerAction(event, { text: field.value, atStart: !before.includes("\n"), atEnd: !after.includes("\n"), recalling: at >= 0, onScreen: !hasKeyboard() });
    if (action === "none") return;
    event.preventDefault();
    if (action === "send" || action === "steer") onSubmit(action);
    else if (action === "previous") recall(1);
    else if (action === "next") recall(-1);
  });
  field.addEventListener("input", () => (at = -1));
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    onSubmit("send");
  });
  const clear = () => {
    showError("");
    at = -1;
    attachments.set([]);
    set("");
  };
  grow(field);

  return {
    node,
    showError,
    /** Removes the error if it is this one. @param {string} message */
    dropError: (message) => void (problem.textContent === message && showError("")),
    /** Writes an example: in the place of another one, after anything else. @param {string} text @param {string[]} examples */
    suggest: (text, examples) => set(examples.includes(field.value.trim()) ? text : joinTexts(field.value, text)),
    /** Whether files are being read: without them, the prompt is not what the user means. */
    isReading: attachments.isReading,
    isEmpty: () => !field.value.trim() && attachments.list().length === 0,
    /** What is written. @returns {Written} */
    written: () => ({ text: field.value.trim(), attached: attachments.list(), mentions: draft.mentions() }),
    clear,
    forget: draft.forget,
    restore: draft.restore,
    refresh: draft.refresh,
    /** Takes out what was put back, unless it has been edited. @param {string} text @param {string[]} names of attached files */
    takeOut(text, names) {
      const rest = removeText(field.value, text);
      if (text && rest === field.value) return;
      const gone = [...names]; // what came back stands first; others may have the same names
      attachments.set(attachments.list().filter(({ name }) => {
        const at = gone.indexOf(name);
        if (at >= 0) gone.splice(at, 1);
        return at < 0;
      }));
      set(rest);
    },
    /** Attaches what is dropped or pasted into a part of the page. @param {HTMLElement} part */
    accept: (part) => acceptFiles(part, (files) => void attachments.add(files)),
    /** Keeps the text from changing, while it is being sent. @param {boolean} isLocked */
    lock: (isLocked) => (field.readOnly = isLocked),
    focus: () => field.focus({ preventScroll: true }),
    /** Tells questions whether they can take the focus. */
    typing: () => ({ inComposer: document.activeElement === field, text: field.value, sinceKey: performance.now() - lastKeyAt }),
    dispose: draft.dispose,
  };
}

/** Sets the height to that of the text, in browsers without field-sizing. @param {HTMLTextAreaElement} field */
function grow(field) {
  if (CSS.supports("field-sizing", "content")) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + 2}px`;
}
