// The items of a session's state: what makes them, and what changes them. For store.js.

/**
 * @typedef {import("./store.js").Session} Session
 * @typedef {import("./store.js").Item} Item
 * @typedef {import("./store.js").BlockItem} BlockItem
 * @typedef {import("./store.js").ToolItem} ToolItem
 */

/** An event with what belongs to it. @typedef {{event: any, meta: any, run: string, seq: number, at: number}} Told */

/** Items that are kept, unless somebody asked for more of the past; beyond it the oldest go, some at a time. */
export const MOST_ITEMS = 5000;
const SPARE = 500;
const MOST_OUTPUT = 64 * 1024;

/**
 * @template {Item} T
 * @param {Session} session @param {T} item @returns {T}
 */
export function add(session, item) {
  if (item.agent === undefined) delete item.agent;
  session.items.push(item);
  session.index.set(item.key, item);
  session.changed.add(item.key);
  if (session.items.length > session.most + SPARE) dropOldest(session);
  return item;
}

/** @param {Session} session @param {Item} item */
function remove(session, item) {
  session.items.splice(session.items.lastIndexOf(item), 1);
  session.index.delete(item.key);
  session.open.delete(item.key);
  session.changed.add(item.key);
}

/** @param {Session} session */
function dropOldest(session) {
  for (const { key } of session.items.splice(0, session.items.length - session.most)) {
    session.index.delete(key);
    session.open.delete(key);
    session.changed.add(key);
  }
  session.truncated = true;
  session.earlier = ""; // which is where the first one began
  session.parts.add("head");
}

/** @param {Session} session @param {Item} item */
export const touch = (session, item) => session.changed.add(item.key);

/** A key for what has no id. @param {Session} session @param {string} run @param {string} kind */
export function unnamed(session, run, kind) {
  let n = 1;
  while (session.index.has(`${run}/${kind}:${n}`)) n++; // there are few of them in a run
  return `${run}/${kind}:${n}`;
}

/** The block of an id, which begins now if it is new. @param {Session} session @param {Told} told @param {"text" | "reasoning"} kind @param {string} id */
export function blockOf(session, { run, meta, at }, kind, id) {
  const key = `${run}/${kind}:${id}`;
  const item = session.index.get(key);
  if (item) return /** @type {BlockItem} */ (item);
  session.open.set(key, run);
  endThought(session, session.items.length, run, meta.agent, at);
  return add(session, /** @type {BlockItem} */ ({
    kind, key, run, agent: meta.agent, id, content: "", html: "", tail: "", done: false, final: false, started: at, ended: null,
  }));
}

/**
 * A thought has ended when what comes behind it begins: the agent says so only with the next whole block.
 * @param {Session} session @param {number} index where in the items that is @param {string} run @param {string | undefined} agent @param {number} at
 */
function endThought(session, index, run, agent, at) {
  const before = session.items[index - 1];
  if (before?.kind !== "reasoning" || before.run !== run || before.agent !== agent) return;
  before.ended = Math.min(before.ended ?? at, at);
  touch(session, before);
}

/** A whole block, which takes the place of its deltas. @param {Session} session @param {Told} told @param {"text" | "reasoning"} kind @param {boolean} final */
export function block(session, told, kind, final) {
  const { event, meta, at } = told;
  const id = meta.id || `#${told.seq}`; // without deltas it may have none
  const isNew = !session.index.has(`${told.run}/${kind}:${id}`);
  const item = blockOf(session, told, kind, id);
  if (!event.content) return remove(session, item); // it is said again under another id
  if (meta.started || isNew) item.started = meta.started ?? null; // it began before it was told
  if (meta.started) endThought(session, session.items.lastIndexOf(item), told.run, meta.agent, meta.started);
  const ended = kind === "reasoning" ? (item.ended ?? at) : at;
  Object.assign(item, { content: event.content, html: meta.html ?? "", tail: "", done: true, final, ended });
  session.open.delete(item.key);
  touch(session, item);
}

/** The call of an id, which begins now if it is new. @param {Session} session @param {Told} told @param {string} id */
export function toolOf(session, { run, meta, at }, id) {
  const key = toolKey(run, id);
  const found = session.index.get(key);
  session.changed.add(key);
  if (found) return /** @type {ToolItem} */ (found);
  session.open.set(key, run);
  endThought(session, session.items.length, run, meta.agent, at);
  return add(session, /** @type {ToolItem} */ ({
    kind: "tool", key, run, agent: meta.agent, id, tool: "", title: "", args: {}, output: "", html: "", tail: "", result: "", detail: "",
    error: false, denied: false, added: null, removed: null, diff: "", path: "", started: at, ended: null, took: null, state: "running",
  }));
}

/** @param {string} run @param {string} id */
export const toolKey = (run, id) => `${run}/tool:${id}`;

/** @param {Session} session @param {Told} told */
export function output(session, told) {
  const item = toolOf(session, told, told.event.id);
  if (item.state === "completed" || item.state === "error") return;
  item.output += told.event.content;
  if (item.output.length > 2 * MOST_OUTPUT) item.output = item.output.slice(-MOST_OUTPUT);
  item.html += told.event.html?.append ?? "";
  item.tail = told.event.html?.tail ?? "";
}

/** @param {Session} session @param {Told} of */
export function result(session, of) {
  const { event, meta, at } = of;
  const item = toolOf(session, of, event.tool_call_id);
  item.tool ||= event.tool;
  const error = Boolean(event.is_error);
  Object.assign(item, { output: "", result: event.result, detail: meta.detail ?? "", html: meta.html ?? "", tail: "", error, denied: event.code === "denied" });
  const told = meta.added !== undefined || meta.removed !== undefined;
  const lines = told ? { added: 0, removed: 0, ...meta } : item.diff && !error ? linesOf(item.diff) : { added: null, removed: null };
  item.added = lines.added;
  item.removed = lines.removed;
  finish(session, item, error ? "error" : "completed", at);
  if (!error && item.path && item.added !== null) countFile(session, item);
}

/** @param {Session} session @param {ToolItem} item */
function countFile(session, item) {
  const file = (session.files[item.path] ??= { added: 0, removed: 0 });
  file.added += item.added ?? 0;
  file.removed += item.removed ?? 0;
  session.parts.add("files");
}

/** Lines of a diff. @param {string} diff */
function linesOf(diff) {
  const count = { added: 0, removed: 0 };
  for (const line of diff.split("\n")) {
    if (line.startsWith("+") && !line.startsWith("+++ ")) count.added++;
    else if (line.startsWith("-") && !line.startsWith("--- ")) count.removed++;
  }
  return count;
}

/** @param {Record<string, any>} args */
export function pathIn(args) {
  const path = args.path ?? args.file_path ?? args.filePath ?? args.filename;
  return typeof path === "string" ? path : "";
}

/** @param {Session} session @param {ToolItem} item @param {"completed" | "error"} state @param {number | null} at */
export function finish(session, item, state, at) {
  item.state = item.error ? "error" : state; // a result tells better than the end of a step
  item.ended ??= at;
  if (item.took === null && item.started !== null && at !== null) item.took = at - item.started;
  session.open.delete(item.key);
}

/** @param {Session} session @param {string} run @param {string} call */
export function agentChanged(session, run, call) {
  session.parts.add("agents");
  const key = toolKey(run, call);
  if (call && session.index.has(key)) session.changed.add(key);
}

