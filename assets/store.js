// The state of a session, made by `apply` alone of what the portal tells about it. Pure: no browser, no clock, no network. A message costs O(1), whatever the session holds. spec/page.md has the shape, spec/ui.md the messages.

import { MOST_ITEMS, add, agentChanged, block, blockOf, finish, output, pathIn, result, toolOf, touch, unnamed } from "./items.js";
import { ask, close, dropQuestions, runOf, standing, turn } from "./runs.js";

export { MOST_ITEMS } from "./items.js";
export { grouped, newList, reduceList } from "./list.js";

/**
 * What happened, in the order in which it began. Keys are the same after a reload.
 * @typedef {PromptItem | BlockItem | ToolItem | EndItem | ErrorItem | NoticeItem | CompactionItem} Item
 *
 * @typedef {object} ItemBase
 * @property {string} key unique in the session
 * @property {string} run the run that it belongs to; "" between runs
 * @property {string} [agent] the id of the sub-agent that did it; see Session.agents
 *
 * What somebody asked for.
 * @typedef {ItemBase & {kind: "prompt", text: string, steers: boolean, attachments: Attachment[]}} PromptItem steers: it joined a run that went on
 * @typedef {{name: string, path?: string, first?: number, last?: number, media_type?: string, data?: string}} Attachment data: of an image, in base64
 *
 * What the model thinks or says. `html` is complete (it only grows until `done`, so what was shown of it may stay),
 * `tail` is not, and is replaced. Both are "" if the portal makes no HTML: then there is only `content`.
 * @typedef {ItemBase & {kind: "reasoning" | "text", id: string, content: string, html: string, tail: string, done: boolean,
 *   final: boolean, started: number | null, ended: number | null}} BlockItem final: it is the answer of its run;
 *   started, ended: ms, null if not known
 *
 * A call of a tool. `html` is of its result or its diff, `tail` that of the last lines of its output while it runs.
 * @typedef {ItemBase & {kind: "tool", id: string, tool: string, title: string, args: Record<string, any>, output: string,
 *   html: string, tail: string, result: string, detail: string, error: boolean, denied: boolean, added: number | null,
 *   removed: number | null, diff: string, path: string, started: number | null, ended: number | null, took: number | null,
 *   state: "running" | "waiting" | "completed" | "error"}} ToolItem output: what it wrote while it runs, at most the last
 *   64 Ki, "" once there is a result; result: what the model reads; detail: what people read, if that is something else; denied: it was refused;
 *   added, removed: lines of its diff; diff: of a change that is asked for; path: the file that it is about; took: ms
 *
 * How a run ended.
 * @typedef {ItemBase & {kind: "end", status: "completed" | "error" | "cancelled", message: string, took: number | null,
 *   input: number, output: number, multiplier: number | null}} EndItem took: ms; input, output: tokens
 *
 * @typedef {ItemBase & {kind: "error", message: string, hint: string, cause: string}} ErrorItem cause: its kind, in spec/ui.md
 * @typedef {ItemBase & {kind: "notice", notice: string, raw: any}} NoticeItem notice: its kind, in spec/ui.md
 * @typedef {ItemBase & {kind: "compaction", state: "running" | "completed" | "error"}} CompactionItem
 */

/**
 * @typedef {"running" | "awaiting_ui" | "completed" | "error" | "cancelled"} RunStatus
 * @typedef {{id: string, status: RunStatus, message: string, started: number | null, ended: number | null, input: number,
 *   output: number, multiplier: number | null, prompts: number}} Run prompts: how many it has, with those that steered
 *
 * What a person is asked. `rpc` is the id to answer by (Connection.answer), null while the connection is lost; `id` is the
 * same for every UI. Something else with the same `id` may come in its place (a text behind a choice).
 * @typedef {{rpc: string | number | null, id: string, kind: "permission" | "input" | "form" | "sign-in" | "plan",
 *   method: string, params: Record<string, any>}} Question
 *
 * How a question ended. `by` is who answered.
 * @typedef {{by: string, ending: "answered" | "cancelled" | "expired", approved?: boolean, reason?: string}} Ending
 *
 * @typedef {{name: string, title: string, call: string, outcome: string, error: string, tokens: number, calls: number,
 *   took: number | null}} Agent a sub-agent; call: the id of the tool call that began it, or ""; outcome: "" while it works
 *
 * @typedef {{id: string, title: string, detail?: string, state: "pending" | "running" | "completed"}} Todo
 * @typedef {{text: string, html: string, todos: Todo[]}} Plan
 * @typedef {{used: number, limit: number, left: number | null}} Usage left: percent of the context window
 * @typedef {{message: string, hint: string, kind: string}} Notice
 *
 * @typedef {{run: string, text: string, by: string}} Waiting a prompt that waits for its run; text: its beginning, "" if the
 *   conversation is to be summed up; by: the dialect that it came through
 *
 * A part of the state besides its items.
 * @typedef {"head" | "questions" | "plan" | "files" | "usage" | "error" | "agents" | "servers" | "permissions" | "waiting"} Part
 *   head: title, model, directory, state; usage: also watchers
 */

/**
 * @typedef {object} Session
 * @property {string} id
 * @property {string} title "" if it has none yet
 * @property {string} model
 * @property {string} directory
 * @property {State} state
 * @property {string} origin who began it
 * @property {string} cursor where this state stands, for portal.session.attach; "" at the beginning
 * @property {Item[]} items at most `most`, the newest
 * @property {Map<string, Item>} index items by key
 * @property {Record<string, Run>} runs
 * @property {string} run the run that goes on, or ""
 * @property {Question[]} questions that are open, the oldest first
 * @property {Map<string, Ending>} answered how questions ended, by their id
 * @property {Usage | null} usage
 * @property {number} watchers how many windows and programs look at it, as a list tells
 * @property {Plan | null} plan
 * @property {Record<string, {added: number, removed: number}>} files that were changed, by path
 * @property {Record<string, Agent>} agents by id
 * @property {Record<string, {state: string, error: string}>} servers MCP servers by name
 * @property {Record<string, string> | null} permissions the rules in force: allow, ask or deny by name; null if not told yet
 * @property {Record<string, string>} remembered those of them that answers have made
 * @property {Waiting[]} waiting prompts that wait for their runs, in their order
 * @property {number} watchers how many UIs look at it, this one included
 * @property {Notice | null} error the last one, until another run begins
 * @property {boolean} truncated there was more before the first item
 * @property {string} earlier where that is to be had, for portal.session.earlier; "" if it is not
 * @property {number} front how many items were put in front since the first time, or moved there (earlier.js)
 * @property {number} most so many items are kept
 * @property {boolean} closed nothing more comes
 * @property {number | null} multiplier of the model, as told last
 * @property {Set<string>} changed keys of items that are new, have changed, or have gone (then index does not have them)
 *   since `look`
 * @property {Set<Part>} parts that have changed since `look`
 * @property {Map<string, string>} open keys of items that go on, by the run (for this module)
 */

/**
 * @typedef {"idle" | "queued" | "running" | "waiting" | "closed" | "elsewhere"} State
 * @typedef {{session_id: string, title?: string, model?: string, directory?: string, state?: State, origin?: string,
 *   updated_at?: string, created_at?: string, run_id?: string, message_count?: number, last_user_message?: string,
 *   watchers?: number, permissions?: Record<string, string>, remembered?: Record<string, string>, waiting?: {run_id: string, text: string, by?: string}[]}} Info
 *   a session in the portal's lists, or in the answer of portal.session.attach
 * @typedef {{id?: string | number, method: string, params: Record<string, any>}} Message a notification or a request
 */

/** The state of a session of which nothing was told yet. @param {Info} info @returns {Session} */
export function newSession(info) {
  /** @type {Session} */
  const session = {
    id: info.session_id, title: "", model: "", directory: "", state: "idle", origin: "", cursor: "",
    items: [], index: new Map(), runs: {}, run: "", questions: [], answered: new Map(), usage: null, watchers: 1, plan: null, files: {},
    agents: {}, servers: {}, permissions: null, remembered: {}, waiting: [], error: null, truncated: false, earlier: "", front: 0, most: MOST_ITEMS, closed: false,
    multiplier: null,
    changed: new Set(), parts: new Set(), open: new Map(),
  };
  describe(session, info);
  return session;
}

/**
 * Takes what a list or the answer of portal.session.attach tells of the session.
 * @param {Session} session @param {Info} info
 */
export function describe(session, info) {
  session.title = info.title || session.title;
  session.model = info.model || session.model;
  session.directory = info.directory || session.directory;
  session.origin = info.origin || session.origin;
  watchedBy(session, info);
  if (info.permissions) permit(session, info.permissions, info.remembered);
  if (info.waiting) wait(session, info.waiting);
  const closed = info.state === "closed" && !session.run;
  session.state = closed || info.state === "elsewhere" ? /** @type {State} */ (info.state) : standing(session, info.state);
  session.parts.add("head");
}

/** Takes who looks at it, which only lists tell. @param {Session} session @param {Info} [info] */
export function watchedBy(session, { watchers } = /** @type {Info} */ ({})) {
  if (watchers === undefined || watchers === session.watchers) return;
  session.watchers = watchers;
  session.parts.add("usage");
}

/** @param {Session} session @param {Record<string, string>} rules @param {Record<string, string>} [remembered] */
function permit(session, rules, remembered = {}) {
  session.permissions = rules;
  session.remembered = remembered;
  session.parts.add("permissions");
}

/** @param {Session} session @param {{run_id: string, text: string, by?: string}[]} waiting */
function wait(session, waiting) {
  session.waiting = waiting.map(({ run_id: run, text, by = "" }) => ({ run, text, by }));
  session.parts.add("waiting");
}

/**
 * What has changed since the last call: keys of items, and parts. A key that `session.index` lacks has gone.
 * @param {Session} session @returns {{items: Set<string>, parts: Set<Part>}}
 */
export function look(session) {
  const seen = { items: session.changed, parts: session.parts };
  session.changed = new Set();
  session.parts = new Set();
  return seen;
}

/** The connection is lost, or the page left the session: questions cannot be answered until they are put again. @param {Session} session */
export function lost(session) {
  for (const question of session.questions) question.rpc = null;
  if (session.questions.length > 0) session.parts.add("questions");
}

/** The user has answered here; question_answered will tell it, too. @param {Session} session @param {string} id of the question */
export function settle(session, id) {
  dropQuestions(session, (question) => question.id === id);
}

/**
 * Changes the state by one message. What it does not know changes nothing.
 * @param {Session} session @param {Message} message
 * @param {number} now ms; when it happened if it does not tell that itself
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
    turn(session, params, at);
  } else if (method === "run.context") {
    setUsage(session, { left: params.context_left_percent });
  } else if (method === "portal.session.closed") {
    close(session);
  } else if (message.id !== undefined && method !== "client.tool.call" && params.meta?.question_id) {
    ask(session, message);
  }
}

/** @typedef {import("./items.js").Told} Told */

/** @type {Record<string, (session: Session, told: Told) => void>} */
const EVENTS = {
  hidden_user_message(session, { event, run, meta }) {
    const of = runOf(session, run);
    of.prompts++;
    add(session, { kind: "prompt", key: `${run}/prompt:${meta.id ?? of.prompts}`, run, text: event.content, steers: Boolean(event.steers), attachments: event.attachments ?? [] });
    session.parts.add("head");
  },
  delta(session, told) {
    if (told.event.target === "tool") return output(session, told);
    const item = blockOf(session, told, told.event.target, told.event.id);
    if (item.done) return;
    item.content += told.event.content;
    item.html += told.event.html?.append ?? "";
    item.tail = told.event.html?.tail ?? "";
    touch(session, item);
  },
  text: (session, told) => block(session, told, "text", false),
  reasoning: (session, told) => block(session, told, "reasoning", false),
  final(session, told) {
    if (told.event.content) block(session, told, "text", true);
  },
  step_start(session, told) {
    const item = toolOf(session, told, told.event.step_id);
    item.tool ||= told.event.title;
  },
  tool_call(session, told) {
    const { event } = told;
    const item = toolOf(session, told, event.tool_call_id);
    item.tool = event.tool;
    item.title = event.display_name ?? "";
    item.args = event.args ?? {};
    item.path ||= pathIn(item.args);
  },
  tool_result: result,
  step_complete(session, told) {
    const item = toolOf(session, told, told.event.step_id);
    item.took = told.event.duration_ms;
    finish(session, item, told.event.status === "error" ? "error" : "completed", told.at);
  },
  "permission.preview"(session, told) {
    const item = toolOf(session, told, told.event.tool_call_id);
    item.diff = told.event.diff;
    item.path ||= told.event.file_path ?? "";
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
    touch(session, item);
  },
  usage(session, { event, run }) {
    const of = run ? runOf(session, run) : undefined;
    if (event.input_tokens !== undefined) {
      if (of) of.input += event.input_tokens;
      if (of) of.output += event.output_tokens;
      return;
    }
    session.multiplier = event.multiplier;
    if (of) of.multiplier = event.multiplier;
    setUsage(session, { used: event.used, limit: event.limit });
  },
  plan(session, { event, meta }) {
    session.plan = { text: event.text, html: meta.html ?? "", todos: event.todos };
    session.parts.add("plan");
  },
  question_answered(session, { event }) {
    const { question_id: id, by, ending, approved, reason } = event;
    session.answered.set(id, { by, ending, approved, reason });
    dropQuestions(session, (question) => question.id === id);
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
  permissions: (session, { event }) => permit(session, event.rules, event.remembered),
  queue: (session, { event }) => wait(session, event.waiting),
  error(session, { event, run, meta }) {
    const hint = event.hint ?? "";
    add(session, { kind: "error", key: unnamed(session, run, "error"), run, agent: meta.agent, message: event.message, hint, cause: event.kind });
    session.error = { message: event.message, hint, kind: event.kind };
    session.parts.add("error");
  },
  notice(session, { event, run, meta }) {
    add(session, { kind: "notice", key: unnamed(session, run, "notice"), run, agent: meta.agent, notice: event.kind, raw: event.raw });
  },
  server(session, { event }) {
    session.servers[event.name] = { state: event.state, error: event.error ?? "" };
    session.parts.add("servers");
  },
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

/** @param {Session} session @param {Partial<Usage>} news */
function setUsage(session, news) {
  const usage = { used: 0, limit: 0, left: null, ...session.usage, ...news };
  if (news.limit) usage.left = Math.min(100, Math.max(0, 100 - (100 * usage.used) / usage.limit));
  session.usage = usage;
  session.parts.add("usage");
}
