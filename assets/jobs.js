// The state of a job, built from its events (spec/page.md). Pure: no browser, clock or network. Events are numbered, so duplicates are ignored.

import { duration } from "./blocks/labels.js";

/**
 * @typedef {"Pending" | "Running" | "Succeeded" | "Failed" | "Canceled" | "Interrupted"} Status
 * @typedef {{work_id: number, name: string, task_id?: string, status: Status, rounds: number}} WorkInfo
 * @typedef {{job_id: string, name: string, status: Status, directory: string, input: string, started_at: string, ended_at?: string,
 *   error?: string, continues?: string, works: WorkInfo[], sessions: number, events: number}} Info a job as the portal sends it
 * @typedef {{job_id: string, number: number, time: string, type: string, work_id?: number, task_id?: string, session_id?: string,
 *   driving?: boolean, succeeded?: boolean, status?: Status, text?: string}} Event
 *
 * @typedef {{id: string, driving: boolean, status: Status, round: number}} Session driving: it checks the work of others
 * @typedef {{id: number, name: string, status: Status, rounds: number, reused: boolean, sessions: Session[]}} Work sessions: in order;
 *   reused: done by the earlier job that this one continues
 * @typedef {{number: number, time: string, work: number, text: string, status: Status | ""}} Line an entry of the log
 * @typedef {{info: Info, works: Map<number, Work>, log: Line[], last: number, closed: boolean, problem: string}} Job last: the number of
 *   the newest event; closed: no more events follow; problem: why the record could not be read
 */

const MAX_LINES = 1000; // of the log

/** @type {Record<Status, string>} */
export const STATUS_LABELS = { Pending: "Pending", Running: "Running", Succeeded: "Succeeded", Failed: "Failed", Canceled: "Canceled", Interrupted: "Interrupted" };

/** Reports whether a job or work has not ended. @param {Status} status */
export const isOpen = (status) => status === "Pending" || status === "Running";

/** Creates the state of a job before its first event. @param {Info} info @returns {Job} */
export function newJob(info) {
  const works = info.works.map(({ work_id: id, name }) => /** @type {Work} */ ({ id, name, status: "Pending", rounds: 0, reused: false, sessions: [] }));
  return { info: { ...info, status: "Running" }, works: new Map(works.map((work) => [work.id, work])), log: [], last: 0, closed: false, problem: "" };
}

/** Applies portal.job.event and portal.job.closed. Returns false for another job or a known event. @param {Job} job @param {{method: string, params: any}} message */
export function applyMessage(job, { method, params }) {
  if (params.job_id !== job.info.job_id) return false;
  if (method === "portal.job.closed") finalize(job, params.job, params.message ?? "");
  else if (method === "portal.job.event" && params.number > job.last) applyEvent(job, params);
  else return false;
  return true;
}

/** Applies the final state of a job. @param {Job} job @param {Info} info @param {string} problem */
function finalize(job, info, problem) {
  job.info = info;
  job.closed = true;
  job.problem = problem;
  for (const { work_id: id, status } of info.works) {
    const work = job.works.get(id);
    if (work) work.status = status;
  }
}

/** @param {Job} job @param {Event} event */
function applyEvent(job, event) {
  job.last = event.number;
  const work = job.works.get(event.work_id ?? 0);
  if (work) applyToWork(work, event);
  const ended = END_EVENTS[event.type];
  if (ended) job.info = { ...job.info, status: ended, ended_at: event.time };
  if (event.type === "job_error") job.info = { ...job.info, error: event.text };
  const line = logLine(event, work);
  if (!line) return;
  job.log.push({ number: event.number, time: event.time, work: event.work_id ?? 0, ...line });
  if (job.log.length > MAX_LINES) job.log.shift();
}

/** @type {Record<string, Status | undefined>} */
const END_EVENTS = { job_succeeded: "Succeeded", job_failed: "Failed", job_canceled: "Canceled", job_interrupted: "Interrupted" };

/** @param {Work} work @param {Event} event */
function applyToWork(work, { type, session_id: id = "", driving = false, succeeded, status }) {
  const session = work.sessions.findLast((one) => one.id === id && one.round === work.rounds);
  if (type === "work_started") {
    work.rounds++;
    work.status = "Running";
    work.reused = false;
  } else if (type === "work_stopped") {
    work.status = status ?? (succeeded ? "Succeeded" : "Failed");
    work.reused = work.status === "Succeeded" && work.sessions.every(({ round }) => round < work.rounds);
  } else if (type === "session_started" && !session) {
    work.sessions.push({ id, driving, status: "Running", round: work.rounds });
  } else if (type === "session_started" && session) {
    session.status = "Running";
  } else if (type === "session_stopped" && session) {
    session.status = succeeded ? "Succeeded" : "Failed";
  }
}

/** Returns the log line of an event, or null. @param {Event} event @param {Work} [work] @returns {{text: string, status: Status | ""} | null} */
function logLine({ type, text = "", status, succeeded }, work) {
  const ended = END_EVENTS[type];
  if (ended) return { text: `The job ${OUTCOMES[ended] ?? "ended"}.`, status: ended };
  switch (type) {
    case "work_started": return { text: work && work.rounds > 1 ? `Started round ${work.rounds}.` : "Started.", status: "Running" };
    case "work_stopped": return work?.reused ? { text: "Already done by an earlier job.", status: "Succeeded" } : { text: `${STATUS_LABELS[status ?? (succeeded ? "Succeeded" : "Failed")]}.`, status: status ?? (succeeded ? "Succeeded" : "Failed") };
    case "decision": return { text, status: "" };
    case "task_error": case "job_error": return { text, status: "Failed" };
  }
  return null;
}

/** @type {Partial<Record<Status, string>>} */
const OUTCOMES = { Succeeded: "succeeded", Failed: "failed", Canceled: "was canceled", Interrupted: "was interrupted because its portal stopped" };

/** Describes the outcome of a job in a sentence; "" before its end. @param {Info} info */
export const outcomeOf = ({ name, status }) => (OUTCOMES[status] ? `${name} ${OUTCOMES[status]}.` : "");

/** Returns the running sessions, with their works. @param {Job} job */
export const runningSessions = (job) => [...job.works.values()].flatMap((work) => work.sessions.filter(({ status }) => status === "Running").map((session) => ({ work, session })));

/** Counts the works done and all works. @param {Info} info */
export function progressOf({ works }) {
  return { done: works.filter(({ status }) => status === "Succeeded").length, all: works.length };
}

/** Formats the time from a start to an end, or until now: "8 s", "3 min 20 s", "2 h 5 min". @param {string} from @param {string | undefined} to @param {number} now ms */
export function elapsed(from, to, now) {
  const seconds = Math.max(0, Math.round(((to ? Date.parse(to) : now) - Date.parse(from)) / 1000));
  return seconds === 0 ? "0 s" : duration(seconds);
}

/** Sorts jobs: open ones first, then newest first. @param {Iterable<Info>} jobs */
export function sortJobs(jobs) {
  return [...jobs].sort((a, b) => Number(isOpen(b.status)) - Number(isOpen(a.status)) || b.started_at.localeCompare(a.started_at) || a.job_id.localeCompare(b.job_id));
}
