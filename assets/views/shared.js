// A session as the holder of a link sees it: the conversation, and perhaps the questions.

import { h, setText } from "../dom.js";
import { stateText } from "../list.js";
import { linkText } from "../share.js";
import { sessionAddress } from "../route.js";
import { takeChanges } from "../store.js";
import { icon } from "./icons.js";
import { createOlderItems } from "./older.js";
import { createQuestions } from "./questions.js";
import { createScroll } from "./scroll.js";
import { createTranscript } from "./transcript.js";

/**
 * @param {{session: import("../store.js").Session, rpc: import("./conversation.js").Rpc, link: import("../shared.js").Link, earlier: () => Promise<boolean>}} options earlier
 *   loads earlier items, and returns false if there are none
 */
export function sharedView({ session, rpc, link, earlier }) {
  const title = h("h1", { "data-testid": "title" });
  const directory = h("p", { class: "subtitle muted" });
  const status = h("p", { class: "status", role: "status", "data-testid": "status" });
  const header = h("header", { class: "top" }, h("div", { class: "top-text" }, title, directory), status);
  const flow = h("section", { class: "flow", "aria-label": "Conversation", "data-testid": "conversation" });
  const top = h("div", { class: "flow-top" });
  const earlierButton = h("button", { type: "button", class: "quiet small earlier", hidden: true, "data-testid": "earlier", click: () => void older.load() }, "Show earlier messages");
  const content = h("div", { class: "column flow-column" }, h("h2", { class: "hidden-text" }, "Conversation"), earlierButton, top, flow);
  const scroller = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scrollable conversation" }, content);
  const toEnd = h("button", { type: "button", class: "to-end", hidden: true, "data-testid": "to-end" }, icon("down"), "Jump to latest");
  const scroll = createScroll(scroller, content, toEnd);
  const note = h("p", { class: "link-note muted", "data-testid": "link-note" });
  // There is no composer. What would move the focus there moves it to the conversation.
  const reader = { focus: () => scroller.focus({ preventScroll: true }), typing: () => ({ inComposer: false, text: "", sinceKey: Infinity }) };
  const questions = createQuestions({ session, rpc, composer: reader });
  const transcript = createTranscript(flow, {
    session, readOnly: true,
    href: (run) => sessionAddress(session.id, run), reviewHref: (run) => sessionAddress(session.id, run), reviews: new Map(), edits: new Map(),
    files: { find: async () => new Set(), href: () => "" }, // files are not shared
    retry: async () => {}, chooseModel() {}, signIn() {}, fork() {}, pickModel() {}, resend: async () => {},
  });
  const older = createOlderItems({ scroller, top, scroll, transcript, session, earlier });
  const node = h("div", { class: "session" }, h("div", { class: "session-main" }, header, scroller, h("div", { class: "column bottom" }, toEnd, questions.node, note)));

  let isDisposed = false;
  const updateExpiry = () => setText(note, linkText(link.rights, link.expires_at, Date.now()));
  const statusText = () => (session.state === "waiting" && link.rights !== "answer" ? "Waiting for an answer" : stateText(session.state));

  let isDrawing = false;
  /** @param {Set<string>} items */
  const drawItems = (items) => {
    if (transcript.update(items, scroll.following()) || isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      if (!isDisposed) drawItems(new Set());
    });
  };
  const update = ({ items, parts } = takeChanges(session)) => {
    drawItems(items);
    if (parts.has("questions")) questions.update();
    if (!parts.has("head")) return;
    earlierButton.hidden = !session.earlier;
    setText(title, session.title || "Shared session");
    setText(directory, session.directory);
    setText(status, statusText());
    header.dataset.state = session.state;
  };
  updateExpiry();
  update({ items: new Set(), parts: new Set(["head", "questions"]) });

  return {
    node,
    update: () => update(),
    updateExpiry,
    /** Scrolls to a run. @param {string} run */
    showRun: (run) => older.seek(run, (node) => node.scrollIntoView({ block: "start" })),
    dispose() {
      isDisposed = true;
      older.dispose();
      scroll.dispose();
      questions.dispose();
    },
  };
}
