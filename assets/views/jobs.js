// The view of all jobs, with a form that starts one from the job book.

import { age, baseName, escapeBidi, h, hasKeyboard, keyedRows, messageOf, setText } from "../dom.js";
import { STATUS_LABELS, isOpen, elapsed, progressOf, sortJobs } from "../jobs.js";
import { jobAddress } from "../route.js";
import { isGone, newConnections } from "../rpc.js";
import { startKeys } from "../start-key.js";
import { createChart, statusIcon } from "./chart.js";
import { directoryField, fillDirectory, saveDirectory } from "./directory.js";
import { createDraftField } from "./draft-field.js";
import { keep, loadKept } from "./kept.js";

const CHOSEN = "jobs:chosen"; // the job that the draft is for

/**
 * @typedef {import("../jobs.js").Info} Info
 * @typedef {{name: string, jobName: string}} Button
 * @typedef {{book: string, grid: {keyword: string, jobs: (Button | null)[]}[], jobs: Record<string, {require_user_input: boolean}>,
 *   chart: Record<string, {nodes: import("../chart.js").Node[]}>}} Book the result of portal.jobs.list
 * @typedef {{rpc: import("../rpc.js").Connection, navigate: (address: string) => void, list: () => import("../list.js").List, onChange: () => void}} Options
 */

/**
 * @param {Options} options
 * @returns {import("../app.js").View}
 */
export function jobsView(options) {
  const { rpc, onChange } = options;
  const history = createHistory();
  const form = jobForm(options);
  const about = h("p", { class: "muted", "data-testid": "book" }, "Loading…");
  const node = h("section", { class: "page" }, h("header", { class: "top" }, h("h1", {}, "Jobs")),
    h("div", { class: "scroll" }, h("div", { class: "column start" }, about, form.node, history.node)));
  /** @type {Map<string, Info>} */
  let jobs = new Map();
  const isNewConnection = newConnections(rpc);
  let shown = /** @type {Map<string, Info> | null} */ (null);

  const load = async () => {
    try {
      const watching = rpc.call("portal.jobs.watch").then((watched) => { // at once: changes follow
        jobs = new Map(watched.jobs.map((/** @type {Info} */ job) => [job.job_id, job]));
        shown = null;
      });
      const [book] = await Promise.all([rpc.call("portal.jobs.list"), watching]);
      setText(about, Object.keys(book.jobs).length === 0 ? "No job book configured." : `Jobs from ${baseName(book.book)} run sessions step by step. They keep running when you leave this page.`);
      await form.load(book);
    } catch (error) {
      if (!isGone(error)) setText(about, messageOf(error));
    }
    onChange();
  };
  const clock = setInterval(() => [...jobs.values()].some(({ status }) => isOpen(status)) && history.tick(), 1000);
  return {
    node,
    update() {
      if (isNewConnection()) void load();
      if (shown === jobs) return;
      shown = jobs;
      history.show(sortJobs(jobs.values()));
    },
    receive({ method, params }) {
      if (method !== "portal.jobs.changed") return;
      jobs = new Map(jobs);
      for (const job of params.jobs) jobs.set(job.job_id, job);
      onChange();
    },
    focus: () => form.focus(),
    dispose() {
      clearInterval(clock);
      if (rpc.state === "open") void rpc.call("portal.jobs.unwatch").catch(() => {}); // it fails only if the connection is lost
      form.dispose();
    },
  };
}

/** The running and finished jobs. */
function createHistory() {
  const running = h("ul", { class: "job-list", "data-testid": "running" });
  const done = h("ul", { class: "job-list", "data-testid": "jobs" });
  const now = h("section", { class: "history", "aria-label": "Running" }, h("h2", {}, "Running"), running);
  const empty = h("p", { class: "muted" }, "No finished jobs yet. Jobs are kept for a week after they end.");
  const { show, rows } = keyedRows((/** @type {Info} */ { job_id: id }) => id, ({ job_id: id }) => createRow(id));
  now.hidden = true;
  return {
    node: h("div", { class: "job-histories" }, now, h("section", { class: "history", "aria-label": "History" }, h("h2", {}, "History"), empty, done)),
    /** @param {Info[]} jobs */
    show(jobs) {
      show(running, jobs.filter(({ status }) => isOpen(status)));
      show(done, jobs.filter(({ status }) => !isOpen(status)));
      now.hidden = running.children.length === 0;
      empty.hidden = done.children.length > 0;
    },
    tick: () => rows.forEach((row) => row.tick()),
  };
}

/** @param {string} id */
function createRow(id) {
  const state = h("span", { class: "job-state" });
  const [name, about, directory, took, time] = [h("strong", {}), h("span", { class: "job-about" }), h("span", { class: "muted job-directory" }), h("span", { class: "muted job-took" }), h("time", { class: "muted" })];
  const link = h("a", { href: jobAddress(id), class: "job-row" }, state, name, about, directory, took, time);
  /** @type {Info | undefined} */
  let shown;
  const tick = () => {
    if (!shown) return;
    const { done, all } = progressOf(shown);
    const length = elapsed(shown.started_at, shown.ended_at, Date.now());
    setText(took, isOpen(shown.status) ? `${done} of ${all} · ${length}` : length);
    setText(time, age(Date.now() - Date.parse(shown.started_at)));
  };
  return {
    node: h("li", {}, link),
    tick,
    /** @param {Info} job */
    update(job) {
      shown = job;
      if (link.dataset.state !== job.status) state.replaceChildren(statusIcon(job.status), h("span", { class: "hidden-text" }, `${STATUS_LABELS[job.status]}: `));
      link.dataset.state = job.status;
      setText(name, job.name);
      setText(about, job.error || job.input);
      about.classList.toggle("error-text", Boolean(job.error));
      setText(directory, baseName(job.directory));
      directory.title = escapeBidi(job.directory);
      time.dateTime = job.started_at;
      time.title = new Date(job.started_at).toLocaleString();
      tick();
    },
  };
}

/** @param {Options} options */
function jobForm({ rpc, navigate, list }) {
  const grid = h("div", { class: "job-grid", role: "radiogroup", "aria-label": "Job", "data-testid": "grid" });
  const input = h("textarea", { rows: 3, "aria-label": "Input", "data-testid": "input", placeholder: "Describe the task" });
  const keys = h("span", { class: "muted keys" });
  const send = h("button", { class: "primary", type: "submit", "data-testid": "send", disabled: true }, "Start");
  const problem = h("p", { class: "error-text", role: "alert", "data-testid": "problem" });
  const directory = directoryField({ rpc });
  const plan = h("div", { class: "chart-box" });
  const more = h("details", { class: "more" }, h("summary", {}, "Flow chart"), plan);
  const node = h("form", { class: "start-form", hidden: true }, grid, h("div", { class: "box" }, input, h("div", { class: "actions" }, keys, send)), problem, directory.node, more);
  /** @type {Book} */
  let book = { book: "", grid: [], jobs: {}, chart: {} };
  let sending = false;
  let drawn = "";
  const starts = startKeys(sessionStorage, "start:job");

  const chosen = () => grid.querySelector(/** @type {"input"} */ ("input:checked"))?.value ?? "";
  const show = () => {
    const name = chosen();
    const needs = Boolean(book.jobs[name]?.require_user_input);
    input.required = needs;
    input.placeholder = needs ? "Describe the task" : "Additional context (optional)";
    setText(keys, needs ? "Input required" : "");
    send.disabled = sending || !name || (needs && !input.value.trim());
    setText(send, sending ? "Starting…" : "Start");
    if (!more.open || drawn === name || !book.chart[name]) return;
    drawn = name;
    const chart = createChart({ nodes: book.chart[name].nodes, label: `Flow chart of ${name}` });
    chart.update(new Map(), 0);
    plan.replaceChildren(chart.node);
  };
  const start = async () => {
    sending = true;
    problem.textContent = "";
    show();
    const text = input.value.trim() ? input.value : "";
    try {
      const path = directory.value.trim();
      const where = path ? (await rpc.call("portal.directory.describe", { path })).path : "";
      const { job_id: id } = await rpc.call("portal.jobs.start", starts.with({ name: chosen(), directory: where, input: text }));
      starts.done();
      keep(sessionStorage, CHOSEN, undefined);
      if (path) saveDirectory(path);
      written.forget(text.trim());
      navigate(jobAddress(id));
    } catch (error) {
      setText(problem, messageOf(error));
    }
    sending = false;
    show();
  };
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!send.disabled) void start();
  });
  const written = createDraftField({ field: input, id: "jobs", onChange: show });
  node.addEventListener("input", show);
  grid.addEventListener("change", () => keep(sessionStorage, CHOSEN, chosen()));
  more.addEventListener("toggle", show);
  return {
    node,
    dispose: written.dispose,
    focus: () => hasKeyboard() && grid.querySelector(/** @type {"input"} */ ("input:checked"))?.focus(),
    /** @param {Book} loaded */
    async load(loaded) {
      const before = chosen();
      const name = before || loadKept(sessionStorage, CHOSEN);
      book = loaded;
      drawn = "";
      grid.replaceChildren(...loaded.grid.flatMap((row) => gridRow(row, loaded)));
      const selected = [...grid.querySelectorAll("input")].find(({ value }) => value === name) ?? grid.querySelector("input");
      if (selected) selected.checked = true;
      node.hidden = !selected;
      show();
      if (!before) this.focus();
      await fillDirectory(directory, rpc, list());
    },
  };
}

/** @param {{keyword: string, jobs: (Button | null)[]}} row @param {Book} book */
function gridRow({ keyword, jobs }, { jobs: known }) {
  /** @param {Button} button */
  const about = ({ name, jobName }) => [name === jobName ? "" : jobName, known[jobName]?.require_user_input ? "needs input" : ""].filter(Boolean).join(", ");
  return [h("span", { class: "muted job-keyword" }, keyword), h("div", { class: "job-buttons" }, ...jobs.map((button) => (button
    ? h("label", { class: "permission" }, h("input", { type: "radio", name: "job", value: button.jobName }), h("strong", {}, button.name), h("span", { class: "muted" }, about(button)))
    : h("span", {}))))];
}
