// The page of a link to a session: it shows only this session, to read, or to read and answer its questions.

import { find, frameScheduler, h, messageOf } from "./dom.js";
import { parseRoute } from "./route.js";
import { Connection, isGone, socketURL } from "./rpc.js";
import { Sessions } from "./sessions.js";
import { sharedView } from "./views/shared.js";

/** @typedef {{share_id: string, session_id: string, rights: "read" | "answer", expires_at: string}} Link of portal.share.current */

const view = find("view", HTMLElement);
const offline = find("offline", HTMLElement);
const tabIcon = find("icon", HTMLLinkElement);

/** @type {Link | undefined} */
let link;
/** @type {ReturnType<typeof sharedView> | undefined} */
let shown;
/** @type {import("./store.js").Session | undefined} */
let session;
const scheduleUpdate = frameScheduler(update);

const rpc = new Connection({
  url: socketURL(location.href),
  hidden: () => document.hidden,
  onState(state) {
    if (state !== "open") {
      sessions.disconnected();
      void checkLink();
    }
    offline.hidden = state !== "offline";
    offline.replaceChildren("Can't reach the portal. Reconnecting… This page may be out of date.");
    scheduleUpdate();
  },
  onOpen: () => void start(),
  onNotification: (message) => void sessions.receive(message),
  onRequest: (message) => void sessions.receive(message),
});

const sessions = new Sessions(rpc, (changed) => {
  if (changed === session) scheduleUpdate();
  else show(changed);
}, (_, { message }) => say(message));

/** Opens the session of the link. */
async function start() {
  try {
    link = /** @type {Link} */ (await rpc.call("portal.share.current"));
    await sessions.reconnected();
    await sessions.open(link.session_id);
  } catch (error) {
    if (!isGone(error)) say(messageOf(error));
  }
}

/** Follows the session again if it was closed and another client has opened it: holders of a link get no list that says so. */
async function followReopened() {
  if (!session?.closed || document.hidden) return;
  const { sessions: [now] } = await rpc.call("session.list").catch(() => ({ sessions: [] }));
  if (now) sessions.receive({ method: "portal.session.changed", params: { session: now } });
}

/** Loads the page again if the link no longer works, which a WebSocket cannot report: the portal then says so. */
async function checkLink() {
  const status = await fetch("version", { cache: "no-store" }).then((response) => response.status, () => 0);
  if (status === 401) location.reload();
}

/** @param {import("./store.js").Session} next */
function show(next) {
  if (!link) return;
  shown?.dispose();
  session = next;
  shown = sharedView({ session: next, rpc, link, earlier: () => sessions.earlier(next.id) });
  view.replaceChildren(shown.node);
  showRun();
  scheduleUpdate();
}

/** Scrolls to the run that the address names. */
function showRun() {
  const route = parseRoute(location.hash);
  if (route.view === "session" && route.run) shown?.showRun(route.run);
}

/** @param {string} text */
function say(text) {
  shown?.dispose();
  shown = session = undefined;
  view.replaceChildren(h("section", { class: "page" }, h("header", { class: "top" }, h("h1", {}, "Shared session")), h("p", { class: "column muted" }, text)));
}

function update() {
  shown?.update();
  const waits = (session?.questions.length ?? 0) > 0;
  const text = `${waits ? "Waiting for you: " : ""}${session?.title || "Shared session"} – Copilot Portal`;
  if (document.title !== text) document.title = text;
  const file = waits ? "favicon-waiting.svg" : "favicon.svg";
  if (!tabIcon.href.endsWith(`/${file}`)) tabIcon.href = file;
}

addEventListener("hashchange", showRun);
addEventListener("online", () => rpc.check());
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  rpc.check();
  void followReopened();
});
setInterval(followReopened, 5_000);
setInterval(() => shown?.updateExpiry(), 30_000);

rpc.open();
