// The list of sessions on the left.

import { age, h, setText } from "./dom.js";

/** @typedef {import("./rest.js").Session} Session */

/** @param {HTMLElement} root */
export function createRail(root) {
  /** @type {Map<string, ReturnType<typeof createRow>>} */
  const rows = new Map();
  const empty = h("p", { class: "muted empty" }, "Sessions that you start appear here, also those that other programs start.");

  /** @param {Session[]} sessions in their order @param {string} current */
  return (sessions, current) => {
    for (const [id, row] of rows) {
      if (sessions.some(({ sessionId }) => sessionId === id)) continue;
      row.node.remove();
      rows.delete(id);
    }
    if (sessions.length === 0) root.append(empty);
    else empty.remove();
    sessions.forEach((session, i) => {
      const row = rows.get(session.sessionId) ?? createRow(session);
      rows.set(session.sessionId, row);
      row.update(session, session.sessionId === current);
      if (root.children[i] !== row.node) root.insertBefore(row.node, root.children[i] ?? null);
    });
  };
}

/** @param {Session} session */
function createRow({ sessionId, workingDirectory }) {
  const state = h("span", { class: "hidden-text" });
  const dot = h("span", { class: "dot" }, state);
  const title = h("span", { class: "row-title" });
  const time = h("time", {});
  const directory = h("span", { class: "row-directory", title: workingDirectory }, baseName(workingDirectory));
  const node = h("a", { class: "row", href: `#/session/${encodeURIComponent(sessionId)}` }, dot, title, directory, time);
  return {
    node,
    /** @param {Session} session @param {boolean} current */
    update(session, current) {
      node.dataset.state = session.state;
      setText(state, session.owner ? `in use by process ${session.owner}: ` : `${session.state}: `);
      setText(title, session.title || "Untitled");
      title.title = session.title;
      time.dateTime = session.changedAt;
      time.title = new Date(session.changedAt).toLocaleString();
      setText(time, age(Date.now() - Date.parse(session.changedAt)));
      if (current) node.setAttribute("aria-current", "page");
      else node.removeAttribute("aria-current");
    },
  };
}

/** @param {string} path */
const baseName = (path) => path.split(/[\\/]/).filter(Boolean).pop() ?? path;
