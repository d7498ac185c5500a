// The tab of the panel that shows a file of the session's directory, to read.

import { splitPath } from "../changes.js";
import { copyButton, h, messageOf, setHTML, setText } from "../dom.js";
import { describeFile } from "../paths.js";
import { changesAddress } from "../route.js";
import { isComposing } from "./keys.js";

/**
 * @typedef {{text: string, html?: string, cut?: number}} Line
 * @typedef {{path: string, size: number, modified_at: string, binary?: boolean, encoding?: string, line_ends?: string, no_final_end?: boolean, count: number, from: number, lines: Line[]}} File of portal.file.read
 *
 * @typedef {object} Options
 * @property {import("../store.js").Session} session
 * @property {import("./conversation.js").Rpc} rpc
 * @property {(path: string) => boolean} isChanged whether the session changed a file
 * @property {(path: string) => void} onShowChanges shows the changes of a file in their tab
 * @property {() => void} onPlace another line is in view
 */

const WINDOW = 2000; // lines that are loaded at once
const BEFORE = 200; // lines loaded before the line to show
const MOST = 5000; // lines that the portal returns at once

/** @param {Options} options */
export function filePanel({ session, rpc, isChanged, onShowChanges, onPlace }) {
  let path = "";
  let line = 0; // the line in view; 0: none
  let request = 0;
  /** The file with the lines that are shown. @type {File | null} */
  let file = null;

  const name = h("h3", { class: "file-path", tabindex: "-1" });
  const facts = h("p", { class: "muted file-facts", role: "status", "data-testid": "file-facts" });
  const changed = h("a", { class: "file-changed", hidden: true, "data-testid": "file-changed", click: () => onShowChanges(path) }, "Changed in this session: show changes");
  const jump = h("input", { class: "file-jump", inputmode: "numeric", placeholder: "Line", "aria-label": "Go to line", "data-testid": "file-jump", autocomplete: "off" });
  const code = h("code");
  const pre = h("pre", { class: "file-code" }, code);
  const note = h("p", { class: "muted file-note", "data-testid": "file-note" });
  const earlier = h("button", { type: "button", class: "quiet small file-more", hidden: true, click: () => void extend(-1) }, "Show earlier lines");
  const later = h("button", { type: "button", class: "quiet small file-more", hidden: true, "data-testid": "file-later", click: () => void extend(1) }, "Show more lines");
  const body = h("div", { class: "file-body", tabindex: "0", role: "region", "aria-label": "Content of the file", "data-testid": "file-body" }, note, earlier, pre, later);
  const copyPath = copyButton(() => path, name, "Copy path", "Copy path");
  const copyAll = copyButton(() => wholeText().catch((error) => {
    showNote(messageOf(error));
    throw error;
  }), code, "Copy content", "Copy content");
  const node = h("div", { class: "file-panel", "data-testid": "file" },
    h("div", { class: "file-head" }, name, h("div", { class: "file-tools" }, facts, jump, copyPath, copyAll), changed), body);

  /** @param {number} from @param {number} limit @returns {Promise<File>} */
  const read = (from, limit) => rpc.call("portal.file.read", { session_id: session.id, path, from, limit, html: true });

  const load = async () => {
    const mine = ++request;
    const from = file && isLoaded(file, line) ? file.from : Math.max(1, line > WINDOW - BEFORE ? line - BEFORE : 1);
    try {
      let found = await read(from, Math.min(MOST, Math.max(WINDOW, file?.lines.length ?? 0)));
      if (mine === request && found.count > 0 && found.lines.length === 0) found = await read(Math.max(1, found.count - BEFORE), WINDOW); // it has become shorter
      if (mine === request) show(found);
    } catch (error) {
      if (mine === request) fail(messageOf(error));
    }
  };
  /** @param {string} text */
  const fail = (text) => {
    file = null;
    code.replaceChildren();
    setText(facts, "");
    showNote(text);
    earlier.hidden = later.hidden = copyAll.hidden = jump.hidden = pre.hidden = true;
  };
  /** @param {string} text */
  const showNote = (text) => {
    note.hidden = text === "";
    setText(note, text);
  };
  /** @param {File} next */
  const show = (next) => {
    const isFirst = file === null;
    const isSame = file !== null && JSON.stringify(file.lines) === JSON.stringify(next.lines) && file.from === next.from;
    file = next;
    setText(facts, describeFile(next).join(" · "));
    showNote(emptyText(next));
    pre.hidden = copyAll.hidden = jump.hidden = next.lines.length === 0;
    code.style.setProperty("--digits", String(String(next.count).length));
    if (!isSame) code.replaceChildren(...next.lines.map((line, i) => lineNode(line, next.from + i)));
    showEnds();
    if (isFirst) showLine();
  };
  const showEnds = () => {
    earlier.hidden = !file || file.from <= 1 || file.lines.length === 0;
    later.hidden = !file || file.from + file.lines.length > file.count || file.lines.length === 0;
  };
  /** Loads more lines at an end. @param {-1 | 1} direction */
  const extend = async (direction) => {
    if (!file) return;
    const mine = ++request;
    const from = direction > 0 ? file.from + file.lines.length : Math.max(1, file.from - WINDOW);
    const limit = direction > 0 ? WINDOW : file.from - from;
    try {
      const more = await read(from, limit);
      if (mine !== request || !file) return;
      const nodes = more.lines.map((line, i) => lineNode(line, more.from + i));
      const before = body.scrollHeight;
      if (direction > 0) {
        file = { ...more, from: file.from, lines: [...file.lines, ...more.lines] };
        code.append(...nodes);
        code.children[from - file.from]?.scrollIntoView({ block: "nearest" });
      } else if (more.lines.length === limit) {
        file = { ...more, lines: [...more.lines, ...file.lines] };
        code.prepend(...nodes);
        if (!CSS.supports("overflow-anchor", "auto")) body.scrollTop += body.scrollHeight - before;
      } else { // long lines: begin again there
        file = more;
        code.replaceChildren(...nodes);
      }
      showEnds();
      body.focus();
    } catch (error) {
      if (mine === request) showNote(messageOf(error));
    }
  };
  /** Scrolls to the line. */
  const showLine = () => {
    for (const old of code.querySelectorAll(".target")) old.classList.remove("target");
    if (!file || line === 0) return void (body.scrollTop = 0);
    line = Math.min(line, Math.max(1, file.count));
    const target = code.children[line - file.from];
    target?.classList.add("target");
    target?.scrollIntoView({ block: "center" });
    body.scrollLeft = 0;
  };
  /** @param {number} to */
  const goTo = (to) => {
    line = Math.max(1, Math.min(to, file?.count ?? to));
    if (file && !isLoaded(file, line)) {
      file = null;
      void load();
    } else showLine();
    onPlace();
  };
  /** Returns the text of the whole file. Rejects if the portal does not send all of it. */
  const wholeText = async () => {
    if (!file) return "";
    const end = file.line_ends === "crlf" ? "\r\n" : "\n";
    let { lines, count, no_final_end: isOpen } = file;
    if (lines.length < count) {
      lines = [];
      while (lines.length < count) {
        const more = await rpc.call("portal.file.read", { session_id: session.id, path, from: lines.length + 1, limit: MOST });
        if (more.lines.length === 0) throw new Error("The file has become shorter. Copy it again.");
        lines = lines.concat(more.lines);
      }
    }
    if (lines.some(({ cut }) => cut)) throw new Error("A line is too long to be shown, so the file cannot be copied.");
    return lines.map(({ text }) => text).join(end) + (isOpen ? "" : end);
  };

  jump.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || isComposing(event)) return;
    const to = Number.parseInt(jump.value, 10);
    if (to > 0) goTo(to);
    jump.value = "";
    body.focus({ preventScroll: true });
    event.preventDefault();
  });
  body.addEventListener("keydown", (event) => {
    if (event.key !== "g" || event.ctrlKey || event.metaKey || event.altKey || jump.hidden) return;
    jump.focus();
    event.preventDefault();
  });

  const updateChanged = () => {
    changed.hidden = path === "" || !isChanged(path);
    changed.href = changesAddress(session.id);
  };
  return {
    node,
    /** Shows a file, at a line if it is not 0. @param {string} to @param {number} at */
    open(to, at) {
      if (to === path && file) {
        line = at;
        return isLoaded(file, line) || line === 0 ? showLine() : goTo(line);
      }
      [path, line, file] = [to, at, null];
      const [directory, last] = splitPath(path);
      name.replaceChildren(h("bdi", {}, h("span", { class: "muted" }, directory), last));
      name.title = path;
      body.setAttribute("aria-label", `Content of ${path}`);
      code.replaceChildren();
      setText(facts, "");
      showNote("Loading…");
      pre.hidden = earlier.hidden = later.hidden = copyAll.hidden = jump.hidden = true;
      updateChanged();
      void load();
    },
    /** What is shown. */
    place: () => ({ path, line }),
    /** Reads the file again: it may have changed. */
    refresh() {
      updateChanged();
      if (path !== "") void load();
    },
    updateChanged,
    focus: () => body.focus({ preventScroll: true }),
  };
}

/** @param {File} file @param {number} line */
const isLoaded = (file, line) => line === 0 || (line >= file.from && line < file.from + file.lines.length);

/** Says why there is nothing to see. @param {File} file */
function emptyText({ binary, encoding, size, count, lines }) {
  if (binary) return encoding === "utf-16" ? "This file is in UTF-16, which cannot be shown here." : "This is a binary file. It has no lines to show.";
  if (size === 0 || count === 0) return "This file is empty.";
  return lines.length === 0 ? "There are no lines here." : "";
}

/** @param {Line} line @param {number} number */
function lineNode({ text, html, cut }, number) {
  const node = h("span", { class: "file-line", "data-number": number });
  if (html) setHTML(node, html);
  else node.append(h("span", {}, text));
  if (cut) node.append(h("span", { class: "muted" }, `… (${cut.toLocaleString("en")} more bytes)`));
  node.append("\n");
  return node;
}
