// What was before the first item of a session's state, which is loaded later: it comes in front. For sessions.js; pure.

/** @typedef {import("./store.js").Session} Session @typedef {import("./store.js").Item} Item @typedef {import("./store.js").ToolItem} ToolItem */

/**
 * Puts an earlier state in front of one that goes on where it ends, perhaps in the middle of a run.
 * @param {Session} session @param {Session} past
 */
export function precede(session, past) {
  const items = past.items.filter((item) => !continues(session, item));
  for (const item of items) rename(session, item);
  if (items.length > 0) session.items = items.concat(session.items);
  for (const item of items) session.index.set(item.key, item);
  session.front += items.length;
  session.most = Math.max(session.most, session.items.length);
  addRuns(session, past, items);
  addFiles(session, past);
  session.agents = { ...past.agents, ...session.agents };
  session.servers = { ...past.servers, ...session.servers };
  session.plan ??= past.plan;
  session.usage ??= past.usage;
  for (const [id, ending] of past.answered) if (!session.answered.has(id)) session.answered.set(id, ending);
  for (const part of past.parts) session.parts.add(part);
  session.parts.add("head");
}

/** A call or a block whose end is known already gets its beginning. @param {Session} session @param {Item} before */
function continues(session, before) {
  const item = session.index.get(before.key);
  if (!item || item.kind !== before.kind || !("started" in item) || !("started" in before)) return false;
  item.started = before.started ?? item.started;
  if (item.kind === "tool" && before.kind === "tool") continueTool(item, before);
  session.changed.add(item.key);
  return true;
}

/** @param {ToolItem} item @param {ToolItem} before */
function continueTool(item, before) {
  item.tool ||= before.tool;
  item.title ||= before.title;
  item.path ||= before.path;
  item.diff ||= before.diff;
  if (Object.keys(item.args).length === 0) item.args = before.args;
}

/** What is counted in a run was counted from the middle of it. @param {Session} session @param {Item} item */
function rename(session, item) {
  while (session.index.has(item.key)) item.key += "~";
}

/** @param {Session} session @param {Session} past @param {Item[]} items */
function addRuns(session, past, items) {
  for (const run of Object.values(past.runs)) {
    const known = session.runs[run.id];
    session.runs[run.id] = known ? { ...known, started: run.started ?? known.started, input: run.input + known.input, output: run.output + known.output, prompts: run.prompts + known.prompts } : run;
    if (known && run.prompts > 0) steer(session, run.id, items.length);
  }
}

/** The first known prompt of a run was none. @param {Session} session @param {string} run @param {number} from */
function steer(session, run, from) {
  for (let i = from; i < session.items.length && session.items[i].run === run; i++) {
    const item = session.items[i];
    if (item.kind !== "prompt" || item.steers) continue;
    item.steers = true;
    session.changed.add(item.key);
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
