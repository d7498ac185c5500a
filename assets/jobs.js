// The state of a job, made of what the portal tells about it (spec/page.md). Pure: no browser, no clock, no network. Events
// have numbers, so whatever comes twice counts once.

/**
 * @typedef {"Pending" | "Running" | "Succeeded" | "Failed" | "Canceled" | "Interrupted"} Status
 * @typedef {{work_id: number, name: string, task_id?: string, status: Status, rounds: number}} WorkInfo
 * @typedef {{job_id: string, name: string, status: Status, directory: string, input: string, started_at: string, ended_at?: string,
 *   error?: string, continues?: string, works: WorkInfo[], sessions: number, events: number}} Info a job as the portal tells it
 * @typedef {{job_id: string, number: number, time: string, type: string, work_id?: number, task_id?: string, session_id?: string,
 *   driving?: boolean, succeeded?: boolean, status?: Status, text?: string}} Event
 *
 * @typedef {{id: string, driving: boolean, status: Status, round: number}} Session driving: it checks what others did
 * @typedef {{id: number, name: string, status: Status, rounds: number, before: boolean, sessions: Session[]}} Work sessions: in the
 *   order in which they came; before: no session was needed, for an
 *   earlier job has done it, which this one goes on with
 * @typedef {{number: number, time: string, work: number, text: string, status: Status | ""}} Line what happened, for people
 * @typedef {{info: Info, works: Map<number, Work>, log: Line[], last: number, closed: boolean, problem: string}} Job last: the number of
 *   the newest event; closed: nothing more comes
 */

const MOST_LINES = 1000; // of the log: the newest

/** How a status is said. @type {Record<Status, string>} */
export const WORDS = { Pending: "Pending", Running: "Running", Succeeded: "Succeeded", Failed: "Failed", Canceled: "Canceled", Interrupted: "Interrupted" };

/** Whether something still goes on. @param {Status} status */
export const isOpen = (status) => status === "Pending" || status === "Running";

/** A job of which no event was told yet. @param {Info} info @returns {Job} */
export function newJob(info) {
  const works = info.works.map(({ work_id: id, name }) => /** @type {Work} */ ({ id, name, status: "Pending", rounds: 0, before: false, sessions: [] }));
  return { info: { ...info, status: "Running" }, works: new Map(works.map((work) => [work.id, work])), log: [], last: 0, closed: false, problem: "" };
}

/** Takes portal.job.event and portal.job.closed. False if they are of another job, or known. @param {Job} job @param {{method: string, params: any}} message */
export function take(job, { method, params }) {
  if (params.job_id !== job.info.job_id) return false;
  if (method === "portal.job.closed") settle(job, params.job, params.message ?? "");
  else if (method === "portal.job.event" && params.number > job.last) happen(job, params);
  else return false;
  return true;
}

/** Nothing more comes: it is as the portal says. @param {Job} job @param {Info} info @param {string} problem */
function settle(job, info, problem) {
  job.info = info;
  job.closed = true;
  job.problem = problem;
  for (const { work_id: id, status } of info.works) {
    const work = job.works.get(id);
    if (work) work.status = status;
  }
}

/** @param {Job} job @param {Event} event */
function happen(job, event) {
  job.last = event.number;
  const work = job.works.get(event.work_id ?? 0);
  if (work) inWork(work, event);
  const ended = ENDS[event.type];
  if (ended) job.info = { ...job.info, status: ended, ended_at: event.time };
  if (event.type === "job_error") job.info = { ...job.info, error: event.text };
  const line = lineOf(event, work);
  if (!line) return;
  job.log.push({ number: event.number, time: event.time, work: event.work_id ?? 0, ...line });
  if (job.log.length > MOST_LINES) job.log.shift();
}

/** @type {Record<string, Status | undefined>} */
const ENDS = { job_succeeded: "Succeeded", job_failed: "Failed", job_canceled: "Canceled", job_interrupted: "Interrupted" };

/** @param {Work} work @param {Event} event */
function inWork(work, { type, session_id: id = "", driving = false, succeeded, status }) {
  const session = work.sessions.findLast((one) => one.id === id && one.round === work.rounds);
  if (type === "work_started") {
    work.rounds++;
    work.status = "Running";
    work.before = false;
  } else if (type === "work_stopped") {
    work.status = status ?? (succeeded ? "Succeeded" : "Failed");
    work.before = work.status === "Succeeded" && work.sessions.every(({ round }) => round < work.rounds);
  } else if (type === "session_started" && !session) {
    work.sessions.push({ id, driving, status: "Running", round: work.rounds });
  } else if (type === "session_started" && session) {
    session.status = "Running";
  } else if (type === "session_stopped" && session) {
    session.status = succeeded ? "Succeeded" : "Failed";
  }
}

/** What the log says of an event; null if nothing. @param {Event} event @param {Work} [work] @returns {{text: string, status: Status | ""} | null} */
function lineOf({ type, text = "", status, succeeded }, work) {
  const ended = ENDS[type];
  if (ended) return { text: `The job ${ENDINGS[ended] ?? "has ended"}.`, status: ended };
  switch (type) {
    case "work_started": return { text: work && work.rounds > 1 ? `Begins, round ${work.rounds}.` : "Begins.", status: "Running" };
    case "work_stopped": return work?.before ? { text: "An earlier job has done this.", status: "Succeeded" } : { text: `${WORDS[status ?? (succeeded ? "Succeeded" : "Failed")]}.`, status: status ?? (succeeded ? "Succeeded" : "Failed") };
    case "decision": return { text, status: "" };
    case "task_error": case "job_error": return { text, status: "Failed" };
  }
  return null;
}

/** @type {Partial<Record<Status, string>>} */
const ENDINGS = { Succeeded: "has succeeded", Failed: "has failed", Canceled: "was canceled", Interrupted: "was interrupted by the end of its portal" };

/** How a job has ended, in a sentence; "" while it goes on. @param {Info} info */
export const endingOf = ({ name, status }) => (ENDINGS[status] ? `${name} ${ENDINGS[status]}.` : "");

/** The sessions that are at work now, with their works. @param {Job} job */
export const atWork = (job) => [...job.works.values()].flatMap((work) => work.sessions.filter(({ status }) => status === "Running").map((session) => ({ work, session })));

/** How far a job is: the tasks that are done, of all. @param {Info} info */
export function progressOf({ works }) {
  return { done: works.filter(({ status }) => status === "Succeeded").length, all: works.length };
}

/** How long something took, or takes since it began: "8 s", "3 min 20 s", "2 h 5 min". @param {string} from @param {string | undefined} to @param {number} now ms */
export function lasted(from, to, now) {
  const seconds = Math.max(0, Math.round(((to ? Date.parse(to) : now) - Date.parse(from)) / 1000));
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

/** Jobs for a list: those that go on first, then the newest first. @param {Iterable<Info>} jobs */
export function sorted(jobs) {
  return [...jobs].sort((a, b) => Number(isOpen(b.status)) - Number(isOpen(a.status)) || b.started_at.localeCompare(a.started_at) || a.job_id.localeCompare(b.job_id));
}
