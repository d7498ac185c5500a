// The entry point of the page: the connection, the view at each address, and global keys.

import { find, frameScheduler, h, setText } from "./dom.js";
import { checkVersion, registerWorker } from "./install.js";
import { icon } from "./views/icons.js";
import { sessionAddress, parseRoute } from "./route.js";
import { Connection, isGone, socketURL } from "./rpc.js";
import { Sessions } from "./sessions.js";
import { newList, updateList } from "./list.js";
import { setWatchers } from "./store.js";
import { conversationView } from "./views/conversation.js";
import { interfaceView } from "./views/interface.js";
import { interfacesView } from "./views/interfaces.js";
import { isComposing } from "./views/keys.js";
import { jobView } from "./views/job.js";
import { jobsView } from "./views/jobs.js";
import { operationView } from "./views/operation.js";
import { operationsView } from "./views/operations.js";
import { createNotifications } from "./views/notifications.js";
import { createPalette } from "./views/palette.js";
import { createRail } from "./views/rail.js";
import { settingsView } from "./views/settings-view.js";
import { startView } from "./views/start.js";
import { referenceView } from "./views/reference.js";
import { statusView } from "./views/status.js";
import { Visitor } from "./visitor.js";

/**
 * The view at an address. `update` is called after changes, at most once a frame; `focus` once it is shown; `dispose` before it is removed;
 * `showRun` when the address names a run, `showPanel` when it names what the panel shows or no longer does; `receive` for notifications; `commands` are for Ctrl+K.
 * @typedef {{node: HTMLElement, update: () => void, focus: () => void, dispose: () => void, showRun?: (run: string, words?: string) => void, showPanel?: (route: import("./views/conversation.js").PanelRoute, byUser: boolean) => void,
 *   receive?: (message: import("./rpc.js").Notification) => void, commands?: () => import("./views/palette.js").Command[]}} View
 */

/** Elements that keys are typed into. */
const FIELDS = "input, textarea, select, [contenteditable]";
const view = find("view", HTMLElement);
const offline = find("offline", HTMLElement);
const storage = find("storage", HTMLElement);
const waitingNav = find("waiting", HTMLElement);
const tabIcon = find("icon", HTMLLinkElement);
const base = new URL(".", location.href).pathname;
const visitor = new Visitor(new URL(".", location.href).href);

let list = newList();
let wasOpen = false;
/** @type {View | undefined} */
let current;
let shownAddress = "";
/** What had the focus when the shown session was opened. @type {Element | null} */
let focusAtOpen = null;
let visits = 0; // of addresses, so far
let shownSession = "";
let title = "";
const scheduleUpdate = frameScheduler(update);

const rpc = new Connection({
  url: socketURL(location.href),
  hidden: () => document.hidden,
  onState(state) {
    if (state !== "open") sessions.disconnected();
    offline.hidden = state !== "offline";
    offline.replaceChildren("Can't reach the portal. Reconnecting… This page may be out of date.");
    if (state === "offline") void askForToken();
    scheduleUpdate();
  },
  onOpen() {
    void sessions.reconnected();
    void watch();
    void checkStorage();
    if (wasOpen) void checkVersion(find("updated", HTMLElement));
    else setTimeout(registerWorker, 2000); // after what the user waits for
    wasOpen = true;
  },
  onNotification(message) {
    updateList(list, message);
    if (list.changed) notifications.update(list);
    if (message.method === "portal.session.removed") handleRemoved(message.params.session_id);
    sessions.receive(message);
    current?.receive?.(message);
    if (list.changed) scheduleUpdate();
  },
  onRequest(message) {
    if (message.method === "client.tool.call") rpc.reject(message.id, -32601, "the page has no client tools");
    else sessions.receive(message);
  },
});

const sessions = new Sessions(rpc, (session) => {
  if (session.id === shownSession && session !== currentSession) showLate(session);
  else scheduleUpdate();
}, showFailure);

/** @param {string} address */
function navigate(address) {
  if (location.hash === address) show();
  else location.hash = address;
}

/** Returns a function for the view that is shown now: a late response does not take the user away from another one. @returns {typeof navigate} */
function navigateFromHere() {
  const from = visits;
  return (address) => void (from === visits && navigate(address));
}

const notifications = createNotifications({ navigate });
const rail = createRail({ root: find("rail", HTMLElement), toggle: find("rail-toggle", HTMLButtonElement), veil: find("veil", HTMLElement), notice: notifications.node, rpc, navigate });
const palette = createPalette({ list: () => list, navigate, commands: () => [
  ...(current?.commands?.() ?? []),
  { label: "New session", hint: "Alt+N", run: () => navigate("#/") },
  { label: "Search sessions", run: () => rail.search() },
  { label: "Jobs", run: () => navigate("#/jobs") },
  { label: "Interfaces", run: () => navigate("#/interfaces") },
  { label: "Operations", run: () => navigate("#/operations") },
  ...notifications.commands(),
  { label: "Settings", hint: "Ctrl+,", run: () => navigate("#/settings") },
  { label: "Portal status", run: () => navigate("#/status") },
  { label: "API reference", run: () => navigate("#/reference") },
] });

/** How long the page waits before it asks for the list of sessions again, in milliseconds. */
const watchDelay = 3000;
let nextWatch = 0;

async function watch() {
  clearTimeout(nextWatch);
  try {
    const { sessions } = await rpc.call("portal.sessions.watch");
    list = newList(sessions);
    notifications.update(list);
    scheduleUpdate();
  } catch (error) {
    if (isGone(error)) return; // onOpen tries again
    nextWatch = window.setTimeout(watch, watchDelay);
  }
}

/** The portal's status when it was last asked for; undefined if it did not answer. */
let portalStatus = Promise.resolve(/** @type {any} */ (undefined));

/** How often a portal of a cluster is asked for its state, in milliseconds. */
const clusterCheck = 15_000;
let nextCheck = 0;

/** Warns if sessions are not saved, or not shared with the cluster. */
async function checkStorage() {
  clearTimeout(nextCheck);
  portalStatus = rpc.call("portal.status").catch(() => undefined);
  const status = await portalStatus;
  if (!status) return; // the connection was lost; onOpen tries again
  const warning = storageWarning(status);
  storage.hidden = !warning;
  setText(storage, warning);
  if (status.cluster) nextCheck = window.setTimeout(checkStorage, clusterCheck);
}

/** What to know about the storage; "" if all is well. @param {any} status */
function storageWarning({ storage, cluster }) {
  if (!storage.ok) return `Sessions will be lost when the portal stops: ${storage.message || "storage is unavailable"}`;
  return cluster?.message ?? "";
}

/** Handles the deletion of a session. @param {string} id */
function handleRemoved(id) {
  sessions.forget(id);
  if (id !== shownSession) return;
  closeSession();
  setView(messageView("This session was deleted."));
}

/** @type {import("./store.js").Session | undefined} */
let currentSession;

/** Shows the view at the current address. */
function show() {
  const route = parseRoute(location.hash);
  const address = route.view === "session" ? sessionAddress(route.id) : `#/${route.view}${"id" in route ? `/${route.id}` : ""}`;
  rail.close();
  if (route.view === "session" && address === shownAddress) {
    if (route.run && !route.changes && !route.file && !route.terminal) current?.showRun?.(route.run, route.find);
    return current?.showPanel?.(route, true);
  }
  shownAddress = address;
  visits++;
  closeSession();
  current?.dispose(); // before a session is opened that it shows, too, as a card of a job
  current = undefined;
  setTitle(TITLES[route.view]);
  if (route.view === "session") void openSession(route.id);
  else setView(viewOf(route));
}

/** @type {Record<import("./route.js").Route["view"], string>} */
const TITLES = { start: "New session", status: "Status", settings: "Settings", reference: "API reference", jobs: "Jobs", job: "Job", operations: "Operations", operation: "Operation", interfaces: "Interfaces", interface: "Interface", session: "" };

/** @param {Exclude<import("./route.js").Route, {view: "session"}>} route @returns {View} */
function viewOf(route) {
  const navigate = navigateFromHere();
  switch (route.view) {
    case "status": return statusView({ rpc });
    case "settings": return settingsView({ rpc, notifications });
    case "reference": return referenceView();
    case "jobs": return jobsView({ rpc, navigate, list: () => list, onChange: scheduleUpdate });
    case "job": return jobView({ id: route.id, rpc, sessions, navigate, list: () => list, onChange: scheduleUpdate, onTitle: setTitle });
    case "interfaces": return interfacesView({ rpc, navigate, onChange: scheduleUpdate });
    case "interface": return interfaceView({ id: route.id, rpc, navigate, onChange: scheduleUpdate, onTitle: setTitle });
    case "operations": return operationsView({ rpc, visitor, navigate, list: () => list });
    case "operation": return operationView({ id: route.id, rpc, visitor, onChange: scheduleUpdate, onTitle: setTitle });
    default: return startView({ rpc, sessions, navigate, list: () => list, directory: "directory" in route ? route.directory : "" });
  }
}

/** @param {string} id */
async function openSession(id) {
  shownSession = id;
  focusAtOpen = document.activeElement;
  const opened = sessions.open(id);
  const known = sessions.get(id);
  if (known) showSession(known); // immediately; missed events follow
  else setView(messageView("Loading…"));
  try {
    const session = await opened;
    if (shownSession === id && currentSession !== session) showLate(session);
  } catch (error) {
    showFailure(id, /** @type {import("./rpc.js").CallError} */ (error));
  }
}

/** @param {string} id @param {import("./rpc.js").CallError} error */
function showFailure(id, error) {
  if (shownSession !== id || isGone(error)) return; // it is attached again after a reconnect
  currentSession = undefined;
  shownAddress = ""; // whoever chooses the session again wants another try
  if (error.code === -32004) return setView(messageView("Session not found. It may have been deleted, or it belongs to another portal."));
  setView(messageView(error.message, h("button", { type: "button", class: "primary", "data-testid": "try-again", click: show }, "Try again")));
}

/** @param {import("./store.js").Session} session @param {boolean} [focus] whether it gets the focus */
function showSession(session, focus = true) {
  currentSession = session;
  setView(conversationView({ session, rpc, navigate: navigateFromHere(), earlier: () => sessions.earlier(session.id), restart: () => sessions.restart(session.id), onTitle: setTitle, status: portalStatus, menu: rail.menu, share: rail.share }), focus);
  const route = parseRoute(location.hash);
  if (route.view === "session" && route.run) current?.showRun?.(route.run, route.find);
  if (route.view === "session" && (route.changes || route.file || route.terminal)) current?.showPanel?.(route, false);
}

/** Shows a session that has loaded. If the user types elsewhere meanwhile, the focus stays there. @param {import("./store.js").Session} session */
function showLate(session) {
  const active = document.activeElement;
  const isTyping = active !== focusAtOpen && active instanceof HTMLElement && active.matches(FIELDS) && !view.contains(active);
  showSession(session, !isTyping);
}

function closeSession() {
  if (shownSession) sessions.release(shownSession);
  shownSession = "";
  currentSession = undefined;
}

/** @param {View} next @param {boolean} [focus] whether it gets the focus */
function setView(next, focus = true) {
  current?.dispose();
  current = next;
  view.replaceChildren(next.node);
  if (focus) next.focus();
  scheduleUpdate();
}

/** @param {string} text @param {HTMLElement[]} actions @returns {View} */
function messageView(text, ...actions) {
  const node = h("section", { class: "page" }, h("header", { class: "top" }, h("h1", {}, "Session")), h("div", { class: "scroll" }, h("div", { class: "column" }, h("p", { class: "muted" }, text), ...actions)));
  return { node, update() {}, focus() {}, dispose() {} };
}

function update() {
  if (currentSession) setWatchers(currentSession, list.sessions.get(shownSession));
  current?.update();
  if (list.changed || rail.current !== shownSession) {
    list.changed = false;
    rail.current = shownSession;
    rail.update(list);
  }
  showWaiting();
  showTitle();
}

/** Leads to a session that waits for the user, which is not in view on a phone. */
function showWaiting() {
  const [first, ...others] = [...list.sessions.values()].filter(({ session_id: id, state }) => state === "waiting" && id !== shownSession);
  waitingNav.hidden = !first;
  const link = waitingNav.querySelector("a");
  if (!first || !link) return;
  link.href = sessionAddress(first.session_id);
  setText(link, others.length > 0 ? `${others.length + 1} sessions are waiting for you` : `Waiting for you: ${first.title || first.last_user_message || "Untitled"}`);
}

/** @param {string} text */
function setTitle(text) {
  if (text === title) return;
  title = text;
  scheduleUpdate();
}

/** Shows in the tab's title and icon how many sessions wait for the user. */
function showTitle() {
  const waiting = new Set([...list.sessions.values()].filter(({ state }) => state === "waiting").map(({ session_id: id }) => id));
  if (currentSession) waiting[currentSession.questions.length > 0 ? "add" : "delete"](currentSession.id);
  const name = title || list.sessions.get(shownSession)?.title || "Session";
  const text = `${waiting.size > 0 ? `(${waiting.size}) Waiting for you: ` : ""}${name} – Copilot Portal`;
  if (document.title !== text) document.title = text;
  const file = waiting.size > 0 ? "favicon-waiting.svg" : "favicon.svg";
  if (!tabIcon.href.endsWith(`/${file}`)) tabIcon.href = file;
}

/** Asks for the token if the portal requires another one, which a WebSocket cannot report. */
async function askForToken() {
  const status = await fetch("api/config", { cache: "no-store" }).then((response) => response.status, () => 0);
  if (status !== 401) return;
  offline.replaceChildren("This portal requires a token. Open the address it printed when it started (", h("code", {}, `${base}?token=…`), ") once; your browser will remember it.");
}

find("rail-toggle", HTMLButtonElement).append(icon("menu"));
find("rail-new", HTMLAnchorElement).append(icon("new"));
addEventListener("hashchange", show);
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey && !event.defaultPrevented;
  // The address stays the same, so there is no hashchange, but the user may have scrolled away from what it names.
  if (link && isPlain && link.href === location.href && parseRoute(location.hash).view === "session") show();
});
addEventListener("online", () => rpc.check());
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) rpc.check();
});
document.addEventListener("keydown", (event) => {
  if (isComposing(event) || event.defaultPrevented) return;
  const inDialog = document.querySelector("dialog[open]") !== null;
  const isTyping = event.target instanceof HTMLElement && event.target.matches(FIELDS);
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") palette.toggle();
  else if (event.key === "," && !event.altKey && (event.ctrlKey || event.metaKey) && !inDialog) navigate("#/settings");
  else if (event.altKey && event.code === "KeyN" && !inDialog && (!isTyping || event.key.toLowerCase() === "n")) navigate("#/"); // Option+N types a tilde on macOS
  else if (event.key === "?" && !isTyping && !event.ctrlKey && !event.metaKey) palette.help();
  else return;
  event.preventDefault();
});
setInterval(() => {
  if (document.hidden) return;
  rail.update(list); // ages
  rpc.check(); // a switch of networks does not end the connection visibly
  if (rpc.state === "open") void checkStorage();
}, 60_000);

show();
rpc.open();
