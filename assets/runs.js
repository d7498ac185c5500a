// The runs of a session's state, and the questions in them. For store.js.

import { add, toolKey, touch } from "./items.js";

/**
 * @typedef {import("./store.js").Session} Session
 * @typedef {import("./store.js").Run} Run
 * @typedef {import("./store.js").RunStatus} RunStatus
 * @typedef {import("./store.js").EndItem} EndItem
 * @typedef {import("./store.js").Question} Question
 * @typedef {import("./store.js").Message} Message
 * @typedef {import("./store.js").State} State
 */

/** @param {Session} session @param {string} id @returns {Run} */
export function runOf(session, id) {
  return (session.runs[id] ??= { id, status: "running", message: "", started: null, ended: null, input: 0, output: 0, multiplier: null, prompts: 0 });
}

/** @param {Session} session @param {Record<string, any>} params @param {number | null} at */
export function turn(session, { run_id: id, status, message = "" }, at) {
  const isNew = !session.runs[id] || session.runs[id].started === null;
  const run = runOf(session, id);
  const over = run.ended !== null || isOver(run.status);
  run.status = status;
  run.message = message;
  session.parts.add("head");
  if (session.waiting.some(({ run }) => run === id)) dropWaiting(session, (run) => run === id);
  if (isOver(status)) {
    if (!over) endRun(session, run, at);
  } else {
    if (isNew) run.started = at;
    if (session.run !== id) session.error = null;
    session.run = id;
    session.closed = false;
  }
  session.state = standing(session);
}

/** @param {Session} session @param {(run: string) => boolean} which */
function dropWaiting(session, which) {
  session.waiting = session.waiting.filter(({ run }) => !which(run));
  session.parts.add("waiting");
}

/** @param {RunStatus} status */
const isOver = (status) => status === "completed" || status === "error" || status === "cancelled";

/** @param {Session} session @param {Run} run @param {number | null} at */
function endRun(session, run, at) {
  run.ended = at;
  run.multiplier ??= session.multiplier;
  if (session.run === run.id) session.run = "";
  for (const [key, of] of session.open) {
    if (of === run.id) cut(session, key, at);
  }
  dropQuestions(session, ({ params }) => params.run_id === run.id);
  const took = run.started !== null && at !== null ? at - run.started : null;
  const { status, message, input, output, multiplier } = run;
  add(session, /** @type {EndItem} */ ({ kind: "end", key: `${run.id}/end`, run: run.id, status, message, took, input, output, multiplier }));
}

/** What goes on when its run is over does not go on any more. @param {Session} session @param {string} key @param {number | null} at */
function cut(session, key, at) {
  session.open.delete(key);
  const item = session.index.get(key);
  if (!item) return;
  if (item.kind === "tool") item.state = "error";
  if (item.kind === "text" || item.kind === "reasoning") item.done = true;
  if ("ended" in item) item.ended ??= at;
  touch(session, item);
}

/** How the session stands, by what is open. @param {Session} session @param {State} [told] by a list @returns {State} */
export function standing(session, told) {
  if (session.closed) return "closed";
  if (session.questions.length > 0 || session.runs[session.run]?.status === "awaiting_ui") return "waiting";
  if (session.run) return told === "queued" ? "queued" : "running";
  return session.items.length === 0 && told ? told : "idle";
}

/** @param {Session} session */
export function close(session) {
  session.closed = true;
  session.run = "";
  session.state = "closed";
  dropQuestions(session, () => true);
  dropWaiting(session, () => true);
  for (const key of [...session.open.keys()]) cut(session, key, null);
  session.parts.add("head");
}

// Questions.

/** @param {Session} session @param {Message} message */
export function ask(session, { id: rpc, method, params }) {
  const { question_id: id, kind, tool_call_id: call } = params.meta;
  if (session.answered.has(id)) return;
  const question = { rpc: rpc ?? null, id, kind, method, params };
  const at = session.questions.findIndex((other) => other.id === id);
  if (at < 0) session.questions.push(question);
  else session.questions[at] = question;
  session.parts.add("questions").add("head");
  wait(session, params.run_id, call, "running", "waiting");
  session.state = standing(session);
}

/** @param {Session} session @param {(question: Question) => boolean} which */
export function dropQuestions(session, which) {
  const gone = session.questions.filter(which);
  if (gone.length === 0) return;
  session.questions = session.questions.filter((question) => !gone.includes(question));
  for (const { params } of gone) wait(session, params.run_id, params.meta.tool_call_id, "waiting", "running");
  session.parts.add("questions").add("head");
  session.state = standing(session);
}

/** A tool waits for an answer, or goes on. @param {Session} session @param {string} run @param {string} call @param {"running" | "waiting"} from @param {"running" | "waiting"} to */
function wait(session, run, call, from, to) {
  const item = call ? session.index.get(toolKey(run ?? "", call)) : undefined;
  if (item?.kind !== "tool" || item.state !== from) return;
  item.state = to;
  touch(session, item);
}
