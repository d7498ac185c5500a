// A session: its conversation, the questions of the agent, the composer, and beside it what is worth a glance.

import { h, setText } from "../dom.js";
import { takeChanges } from "../store.js";
import { createComposer } from "./composer.js";
import { createFlow } from "./flow.js";
import { createHeader } from "./header.js";
import { icon } from "./icons.js";
import { PRESETS } from "./permissions.js";
import { createQuestions } from "./questions.js";
import { createScroll } from "./scroll.js";
import { forkSession, renameSession } from "./session-menu.js";
import { createSide } from "./side.js";

/**
 * @typedef {import("../store.js").Session} Session
 * @typedef {Pick<import("../rpc.js").Connection, "call" | "answer">} Rpc
 * earlier loads some of what was before; false if there is nothing more
 * @typedef {{session: Session, rpc: Rpc, navigate: (hash: string) => void, earlier: () => Promise<boolean>, onTitle: (title: string) => void}} Options
 * @typedef {{items: Set<string>, parts: Set<import("../store.js").Part>}} Changes
 */

const IDLE_ITEMS = 600; // so many are drawn while nothing else is to be done; the rest when somebody scrolls there
const IDLE_LOADED = 1000; // so many are loaded then

/** @param {Options} options */
export function conversationView({ session, rpc, navigate, earlier, onTitle }) {
  const flowNode = h("section", { class: "flow", "aria-label": "Conversation", "data-testid": "conversation" });
  const top = h("div", { class: "flow-top" });
  const lost = h("p", { class: "line muted", hidden: true }, "Earlier messages are no longer available.");
  const back = h("button", { type: "button", class: "quiet small earlier", hidden: true, "data-testid": "earlier", click: () => void lookBack() }, "Show earlier messages");
  const content = h("div", { class: "column flow-column" }, h("h2", { class: "hidden-text" }, "Conversation"), lost, back, top, flowNode);
  const scroller = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scrollable conversation" }, content);
  const toEndButton = h("button", { type: "button", class: "to-end", hidden: true, "data-testid": "to-end" }, icon("down"), "Jump to latest");
  const news = h("p", { class: "hidden-text", role: "status" });
  const scroll = createScroll(scroller, content, toEndButton);

  const composer = createComposer({ session, rpc, onSent: scroll.toEnd, commands: () => commands() });
  const questions = createQuestions({ session, rpc, composer });
  const side = createSide({ session, rpc });
  const header = createHeader({ session, rpc, actions: [side.toggle] });
  const flow = createFlow(flowNode, {
    session,
    href: (run) => `#/s/${session.id}/${run}`,
    retry: (run) => composer.retry(run),
    chooseModel: composer.chooseModel,
    signIn: () => navigate("#/status"),
  });
  const bottom = h("div", { class: "column bottom" }, toEndButton, questions.node, composer.node);
  const node = h("div", { class: "session" }, h("div", { class: "session-main" }, header.node, scroller, bottom), side.node, news);

  const about = () => ({ session_id: session.id, title: session.title });
  /** What `/` and Ctrl+K offer. @returns {import("./commands.js").Command[]} */
  const commands = () => [
    ...(session.run ? [{ name: "stop", label: "Stop run", hint: "Esc", run: () => void composer.stop() }] : [{ name: "model", label: "Switch model", run: composer.chooseModel }]),
    { name: "compact", label: "Compact conversation", run: () => void composer.compact() },
    { name: "rename", label: "Rename session", argument: "title", run: (title) => renameSession(rpc, about(), title) },
    { name: "fork", label: "Fork session", run: () => void forkSession(rpc, about(), navigate) },
    ...PRESETS.map(({ id, name }) => ({ name: `permissions ${id}`, label: `Permissions: ${name}`, run: () => void composer.permit(id) })),
    { name: "details", label: "Show or hide details", run: () => side.toggle.click() },
    { name: "end", label: "Jump to latest", run: scroll.toEnd },
    { name: "new", label: "New session", everywhere: true, run: () => navigate("#/") },
    { name: "status", label: "Portal status", everywhere: true, run: () => navigate("#/status") },
  ];

  let frame = 0;
  let left = false;
  let wanted = ""; // the run that is to be shown
  let idle = 0;
  const later = "requestIdleCallback" in globalThis ? (/** @type {() => void} */ act) => requestIdleCallback(act) : (/** @type {() => void} */ act) => setTimeout(act, 50);

  /** Draws older items, without moving what is read. */
  const drawOlder = () => {
    if (left || !flow.hasOlder()) return;
    const anchored = CSS.supports("overflow-anchor", "auto") && scroller.scrollTop > 0; // the browser does it but at the top
    const before = anchored ? 0 : scroller.scrollHeight;
    flow.prepend();
    if (!anchored) scroller.scrollTop += scroller.scrollHeight - before;
    scroll.keep();
  };
  const drawInIdleTime = () => {
    idle = 0;
    if (left) return;
    if (wantsLoaded()) return void earlier();
    drawOlder();
    if (wantsDrawn() || wantsLoaded()) idle = Number(later(drawInIdleTime));
  };
  const wantsDrawn = () => flow.hasOlder() && flow.count() <= IDLE_ITEMS;
  const wantsLoaded = () => !wantsDrawn() && !session.run && session.earlier !== "" && session.items.length < IDLE_LOADED;
  let near = false;
  const drawWhileNear = () => {
    if (!near || left) return;
    if (!flow.hasOlder()) return void lookBack();
    drawOlder();
    requestAnimationFrame(drawWhileNear);
  };
  let looking = false;
  const lookBack = async () => {
    if (looking || !session.earlier) return;
    looking = true;
    const more = await earlier();
    looking = false;
    if (more && !left) requestAnimationFrame(drawWhileNear);
  };
  const showReach = () => {
    back.hidden = !session.earlier;
    lost.hidden = !session.truncated || Boolean(session.earlier) || flow.hasOlder();
  };
  const sight = new IntersectionObserver((entries) => {
    near = entries[entries.length - 1].isIntersecting;
    drawWhileNear();
  }, { root: scroller, rootMargin: "1500px 0px" });
  sight.observe(top);

  const goToWanted = () => {
    if (left || !wanted) return;
    const target = flow.reveal(wanted);
    if (target === undefined) requestAnimationFrame(goToWanted);
    if (target === null) void earlier().then((more) => more && requestAnimationFrame(goToWanted));
    if (!target) return;
    wanted = "";
    scroll.stay();
    target.scrollIntoView({ block: "start" });
    for (const other of flowNode.querySelectorAll(".target")) other.classList.remove("target");
    target.classList.add("target");
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return;
    if (side.close()) event.preventDefault();
    else if (composer.stop()) event.preventDefault();
  };

  /** @param {Set<string>} items */
  const drawItems = (items) => {
    const done = flow.update(items, scroll.following());
    if (!done && !frame) {
      frame = requestAnimationFrame(() => {
        frame = 0;
        if (!left) drawItems(new Set());
      });
    }
    if (!idle && (wantsDrawn() || wantsLoaded())) idle = Number(later(drawInIdleTime));
    if (wanted) goToWanted(); // the end is kept in sight behind the layout, which is not forced here
  };
  let told = session.state;
  const tell = () => {
    if (session.state === told) return;
    told = session.state;
    setText(news, NEWS[session.state] ?? "");
  };
  document.addEventListener("keydown", onKey);

  /** @param {Changes} changes */
  const draw = ({ items, parts }) => {
    drawItems(items);
    if (parts.has("head")) {
      showReach();
      header.update();
      onTitle(session.title);
      tell();
    }
    if (parts.has("questions")) questions.update();
    if (parts.has("head") || parts.has("permissions") || parts.has("waiting") || items.size > 0) composer.update();
    side.update(parts);
  };
  draw({ items: new Set(), parts: new Set(["head", "questions", "plan", "files", "usage"]) }); // whatever was looked at before

  return {
    node,
    /**
     * Shows what has changed, once a frame.
     * @param {Changes} [changes]
     */
    update: (changes = takeChanges(session)) => draw(changes),
    focus: () => composer.focus(),
    /** For Ctrl+K. */
    commands: () => commands().filter(({ everywhere }) => !everywhere).map(({ label, hint, run }) => ({ label, hint, run: () => run("") })),
    /** The address names a run. @param {string} run */
    go(run) {
      wanted = run;
      goToWanted();
    },
    leave() {
      left = true;
      sight.disconnect();
      scroll.leave();
      composer.leave();
      questions.leave();
      side.leave();
      document.removeEventListener("keydown", onKey);
    },
  };
}

/** What is said to who does not see the page, and not more. @type {Record<string, string>} */
const NEWS = { running: "The agent is working.", waiting: "The agent needs your answer.", idle: "The agent is done.", closed: "The session is closed." };
