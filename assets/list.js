// The list of all sessions, from portal.sessions.watch. Pure.

import { baseName } from "./dom.js";

/** @typedef {import("./store.js").Info} Info @typedef {import("./store.js").Message} Message */

/**
 * @typedef {{sessions: Map<string, Info>, changed: boolean}} List changed: since it was set to false
 * @typedef {"" | "waiting" | "working" | "failed" | "archived"} StateFilter "": all but archived ones
 * @typedef {{search: string, state: StateFilter, origin: string}} Filter origin: a dialect or an activity; "": what the user started; "all"
 * @typedef {{key: string, label: string, title: string, sessions: Info[]}} Group title: the whole path
 */

/** Shows what the user started. @type {Filter} */
export const NO_FILTER = { search: "", state: "", origin: "" };

/** Creates the list from the result of portal.sessions.watch. @param {Info[]} [sessions] @returns {List} */
export function newList(sessions = []) {
  return { sessions: new Map(sessions.map((session) => [session.session_id, session])), changed: true };
}

/** Applies portal.session.changed and portal.session.removed; ignores other messages. @param {List} list @param {Message} message */
export function updateList(list, { method, params }) {
  if (method === "portal.session.changed") list.sessions.set(params.session.session_id, params.session);
  else if (method === "portal.session.removed") list.sessions.delete(params.session_id);
  else return;
  list.changed = true;
}

/** Returns the sessions that pass the filter, newest first. @param {List} list @param {Filter} filter @returns {Info[]} */
export function filterSessions(list, filter) {
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  return [...list.sessions.values()]
    .filter((session) => passes(session, filter, words))
    .sort((a, b) => (b.updated_at ?? "").localeCompare(a.updated_at ?? "") || a.session_id.localeCompare(b.session_id));
}

/**
 * Returns the sessions that pass the filter: the pinned ones, then those of each project. The project with the newest session is first, and so is
 * the newest session of each group.
 * @param {List} list @param {Filter} filter @returns {Group[]}
 */
export function groupByProject(list, filter) {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  const sessions = filterSessions(list, filter);
  for (const session of [...sessions.filter(isPinned), ...sessions.filter((session) => !isPinned(session))]) {
    const path = isPinned(session) ? "" : projectOf(session);
    const key = isPinned(session) ? "pinned" : `project ${path}`;
    const group = groups.get(key) ?? { key, label: isPinned(session) ? "Pinned" : baseName(path), title: path, sessions: [] };
    group.sessions.push(session);
    groups.set(key, group);
  }
  distinguish([...groups.values()].filter(({ key }) => key !== "pinned"));
  return [...groups.values()];
}

/** Adds the parent directory to the labels that several projects share. @param {Group[]} groups */
function distinguish(groups) {
  const count = new Map();
  for (const { label } of groups) count.set(label, (count.get(label) ?? 0) + 1);
  for (const group of groups) {
    const parent = baseName(group.title.replace(/[\\/][^\\/]*[\\/]*$/, ""));
    if (count.get(group.label) > 1 && parent) group.label = `${group.label} – ${parent}`;
  }
}

/** The project of a session: its repository, otherwise its directory. @param {Info} session */
export const projectOf = (session) => session.project || session.directory || "";

/** Returns the directory of a session within its project, "" for the project itself. @param {Info} session */
export function directoryWithin(session) {
  const project = projectOf(session);
  const directory = session.directory ?? "";
  return directory.startsWith(project) ? directory.slice(project.length).replace(/^[\\/]+/, "") : directory;
}

/** Returns what a session is called. @param {{title?: string, last_user_message?: string}} session */
export const titleOf = ({ title, last_user_message: last }) => title || last || "Untitled";

/** The states of a session, as they are shown. @type {Record<string, string>} */
export const STATE_NAMES = { idle: "Idle", queued: "Queued", running: "Working", waiting: "Waiting for you", closed: "Closed", elsewhere: "Open elsewhere" };

/** Returns what a view of a session says about its state. @param {string} state */
export const stateText = (state) => (state === "idle" ? "" : STATE_NAMES[state] ?? "");

/** @param {Info} session */
const isPinned = (session) => Boolean(session.pinned) && !session.archived;

/** Reports whether the portal started it itself, for a job, an operation or an interface. There can be hundreds. @param {Info} session */
export const isInternal = ({ origin }) => origin === "job" || origin === "operation" || origin === "studio";

/** Reports whether the last run failed, or ended with its portal. @param {Info} session */
export const hasFailed = ({ outcome = "", state }) => ["failed", "interrupted"].includes(outcome) && state !== "running" && state !== "queued" && state !== "waiting";

/** @param {Info} session @param {Filter} filter @param {string[]} words */
function passes(session, { state, origin }, words) {
  if (!words.every((word) => textOf(session).includes(word))) return false;
  if (origin && origin !== "all" && session.origin !== origin) return false;
  if (state && !hasState(session, state)) return false;
  if (session.state === "waiting" || words.length > 0) return true; // whoever is needed, or looked for
  return Boolean(session.archived) === (state === "archived") && (origin !== "" || !isInternal(session));
}

/** @param {Info} session @param {Exclude<StateFilter, "">} wanted */
function hasState(session, wanted) {
  switch (wanted) {
    case "waiting": return session.state === "waiting";
    case "working": return session.state === "running" || session.state === "queued";
    case "failed": return hasFailed(session);
    case "archived": return Boolean(session.archived);
  }
}

/** @param {Info} session */
const textOf = ({ title = "", directory = "", last_user_message: last = "" }) => `${title}\n${directory}\n${last}`.toLowerCase();
