// The runs and questions of a session's state. Used by store.js.

import { add, toolKey, markChanged } from "./items.js";

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
export function setRunStatus(session, { run_id: id, status, message = "" }, at) {
  const isNew = !session.runs[id] || session.runs[id].started === null;
  const run = runOf(session, id);
  const wasFinished = run.ended !== null || isFinished(run.status);
  run.status = status;
  run.message = message;
  session.parts.add("head");
  if (session.waiting.some(({ run }) => run === id)) removeWaiting(session, (run) => run === id);
  if (isFinished(status)) {
    if (!wasFinished) endRun(session, run, at);
  } else {
    if (isNew) run.started = at;
    session.run = id;
    session.closed = false;
  }
  session.state = stateOf(session);
}

/** @param {Session} session @param {(run: string) => boolean} matches */
function removeWaiting(session, matches) {
  session.waiting = session.waiting.filter(({ run }) => !matches(run));
  session.parts.add("waiting");
}

/** @param {RunStatus} status */
const isFinished = (status) => status === "completed" || status === "error" || status === "cancelled";

/** @param {Session} session @param {Run} run @param {number | null} at */
function endRun(session, run, at) {
  session.ended++;
  run.ended = at;
  run.multiplier ??= session.multiplier;
  if (session.run === run.id) session.run = "";
  for (const [key, id] of session.open) {
    if (id === run.id) interrupt(session, key, at);
  }
  removeQuestions(session, ({ params }) => params.run_id === run.id);
  if (run.status === "completed" && run.message) return; // its prompt was sent into an earlier run
  const took = run.started !== null && at !== null ? at - run.started : null;
  const { status, message, input, output, multiplier } = run;
  add(session, /** @type {EndItem} */ ({ kind: "end", key: `${run.id}/end`, run: run.id, status, message, took, input, output, multiplier }));
}

/** Ends an item whose run ended before it. @param {Session} session @param {string} key @param {number | null} at */
function interrupt(session, key, at) {
  session.open.delete(key);
  const item = session.index.get(key);
  if (!item) return;
  if (item.kind === "tool") item.state = "error";
  if (item.kind === "text" || item.kind === "reasoning") item.done = true;
  if ("ended" in item) item.ended ??= at;
  markChanged(session, item);
}

/** Derives the state of the session. @param {Session} session @param {State} [listed] the state in a list @returns {State} */
export function stateOf(session, listed) {
  if (session.closed) return "closed";
  if (session.questions.length > 0 || session.runs[session.run]?.status === "awaiting_ui") return "waiting";
  if (session.run) return listed === "queued" ? "queued" : "running";
  return session.items.length === 0 && listed ? listed : "idle";
}

/** @param {Session} session */
export function close(session) {
  session.closed = true;
  session.run = "";
  session.state = "closed";
  removeQuestions(session, () => true);
  removeWaiting(session, () => true);
  for (const key of [...session.open.keys()]) interrupt(session, key, null);
  session.parts.add("head");
}

/** Identifies what a session works on. It differs after each start and end of a run, also if a whole run was between. @param {Session} session */
export const workOf = ({ run, ended }) => `${ended} ${run}`;

// Questions.

/** @param {Session} session @param {Message} message */
export function addQuestion(session, { id: rpc, method, params }) {
  const { question_id: id, kind, tool_call_id: call } = params.meta;
  if (session.answered.has(id)) return;
  const question = { rpc: rpc ?? null, id, kind, method, params };
  const at = session.questions.findIndex((other) => other.id === id);
  if (at < 0) session.questions.push(question);
  else session.questions[at] = question;
  session.parts.add("questions").add("head");
  moveTool(session, params.run_id, call, "running", "waiting");
  session.state = stateOf(session);
}

/** @param {Session} session @param {(question: Question) => boolean} matches */
export function removeQuestions(session, matches) {
  const removed = session.questions.filter(matches);
  if (removed.length === 0) return;
  session.questions = session.questions.filter((question) => !removed.includes(question));
  for (const { params } of removed) moveTool(session, params.run_id, params.meta.tool_call_id, "waiting", "running");
  session.parts.add("questions").add("head");
  session.state = stateOf(session);
}

/** Moves a tool call between running and waiting. @param {Session} session @param {string} run @param {string} call @param {"running" | "waiting"} from @param {"running" | "waiting"} to */
function moveTool(session, run, call, from, to) {
  const item = call ? session.index.get(toolKey(run ?? "", call)) : undefined;
  if (item?.kind !== "tool" || item.state !== from) return;
  item.state = to;
  markChanged(session, item);
}
