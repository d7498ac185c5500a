// The panel of what the agent changed in a session or a run: review, revert, undo, restore.

import { h, keepFocus, setChildren, setText } from "../dom.js";
import { ChangesModel, countFiles, isSmall, notCoveredReason, runLabel, totals, undoText } from "../changes.js";
import { sessionAddress } from "../route.js";
import { isCapable } from "../store.js";
import { actionButton, fileView, showRestored } from "./change-file.js";
import { commitTools } from "./commit.js";
import { dialog } from "./dialog.js";
import { isComposing } from "./keys.js";

/**
 * @typedef {import("../store.js").Session} Session @typedef {import("../changes.js").Changes} Changes
 * @typedef {ReturnType<typeof fileView>} FileView
 *
 * @typedef {object} Options
 * @property {Session} session
 * @property {import("./conversation.js").Rpc} rpc
 * @property {(hash: string) => void} navigate
 * @property {() => void} onScope another run is in view
 * @property {(runs: string[]) => void} onRuns other changes of these runs are known
 * @property {() => void} onFiles other changes of files are known
 * @property {() => void} onCommit changes were committed
 * @property {(path: string, line?: number) => string} href returns the address of a file
 * @property {(width: number) => void} widen makes the panel at least so wide, in px
 * @property {(width: number) => boolean} fits whether there is room for a panel of this width
 */

const SPLIT_KEY = "changes.split"; // whether hunks are shown side by side
const SPLIT_WIDTH = 640; // px of the panel from which they can be
const MAX_OPEN = 50; // files that are remembered as unfolded

/** @param {Options} options */
export function changesPanel({ session, rpc, navigate, onScope, onRuns, onFiles, onCommit, href, widen, fits }) {
  /** @param {string} method @param {Record<string, unknown>} [params] */
  const call = (method, params = {}) => rpc.call(`portal.session.${method}`, { session_id: session.id, ...params });
  /** @param {string} run */
  const scoped = (run) => (run ? { run_id: run } : {});
  const model = new ChangesModel((run) => call("changes", scoped(run)), () => update());

  const scope = h("select", { "aria-label": "Show the changes of", "data-testid": "changes-scope" });
  const sum = h("p", { class: "changes-sum", role: "status", "data-testid": "changes-sum" });
  const split = h("button", { type: "button", class: "quiet small", "data-testid": "changes-split", click: () => setSplit(!sideBySide()) }, "Side by side");
  const problem = h("p", { class: "change-problem", role: "alert", "data-testid": "changes-problem" });
  const revertAll = actionButton("Revert all", problem, () => act("revert", scoped(model.scope)).finally(refreshed));
  const restore = h("button", { type: "button", class: "quiet small", "data-testid": "restore", click: () => restoreDialog() }, "Restore to here…");
  const commit = commitTools({ call: (method, params = {}) => rpc.call(`portal.${method}`, { session_id: session.id, ...params }), scope: () => model.scope, onCommit });
  const undoProblem = h("p", { class: "change-problem", role: "alert" });
  const undoLabel = h("span");
  const undoButton = actionButton("Undo", undoProblem, () => act("undo", { id: model.whole?.undo?.id }).finally(refreshed));
  const undo = h("div", { class: "changes-undo", hidden: true, "data-testid": "changes-undo" }, undoLabel, undoButton, undoProblem);
  const list = h("ul", { class: "changes-list", "aria-label": "Changed files", "data-testid": "changes" });
  const note = h("p", { class: "muted changes-note", "data-testid": "changes-note" });
  const uncovered = h("ul");
  const uncoveredTitle = h("summary");
  const uncoveredFold = h("details", { class: "changes-uncovered muted", "data-testid": "not-covered", hidden: true }, uncoveredTitle, uncovered);
  const node = h("div", { class: "changes-panel" },
    h("div", { class: "changes-head" }, scope, h("div", { class: "changes-tools" }, sum, split, restore, revertAll, commit.button), problem, commit.line, undo),
    h("div", { class: "changes-body" }, note, list, uncoveredFold));
  revertAll.dataset.testid = "revert-all";
  undoButton.dataset.testid = "undo";

  /** Does something to files, and shows what follows. @param {"revert" | "restore" | "undo"} method @param {Record<string, unknown>} params @returns {Promise<import("../changes.js").Restored>} */
  const act = async (method, params) => {
    try {
      return await call(method, params);
    } finally {
      void model.reload(); // after an error, too: the list may be out of date
    }
  };

  /** Resolves once the list shows the files as they are now: until then, its buttons would act on what was before. */
  const refreshed = () => model.loaded();

  const restoreDialog = () => {
    const run = model.scope;
    const choice = (/** @type {string} */ value, /** @type {string} */ label, /** @type {string} */ text, checked = false) => h("label", { class: "restore-choice" },
      h("input", { type: "radio", name: "conversation", value, checked }), h("span", {}, label, h("span", { class: "muted" }, text)));
    const choices = h("fieldset", { class: "restore-choices" }, h("legend", {}, "The conversation"),
      choice("keep", "Keep it as it is", "The agent remembers this run and what came after it.", true),
      ...(isCapable(session, "forking") ? [choice("fork", "Continue in a fork", "A copy of the session that ends before this run opens. This one stays.")] : []));
    const text = h("p", {}, "All files become what they were when this run started. Later changes are overwritten, also your own. You can undo this.");
    dialog("Restore to here?", [text, choices], "Restore files", async () => {
      const conversation = choices.querySelector("input:checked")?.getAttribute("value");
      const result = await act("restore", { run_id: run, conversation });
      showRestored(problem, result);
      if (result.session_id) navigate(sessionAddress(result.session_id));
    });
  };

  // Side by side.
  let wasSplit = false;
  const sideBySide = () => localStorage.getItem(SPLIT_KEY) === "on" && node.clientWidth >= SPLIT_WIDTH;
  /** @param {boolean} on */
  const setSplit = (on) => {
    localStorage.setItem(SPLIT_KEY, on ? "on" : "off");
    if (on) widen(SPLIT_WIDTH);
    showSplit();
  };
  const showSplit = () => {
    split.hidden = node.clientWidth < SPLIT_WIDTH && !fits(SPLIT_WIDTH);
    split.setAttribute("aria-pressed", String(sideBySide()));
    if (sideBySide() === wasSplit) return;
    wasSplit = sideBySide();
    for (const view of views.values()) view.redraw();
  };
  const sizes = new ResizeObserver(() => {
    showSplit();
    unfoldSmall();
  });
  sizes.observe(node);

  // The files.
  /** @type {Map<string, FileView>} */
  const views = new Map();
  let viewsOf = ""; // the scope whose files they are
  let isNew = true; // they were not in view yet
  /** @type {import("./change-file.js").FileContext} */
  const context = {
    diff: (path) => call("diff", { path, html: true, ...scoped(model.scope) }),
    revert: (what) => act("revert", { ...what, ...scoped(model.scope) }),
    undo: (undone) => act("undo", { id: undone }),
    refreshed,
    sideBySide,
    onFold: (path, open) => unfolded.set(model.scope, path, open),
    href,
  };
  const unfolded = unfoldedFiles(session.id);

  const updateFiles = () => {
    const files = model.shown?.files ?? [];
    if (viewsOf !== model.scope) {
      views.clear();
      isNew = true;
    }
    viewsOf = model.scope;
    const hadFocus = list.contains(document.activeElement);
    const known = new Set(files.map(({ path }) => path));
    for (const path of [...views.keys()]) if (!known.has(path)) views.delete(path);
    for (const file of files) {
      const view = views.get(file.path);
      if (view) {
        view.update(file);
        continue;
      }
      const created = fileView(file, context);
      views.set(file.path, created);
      if (unfolded.has(model.scope, file.path)) created.fold(true);
    }
    setChildren(list, files.map(({ path }) => /** @type {FileView} */ (views.get(path)).node));
    unfoldSmall();
    if (hadFocus && !list.contains(document.activeElement)) scope.focus();
  };
  /** Unfolds all files of a small change, the first time that they are in view. */
  const unfoldSmall = () => {
    if (!isNew || views.size === 0 || node.clientWidth === 0) return;
    isNew = false;
    if (isSmall(model.shown?.files ?? [])) for (const view of views.values()) view.fold(true);
  };

  const updateScopes = () => {
    const { runs = [] } = model.whole ?? {};
    const options = [["", "Whole session"], ...runs.map((run, i) => [run.run_id, runLabel(run, i + 1, promptOf(session, run.run_id))])];
    if (model.scope && !runs.some(({ run_id: run }) => run === model.scope)) options.push([model.scope, "This run"]);
    const key = JSON.stringify(options);
    if (scope.dataset.options !== key) {
      scope.dataset.options = key;
      scope.replaceChildren(...options.map(([value, label]) => h("option", { value }, label)));
    }
    scope.value = model.scope;
  };
  scope.addEventListener("change", () => {
    model.setScope(scope.value);
    onScope();
  });

  const update = () => {
    if (!isDisposed) {
      updateButton();
      updateScopes();
      updateFiles();
      updateNotes();
      updateUndo();
      updateRuns();
      onFiles();
    }
  };
  const updateNotes = () => {
    const { shown, problem: failed } = model;
    setText(note, failed || emptyText(shown, model.scope));
    note.classList.toggle("error-text", failed !== "");
    note.hidden = note.textContent === "";
    const left = shown ? totals(shown) : { files: 0, added: 0, removed: 0 };
    sum.replaceChildren(...(shown?.available && shown.files.length > 0 ? counts(left) : []));
    revertAll.hidden = left.files === 0;
    setText(revertAll, model.scope ? "Revert run" : "Revert all");
    commit.button.hidden = !shown?.in_repository || shown.files.length === 0;
    restore.hidden = !model.scope || !shown?.available;
    const missing = shown?.not_covered ?? [];
    uncoveredFold.hidden = missing.length === 0;
    setText(uncoveredTitle, `${missing.length === 100 ? "100 or more files" : countFiles(missing.length)} not covered by Revert`);
    uncovered.replaceChildren(...missing.map(({ path, why }) => h("li", {}, h("bdi", {}, path), ` (${notCoveredReason(why)})`)));
  };
  const updateUndo = () => {
    const last = model.whole?.undo;
    keepFocus(undo, () => void (undo.hidden = !last), () => scope.focus());
    if (last) setText(undoLabel, undoText(last, Date.now()));
    if (undo.dataset.id !== (last?.id ?? "")) undoProblem.replaceChildren();
    undo.dataset.id = last?.id ?? "";
  };
  /** Counts of files by run. @type {Map<string, number>} */
  const reviews = new Map();
  const updateRuns = () => {
    const changed = [];
    const runs = new Map((model.whole?.runs ?? []).map(({ run_id: run, files }) => [run, files]));
    for (const run of new Set([...reviews.keys(), ...runs.keys()])) {
      const files = runs.get(run) ?? 0;
      if (reviews.get(run) !== files) changed.push(run);
      reviews.set(run, files);
    }
    if (changed.length > 0) onRuns(changed);
  };

  // The button in the header.
  const buttonText = h("span", { class: "changes-button-files" });
  const buttonCounts = h("span", { class: "changes-button-counts" });
  const button = h("button", { type: "button", class: "quiet changes-button", hidden: true, title: "Review changes", "data-testid": "changes-button" },
    h("span", { class: "hidden-text" }, "Review changes: "), buttonText, buttonCounts);
  const updateButton = () => {
    const { whole } = model;
    button.hidden = !whole?.available || whole.files.length === 0;
    if (!whole) return;
    const left = totals(whole);
    setText(buttonText, left.files === 0 ? "All reverted" : countFiles(left.files));
    buttonCounts.replaceChildren(...(left.files === 0 ? [] : lineCounts(left)));
  };

  node.addEventListener("keydown", (event) => moveByKey(event, node));

  updateScopes(); // until the changes are loaded, there is nothing to revert
  updateNotes();
  updateUndo();

  let isDisposed = false;
  return {
    node,
    button,
    /** Counts of changed files by run. */
    reviews,
    scope: () => model.scope,
    /** Shows a run, or the whole session for "". @param {string} run */
    show: (run) => model.setScope(run),
    /** Whether a file that still exists was changed. @param {string} path */
    has: (path) => (model.whole?.files ?? []).some((file) => file.path === path && file.status !== "deleted"),
    /** Shows the changes of a file among all of the session. @param {string} path */
    unfold(path) {
      model.setScope("");
      unfolded.set("", path, true);
      views.get(path)?.fold(true);
    },
    /** Loads the changes again. */
    reload: () => void model.reload(),
    /** Moves the focus into the panel. */
    focus: () => scope.focus(),
    /** Whether the last load failed, so that it is worth another try. */
    hasFailed: () => model.problem !== "",
    dispose() {
      isDisposed = true;
      sizes.disconnect();
    },
  };
}

/** @param {{files: number, added: number, removed: number}} totals */
const counts = (totals) => (totals.files === 0 ? ["All reverted"] : [`${countFiles(totals.files)} `, ...lineCounts(totals)]);

/** @param {{added: number, removed: number}} totals */
const lineCounts = ({ added, removed }) => [h("span", { class: "added" }, `+${added}`), " ", h("span", { class: "removed" }, `−${removed}`)];

/** Says what an empty or incomplete list means. @param {Changes | null} changes @param {string} run */
function emptyText(changes, run) {
  if (!changes) return "Loading…";
  if (!changes.available) return `Changes cannot be reviewed here: ${changes.reason ?? "there are no checkpoints"}`;
  if (changes.files.length === 0) return run ? "This run changed no files." : "Files that the agent changes appear here.";
  return changes.more ? `Only the first ${changes.files.length.toLocaleString("en")} files are listed. Revert takes back all of them.` : "";
}

/** Returns the first line of the prompt of a run, if it is known. @param {Session} session @param {string} run */
function promptOf({ items }, run) {
  const prompt = items.find((item) => item.kind === "prompt" && item.run === run);
  return prompt?.kind === "prompt" ? prompt.text.trim().split("\n", 1)[0] : "";
}

/** Moves between files and hunks with j and k, or with arrows. @param {KeyboardEvent} event @param {HTMLElement} root */
function moveByKey(event, root) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || isComposing(event)) return;
  const by = event.key === "j" || event.key === "ArrowDown" ? 1 : event.key === "k" || event.key === "ArrowUp" ? -1 : 0;
  const at = event.target;
  if (!by || !(at instanceof HTMLElement) || at.matches("input, textarea") || (at.matches("select") && event.key.startsWith("Arrow"))) return;
  const stops = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[data-stop]")].filter((stop) => stop.getClientRects().length > 0));
  const current = stops.findIndex((stop) => stop === at.closest("[data-stop]") || stop.parentElement === at.closest(".change-line"));
  const next = stops[current < 0 ? (by > 0 ? 0 : stops.length - 1) : current + by];
  event.preventDefault();
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** The unfolded files of a session, which a reload of the page keeps. @param {string} session */
function unfoldedFiles(session) {
  const key = `changes.open.${session}`;
  /** @type {string[]} */
  let open = [];
  try {
    open = JSON.parse(sessionStorage.getItem(key) ?? "[]");
  } catch {
    // none
  }
  const name = (/** @type {string} */ run, /** @type {string} */ path) => `${run} ${path}`;
  return {
    /** @param {string} run @param {string} path */
    has: (run, path) => open.includes(name(run, path)),
    /** @param {string} run @param {string} path @param {boolean} isOpen */
    set(run, path, isOpen) {
      open = open.filter((other) => other !== name(run, path));
      if (isOpen) open.push(name(run, path));
      open = open.slice(-MAX_OPEN);
      sessionStorage.setItem(key, JSON.stringify(open));
    },
  };
}
