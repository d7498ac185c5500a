// The view of a session: conversation, questions, composer and side panel.

import { debounce, escapeBidi, h } from "../dom.js";
import { fileFinder } from "../blocks/path-links.js";
import { relativePath } from "../blocks/labels.js";
import { changesAddress, fileAddress, parseRoute, sessionAddress, terminalAddress } from "../route.js";
import { isCapable, takeChanges, workOf } from "../store.js";
import { changesPanel } from "./changes.js";
import { createComposer } from "./composer.js";
import { filePanel } from "./file.js";
import { createHeader } from "./header.js";
import { icon } from "./icons.js";
import { keptIn } from "./kept.js";
import { isComposing } from "./keys.js";
import { pickModel } from "./models.js";
import { createOlderItems } from "./older.js";
import { PRESETS } from "./permissions.js";
import { createQuestions } from "./questions.js";
import { createScroll } from "./scroll.js";
import { clearHit, highlightHit } from "./hit.js";
import { forkSession, renameSession } from "./session-menu.js";
import { createSide } from "./side.js";
import { terminalPanel } from "./terminal.js";
import { createTranscript } from "./transcript.js";

/**
 * @typedef {import("../store.js").Session} Session
 * @typedef {Pick<import("../rpc.js").Connection, "call" | "answer" | "state">} Rpc
 * @typedef {{session: Session, rpc: Rpc, navigate: (hash: string) => void, earlier: () => Promise<boolean>, onTitle: (title: string) => void, status: Promise<any>, restart: () => void,
 *   menu: (id: string, button: HTMLElement) => void, share: (id: string) => void}} Options earlier loads earlier items, and returns false if there are none; status is that of
 *   the portal, undefined if it is not known; restart replaces a session that has dropped its first items; menu opens the menu of a session, share the dialog that shares it
 * @typedef {{items: Set<string>, parts: Set<import("../store.js").Part>}} Changes
 * @typedef {{run: string, changes?: true, file?: import("../paths.js").Place, terminal?: true}} PanelRoute what an address says about the panel
 */

const IDLE_DRAWN = 600; // items drawn in idle time; more when the user scrolls there
const IDLE_LOADED = 1000; // items loaded in idle time

/** @param {Options} options */
export function conversationView({ session, rpc, navigate, earlier, restart, onTitle, status, menu, share }) {
  const transcriptNode = h("section", { class: "flow", "aria-label": "Conversation", "data-testid": "conversation" });
  const top = h("div", { class: "flow-top" });
  const truncatedNote = h("p", { class: "line muted", hidden: true }, "Earlier messages are no longer available.");
  const earlierButton = h("button", { type: "button", class: "quiet small earlier", hidden: true, "data-testid": "earlier", click: () => (session.dropped ? showDropped() : void older.load()) }, "Show earlier messages");
  const content = h("div", { class: "column flow-column" }, h("h2", { class: "hidden-text" }, "Conversation"), truncatedNote, earlierButton, top, transcriptNode);
  const scroller = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scrollable conversation" }, content);
  const toEndButton = h("button", { type: "button", class: "to-end", hidden: true, "data-testid": "to-end" }, icon("down"), "Jump to latest");
  const announcement = h("p", { class: "hidden-text", role: "status", "data-testid": "announcement" });
  const missing = h("p", { class: "error-text", role: "alert", hidden: true, "data-testid": "missing" }, "This run is no longer available.");
  const scroll = createScroll(scroller, content, toEndButton);

  const composer = createComposer({ session, rpc, onSent: () => onSent(), commands: () => commands(), earlier, resend: (run) => resend(run, {}) });
  const onSent = () => {
    missing.hidden = true;
    scroll.toEnd();
  };
  const questions = createQuestions({ session, rpc, composer });
  const changes = changesPanel({ session, rpc, navigate, onScope: () => remember(), onRuns: (runs) => draw({ items: new Set(runs.map((run) => `${run}/end`)), parts: new Set() }), onFiles: () => file.updateChanged(), onCommit: () => header.describe(), href: (path, line) => fileHref(path, line),
    widen: (width) => side.widen(width), fits: (width) => side.fits(width) });
  /** @type {(path: string, line?: number) => string} */
  const fileHref = (path, line) => fileAddress(session.id, relativePath(path, session.directory), line);
  const file = filePanel({ session, rpc, isChanged: (path) => changes.has(path), onShowChanges: (path) => changes.unfold(path), onPlace: () => remember() });
  const terminal = terminalPanel({ session, leave: () => side.focusTab() });
  const side = createSide({ session, rpc, panels: { changes, file, terminal }, fileHref, onTab: () => remember() });
  const more = h("button", { type: "button", class: "quiet round", "aria-label": "Actions for this session", title: "Actions for this session", "aria-haspopup": "menu", "data-testid": "session-menu", click: () => menu(session.id, more) }, icon("more"));
  const header = createHeader({ session, rpc, actions: [changes.button, more, side.toggle] });
  /** What is being sent again: each would start another fork whose agent works in the same directory. @type {Map<string, Promise<void>>} */
  const resending = new Map();
  /** Sends the prompt of a run again, in a fork; once, if it is called again meanwhile. @param {string} run @param {{text?: string, model?: string}} change */
  const resend = (run, change) => {
    const key = JSON.stringify([run, change]);
    const sent = resending.get(key) ?? rpc.call("portal.session.resend", { session_id: session.id, run_id: run, ...change })
      .then(({ session_id: fork }) => navigate(sessionAddress(fork))).finally(() => resending.delete(key));
    resending.set(key, sent);
    return sent;
  };
  const transcript = createTranscript(transcriptNode, {
    session,
    href: (run) => sessionAddress(session.id, run),
    retry: (run) => composer.retry(run),
    chooseModel: composer.chooseModel,
    signIn: () => navigate("#/status"),
    edits: keptIn(sessionStorage, `edit:${session.id}`),
    resend,
    fork: (run) => void forkSession(rpc, info(), navigate, run),
    pickModel: (button, choose) => void pickModel(rpc, session.model, button, choose),
    reviews: changes.reviews,
    files: {
      find: fileFinder(async (paths) => (await rpc.call("portal.files.find", { session_id: session.id, paths })).paths),
      href: fileHref,
    },
    reviewHref: (run) => changesAddress(session.id, run),
  });
  const older = createOlderItems({ scroller, top, scroll, transcript, session, earlier, onMissing: () => handleMissing() });
  /** Handles that the run in the address is not in the conversation. Without a connection, it may only be new. */
  const handleMissing = () => {
    if (rpc.state !== "open") return false;
    if (session.dropped) restart();
    else missing.hidden = false;
    return true;
  };
  /** Continues above the first item with those that were dropped. The view of the new state seeks the run in the address. */
  const showDropped = () => {
    history.replaceState(null, "", sessionAddress(session.id, session.items[0].run));
    restart();
  };
  const bottom = h("div", { class: "column bottom" }, toEndButton, missing, questions.node, composer.node);
  const node = h("div", { class: "session" }, h("div", { class: "session-main" }, header.node, scroller, bottom), side.node, announcement);
  composer.accept(node);

  let hasTerminal = false;
  void status.then((known) => {
    hasTerminal = known?.configuration.terminal === true;
    if (hasTerminal) side.offer("terminal");
  });
  const info = () => ({ session_id: session.id, title: session.title });
  /** Commands for `/` and Ctrl+K. @returns {import("./commands.js").Command[]} */
  const commands = () => [
    ...(session.run ? [{ name: "stop", label: "Stop run", hint: "Esc", run: () => void composer.stop() }] : [{ name: "model", label: "Switch model", run: composer.chooseModel }]),
    ...(isCapable(session, "compaction") ? [{ name: "compact", label: "Compact conversation", run: () => void composer.compact() }] : []),
    { name: "rename", label: "Rename session", argument: "title", run: (title) => renameSession(rpc, info(), title) },
    ...(isCapable(session, "forking") ? [{ name: "fork", label: "Fork session", run: () => void forkSession(rpc, info(), navigate) }] : []),
    { name: "share", label: "Share session", run: () => share(session.id) },
    ...PRESETS.map(({ id, name }) => ({ name: `permissions ${id}`, label: `Permissions: ${name}`, run: () => void composer.permit(id) })),
    ...(hasTerminal ? [{ name: "terminal", label: "Open terminal", run: () => side.open("terminal") }] : []),
    { name: "changes", label: "Review changes", run: () => side.open("changes") },
    { name: "details", label: "Show or hide details", run: () => side.toggle.click() },
    { name: "end", label: "Jump to latest", run: scroll.toEnd },
    { name: "new", label: "New session", everywhere: true, run: () => navigate("#/") },
    { name: "status", label: "Portal status", everywhere: true, run: () => navigate("#/status") },
  ];

  let frame = 0;
  let isDisposed = false;
  let idle = 0;
  const later = "requestIdleCallback" in globalThis ? (/** @type {() => void} */ act) => requestIdleCallback(act) : (/** @type {() => void} */ act) => setTimeout(act, 50);

  const drawInIdleTime = () => {
    idle = 0;
    if (isDisposed) return;
    if (shouldLoadMore()) return void earlier();
    older.draw();
    if (shouldDrawMore() || shouldLoadMore()) idle = Number(later(drawInIdleTime));
  };
  const shouldDrawMore = () => transcript.hasOlder() && transcript.count() <= IDLE_DRAWN;
  const shouldLoadMore = () => !shouldDrawMore() && !session.run && session.earlier !== "" && session.items.length < IDLE_LOADED;
  const updateEarlier = () => {
    earlierButton.hidden = !session.earlier && !session.dropped;
    truncatedNote.hidden = !session.truncated || !earlierButton.hidden || transcript.hasOlder();
  };
  /** Reports whether an element is beside the session, as in the list. @param {EventTarget | null} target */
  const isElsewhere = (target) => target instanceof Node && !node.contains(target) && !target.contains(node);
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (document.querySelector("dialog[open]")) return; // the key is for it
    if (event.key === "F2" && !event.defaultPrevented) {
      event.preventDefault();
      return header.rename();
    }
    if (event.key !== "Escape" || isComposing(event) || event.defaultPrevented || isElsewhere(event.target)) return;
    if (side.escape()) event.preventDefault();
    else if (!questions.canStop(event)) event.preventDefault();
    else if (composer.stop()) event.preventDefault();
  };

  /** @param {Set<string>} items */
  const drawItems = (items) => {
    const done = transcript.update(items, scroll.following());
    if (!done && !frame) {
      frame = requestAnimationFrame(() => {
        frame = 0;
        if (!isDisposed) drawItems(new Set());
      });
    }
    if (!idle && (shouldDrawMore() || shouldLoadMore())) idle = Number(later(drawInIdleTime));
    older.continueSeek(); // without forcing a layout; the resize observer keeps the end in view
  };
  let isGoingBack = false; // the panel was closed, and its entry in the history is being left
  /** Keeps the address that of the panel, so that a reload shows the same. Opening the panel adds an entry to the history, which closing it leaves. */
  const remember = () => {
    if (isGoingBack) return;
    const route = parseRoute(location.hash);
    const isNamed = "changes" in route || "file" in route || "terminal" in route;
    if (!isWide()) return void (isNamed && leaveEntry());
    const { path, line } = file.place();
    const tab = side.tab();
    const address = tab === "file" ? fileAddress(session.id, path, line) : tab === "terminal" ? terminalAddress(session.id) : changesAddress(session.id, changes.scope());
    if (location.hash === address) return;
    if (isNamed) history.replaceState(history.state, "", address);
    else history.pushState({ opensPanel: true }, "", address);
  };
  const isWide = () => side.tab() !== "" && side.tab() !== "details";
  const leaveEntry = () => {
    isGoingBack = history.state?.opensPanel === true;
    if (isGoingBack) history.back();
    else history.replaceState(null, "", sessionAddress(session.id));
  };
  let changesOf = ""; // the work whose changes were loaded
  const reload = () => {
    if (isDisposed) return;
    changes.reload();
    file.refresh();
  };
  const reloadLater = debounce(1000, reload);
  /** Loads the changes again after a run and after files were brought back. @param {Set<import("../store.js").Part>} parts */
  const updateChanges = (parts) => {
    const work = workOf(session);
    if (work !== changesOf || parts.has("changes") || (parts.has("head") && changes.hasFailed())) reload();
    else if (parts.has("files") && session.run) reloadLater();
    changesOf = work;
  };
  let announced = { ended: session.ended, state: session.state, end: "" };
  /** Tells screen readers how a run ended and what the agent does now, also if all of it was since the last frame. */
  const announce = () => {
    const { ended, state, items } = session;
    if (ended === announced.ended && state === announced.state) return;
    const last = ended === announced.ended ? undefined : items.findLast(({ kind }) => kind === "end");
    const end = last?.kind === "end" && last.key !== announced.end ? last : undefined;
    announced = { ended, state, end: end?.key ?? announced.end };
    announcement.replaceChildren(escapeBidi(announcementOf(state, end))); // also if the text is the same as before: that is heard only if it is replaced
  };
  document.addEventListener("keydown", onKey);

  /** @param {Changes} changes */
  const draw = ({ items, parts }) => {
    drawItems(items);
    if (parts.has("head")) {
      updateEarlier();
      header.update();
      onTitle(session.title);
      announce();
    }
    if (parts.has("questions") || (session.questions.length > 0 && items.size > 0)) questions.update(); // a call names the sub-agent that asks
    if (parts.has("head") || parts.has("permissions") || parts.has("waiting") || items.size > 0) composer.update();
    side.update(parts);
    updateChanges(parts);
  };
  draw({ items: new Set(), parts: new Set(["head", "questions", "plan", "files", "usage"]) }); // regardless of earlier changes

  return {
    node,
    /**
     * Shows changes, once a frame.
     * @param {Changes} [changes]
     */
    update: (changes = takeChanges(session)) => draw(changes),
    focus: () => composer.focus(),
    /** For Ctrl+K. */
    commands: () => commands().filter(({ everywhere }) => !everywhere).map(({ label, hint, run }) => ({ label, hint, run: () => run("") })),
    /** Scrolls to a run, or to words in it, which it highlights. @param {string} run @param {string} [words] */
    showRun(run, words = "") {
      if (isGoingBack) return; // to where the user was before, not to the run
      missing.hidden = true;
      older.seek(run, (node) => {
        missing.hidden = true;
        const hit = highlightHit(transcript.textsOf(run), words);
        (hit ?? node).scrollIntoView({ block: hit ? "center" : "start" });
        for (const other of transcriptNode.querySelectorAll(".target")) other.classList.remove("target");
        node.classList.add("target");
      });
    },
    /** Shows the changes of a run, of the session, or a file; leaves them if the address names neither. @param {PanelRoute} route @param {boolean} byUser whether the focus moves there */
    showPanel(route, byUser) {
      isGoingBack = false;
      const tab = route.changes ? "changes" : route.file ? "file" : route.terminal ? "terminal" : "";
      if (tab !== "" && history.state === null) history.replaceState({ opensPanel: byUser && !isWide() }, ""); // a link led here
      if (route.changes) changes.show(route.run);
      if (route.file) file.open(route.file.path, route.file.line);
      if (route.terminal) terminal.show();
      if (tab === "") side.leave();
      else if (byUser) side.open(tab);
      else side.showQuietly(tab);
    },
    dispose() {
      isDisposed = true;
      clearHit();
      changes.dispose();
      terminal.dispose();
      older.dispose();
      scroll.dispose();
      composer.dispose();
      header.dispose();
      questions.dispose();
      side.dispose();
      document.removeEventListener("keydown", onKey);
    },
  };
}

/** What screen readers hear about a state. @type {Record<string, string>} */
const ANNOUNCEMENTS = { idle: "The agent is done.", running: "The agent is working.", waiting: "The agent needs your answer.", closed: "The session is closed." };

/** Returns what screen readers hear about a session, and about a run that has ended. @param {Session["state"]} state @param {import("../store.js").EndItem} [end] */
function announcementOf(state, end) {
  const now = ANNOUNCEMENTS[state] ?? "";
  if (!end || end.status === "completed") return now;
  const outcome = end.status === "cancelled" ? "The run was stopped." : `The run failed: ${end.message || "no reason was given"}`;
  return state === "idle" ? outcome : `${outcome} ${now}`;
}
