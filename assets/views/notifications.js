// Desktop notifications: a session needs the user, or a long run ended, while no tab of the portal is visible. The page asks for the permission only on
// request, and offers that from the first question on.

import { relativeTitle } from "../blocks/labels.js";
import { h } from "../dom.js";
import { hasFailed, isInternal } from "../list.js";
import { sessionAddress } from "../route.js";
import { icon } from "./icons.js";

/**
 * @typedef {import("../store.js").Info} Info
 * @typedef {{state: string, since: number, waitsFor: string}} Seen since: ms, when its run was first seen; 0 without a run
 * @typedef {{session: Info, text: string}} Notice
 */

/** ms; the end of a shorter run is not reported. */
export const LONG_RUN = 30_000;

const STORAGE_KEY = "portal.notifications"; // "off": the user wants none

const isBusy = (/** @type {string} */ state) => state === "running" || state === "queued" || state === "waiting";

/**
 * Updates what was seen of all sessions, and returns what the user should know. Sessions that are seen for the first time are no news. Pure, but for
 * `seen`.
 * @param {Map<string, Seen>} seen @param {Iterable<Info>} sessions @param {number} now ms @returns {Notice[]}
 */
export function noticesOf(seen, sessions, now) {
  /** @type {Notice[]} */
  const notices = [];
  for (const session of sessions) {
    const state = session.state ?? "";
    const before = seen.get(session.session_id);
    const since = isBusy(state) ? before?.since || now : 0;
    const waitsFor = session.waits_for || "open the session";
    seen.set(session.session_id, { state, since, waitsFor });
    if (!before || before.state === state && (state !== "waiting" || before.waitsFor === waitsFor)) continue; // one question may follow another at once
    if (state === "waiting") notices.push({ session, text: `Waiting for you: ${relativeTitle(waitsFor, session.directory)}` });
    else if (before.since && !since && now - before.since > LONG_RUN && !isInternal(session)) notices.push({ session, text: hasFailed(session) ? "The run failed" : "The run is done" });
  }
  return notices;
}

/** The browser's permission; "none" if it shows no notifications, as on Android, where only service workers may show them. */
const permission = () => (globalThis.Notification && !/Android/.test(navigator.userAgent) ? Notification.permission : "none");

/** The lock that visible tabs of a portal hold together, so that hidden ones know of them. */
const VISIBLE = `visible ${globalThis.location?.pathname}`;

/** Holds the lock while the tab is visible. Browsers have locks only where they show notifications: over HTTPS and from localhost. */
function holdWhileVisible() {
  const hold = () => document.hidden || new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  const update = () => {
    if (!document.hidden) navigator.locks?.request(VISIBLE, { mode: "shared" }, hold).catch(() => {}); // where storage is blocked; then every tab is on its own
  };
  document.addEventListener("visibilitychange", update);
  update();
}

/** Reports whether a tab of the portal is visible: the user sees the list there, with what waits. */
async function isAnyVisible() {
  const { held = [] } = await navigator.locks?.query().catch(() => undefined) ?? {};
  return !document.hidden || held.some(({ name }) => name === VISIBLE);
}

/** @param {{navigate: (address: string) => void}} options */
export function createNotifications({ navigate }) {
  /** @type {Map<string, Seen>} */
  const seen = new Map();
  let hasWaited = false;
  const dismiss = h("button", { type: "button", class: "quiet", click: () => turn(false) }, "Not now");
  const allow = h("button", { type: "button", "data-testid": "notify-me", click: () => void ask() }, "Notify me");
  const node = h("div", { class: "rail-notice", role: "group", "aria-label": "Notifications", hidden: true },
    h("p", {}, icon("bell"), " Know when a session needs you, even in another tab."), h("div", {}, allow, dismiss));

  const isOff = () => localStorage.getItem(STORAGE_KEY) === "off";
  const show = () => (node.hidden = !(hasWaited && permission() === "default" && !isOff()));
  /** @param {boolean} on */
  const turn = (on) => {
    if (on) localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, "off");
    show();
  };
  const ask = async () => {
    turn(true);
    await Notification.requestPermission();
    show();
  };

  /** @param {Notice} notice */
  const notify = ({ session, text }) => {
    const note = new Notification(session.title || session.last_user_message || "Untitled", { body: text, tag: `${session.session_id} ${text}`, icon: "favicon.svg" }); // one for all tabs
    note.onclick = () => {
      window.focus();
      navigate(sessionAddress(session.session_id));
      note.close();
    };
  };

  holdWhileVisible();
  return {
    node,
    /** Whether they are shown, and whether the browser lets the page show them. @returns {"on" | "off" | "denied" | "none"} */
    state: () => (permission() === "denied" || permission() === "none" ? /** @type {"denied" | "none"} */ (permission()) : permission() === "granted" && !isOff() ? "on" : "off"),
    /** Turns them on or off; asks the browser first if it has to. @param {boolean} on */
    async turn(on) {
      if (on && permission() === "default") await ask();
      else turn(on);
    },
    /** Notifies the user of what has changed in the list. Call it at once: timers of hidden tabs may take a minute. @param {import("../list.js").List} list */
    update(list) {
      const notices = noticesOf(seen, list.sessions.values(), Date.now());
      hasWaited ||= [...list.sessions.values()].some(({ state }) => state === "waiting");
      show();
      if (notices.length > 0 && document.hidden && permission() === "granted" && !isOff()) void isAnyVisible().then((isVisible) => isVisible || notices.forEach(notify));
    },
    /** For Ctrl+K. @returns {import("./palette.js").Command[]} */
    commands() {
      if (permission() === "denied" || permission() === "none") return [];
      if (permission() === "default") return hasWaited ? [{ label: "Turn on notifications", run: () => void ask() }] : [];
      return [isOff() ? { label: "Turn on notifications", run: () => turn(true) } : { label: "Turn off notifications", run: () => turn(false) }];
    },
  };
}
