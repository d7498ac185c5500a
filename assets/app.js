// The start of the page: which session is shown, and what the user does.

import * as api from "./rest.js";
import { createConversation } from "./conversation.js";
import { find, setText } from "./dom.js";
import { readLive } from "./live.js";
import { createQuestions } from "./questions.js";
import { createRail } from "./rail.js";
import { tokenCard } from "./setup.js";
import { createStartForm } from "./start-form.js";
import { apply, end, newState, statusOf } from "./store.js";

const SESSIONS_EVERY = 5000; // ms

/** @type {Record<string, string>} */
const STATUS = { idle: "Idle", running: "Running", waiting: "Waiting for you", closed: "Closed", missing: "Not found", reconnecting: "Reconnecting…" };

const scroller = find("scroll", HTMLElement);
const title = find("title", HTMLElement);
const subtitle = find("subtitle", HTMLElement);
const status = find("status", HTMLElement);
const storage = find("storage", HTMLElement);
const closeButton = find("close", HTMLButtonElement);
const welcome = find("welcome", HTMLElement);
const setup = find("setup", HTMLElement);
const closed = find("closed", HTMLElement);
const resumeButton = find("resume", HTMLButtonElement);
const composer = find("composer", HTMLFormElement);
const fields = find("fields", HTMLElement);
const prompt = find("prompt", HTMLTextAreaElement);
const sendButton = find("send", HTMLButtonElement);
const stopButton = find("stop", HTMLButtonElement);
const problem = find("problem", HTMLElement);
const railToggle = find("rail-toggle", HTMLButtonElement);
const sessionList = find("sessions", HTMLElement);

const conversation = createConversation(find("conversation", HTMLElement), scroller, find("to-end", HTMLButtonElement));
const questions = createQuestions(find("questions", HTMLElement), prompt, answerQuestion);
const startForm = createStartForm(showProblem, showState);
const showRail = createRail(sessionList);

let current = ""; // id of the session on show, "" for a new one
let state = newState();
let reading = new AbortController();
let sending = false;
let refused = false; // the server wants a token
/** @type {api.Session[]} */
let sessions = [];
/** @type {ReturnType<typeof setTimeout>|undefined} */
let sessionsTimer;

// Which session is shown.

/** The id in the address, "" for a new session. */
function idInAddress() {
  const [, id = ""] = /^#\/session\/([^/]+)$/.exec(location.hash) ?? [];
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/** @param {string} id @param {boolean} fresh whether it begins just now, so that all of its times are known */
function open(id, fresh) {
  reading.abort();
  reading = new AbortController();
  current = id;
  state = newState();
  conversation.clear();
  questions.clear();
  problem.textContent = "";
  toggleRail(false);
  if (id) void read(id, fresh, reading.signal);
  else startForm.load();
  showState();
  showSessions();
  if (fresh) loadSessionsSoon();
  prompt.focus();
}

/** @param {string} id @param {boolean} fresh @param {AbortSignal} signal */
async function read(id, fresh, signal) {
  try {
    const ended = await readLive(id, {
      onResponses(responses, restarted) {
        const before = state;
        if (restarted) state = newState();
        const at = restarted && !fresh ? NaN : Date.now();
        fresh = false;
        const touched = responses.flatMap((response) => apply(state, response, at));
        if (!before.connected) problem.textContent = "";
        state.connected = true;
        if (restarted) {
          for (const block of touched) block.seconds ??= before.byKey.get(block.key)?.seconds; // the past has no times
          conversation.retain(state.blocks);
        }
        conversation.update(touched);
        showState();
      },
      onLost() {
        state.connected = false;
        showState();
      },
    }, signal);
    if (!ended) return;
    conversation.update(end(state, ended === "SessionClosed" ? "closed" : "missing"));
    if (state.phase === "missing") conversation.update(apply(state, { sessionError: "The portal does not know this session. Start a new one, or choose one from the list." }, NaN));
  } catch (error) {
    conversation.update(end(state, "closed"));
    showProblem(error);
  }
  showState();
}

// What is shown.

function showState() {
  const now = statusOf(state);
  if (current && status.dataset.state !== now) loadSessionsSoon();
  setText(status, STATUS[now]);
  status.dataset.state = now;
  const busy = state.phase === "running";
  welcome.hidden = fields.hidden = setup.hidden = current !== "";
  closeButton.hidden = !current || state.phase === "closed" || state.phase === "missing";
  closed.hidden = state.phase !== "closed";
  composer.hidden = refused || state.phase === "closed" || state.phase === "missing";
  if (stopButton.hidden === busy) stopButton.disabled = false;
  stopButton.hidden = !busy;
  sendButton.hidden = busy && prompt.value.trim() === "";
  sendButton.disabled = sending || (!current && !startForm.isReady());
  questions.update(state.questions, state.answered);
  showTitle();
}

function showTitle() {
  const session = sessionOnShow();
  const firstPrompt = state.blocks.find(({ kind }) => kind === "user")?.text.split("\n", 1)[0];
  const name = current ? session?.title || firstPrompt || "Session" : "New session";
  setText(title, name);
  title.title = name;
  setText(subtitle, session ? `${session.model}, ${session.workingDirectory}` : "");
  const waiting = new Set(sessions.filter(({ state }) => state === "waiting").map(({ sessionId }) => sessionId));
  if (state.questions.length > 0) waiting.add(current);
  else waiting.delete(current);
  document.title = `${waiting.size > 0 ? `(${waiting.size}) Waiting for you: ` : ""}${name} – Copilot Portal`;
}

const sessionOnShow = () => sessions.find(({ sessionId }) => sessionId === current);

function showSessions() {
  showRail(sessions, current);
  showTitle();
}

async function loadSessions() {
  clearTimeout(sessionsTimer);
  try {
    sessions = await api.sessions();
    showSessions();
    showStorage((await api.health()).storage);
  } catch (error) {
    if (isRefused(error)) return showProblem(error);
  }
  clearTimeout(sessionsTimer);
  sessionsTimer = setTimeout(loadSessions, SESSIONS_EVERY);
}

/** What keeps sessions from being stored has to be known before they are lost. @param {api.Storage} [state] */
function showStorage({ state, message } = { state: "ok", message: "" }) {
  storage.hidden = state === "ok";
  setText(storage, state === "ephemeral" ? "Sessions are not stored: they are gone when the portal ends." : message);
}

/** Something changed that the list does not show yet. */
function loadSessionsSoon() {
  clearTimeout(sessionsTimer);
  sessionsTimer = setTimeout(loadSessions, 300);
}

/** @param {unknown} error */
const isRefused = (error) => error instanceof api.ApiError && error.status === 401;

/** @param {unknown} error */
function showProblem(error) {
  if (isRefused(error)) {
    reading.abort();
    refused = composer.hidden = true;
    scroller.replaceChildren(tokenCard());
    return;
  }
  problem.textContent = error instanceof Error ? error.message : String(error);
}

/** @param {boolean} open on a narrow window, where the list is a drawer */
function toggleRail(open) {
  railToggle.setAttribute("aria-expanded", String(open));
  sessionList.toggleAttribute("data-open", open);
}

// What the user does.

async function send() {
  const text = prompt.value;
  if (sending || !text.trim() || (!current && !startForm.isReady())) return;
  sending = true;
  prompt.readOnly = true;
  problem.textContent = "";
  showState();
  try {
    const id = current || (await startForm.start());
    if (!current) {
      open(id, true);
      location.hash = `#/session/${encodeURIComponent(id)}`;
    }
    await api.query(id, text);
    prompt.value = "";
    prompt.focus();
    conversation.goToEnd();
  } catch (error) {
    showProblem(error);
  }
  sending = false;
  prompt.readOnly = false;
  showState();
}

/** Runs a call of the user and shows what went wrong. @param {() => Promise<unknown>} act */
async function attempt(act) {
  problem.textContent = "";
  try {
    await act();
  } catch (error) {
    showProblem(error);
  }
}

async function stop() {
  if (state.phase !== "running" || stopButton.disabled) return;
  stopButton.disabled = true;
  await attempt(() => api.cancel(current));
  if (problem.textContent) stopButton.disabled = false;
}

/**
 * Returns "" when the question is settled, whoever did it, or else what went wrong.
 * @param {import("./store.js").Question} question @param {api.Answer} answer
 */
async function answerQuestion(question, answer) {
  try {
    await api.answer(current, question.id, answer);
  } catch (error) {
    const settled = error instanceof api.ApiError && ["AlreadyAnswered", "QuestionNotFound"].includes(error.message);
    if (!settled) return error instanceof Error ? error.message : String(error);
  }
  apply(state, { callback: "onQuestionAnswered", requestId: question.id, by: "" }, NaN);
  showState();
  return "";
}

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  void send();
});
prompt.addEventListener("input", showState);
prompt.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    if (!event.repeat) void send();
  } else if (event.key === "ArrowUp" && !prompt.value) {
    event.preventDefault();
    prompt.value = state.blocks.findLast(({ kind }) => kind === "user")?.text ?? "";
    showState();
  }
});
for (const example of welcome.querySelectorAll("button")) {
  example.addEventListener("click", () => {
    prompt.value = example.textContent ?? "";
    prompt.focus();
    showState();
  });
}
stopButton.addEventListener("click", stop);
closeButton.addEventListener("click", () => attempt(() => api.stop(current)));
resumeButton.addEventListener("click", () => attempt(async () => {
  const id = current;
  await api.resume(id);
  if (id === current) open(id, false);
}));
railToggle.addEventListener("click", () => toggleRail(railToggle.getAttribute("aria-expanded") !== "true"));
sessionList.addEventListener("click", () => toggleRail(false));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing) return;
  if (railToggle.getAttribute("aria-expanded") === "true") toggleRail(false);
  else void stop();
});
addEventListener("hashchange", () => {
  if (idInAddress() !== current) open(idInAddress(), false);
});

open(idInAddress(), false);
void loadSessions();
