// The list of all sessions, from portal.sessions.watch. Pure.

/** @typedef {import("./store.js").Info} Info @typedef {import("./store.js").Message} Message */

/**
 * @typedef {{sessions: Map<string, Info>, changed: boolean}} List changed: since it was set to false
 * @typedef {{label: string, sessions: Info[]}} Group
 */

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

/**
 * Returns the sessions by day, newest first. A search keeps those with all its words in the title, directory or last prompt. Without a search,
 * sessions of jobs are left out.
 * @param {List} list @param {number} now ms @param {string} [search] @returns {Group[]}
 */
export function groupByDay(list, now, search = "") {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...list.sessions.values()].filter((session) => words.every((word) => textOf(session).includes(word)) && (words.length > 0 || !isHidden(session)));
  found.sort((a, b) => (b.updated_at ?? "").localeCompare(a.updated_at ?? "") || a.session_id.localeCompare(b.session_id));
  /** @type {Group[]} */
  const groups = [];
  for (const session of found) {
    const label = dayOf(Date.parse(session.updated_at ?? ""), now);
    if (groups.at(-1)?.label !== label) groups.push({ label, sessions: [] });
    groups.at(-1)?.sessions.push(session);
  }
  return groups;
}

/** Reports whether to hide a session of a job, of which there can be hundreds. One that waits for the user is shown. @param {Info} session */
const isHidden = ({ origin, state }) => origin === "job" && state !== "waiting";

/** @param {Info} session */
const textOf = ({ title = "", directory = "", last_user_message: last = "" }) => `${title}\n${directory}\n${last}`.toLowerCase();

/** Names a day, less exactly the older it is. @param {number} time @param {number} now */
function dayOf(time, now) {
  const today = new Date(now).setHours(0, 0, 0, 0);
  const days = Math.round((today - new Date(time).setHours(0, 0, 0, 0)) / 86_400_000); // a day may have 23 or 25 hours
  if (!(days > 0)) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return "This week";
  const date = new Date(time);
  const options = /** @type {Intl.DateTimeFormatOptions} */ ({ month: "long", year: date.getFullYear() === new Date(now).getFullYear() ? undefined : "numeric" });
  return date.toLocaleDateString("en", options);
}
