// The header of a session: title, directory, git branch and state.

import { h, setText } from "../dom.js";

/** @type {Record<string, string>} */
const STATES = { running: "Working", queued: "Queued", waiting: "Waiting for you", closed: "Closed", elsewhere: "Open elsewhere" };

/** @param {{session: import("../store.js").Session, rpc: import("./conversation.js").Rpc, actions: HTMLElement[]}} options */
export function createHeader({ session, rpc, actions }) {
  const title = h("h1", { "data-testid": "title" });
  const directory = h("bdi");
  const git = h("span", { class: "git" });
  const subtitle = h("p", { class: "subtitle muted" }, directory, git);
  const status = h("p", { class: "status", "data-testid": "status" });
  const node = h("header", { class: "top" }, h("div", { class: "top-text" }, title, subtitle), status, ...actions);
  let described = "";
  let wasRunning = false;

  /** Shows the git branch, which a run can change. */
  const describe = async () => {
    if (!session.directory || described === session.directory) return;
    described = session.directory;
    try {
      const { git: info } = await rpc.call("portal.directory.describe", { path: session.directory });
      setText(git, info ? [info.branch, info.changed ? `${info.changed} changed` : ""].filter(Boolean).join(" · ") : "");
    } catch {
      setText(git, ""); // without the branch
    }
  };

  return {
    node,
    update() {
      setText(title, session.title || firstPrompt(session) || "New session");
      title.title = title.textContent ?? "";
      setText(directory, session.directory);
      subtitle.title = session.directory;
      setText(status, STATES[session.state] ?? "");
      node.dataset.state = session.state;
      if (wasRunning && !session.run) described = "";
      wasRunning = session.run !== "";
      void describe();
    },
  };
}

/** @param {import("../store.js").Session} session */
function firstPrompt({ items, truncated }) {
  const first = truncated ? undefined : items.find(({ kind }) => kind === "prompt");
  return first?.kind === "prompt" ? first.text.split("\n", 1)[0].slice(0, 100) : "";
}
