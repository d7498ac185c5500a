// The state of a session, built by `apply` from the portal's messages. Pure: no browser, clock or network. A message costs O(1), whatever the
// size of the session. The state is described in spec/page.md, the messages in spec/ui.md.

import { isHidden } from "./blocks/fold.js";
import { noticeText } from "./blocks/labels.js";
import { restoredText } from "./changes.js";
import { MAX_ITEMS, add, agentChanged, appendOutput, completeBlock, filePath, finishTool, markChanged, nextKey, nextTail, openBlock, openTool, setResult } from "./items.js";
import { addQuestion, close, removeQuestions, runOf, setRunStatus, stateOf } from "./runs.js";

export { MAX_ITEMS } from "./items.js";
export { workOf } from "./runs.js";

/**
 * What happened, in the order in which it began. Keys are stable across reloads.
 * @typedef {PromptItem | BlockItem | ToolItem | EndItem | ErrorItem | NoticeItem | CompactionItem} Item
 *
 * @typedef {object} ItemBase
 * @property {string} key unique in the session
 * @property {string} run its run; "" between runs
 * @property {string} [agent] the id of the sub-agent; see Session.agents
 *
 * A prompt.
 * @typedef {ItemBase & {kind: "prompt", text: string, steers: boolean, attachments: Attachment[]}} PromptItem steers: it was sent into a running run
 * @typedef {{name: string, path?: string, first?: number, last?: number, media_type?: string, data?: string, size?: number}} Attachment data: an image, base64; size: bytes
 *
 * Reasoning or text of the model. `html` only grows until `done`; `tail` is replaced by each delta. Both are "" if the portal renders no HTML;
 * then only `content` is set.
 * @typedef {ItemBase & {kind: "reasoning" | "text", id: string, content: string, html: string, tail: string, done: boolean,
 *   final: boolean, started: number | null, ended: number | null}} BlockItem final: the answer of its run; started,
 *   ended: ms, null if unknown
 *
 * A tool call. `html` renders its result or diff, `tail` the last lines of its output while it runs.
 * @typedef {ItemBase & {kind: "tool", id: string, tool: string, title: string, args: Record<string, any>, output: string,
 *   html: string, tail: string, result: string, detail: string, error: boolean, denied: boolean, added: number | null,
 *   removed: number | null, diff: string, path: string, started: number | null, ended: number | null, took: number | null,
 *   state: "running" | "waiting" | "completed" | "error"}} ToolItem output: its output so far, at most the last
 *   64 Ki, "" once there is a result; result: what the model reads; detail: what people read, if different; denied: permission was denied; added,
 *   removed: lines of its diff; diff: of a change that needs permission; path: its file; took: ms
 *
 * The end of a run.
 * @typedef {ItemBase & {kind: "end", status: "completed" | "error" | "cancelled", message: string, took: number | null,
 *   input: number, output: number, multiplier: number | null}} EndItem took: ms; input, output: tokens
 *
 * @typedef {ItemBase & {kind: "error", message: string, hint: string, cause: string}} ErrorItem cause: the error kind in spec/ui.md
 * @typedef {ItemBase & {kind: "notice", notice: string, raw: any, count?: number}} NoticeItem notice: the kind in spec/ui.md; count: how many times in a row
 * @typedef {ItemBase & {kind: "compaction", state: "running" | "completed" | "error"}} CompactionItem
 */

/**
 * @typedef {"running" | "awaiting_ui" | "completed" | "error" | "cancelled"} RunStatus
 * @typedef {{id: string, status: RunStatus, message: string, started: number | null, ended: number | null, input: number,
 *   output: number, multiplier: number | null, prompts: number}} Run prompts: how many it has, steering ones included
 *
 * A question to the user. `rpc` is the request id to answer (Connection.answer), null while disconnected; `id` is the same for every UI. Another
 * request with the same `id` replaces it, such as a text that follows a choice.
 * @typedef {{rpc: string | number | null, id: string, kind: "permission" | "input" | "form" | "sign-in" | "plan",
 *   method: string, params: Record<string, any>}} Question
 *
 * How a question ended. `by` is the dialect of the answer.
 * @typedef {{by: string, ending: "answered" | "cancelled" | "expired", approved?: boolean, reason?: string}} Ending
 *
 * @typedef {{name: string, title: string, call: string, outcome: string, error: string, tokens: number, calls: number,
 *   took: number | null}} Agent a sub-agent; call: the id of the tool call that started it, or ""; outcome: "" while it works
 *
 * @typedef {{id: string, title: string, detail?: string, state: "pending" | "running" | "completed"}} Todo
 * @typedef {{text: string, html: string, todos: Todo[]}} Plan
 * @typedef {{used: number, limit: number, left: number | null}} Usage left: percentage of the context window
 *
 * @typedef {{run: string, text: string, by: string}} Waiting a queued prompt; text: its beginning, "" for a compaction;
 *   by: the dialect it came through
 *
 * A part of the state other than its items.
 * @typedef {"head" | "questions" | "plan" | "files" | "usage" | "servers" | "permissions" | "waiting" | "changes"} Part
 *   head: title, model, directory, state; usage: includes watchers; servers: the state of an MCP server; changes: a client brought files back
 */

/**
 * @typedef {object} Session
 * @property {string} id
 * @property {string} title "" if it has none
 * @property {string} model
 * @property {string} directory
 * @property {State} state
 * @property {{id: string, title: string} | null} forkedFrom the session that it is a fork of, with its title at that time
 * @property {string} cursor position of this state, for portal.session.attach; "" at the start
 * @property {Item[]} items the newest, at most `most`
 * @property {Map<string, Item>} index items by key
 * @property {Record<string, Run>} runs
 * @property {string} run the current run, or ""
 * @property {number} ended how many runs have ended so far
 * @property {Question[]} questions open ones, oldest first
 * @property {Map<string, Ending>} answered how questions ended, by id
 * @property {Usage | null} usage
 * @property {Plan | null} plan
 * @property {Record<string, {added: number, removed: number}>} files changed files, by path
 * @property {Record<string, Agent>} agents by id
 * @property {Record<string, string> | null} permissions the rules in force: allow, ask or deny by name; null if unknown
 * @property {Record<string, string>} remembered the rules made by answers
 * @property {string[] | null} can the capabilities of its agent; null if unknown
 * @property {Waiting[]} waiting queued prompts, in order
 * @property {number} watchers number of attached UIs, this one included
 * @property {boolean} truncated whether there was more before the first item
 * @property {string} earlier cursor to load it with portal.session.earlier; "" if unavailable
 * @property {boolean} dropped whether the first items were dropped here: the portal still has them, for those who attach without a cursor
 * @property {number} front how many items were prepended or moved to the front so far (prepend.js)
 * @property {number} most maximum number of items
 * @property {boolean} closed whether the session is closed
 * @property {boolean} detached whether the connection was lost, so events may be missing
 * @property {number | null} multiplier the model's latest multiplier
 * @property {Set<string>} changed keys of items that were added, changed or removed (then index lacks them) since
 *   `takeChanges`
 * @property {Set<Part>} parts that changed since `takeChanges`
 * @property {Map<string, string>} open keys of unfinished items, with their run (internal)
 */

/**
 * @typedef {"idle" | "queued" | "running" | "waiting" | "closed" | "elsewhere"} State
 * @typedef {{session_id: string, title?: string, model?: string, directory?: string, state?: State, origin?: string,
 *   updated_at?: string, created_at?: string, run_id?: string, message_count?: number, last_user_message?: string,
 *   outcome?: string, waits_for?: string, pinned?: boolean, archived?: boolean, project?: string,
 *   watchers?: number, can_fork?: boolean, forked_from?: {session_id: string, title: string}, permissions?: Record<string, string>, remembered?: Record<string, string>, waiting?: {run_id: string, text: string, by?: string}[], agent?: string, can?: string[]}} Info
 *   a session in a list, or in the result of portal.session.attach
 * @typedef {{id?: string | number, method: string, params: Record<string, any>}} Message a notification or a request
 */

/** Creates the state of a session before its first message. @param {Info} info @returns {Session} */
export function newSession(info) {
  /** @type {Session} */
  const session = {
    id: info.session_id, title: "", model: "", directory: "", state: "idle", forkedFrom: null, cursor: "",
    items: [], index: new Map(), runs: {}, run: "", ended: 0, questions: [], answered: new Map(), usage: null, watchers: 1, plan: null,
    files: Object.create(null), // a file may be called __proto__
    agents: {}, permissions: null, remembered: {}, can: null, waiting: [], truncated: false, earlier: "", dropped: false, front: 0, most: MAX_ITEMS, closed: false, detached: false,
    multiplier: null,
    changed: new Set(), parts: new Set(), open: new Map(),
  };
  applyInfo(session, info);
  return session;
}

/**
 * Applies a list entry or the result of portal.session.attach.
 * @param {Session} session @param {Info} info
 */
export function applyInfo(session, info) {
  session.detached = false;
  session.title = info.title || session.title;
  session.model = info.model || session.model;
  session.directory = info.directory || session.directory;
  if (info.forked_from) session.forkedFrom = { id: info.forked_from.session_id, title: info.forked_from.title };
  setWatchers(session, info);
  if (info.permissions) setPermissions(session, info.permissions, info.remembered);
  if (info.waiting) setQueue(session, info.waiting);
  if (info.can) session.can = info.can;
  session.closed &&= info.state === "closed"; // otherwise it was opened again
  const closed = info.state === "closed" && !session.run;
  session.state = closed || info.state === "elsewhere" ? /** @type {State} */ (info.state) : stateOf(session, info.state);
  session.parts.add("head");
}

/** Reports whether the session's agent can do something, or may be able to. @param {Session} session @param {string} capability */
export const isCapable = ({ can }, capability) => can === null || can.includes(capability);

/** Sets the number of watchers, which only lists contain. @param {Session} session @param {Info} [info] */
export function setWatchers(session, { watchers } = /** @type {Info} */ ({})) {
  if (watchers === undefined || watchers === session.watchers) return;
  session.watchers = watchers;
  session.parts.add("usage");
}

/** @param {Session} session @param {Record<string, string>} rules @param {Record<string, string>} [remembered] */
function setPermissions(session, rules, remembered = {}) {
  session.permissions = rules;
  session.remembered = remembered;
  session.parts.add("permissions");
}

/** @param {Session} session @param {{run_id: string, text: string, by?: string}[]} waiting */
function setQueue(session, waiting) {
  session.waiting = waiting.map(({ run_id: run, text, by = "" }) => ({ run, text, by }));
  session.parts.add("waiting");
}

/**
 * Returns and clears what changed since the last call: keys of items, and parts. A key that `session.index` lacks was removed.
 * @param {Session} session @returns {{items: Set<string>, parts: Set<Part>}}
 */
export function takeChanges(session) {
  const changes = { items: session.changed, parts: session.parts };
  session.changed = new Set();
  session.parts = new Set();
  return changes;
}

/** Marks the session as detached, until `applyInfo`: questions cannot be answered until they are sent again. @param {Session} session */
export function setDetached(session) {
  session.detached = true;
  for (const question of session.questions) question.rpc = null;
  if (session.questions.length > 0) session.parts.add("questions");
}

/**
 * Applies one message. Unknown messages are ignored.
 * @param {Session} session @param {Message} message
 * @param {number} now ms, for messages without a time
 */
export function apply(session, message, now) {
  const { method, params } = message;
  const at = params.meta?.time ?? now;
  const cursor = params.meta?.cursor;
  if (cursor) session.cursor = cursor;
  if (method === "agent.event") {
    const type = params.event?.type;
    if (Object.hasOwn(EVENTS, type)) EVENTS[type](session, { event: params.event, meta: params.meta ?? {}, run: params.run_id ?? "", seq: params.seq ?? -1, at });
  } else if (method === "run.status") {
    setRunStatus(session, params, at);
  } else if (method === "run.context") {
    setUsage(session, { left: params.context_left_percent });
  } else if (method === "portal.session.closed") {
    close(session);
  } else if (message.id !== undefined && method !== "client.tool.call" && params.meta?.question_id) {
    addQuestion(session, message);
  }
}

/** @typedef {import("./items.js").EventContext} EventContext */

/** @type {Record<string, (session: Session, ctx: EventContext) => void>} */
const EVENTS = {
  hidden_user_message(session, { event, run, meta }) {
    const started = runOf(session, run);
    started.prompts++;
    add(session, { kind: "prompt", key: `${run}/prompt:${meta.id ?? started.prompts}`, run, text: event.content, steers: Boolean(event.steers), attachments: event.attachments ?? [] });
    session.parts.add("head");
  },
  delta(session, ctx) {
    if (ctx.event.target === "tool") return appendOutput(session, ctx);
    const item = openBlock(session, ctx, ctx.event.target, ctx.event.id);
    if (item.done) return;
    item.content += ctx.event.content;
    item.html += ctx.event.html?.append ?? "";
    item.tail = nextTail(item.tail, ctx.event.html);
    markChanged(session, item);
  },
  text: (session, ctx) => completeBlock(session, ctx, "text", false),
  reasoning: (session, ctx) => completeBlock(session, ctx, "reasoning", false),
  final(session, ctx) {
    if (ctx.event.content) completeBlock(session, ctx, "text", true);
  },
  step_start(session, ctx) {
    const item = openTool(session, ctx, ctx.event.step_id);
    item.tool ||= ctx.event.title;
  },
  tool_call(session, ctx) {
    const { event } = ctx;
    const item = openTool(session, ctx, event.tool_call_id);
    item.tool = event.tool;
    item.title = event.display_name ?? "";
    item.args = event.args ?? {};
    item.path ||= filePath(item.args);
  },
  tool_result: setResult,
  step_complete(session, ctx) {
    const item = openTool(session, ctx, ctx.event.step_id);
    item.took = ctx.event.duration_ms;
    finishTool(session, item, ctx.event.status === "error" ? "error" : "completed", ctx.at);
  },
  "permission.preview"(session, ctx) {
    const item = openTool(session, ctx, ctx.event.tool_call_id);
    item.diff = ctx.event.diff;
    item.path ||= ctx.event.file_path ?? "";
  },
  compaction_start(session, { run, seq }) {
    const key = `${run}/compaction:${seq}`;
    add(session, { kind: "compaction", key, run, state: "running" });
    session.open.set(`${run}/compaction`, key);
  },
  compaction_complete(session, { event, run, seq }) {
    const key = session.open.get(`${run}/compaction`) ?? `${run}/compaction:${seq}`;
    session.open.delete(`${run}/compaction`);
    const item = session.index.get(key) ?? add(session, { kind: "compaction", key, run, state: "running" });
    if (item.kind === "compaction") item.state = event.compacted ? "completed" : "error";
    markChanged(session, item);
  },
  usage(session, { event, run }) {
    const current = run ? runOf(session, run) : undefined;
    if (event.input_tokens !== undefined) {
      if (current) {
        current.input += event.input_tokens;
        current.output += event.output_tokens;
      }
      return;
    }
    session.multiplier = event.multiplier;
    if (current) current.multiplier = event.multiplier;
    setUsage(session, { used: event.used, limit: event.limit });
  },
  plan(session, { event, meta }) {
    session.plan = { text: event.text, html: meta.html ?? "", todos: event.todos };
    session.parts.add("plan");
  },
  question_answered(session, { event }) {
    const { question_id: id, by, ending, approved, reason } = event;
    session.answered.set(id, { by, ending, approved, reason });
    removeQuestions(session, (question) => question.id === id);
    session.parts.add("questions");
  },
  model(session, { event }) {
    session.model = event.model;
    session.parts.add("head");
  },
  title(session, { event }) {
    session.title = event.title;
    session.parts.add("head");
  },
  permissions: (session, { event }) => setPermissions(session, event.rules, event.remembered),
  queue: (session, { event }) => setQueue(session, event.waiting),
  error(session, { event, run, meta }) {
    add(session, { kind: "error", key: nextKey(session, run, "error"), run, agent: meta.agent, message: event.message, hint: event.hint ?? "", cause: event.kind });
  },
  files_restored(session, { event, run, meta }) {
    add(session, { kind: "notice", key: `files:${event.id}`, run, agent: meta.agent, notice: "portal.files_restored", raw: { message: restoredText(event.kind, event.files) } });
    session.parts.add("changes");
  },
  notice(session, { event, run, meta }) {
    const last = session.items.findLast((item) => !isHidden(item));
    const text = noticeText({ notice: event.kind, raw: event.raw });
    if (text && last?.kind === "notice" && last.run === run && last.agent === meta.agent && noticeText(last) === text) {
      last.count = (last.count ?? 1) + 1;
      return void markChanged(session, last);
    }
    add(session, { kind: "notice", key: nextKey(session, run, "notice"), run, agent: meta.agent, notice: event.kind, raw: event.raw });
  },
  server: (session) => void session.parts.add("servers"),
  subagent_start(session, { event, run }) {
    const { agent, name, title, call = "" } = event;
    session.agents[agent] = { name, title, call, outcome: "", error: "", tokens: 0, calls: 0, took: null };
    agentChanged(session, run, call);
  },
  subagent_end(session, { event, run }) {
    const before = session.agents[event.agent] ?? { name: "", title: "", call: "" };
    const { outcome, error = "", tokens, tool_calls: calls, duration_ms: took } = event;
    session.agents[event.agent] = { ...before, outcome, error, tokens, calls, took };
    agentChanged(session, run, before.call);
  },
};

/** @param {Session} session @param {Partial<Usage>} update */
function setUsage(session, update) {
  const usage = { used: 0, limit: 0, left: null, ...session.usage, ...update };
  if (update.limit) usage.left = Math.min(100, Math.max(0, 100 - (100 * usage.used) / usage.limit));
  session.usage = usage;
  session.parts.add("usage");
}
