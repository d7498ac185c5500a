// Prepends earlier items, loaded later, to a session's state. Used by sessions.js. Pure.

/** @typedef {import("./store.js").Session} Session @typedef {import("./store.js").Item} Item */

/**
 * Prepends an earlier state to the one that continues it, possibly in the middle of a run.
 * @param {Session} session @param {Session} past
 */
export function prependPast(session, past) {
  const items = past.items.flatMap((item) => (isKnown(session, item) ? (session.index.get(item.key) ?? []) : isAbandoned(item) ? [] : item));
  const placed = new Set(items.filter((item) => session.index.get(item.key) === item));
  for (const item of items) if (!placed.has(item)) makeKeyUnique(session, item);
  const rest = placed.size > 0 ? session.items.filter((item) => !placed.has(item)) : session.items;
  if (items.length > 0) session.items = items.concat(rest);
  for (const item of items) session.index.set(item.key, item);
  for (const { key } of placed) session.changed.add(key);
  session.front += items.length;
  session.most = Math.max(session.most, session.items.length);
  addRuns(session, past);
  addFiles(session, past);
  session.agents = { ...past.agents, ...session.agents };
  session.plan ??= past.plan;
  session.usage ??= past.usage;
  for (const [id, ending] of past.answered) if (!session.answered.has(id)) session.answered.set(id, ending);
  for (const part of past.parts) session.parts.add(part);
  session.parts.add("head");
}

/** Reports whether the session has this block or call, complete. Its place is in the past. @param {Session} session @param {Item} earlier */
function isKnown(session, earlier) {
  const item = session.index.get(earlier.key);
  return item?.kind === earlier.kind && "started" in earlier;
}

/** Reports whether a text started here and was never completed. @param {Item} item */
const isAbandoned = (item) => (item.kind === "text" || item.kind === "reasoning") && !item.content && !item.done;

/** Makes the key unique: keys that count per run started in the middle of it. @param {Session} session @param {Item} item */
function makeKeyUnique(session, item) {
  while (session.index.has(item.key)) item.key += "~";
}

/** @param {Session} session @param {Session} past */
function addRuns(session, past) {
  for (const run of Object.values(past.runs)) {
    const known = session.runs[run.id];
    session.runs[run.id] = known ? { ...known, started: run.started ?? known.started, input: run.input + known.input, output: run.output + known.output, prompts: run.prompts + known.prompts } : run;
  }
}

/** @param {Session} session @param {Session} past */
function addFiles(session, past) {
  for (const [path, { added, removed }] of Object.entries(past.files)) {
    const file = (session.files[path] ??= { added: 0, removed: 0 });
    file.added += added;
    file.removed += removed;
  }
}
