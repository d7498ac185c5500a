// The list of all sessions, made of what portal.sessions.watch tells. Pure, as store.js, which gives it to others.

/** @typedef {import("./store.js").Info} Info @typedef {import("./store.js").Message} Message */

/**
 * @typedef {{sessions: Map<string, Info>, changed: boolean}} List changed: since somebody set it to false
 * @typedef {{label: string, sessions: Info[]}} Group
 */

/** The list as the result of portal.sessions.watch has it. @param {Info[]} [sessions] @returns {List} */
export function newList(sessions = []) {
  return { sessions: new Map(sessions.map((session) => [session.session_id, session])), changed: true };
}

/** Takes portal.session.changed and portal.session.removed; others change nothing. @param {List} list @param {Message} message */
export function reduceList(list, { method, params }) {
  if (method === "portal.session.changed") list.sessions.set(params.session.session_id, params.session);
  else if (method === "portal.session.removed") list.sessions.delete(params.session_id);
  else return;
  list.changed = true;
}

/**
 * The sessions by day, the newest first; with a search only those that have all of its words in title, directory or
 * last prompt, without one only those that are not shown by the job that they work for.
 * @param {List} list @param {number} now ms @param {string} [search] @returns {Group[]}
 */
export function grouped(list, now, search = "") {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...list.sessions.values()].filter((session) => words.every((word) => textOf(session).includes(word)) && (words.length > 0 || !isOfJob(session)));
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

/** Whether nobody would look for it here: a job has hundreds. One that waits for a person is for everybody. @param {Info} session */
const isOfJob = ({ origin, state }) => origin === "job" && state !== "waiting";

/** @param {Info} session */
const textOf = ({ title = "", directory = "", last_user_message: last = "" }) => `${title}\n${directory}\n${last}`.toLowerCase();

/** A name for the day, less exact the longer ago it is. @param {number} time @param {number} now */
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
