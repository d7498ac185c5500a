// The items of a session's state. Used by store.js.

/**
 * @typedef {import("./store.js").Session} Session
 * @typedef {import("./store.js").Item} Item
 * @typedef {import("./store.js").BlockItem} BlockItem
 * @typedef {import("./store.js").ToolItem} ToolItem
 */

/** An event with its run, number and time. @typedef {{event: any, meta: any, run: string, seq: number, at: number}} EventContext */

/** Maximum number of items, unless more of the past was loaded. Beyond it the oldest are removed in batches. */
export const MAX_ITEMS = 5000;
const BATCH = 500;
const MAX_OUTPUT = 64 * 1024;

/**
 * @template {Item} T
 * @param {Session} session @param {T} item @returns {T}
 */
export function add(session, item) {
  if (item.agent === undefined) delete item.agent;
  session.items.push(item);
  session.index.set(item.key, item);
  session.changed.add(item.key);
  if (session.items.length > session.most + BATCH) dropOldest(session);
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
  session.truncated = session.dropped = true;
  session.earlier = ""; // its cursor was that of the first item
  session.parts.add("head");
}

/** @param {Session} session @param {Item} item */
export const markChanged = (session, item) => session.changed.add(item.key);

/** Returns a new key for an item without an id. @param {Session} session @param {string} run @param {string} kind */
export function nextKey(session, run, kind) {
  let n = 1;
  while (session.index.has(`${run}/${kind}:${n}`)) n++; // a run has few of them
  return `${run}/${kind}:${n}`;
}

/** Returns the block with an id, and starts it if it is new. @param {Session} session @param {EventContext} ctx @param {"text" | "reasoning"} kind @param {string} id */
export function openBlock(session, { run, meta, at }, kind, id) {
  const key = `${run}/${kind}:${id}`;
  const item = session.index.get(key);
  if (item) return /** @type {BlockItem} */ (item);
  session.open.set(key, run);
  endReasoning(session, session.items.length, run, meta.agent, at);
  return add(session, /** @type {BlockItem} */ ({
    kind, key, run, agent: meta.agent, id, content: "", html: "", tail: "", done: false, final: false, started: at, ended: null,
  }));
}

/**
 * Ends the reasoning before an item: the agent reports its end only with the next complete block.
 * @param {Session} session @param {number} index of that item @param {string} run @param {string | undefined} agent @param {number} at
 */
function endReasoning(session, index, run, agent, at) {
  const before = session.items[index - 1];
  if (before?.kind !== "reasoning" || before.run !== run || before.agent !== agent) return;
  before.ended = Math.min(before.ended ?? at, at);
  markChanged(session, before);
}

/** Replaces the deltas of a block by its complete text. @param {Session} session @param {EventContext} ctx @param {"text" | "reasoning"} kind @param {boolean} final */
export function completeBlock(session, ctx, kind, final) {
  const { event, meta, at } = ctx;
  const id = meta.id || `#${ctx.seq}`; // a block without deltas may have no id
  const isNew = !session.index.has(`${ctx.run}/${kind}:${id}`);
  const item = openBlock(session, ctx, kind, id);
  if (!event.content) return remove(session, item); // it is sent again under another id
  if (meta.started || isNew) item.started = meta.started ?? null; // it started before its event
  if (meta.started) endReasoning(session, session.items.lastIndexOf(item), ctx.run, meta.agent, meta.started);
  const ended = kind === "reasoning" ? (item.ended ?? at) : at;
  Object.assign(item, { content: event.content, html: meta.html ?? "", tail: "", done: true, final, ended });
  session.open.delete(item.key);
  markChanged(session, item);
}

/** Returns the tool call with an id, and starts it if it is new. @param {Session} session @param {EventContext} ctx @param {string} id */
export function openTool(session, { run, meta, at }, id) {
  const key = toolKey(run, id);
  const found = session.index.get(key);
  session.changed.add(key);
  if (found) return /** @type {ToolItem} */ (found);
  session.open.set(key, run);
  endReasoning(session, session.items.length, run, meta.agent, at);
  return add(session, /** @type {ToolItem} */ ({
    kind: "tool", key, run, agent: meta.agent, id, tool: "", title: "", args: {}, output: "", html: "", tail: "", result: "", detail: "",
    error: false, denied: false, added: null, removed: null, diff: "", path: "", started: at, ended: null, took: null, state: "running",
  }));
}

/** @param {string} run @param {string} id */
export const toolKey = (run, id) => `${run}/tool:${id}`;

/** Returns the tail after a delta: `keep` units of the previous one stay. @param {string} tail @param {{keep?: number, tail: string} | undefined} html */
export const nextTail = (tail, html) => tail.slice(0, html?.keep ?? 0) + (html?.tail ?? "");

/** @param {Session} session @param {EventContext} ctx */
export function appendOutput(session, ctx) {
  const item = openTool(session, ctx, ctx.event.id);
  if (item.state === "completed" || item.state === "error") return;
  item.output += ctx.event.content;
  if (item.output.length > 2 * MAX_OUTPUT) item.output = item.output.slice(-MAX_OUTPUT);
  item.html += ctx.event.html?.append ?? "";
  item.tail = nextTail(item.tail, ctx.event.html);
}

/** @param {Session} session @param {EventContext} ctx */
export function setResult(session, ctx) {
  const { event, meta, at } = ctx;
  const item = openTool(session, ctx, event.tool_call_id);
  item.tool ||= event.tool;
  const error = Boolean(event.is_error);
  Object.assign(item, { output: "", result: event.result, detail: meta.detail ?? "", html: meta.html ?? "", tail: "", error, denied: event.code === "denied" });
  const isCounted = meta.added !== undefined || meta.removed !== undefined;
  const lines = isCounted ? { added: 0, removed: 0, ...meta } : item.diff && !error ? countDiffLines(item.diff) : { added: null, removed: null };
  item.added = lines.added;
  item.removed = lines.removed;
  finishTool(session, item, error ? "error" : "completed", at);
  if (!error && item.path && item.added !== null) countFile(session, item);
}

/** @param {Session} session @param {ToolItem} item */
function countFile(session, item) {
  const file = (session.files[item.path] ??= { added: 0, removed: 0 });
  file.added += item.added ?? 0;
  file.removed += item.removed ?? 0;
  session.parts.add("files");
}

/** Counts the added and removed lines of a diff. @param {string} diff */
function countDiffLines(diff) {
  const count = { added: 0, removed: 0 };
  for (const line of diff.split("\n")) {
    if (line.startsWith("+") && !line.startsWith("+++ ")) count.added++;
    else if (line.startsWith("-") && !line.startsWith("--- ")) count.removed++;
  }
  return count;
}

/** @param {Record<string, any>} args */
export function filePath(args) {
  const path = args.path ?? args.file_path ?? args.filePath ?? args.filename;
  return typeof path === "string" ? path : "";
}

/** @param {Session} session @param {ToolItem} item @param {"completed" | "error"} state @param {number | null} at */
export function finishTool(session, item, state, at) {
  item.state = item.error ? "error" : state; // the result takes precedence over the step's status
  item.ended ??= at;
  if (item.took === null && item.started !== null && at !== null) item.took = at - item.started;
  session.open.delete(item.key);
}

/** @param {Session} session @param {string} run @param {string} call */
export function agentChanged(session, run, call) {
  const key = toolKey(run, call);
  if (call && session.index.has(key)) session.changed.add(key);
}

