// What the runs of a session changed: the state of the panel, and how it describes files, hunks and what can be undone. Pure.

import { age, messageOf } from "./dom.js";

/**
 * The results of portal.session.changes and portal.session.diff (spec/page.md, "Changes").
 *
 * @typedef {{path: string, old_path?: string, status: "added" | "modified" | "deleted" | "renamed", added: number, removed: number,
 *   binary?: boolean, mode?: [string, string]}} Change
 * @typedef {Change & {state: "present" | "reverted" | "edited", also_edited?: boolean}} FileChange
 * @typedef {{run_id: string, started_at: string, ended_at?: string, working?: boolean, files: number, added: number, removed: number}} RunChanges
 * @typedef {{id: string, kind: "revert" | "restore" | "undo", run_id?: string, time: string, by: string, files: number}} Undoable
 * @typedef {{available: boolean, reason?: string, in_repository?: boolean, runs: RunChanges[], files: FileChange[], more: boolean,
 *   not_covered: {path: string, why: string}[], undo?: Undoable}} Changes
 * @typedef {{kind: " " | "+" | "-", text: string, html?: string, no_newline?: boolean}} Line html: with syntax colours, if the portal knows the language
 * @typedef {{id: string, old_start: number, old_lines: number, new_start: number, new_lines: number, section: string, state: FileChange["state"], lines: Line[]}} Hunk
 * @typedef {Change & {hunks: Hunk[], truncated?: boolean}} Diff
 * @typedef {{id: string, files: {path: string, status: "written" | "deleted"}[], count?: number, left?: string[], session_id?: string}} Restored
 */

/** Loads the changes of a session: all of them, and those of the run in view. */
export class ChangesModel {
  /** Those of the whole session; null until they are loaded. @type {Changes | null} */ whole = null;
  /** Those of the scope; null until they are loaded. @type {Changes | null} */ shown = null;
  /** A run, or "" for the whole session. */ scope = "";
  /** Why the last load failed; "" if it did not. */ problem = "";
  /** The load that runs. @type {Promise<void> | null} */ #loading = null;
  /** The load after it. @type {Promise<void> | null} */ #next = null;

  /** @param {(run: string) => Promise<Changes>} load of a run, or of the whole session for "" @param {() => void} onChange */
  constructor(load, onChange) {
    this.load = load;
    this.onChange = onChange;
  }

  /** Shows another run, or the whole session for "". @param {string} run */
  setScope(run) {
    if (run === this.scope) return;
    this.scope = run;
    this.shown = run ? null : this.whole;
    this.problem = "";
    this.onChange();
    void this.reload();
  }

  /** Loads the changes again. If they are being loaded, they are loaded once more afterwards. Resolves once they are those of now. */
  reload() {
    if (!this.#loading) return this.#load();
    const load = () => this.#load();
    return (this.#next ??= this.#loading.then(load, load));
  }

  /** Resolves at the end of the load that was requested last. */
  loaded() {
    return this.#next ?? this.#loading ?? Promise.resolve();
  }

  #load() {
    this.#next = null;
    this.#loading = this.#loadOnce().finally(() => {
      if (!this.#next) this.#loading = null;
    });
    return this.#loading;
  }

  async #loadOnce() {
    const run = this.scope;
    const [whole, scoped] = await Promise.allSettled([this.load(""), run ? this.load(run) : null]);
    if (whole.status === "fulfilled") this.whole = whole.value;
    if (run !== this.scope) {
      void this.reload();
      return this.onChange();
    }
    const failed = [whole, scoped].find(({ status }) => status === "rejected");
    this.problem = failed?.status === "rejected" ? messageOf(failed.reason) : "";
    if (scoped.status === "fulfilled") this.shown = scoped.value ?? this.whole;
    this.onChange();
  }
}

/** @param {number} count */
export const countFiles = (count) => (count === 1 ? "1 file" : `${count.toLocaleString("en")} files`);

/** Sums up the changes that are not taken back. @param {Changes} changes */
export function totals({ files }) {
  const left = files.filter(({ state }) => state !== "reverted");
  return { files: left.length, added: sum(left, "added"), removed: sum(left, "removed") };
}

/** @param {FileChange[]} files @param {"added" | "removed"} member */
const sum = (files, member) => files.reduce((total, file) => total + file[member], 0);

/** Letters that mark how a file changed, with their meaning. @type {Record<Change["status"], [string, string]>} */
export const STATUSES = { added: ["A", "Added"], modified: ["M", "Modified"], deleted: ["D", "Deleted"], renamed: ["R", "Renamed"] };

/** Returns what is worth knowing about a change besides its lines. @param {FileChange} file @returns {string[]} */
export function fileNotes({ state, also_edited: also, mode, binary }) {
  return [
    state === "reverted" && "Reverted",
    state === "edited" && "Edited since",
    also && "Also edited by others",
    mode && describeMode(mode),
    binary && "Binary",
  ].filter((note) => typeof note === "string");
}

/** @param {[string, string]} mode as in git */
function describeMode([before, after]) {
  if (after === "120000") return "Now a symbolic link";
  if (before === "120000") return "No longer a symbolic link";
  return after === "100755" ? "Now executable" : "No longer executable";
}

/** Returns the lines of a hunk: "Line 3", "Lines 3–9", after the change if there are any. @param {Hunk} hunk */
export function hunkTitle({ old_start: oldStart, old_lines: oldLines, new_start: newStart, new_lines: newLines }) {
  const [start, lines] = newLines > 0 ? [newStart, newLines] : [oldStart, oldLines];
  return lines === 1 ? `Line ${start}` : `Lines ${start}–${start + lines - 1}`;
}

/** A line with its numbers before and after the change; 0 where it does not exist. @typedef {Line & {old: number, new: number}} NumberedLine */

/** Numbers the lines of a hunk. @param {Hunk} hunk @returns {NumberedLine[]} */
export function numberLines({ old_start: oldStart, new_start: newStart, lines }) {
  let [before, after] = [oldStart, newStart];
  return lines.map((line) => ({ ...line, old: line.kind === "+" ? 0 : before++, new: line.kind === "-" ? 0 : after++ }));
}

/** Pairs removed lines with the added ones that follow them, for two columns. @template {Line} T @param {T[]} lines @returns {[T | null, T | null][]} */
export function pairLines(lines) {
  /** @type {[T | null, T | null][]} */
  const pairs = [];
  for (let i = 0; i < lines.length; ) {
    if (lines[i].kind === " ") {
      pairs.push([lines[i], lines[i]]);
      i++;
      continue;
    }
    const removed = takeWhile(lines, i, "-");
    const added = takeWhile(lines, i + removed.length, "+");
    for (let n = 0; n < Math.max(removed.length, added.length); n++) pairs.push([removed[n] ?? null, added[n] ?? null]);
    i += removed.length + added.length;
  }
  return pairs;
}

/** @template {Line} T @param {T[]} lines @param {number} from @param {Line["kind"]} kind */
function takeWhile(lines, from, kind) {
  let end = from;
  while (lines[end]?.kind === kind) end++;
  return lines.slice(from, end);
}

const MAX_LINE = 2000; // characters that are shown of a line

/** Marks the last line of a file that has no line end. @param {Line} line */
export const lineEndMark = ({ no_newline: open }) => (open ? " ⌿ no line end" : "");

/** Returns a line as it is shown: carriage returns are visible, and a very long line is cut. @param {Line} line */
export function lineText(line) {
  const { text } = line;
  const cut = text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}… (${(text.length - MAX_LINE).toLocaleString("en")} more characters)` : text;
  return `${cut.replaceAll("\r", "␍")}${lineEndMark(line)}`;
}

const SMALL_FILES = 5;
const SMALL_LINES = 200;

/** Reports whether changes are small enough to show all their lines at once. @param {Pick<FileChange, "added" | "removed">[]} files */
export const isSmall = (files) => files.length <= SMALL_FILES && files.reduce((sum, { added, removed }) => sum + added + removed, 0) <= SMALL_LINES;

/** Says what a client did to files. @param {string} kind of {@link Undoable} @param {number} files */
export function restoredText(kind, files) {
  const verb = kind === "restore" ? "Restored" : kind === "undo" ? "Undo: brought back" : "Reverted";
  return `${verb} ${countFiles(files)}`;
}

/** Describes what can be undone. @param {Undoable} undo @param {number} now ms */
export function undoText({ kind, time, files }, now) {
  const ago = age(now - Date.parse(time));
  return `${restoredText(kind, files)} ${ago === "now" ? "just now" : `${ago} ago`}`;
}

/** Describes the result of a revert, restore or undo where more than "it is done" is worth saying, else "". @param {Restored} result */
export function restoredNote({ id, left = [] }) {
  if (left.length > 0) return `Left alone, because they changed at this moment: ${left.join(", ")}`;
  return id ? "" : "There is nothing left to take back.";
}

/**
 * Labels a run in the list of scopes.
 * @param {RunChanges} run @param {number} number from 1 @param {string} prompt its first line, or ""
 */
export function runLabel({ files, working, started_at: started }, number, prompt) {
  const name = prompt.length > 60 ? `${prompt.slice(0, 60)}…` : prompt || new Date(started).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return `Run ${number}: ${name} (${working ? "working" : countFiles(files)})`;
}

/** @type {Record<string, string>} */
const REASONS = { large: "too large", repository: "another repository", unreadable: "unreadable" };

/** Says why a file is not covered. @param {string} why */
export const notCoveredReason = (why) => (Object.hasOwn(REASONS, why) ? REASONS[why] : why);

/** Splits a path before its last element. @param {string} path @returns {[directory: string, name: string]} */
export function splitPath(path) {
  const at = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1;
  return [path.slice(0, at), path.slice(at)];
}
