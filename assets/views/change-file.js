// A changed file in the panel of changes: one line that unfolds to its hunks.

import { h, messageOf, setChildren, setText, whileBusy } from "../dom.js";
import { STATUSES, fileNotes, hunkTitle, restoredNote, splitPath } from "../changes.js";
import { hunkLines } from "./diff.js";
import { icon } from "./icons.js";

/**
 * @typedef {import("../changes.js").FileChange} FileChange @typedef {import("../changes.js").Diff} Diff @typedef {import("../changes.js").Hunk} Hunk
 *
 * What a file needs from the panel.
 * @typedef {object} FileContext
 * @property {(path: string) => Promise<Diff>} diff loads the hunks of a file
 * @property {(what: {path: string, hunk?: string}) => Promise<import("../changes.js").Restored>} revert
 * @property {(id: string) => Promise<import("../changes.js").Restored>} undo
 * @property {() => Promise<void>} refreshed resolves once the list shows the files as they are now
 * @property {() => boolean} sideBySide whether hunks have two columns
 * @property {(path: string, open: boolean) => void} onFold
 * @property {(path: string, line?: number) => string} href returns the address of the file in the viewer
 */

/** @param {FileChange} file @param {FileContext} context */
export function fileView(file, context) {
  let shown = file;
  const mark = h("span", { class: "change-mark", "aria-hidden": "true" });
  const status = h("span", { class: "hidden-text" });
  const name = h("bdi", { class: "change-path" });
  const notes = h("span", { class: "change-notes" });
  const added = h("span", { class: "added" });
  const removed = h("span", { class: "removed" });
  const button = h("button", { type: "button", class: "change-name", "aria-expanded": "false", "data-stop": true, "data-testid": "change", click: () => set(body.hidden) },
    mark, status, name, notes, h("span", { class: "change-counts" }, added, " ", removed));
  const problem = h("p", { class: "change-problem", role: "alert" });
  const revert = actionButton("Revert", problem, () => context.revert({ path: shown.path }).finally(context.refreshed));
  const view = h("a", { class: "button quiet small change-open", title: "Open file", "data-testid": "change-open" }, icon("file"));
  const body = h("div", { class: "change-body", hidden: true, "data-testid": "change-body" });
  const node = h("li", { class: "change" }, h("div", { class: "change-line" }, button, view, revert), problem, body);
  let request = 0;
  let acting = 0; // hunks that are being reverted or brought back
  /** Does something to a hunk. Lines that were requested before its end are not drawn: they may show what was before. @template T @param {() => Promise<T>} act */
  const change = async (act) => {
    acting++;
    try {
      return await act();
    } finally {
      acting--;
      request++;
    }
  };

  /** @param {boolean} open */
  const set = (open) => {
    body.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    context.onFold(shown.path, open);
    if (open) void load();
  };
  const load = async () => {
    const mine = ++request;
    if (body.childElementCount === 0) body.replaceChildren(h("p", { class: "muted" }, "Loading…"));
    try {
      const diff = await context.diff(shown.path);
      if (mine === request && !acting) draw(diff);
    } catch (error) {
      if (mine === request && !acting) body.replaceChildren(h("p", { class: "error-text" }, messageOf(error)));
    }
  };
  /** @type {Map<string, ReturnType<typeof hunkView>>} */
  let hunks = new Map();
  /** Draws a diff. Hunks that stay keep their focus and what was said about them. @param {Diff} diff */
  const draw = (diff) => {
    const hadFocus = body.contains(document.activeElement);
    hunks = new Map(diff.hunks.map((hunk) => [hunk.id, hunks.get(hunk.id) ?? hunkView(hunk, diff, context, change)]));
    for (const hunk of diff.hunks) hunks.get(hunk.id)?.update(hunk.state);
    setChildren(body, [...[...hunks.values()].map(({ node }) => node), ...diffNotes(diff)]);
    if (hadFocus && !body.contains(document.activeElement)) button.focus();
  };

  const update = () => {
    const [letter, meaning] = STATUSES[shown.status] ?? ["?", shown.status];
    node.dataset.path = shown.path;
    node.dataset.status = shown.status;
    node.dataset.state = shown.state;
    setText(mark, letter);
    setText(status, `${meaning}: `);
    const [directory, last] = splitPath(shown.path);
    name.title = shown.old_path ? `${shown.old_path} → ${shown.path}` : shown.path;
    name.replaceChildren(h("span", {}, // one, because the line is from right to left to be cut at its start
      ...(shown.old_path ? [h("span", { class: "muted" }, `${shown.old_path} → `)] : []), h("span", { class: "muted" }, directory), last));
    notes.replaceChildren(...fileNotes(shown).map((note) => h("span", { class: "change-note" }, note)));
    setText(added, shown.added ? `+${shown.added}` : "");
    setText(removed, shown.removed ? `−${shown.removed}` : "");
    view.hidden = shown.status === "deleted";
    view.href = context.href(shown.path);
    view.setAttribute("aria-label", `Open ${shown.path}`);
    revert.hidden = shown.state === "reverted";
    revert.setAttribute("aria-label", `Revert ${shown.path}`);
  };
  update();
  return {
    node,
    button,
    /** @param {boolean} open */
    fold: (open) => set(open),
    /** Shows the present state of the change. @param {FileChange} file */
    update(file) {
      const isSame = JSON.stringify(file) === JSON.stringify(shown);
      shown = file;
      if (!isSame) update();
      if (!body.hidden) void load(); // its lines may be other ones although their numbers are the same
    },
    /** Draws the hunks again, in one column or two. */
    redraw: () => hunks.forEach(({ redraw }) => redraw()),
  };
}

/** @param {Hunk} hunk @param {Diff} diff @param {FileContext} context @param {<T>(act: () => Promise<T>) => Promise<T>} change */
function hunkView(hunk, { path, status }, context, change) {
  const title = hunkTitle(hunk);
  const problem = h("p", { class: "change-problem", role: "alert" });
  let reverted = ""; // the id of the revert that Undo takes back here
  const revert = actionButton("Revert", problem, () => change(async () => {
    const undone = reverted;
    const result = await (undone ? context.undo(undone) : context.revert({ path, hunk: hunk.id }));
    if (!result.id || result.left?.length) return result; // the list shows what became of it
    reverted = undone ? "" : result.id;
    update(undone ? "present" : "reverted");
    return result;
  }));
  const note = h("span", { class: "change-note", role: "status" });
  let lines = hunkLines(hunk, context.sideBySide(), title);
  const node = h("section", { class: "hunk", tabindex: "-1", "aria-label": title, "data-hunk": hunk.id, "data-stop": true, "data-testid": "hunk" },
    h("div", { class: "hunk-line" }, status === "deleted" ? h("span", {}, title) : h("a", { class: "hunk-title", href: context.href(path, Math.max(1, hunk.new_start)) }, title), h("code", { class: "hunk-section" }, hunk.section), note, revert),
    problem, lines);
  /** Shows what became of it. @param {Hunk["state"]} state */
  const update = (state) => {
    if (state !== "reverted") reverted = "";
    node.dataset.state = state;
    setText(note, state === "reverted" ? "Reverted" : state === "edited" ? "Edited since" : "");
    setText(revert, reverted ? "Undo" : "Revert");
    revert.setAttribute("aria-label", `${reverted ? "Undo the revert of" : "Revert"} ${title.toLowerCase()}`);
    const hadFocus = document.activeElement === revert;
    revert.hidden = state === "reverted" && !reverted;
    if (hadFocus && revert.hidden) node.focus();
  };
  return {
    node,
    update,
    redraw() {
      const next = hunkLines(hunk, context.sideBySide(), title);
      lines.replaceWith(next);
      lines = next;
    },
  };
}

/** Says what a diff does not show. @param {Diff} diff */
function diffNotes({ hunks, binary, truncated, status, mode }) {
  const notes = [];
  if (binary) notes.push("A binary file has no lines to show.");
  else if (hunks.length === 0) notes.push(status === "renamed" ? "Only its name changed." : mode ? "Only its mode changed." : "It has no lines to show.");
  if (truncated) notes.push("The rest of the change is too large to show. Revert the file to take all of it back.");
  return notes.map((note) => h("p", { class: "muted" }, note));
}

/** Creates a button for an action on files. What goes wrong is said at its place. @param {string} label @param {HTMLElement} problem @param {() => Promise<import("../changes.js").Restored>} act */
export function actionButton(label, problem, act) {
  /** @param {string} text */
  const report = (text) => {
    setChildren(problem, textNodes(text));
    problem.classList.add("error-text");
  };
  const button = h("button", { type: "button", class: "quiet small change-act", click: () => void whileBusy(button, async () => showRestored(problem, await act()), report) }, label);
  return button;
}

/** Says what an action on files left undone, if anything. @param {HTMLElement} node @param {import("../changes.js").Restored} result */
export function showRestored(node, result) {
  setChildren(node, textNodes(restoredNote(result)));
  node.classList.remove("error-text");
}

/** @param {string} text */
const textNodes = (text) => (text ? [h("span", {}, text)] : []);

