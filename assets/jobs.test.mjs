import assert from "node:assert/strict";
import { test } from "node:test";

import { runningSessions, outcomeOf, elapsed, newJob, progressOf, sortJobs, applyMessage } from "./jobs.js";

const work = (id, name, more = {}) => ({ work_id: id, name, status: "Pending", rounds: 0, ...more });
const info = (more = {}) => ({ job_id: "j", name: "refine", status: "Running", directory: "/d", input: "x", started_at: "2026-11-22T10:00:00Z", works: [work(2, "draft"), work(3, "review")], sessions: 0, events: 0, ...more });

/** Applies events to a job. */
function applyEvents(job, bodies, first = 1) {
  bodies.forEach((body, i) => applyMessage(job, { method: "portal.job.event", params: { job_id: "j", number: first + i, time: "2026-11-22T10:01:00Z", ...body } }));
  return job;
}

const ROUND = [
  { type: "work_started", work_id: 2, task_id: "t" },
  { type: "session_started", work_id: 2, session_id: "s", driving: false },
  { type: "decision", work_id: 2, text: "not good enough" },
  { type: "session_stopped", work_id: 2, session_id: "s", succeeded: true },
  { type: "work_stopped", work_id: 2, succeeded: false, status: "Failed" },
];

test("events build the state of a job", () => {
  const job = applyEvents(newJob(info()), ROUND.slice(0, 3));
  assert.deepEqual(job.works.get(2), { id: 2, name: "draft", status: "Running", rounds: 1, reused: false, sessions: [{ id: "s", driving: false, status: "Running", round: 1 }] });
  assert.deepEqual(runningSessions(job).map(({ work, session }) => [work.name, session.id]), [["draft", "s"]]);
  applyEvents(job, ROUND.slice(3), 4);
  assert.equal(job.works.get(2).status, "Failed");
  assert.deepEqual(runningSessions(job), []);
  assert.deepEqual(job.log.map(({ text }) => text), ["Started.", "not good enough", "Failed."]);
});

test("rounds are counted, and sessions belong to a round", () => {
  const job = applyEvents(applyEvents(newJob(info()), ROUND), ROUND.slice(0, 2), 6);
  assert.equal(job.works.get(2).rounds, 2);
  assert.deepEqual(job.works.get(2).sessions.map(({ round, status }) => [round, status]), [[1, "Succeeded"], [2, "Running"]]);
  assert.equal(job.log.at(-1).text, "Started round 2.");
});

test("duplicate events and events of other jobs are ignored", () => {
  const job = applyEvents(newJob(info()), ROUND);
  const before = JSON.stringify([...job.works]) + JSON.stringify(job.log);
  applyEvents(job, ROUND);
  assert.equal(JSON.stringify([...job.works]) + JSON.stringify(job.log), before);
  assert.equal(applyMessage(job, { method: "portal.job.event", params: { job_id: "other", number: 99, type: "job_failed" } }), false);
  assert.equal(applyMessage(job, { method: "portal.session.changed", params: { job_id: "j" } }), false);
  assert.equal(job.last, 5);
});

for (const [type, status, words] of [["job_succeeded", "Succeeded", "refine succeeded."], ["job_failed", "Failed", "refine failed."], ["job_canceled", "Canceled", "refine was canceled."], ["job_interrupted", "Interrupted", "refine was interrupted because its portal stopped."]]) {
  test(`${type} ends the job`, () => {
    const job = applyEvents(newJob(info()), [{ type }]);
    assert.equal(job.info.status, status);
    assert.equal(job.info.ended_at, "2026-11-22T10:01:00Z");
    assert.equal(outcomeOf(job.info), words);
  });
}

test("portal.job.closed overrides the state", () => {
  const job = applyEvents(newJob(info()), ROUND.slice(0, 2));
  applyMessage(job, { method: "portal.job.closed", params: { job_id: "j", job: info({ status: "Interrupted", works: [work(2, "draft", { status: "Interrupted", rounds: 1 })] }) } });
  assert.ok(job.closed);
  assert.equal(job.info.status, "Interrupted");
  assert.equal(job.works.get(2).status, "Interrupted");
});

test("the events of a finished job rebuild its state", () => {
  const job = newJob(info({ status: "Succeeded", works: [work(2, "draft", { status: "Succeeded", rounds: 3, task_id: "t" })] }));
  assert.equal(job.works.get(2).status, "Pending", "its events follow");
  assert.equal(job.info.status, "Running");
});

test("work done by an earlier job has no session", () => {
  const job = applyEvents(newJob(info({ continues: "i" })), [{ type: "work_started", work_id: 2, task_id: "t" }, { type: "work_stopped", work_id: 2, succeeded: true, status: "Succeeded" }]);
  assert.deepEqual([...job.works.values()].map(({ status, reused }) => [status, reused]), [["Succeeded", true], ["Pending", false]]);
  assert.equal(job.log.at(-1).text, "Already done by an earlier job.");
  assert.equal(applyEvents(newJob(info()), [...ROUND.slice(0, 4), { type: "work_stopped", work_id: 2, succeeded: true }]).works.get(2).reused, false);
});

test("the log keeps the newest lines", () => {
  const job = applyEvents(newJob(info()), Array.from({ length: 1200 }, (_, i) => ({ type: "decision", work_id: 2, text: `${i}` })));
  assert.equal(job.log.length, 1000);
  assert.equal(job.log.at(-1).text, "1199");
});

test("open jobs come first, then the newest", () => {
  const at = (id, status, hour) => info({ job_id: id, status, started_at: `2026-11-22T${hour}:00:00Z` });
  assert.deepEqual(sortJobs([at("old", "Failed", "08"), at("on", "Running", "07"), at("new", "Succeeded", "09")]).map(({ job_id: id }) => id), ["on", "new", "old"]);
});

test("progress counts completed works", () => assert.deepEqual(progressOf(info({ works: [work(2, "a", { status: "Succeeded" }), work(3, "b")] })), { done: 1, all: 2 }));

for (const [to, want] of [["2026-11-22T10:00:08Z", "8 s"], ["2026-11-22T10:03:20Z", "3 min 20 s"], ["2026-11-22T12:05:59Z", "2 h 5 min"], ["2026-11-22T09:59:00Z", "0 s"]]) {
  test(`from 10:00 to ${to} is ${want}`, () => assert.equal(elapsed("2026-11-22T10:00:00Z", to, 0), want));
}

test("an open interval lasts until now", () => assert.equal(elapsed("2026-11-22T10:00:00Z", undefined, Date.parse("2026-11-22T10:00:05Z")), "5 s"));
