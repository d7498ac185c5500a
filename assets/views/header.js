// The header of a session: title, which can be edited in place, origin, directory, git branch and state.

import { duration } from "../blocks/labels.js";
import { h, messageOf, setText } from "../dom.js";
import { stateText } from "../list.js";
import { sessionAddress } from "../route.js";
import { isComposing } from "./keys.js";

/** @param {{session: import("../store.js").Session, rpc: import("./conversation.js").Rpc, actions: HTMLElement[]}} options */
export function createHeader({ session, rpc, actions }) {
  const title = h("h1", { "data-testid": "title" });
  const problem = h("p", { class: "error-text", role: "alert", "data-testid": "title-problem" });
  const origin = h("a", { class: "origin", href: "#/", hidden: true, "data-testid": "origin" });
  const directory = h("bdi");
  const git = h("span", { class: "git" });
  const subtitle = h("p", { class: "subtitle muted" }, origin, directory, git);
  const status = h("p", { class: "status", "data-testid": "status" });
  const node = h("header", { class: "top" }, h("div", { class: "top-text" }, title, problem, subtitle), status, ...actions);
  let described = "";
  let request = 0;
  let ticks = 0; // the timer that counts while the agent works

  /** Shows the git branch, which a run or a commit can change. */
  const describe = async () => {
    const state = `${session.ended} ${session.directory}`;
    if (!session.directory || described === state) return;
    described = state;
    const mine = ++request;
    const { git: info } = await rpc.call("portal.directory.describe", { path: session.directory }).catch(() => ({})); // without the branch
    if (mine !== request) return; // a later call tells more
    setText(git, info ? [info.branch, info.changed ? `${info.changed} changed` : ""].filter(Boolean).join(" · ") : "");
  };

  /** Shows the state, with the time that the run has taken. */
  const showStatus = () => {
    const started = session.state === "running" ? session.runs[session.run]?.started : null;
    const seconds = started ? Math.floor((Date.now() - started) / 1000) : 0;
    setText(status, [stateText(session.state), ...(seconds > 0 ? [duration(seconds)] : [])].join(" · "));
    clearTimeout(ticks);
    if (started) ticks = window.setTimeout(showStatus, 1000);
  };

  /** Edits the title in place. Enter saves it, Escape restores it. */
  const rename = () => {
    if (title.hidden) return;
    const field = h("input", { type: "text", class: "title-field", "aria-label": "Title", maxlength: 200, "data-testid": "title-field" });
    field.value = session.title || firstPrompt(session);
    let isOpen = true; // removing the field blurs it
    const close = () => {
      isOpen = false;
      field.remove();
      title.hidden = false;
      setText(problem, "");
    };
    const save = async () => {
      const wanted = field.value.trim();
      if (!wanted || wanted === session.title) return close();
      try {
        await rpc.call("portal.session.rename", { session_id: session.id, title: wanted });
        close();
      } catch (error) {
        setText(problem, messageOf(error));
      }
    };
    field.addEventListener("keydown", (event) => {
      if (isComposing(event)) return;
      if (event.key === "Escape") close();
      else if (event.key === "Enter") void save();
      else return;
      event.preventDefault(); // Escape does not stop the run
      event.stopPropagation();
    });
    field.addEventListener("blur", () => isOpen && void save());
    title.hidden = true;
    title.before(field);
    field.select();
    field.focus();
  };
  title.addEventListener("dblclick", rename);

  return {
    node,
    rename,
    /** Shows the git branch and the changes again. */
    describe() {
      described = "";
      void describe();
    },
    update() {
      setText(title, session.title || firstPrompt(session) || "New session");
      title.title = `${title.textContent}\nDouble-click or F2 to rename`;
      origin.hidden = !session.forkedFrom;
      if (session.forkedFrom) {
        setText(origin, `Forked from ${session.forkedFrom.title || "a session"}`);
        origin.href = sessionAddress(session.forkedFrom.id);
        origin.title = origin.textContent ?? "";
      }
      setText(directory, session.directory);
      subtitle.title = session.directory;
      showStatus();
      node.dataset.state = session.state;
      void describe();
    },
    dispose: () => clearTimeout(ticks),
  };
}

/** @param {import("../store.js").Session} session */
function firstPrompt({ items, truncated }) {
  const first = truncated ? undefined : items.find(({ kind }) => kind === "prompt");
  return first?.kind === "prompt" ? first.text.split("\n", 1)[0].slice(0, 100) : "";
}
