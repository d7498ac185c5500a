// The view of one job: its flow chart, the sessions of its tasks, and its log.

import { age, h, keepFocus, lateFocus, messageOf, setChildren, setText, whileBusy } from "../dom.js";
import { STATUS_LABELS, runningSessions, outcomeOf, isOpen, elapsed, newJob, applyMessage } from "../jobs.js";
import { previewOf } from "../preview.js";
import { sessionAddress, jobAddress } from "../route.js";
import { isGone, newConnections } from "../rpc.js";
import { createChart, statusIcon } from "./chart.js";

/**
 * @typedef {import("../jobs.js").Job} Job
 * @typedef {{id: string, rpc: import("../rpc.js").Connection, sessions: import("../sessions.js").Sessions, navigate: (address: string) => void,
 *   list: () => import("../list.js").List, onChange: () => void, onTitle: (title: string) => void}} Options
 */

const NEAR_END = 24; // px

/**
 * @param {Options} options
 * @returns {import("../app.js").View}
 */
export function jobView({ id, rpc, sessions, navigate, list, onChange, onTitle }) {
  const title = h("h1", { "data-testid": "title" }, "Job");
  const about = h("p", { class: "subtitle muted" });
  const status = h("p", { class: "status job-status", "data-testid": "status" });
  const announcement = h("p", { class: "hidden-text", role: "status", "data-testid": "announcement" });
  const note = h("p", { class: "muted", role: "status", "data-testid": "note" }, "Loading…");
  const facts = h("p", { class: "muted job-facts" });
  const input = h("details", { class: "job-input", hidden: true }, h("summary", {}, "Input"), h("p", {}));
  const problem = h("p", { class: "log-error", role: "alert", hidden: true, "data-testid": "problem" });
  const box = h("div", { class: "chart-box", "data-testid": "chart", tabindex: "0", role: "region", "aria-label": "Flow chart" });
  const panel = sessionPanel({ sessions, list });
  const log = createLog();
  const act = actions({ id, rpc, navigate, onFail: (message) => fail(message) });
  const body = h("div", { class: "job", hidden: true },
    h("div", { class: "job-main" }, facts, input, problem, box), h("div", { class: "job-side" }, panel.node, log.node));
  const node = h("section", { class: "page job-page" }, h("header", { class: "top" }, h("div", { class: "top-text" }, title, about), announcement, status, act.node),
    h("div", { class: "scroll", tabindex: "-1" }, h("div", { class: "column wide" }, note, body)));

  /** @type {Job | undefined} */
  let job;
  /** @type {ReturnType<typeof createChart> | undefined} */
  let chart;
  let picked = 0;
  const isNewConnection = newConnections(rpc);
  let changed = false;
  const focusBox = () => box.focus({ preventScroll: true });
  const focus = lateFocus(focusBox);

  /** @param {string} message */
  const fail = (message) => {
    setText(problem, message);
    problem.hidden = !message;
  };
  /** @param {import("../chart.js").Node[]} nodes @param {string} name */
  const draw = (nodes, name) => {
    chart = createChart({ nodes, label: `Flow chart of ${name}`, onPick(work) {
      picked = picked === work ? 0 : work;
      changed = true;
      onChange();
    } });
    box.replaceChildren(chart.node);
  };
  /** Watches the job from the last known event on. */
  const watch = async () => {
    try {
      const { job: info, chart: drawn } = await rpc.call("portal.job.watch", { job_id: id, after: job?.last ?? 0 });
      job ??= newJob(info);
      if (!chart && drawn) draw(drawn.nodes, info.name);
      setText(note, "");
    } catch (error) {
      if (!isGone(error)) setText(note, messageOf(error)); // otherwise it is watched again after a reconnect
    }
    if (job && body.hidden) {
      body.hidden = false;
      chart?.center(box);
      focus.shown();
    }
    changed = true;
    onChange();
  };
  const show = (/** @type {Job} */ { info, works, log: lines, problem: unreadable }) => {
    setText(title, info.name);
    onTitle(title.textContent ?? "");
    setText(about, info.directory);
    if (node.dataset.state !== info.status) {
      const before = node.dataset.state;
      status.replaceChildren(statusIcon(info.status), STATUS_LABELS[info.status]);
      node.dataset.state = info.status;
      if (before) setText(announcement, outcomeOf(info));
    }
    keepFocus(act.node, () => act.update(info), focusBox);
    input.hidden = !info.input;
    setText(/** @type {Element} */ (input.lastElementChild), info.input);
    if (info.error || unreadable) fail(info.error || unreadable);
    chart?.update(works, picked);
    log.update(lines, works);
  };
  const tick = () => {
    if (!job) return;
    const { started_at: from, ended_at: to, continues } = job.info;
    const count = new Set([...job.works.values()].flatMap(({ sessions }) => sessions.map((one) => one.id))).size;
    const text = `Started ${ago(Date.now() - Date.parse(from))} · ${elapsed(from, to, Date.now())} · ${count === 1 ? "1 session" : `${count} sessions`}`;
    if (facts.dataset.text === text) return;
    facts.dataset.text = text;
    facts.replaceChildren(text, ...(continues ? [" · continues ", h("a", { href: jobAddress(continues) }, "an earlier job")] : []));
    facts.title = new Date(from).toLocaleString();
  };
  const clock = setInterval(() => isOpen(job?.info.status ?? "Running") && tick(), 1000);
  return {
    node,
    update() {
      if (isNewConnection() && !job?.closed) void watch();
      if (job && changed) {
        show(job);
        tick();
      }
      changed = false;
      if (job) panel.update(job, picked);
    },
    receive(message) {
      if (!job || !applyMessage(job, message)) return;
      changed = true;
      onChange();
    },
    commands: () => act.commands(),
    focus: focus.focus,
    dispose() {
      clearInterval(clock);
      panel.dispose();
      if (rpc.state === "open" && !job?.closed) void rpc.call("portal.job.unwatch", { job_id: id }).catch(() => {}); // it fails only if the connection is lost
    },
  };
}

/** @param {number} ms */
const ago = (ms) => (age(ms) === "now" ? "just now" : `${age(ms)} ago`);

/** The buttons of a job. @param {{id: string, rpc: import("../rpc.js").Connection, navigate: (address: string) => void, onFail: (message: string) => void}} options */
function actions({ id, rpc, navigate, onFail }) {
  /** @param {string} label @param {string} name @param {string} id @param {() => Promise<unknown>} run */
  const button = (label, name, id, run) => {
    const node = h("button", { type: "button", class: name, "data-testid": id, hidden: true, click: () => void whileBusy(node, run, onFail) }, label);
    return node;
  };
  const cancel = button("Cancel", "stop", "cancel", () => rpc.call("portal.job.cancel", { job_id: id }));
  const continueButton = button("Continue", "primary", "continue", async () => navigate(jobAddress((await rpc.call("portal.job.continue", { job_id: id })).job_id)));
  const again = button("Run again", "", "again", async () => navigate(jobAddress((await rpc.call("portal.job.repeat", { job_id: id })).job_id)));
  return {
    node: h("div", { class: "job-actions" }, cancel, again, continueButton),
    /** @param {import("../jobs.js").Info} updated */
    update(updated) {
      cancel.hidden = !isOpen(updated.status);
      again.hidden = isOpen(updated.status);
      continueButton.hidden = isOpen(updated.status) || updated.status === "Succeeded";
    },
    commands: () => [cancel, continueButton, again].filter(({ hidden }) => !hidden).map((node) => ({ label: `${node.textContent} this job`, run: () => node.click() })),
  };
}

const MAX_CARDS = 6; // sessions shown at once

/**
 * The sessions of the selected task, or the running ones, with their last lines.
 * @param {{sessions: import("../sessions.js").Sessions, list: () => import("../list.js").List}} options
 */
function sessionPanel({ sessions, list }) {
  const heading = h("h2", {});
  const empty = h("p", { class: "muted" });
  const cards = h("ul", { class: "session-cards" });
  /** @type {Map<string, ReturnType<typeof createCard>>} */
  const shown = new Map();

  /** @param {string} id */
  const add = (id) => {
    const card = createCard(id);
    shown.set(id, card);
    sessions.open(id).catch(() => {}); // a session that cannot be opened has no lines
    return card;
  };
  /** @param {string} id */
  const remove = (id) => {
    shown.delete(id);
    sessions.release(id);
  };
  return {
    node: h("section", { class: "job-sessions", "data-testid": "sessions-of", "aria-label": "Sessions" }, heading, empty, cards),
    /** @param {Job} job @param {number} picked */
    update(job, picked) {
      const work = job.works.get(picked);
      const all = work ? [...work.sessions].reverse().map((session) => ({ work, session })) : runningSessions(job);
      const found = [...new Map(all.map((one) => [one.session.id, one])).values()].slice(0, MAX_CARDS);
      setText(heading, work ? `Sessions of ${work.name}` : "Active sessions");
      setText(empty, found.length > 0 ? "" : emptyText(job, work));
      const selected = new Set(found.map(({ session }) => session.id));
      for (const id of [...shown.keys()]) if (!selected.has(id)) remove(id);
      setChildren(cards, found.map(({ work, session }) => {
        const card = shown.get(session.id) ?? add(session.id);
        card.update(work.name, session, sessions.get(session.id), list().sessions.get(session.id));
        return card.node;
      }));
    },
    dispose() {
      for (const id of [...shown.keys()]) remove(id);
    },
  };
}

/** @param {Job} job @param {import("../jobs.js").Work | undefined} work */
function emptyText(job, work) {
  if (work?.reused) return "Already done by an earlier job.";
  if (work) return "No sessions yet.";
  return isOpen(job.info.status) ? "Starting sessions…" : "No active sessions. Select a task in the chart to see its sessions.";
}

/** @param {string} id */
function createCard(id) {
  const state = h("span", { class: "job-state" });
  const name = h("strong", {});
  const role = h("span", { class: "muted" });
  const lines = h("div", { class: "session-lines" });
  const link = h("a", { class: "session-card", href: sessionAddress(id) }, h("span", { class: "session-head" }, state, name, role), lines);
  const node = h("li", { "data-session": id }, link);
  return {
    node,
    /** @param {string} work @param {import("../jobs.js").Session} session @param {import("../store.js").Session | undefined} sessionState @param {import("../store.js").Info | undefined} info */
    update(work, { driving, status, round }, sessionState, info) {
      if (link.dataset.state !== status) state.replaceChildren(statusIcon(status), h("span", { class: "hidden-text" }, `${status === "Succeeded" ? "Done" : STATUS_LABELS[status]}: `));
      link.dataset.state = status;
      setText(name, work);
      setText(role, [driving ? "checks" : "", round > 1 ? `round ${round}` : "", info?.state === "waiting" ? "waiting for you" : "", info?.model ?? ""].filter(Boolean).join(" · "));
      setLines(lines, sessionState ? previewOf(sessionState) : []);
    },
  };
}

/** Updates lines in place: a click needs the same element for its whole duration. @param {HTMLElement} node @param {import("../preview.js").Line[]} lines */
function setLines(node, lines) {
  while (node.children.length < lines.length) node.append(h("p", {}));
  [...node.children].forEach((line, i) => {
    const { kind = "", text = "" } = lines[i] ?? {};
    line.toggleAttribute("hidden", !text);
    line.className = `line-${kind}`;
    setText(line, text);
  });
}

/** The log, newest last. */
function createLog() {
  const list = h("ol", { class: "job-log", "data-testid": "log", tabindex: "0", "aria-label": "Entries" });
  let last = 0;
  return {
    node: h("section", { class: "job-decisions", "aria-label": "Log" }, h("h2", {}, "Log"), list),
    /** @param {import("../jobs.js").Line[]} lines @param {Job["works"]} works */
    update(lines, works) {
      const added = lines.filter(({ number }) => number > last);
      if (added.length === 0) return;
      const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END;
      list.append(...added.map(({ time, work, text, status }) => h("li", { "data-state": status },
        h("time", { class: "muted", datetime: time }, new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })),
        h("span", {}, ...(work ? [h("strong", {}, works.get(work)?.name ?? `Work ${work}`), " "] : []), text))));
      last = added[added.length - 1].number;
      while (list.children.length > lines.length) list.firstElementChild?.remove();
      if (atEnd) list.scrollTop = list.scrollHeight;
    },
  };
}
