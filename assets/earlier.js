// What was before the first item of a session's state, which is loaded later: it comes in front. For sessions.js; pure.

/** @typedef {import("./store.js").Session} Session @typedef {import("./store.js").Item} Item */

/**
 * Puts an earlier state in front of one that goes on where it ends, perhaps in the middle of a run.
 * @param {Session} session @param {Session} past
 */
export function precede(session, past) {
  const items = past.items.flatMap((item) => (isKnown(session, item) ? (session.index.get(item.key) ?? []) : isBegun(item) ? [] : item));
  const placed = new Set(items.filter((item) => session.index.get(item.key) === item));
  for (const item of items) if (!placed.has(item)) rename(session, item);
  const rest = placed.size > 0 ? session.items.filter((item) => !placed.has(item)) : session.items;
  if (items.length > 0) session.items = items.concat(rest);
  for (const item of items) session.index.set(item.key, item);
  for (const { key } of placed) session.changed.add(key);
  session.front += items.length;
  session.most = Math.max(session.most, session.items.length);
  addRuns(session, past);
  addFiles(session, past);
  session.agents = { ...past.agents, ...session.agents };
  session.servers = { ...past.servers, ...session.servers };
  session.plan ??= past.plan;
  session.usage ??= past.usage;
  for (const [id, ending] of past.answered) if (!session.answered.has(id)) session.answered.set(id, ending);
  for (const part of past.parts) session.parts.add(part);
  session.parts.add("head");
}

/** A block or a call that goes on behind the past is known whole, but has its place here. @param {Session} session @param {Item} before */
function isKnown(session, before) {
  const item = session.index.get(before.key);
  return item?.kind === before.kind && "started" in before;
}

/** Nothing came of a text that only begins here. @param {Item} item */
const isBegun = (item) => (item.kind === "text" || item.kind === "reasoning") && !item.content && !item.done;

/** What is counted in a run was counted from the middle of it. @param {Session} session @param {Item} item */
function rename(session, item) {
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
