// A row of the rail: the mark of a session's state, its title, its age, and what it waits for.

import { relativeTitle } from "../blocks/labels.js";
import { age, baseName, escapeBidi, h, setText } from "../dom.js";
import { directoryWithin, hasFailed, projectOf, STATE_NAMES } from "../list.js";
import { sessionAddress, startAddress } from "../route.js";
import { icon } from "./icons.js";

/**
 * @typedef {import("../store.js").Info} Info
 * @typedef {{session_id: string, title: string, directory: string, run_id?: string, kind: string, snippet: string, hits: [number, number][]}} Found
 * @typedef {{key: string, height: number, label?: string, title?: string, session?: Info, found?: Found, words?: string, inGroup?: boolean}} Row words: of the search;
 *   inGroup: the label above names the project
 */

/** @type {Record<string, string>} */
const MARKS = { ...STATE_NAMES, failed: "Failed" };

/** Returns what the mark of a session shows. @param {Info} session */
const markOf = (session) => (hasFailed(session) ? "failed" : session.state ?? "idle");

/** Returns the second line of a row, "" if it needs none. @param {Row} row */
export function detailOf({ session, found, inGroup }) {
  if (found) return found.snippet;
  if (!session) return "";
  if (session.state === "waiting") return relativeTitle(session.waits_for || "Waiting for you", session.directory);
  return inGroup ? directoryWithin(session) : baseName(projectOf(session));
}

/** @param {Row} row @param {(session: Info, button: HTMLElement) => void} openMenu */
export function createRow(row, openMenu) {
  if (row.label !== undefined) return createLabel();
  const id = row.key;
  const state = h("span", { class: "hidden-text" });
  const title = h("span", { class: "row-title" });
  const detail = h("span", { class: "row-detail" });
  const time = h("time", {});
  const link = h("a", { class: "row-link" }, h("span", { class: "dot" }, state), title, time, detail);
  const more = h("button", { type: "button", class: "quiet row-more", "aria-haspopup": "menu" }, icon("more"));
  const node = h("div", { class: "row", "data-session": id }, link);
  /** @type {Info | undefined} */
  let session;
  more.addEventListener("click", () => session && openMenu(session, more));
  return {
    node,
    /** @param {Row} row @param {string} current */
    update(row, current) {
      session = row.session;
      const mark = session ? markOf(session) : "";
      node.dataset.state = mark;
      node.classList.toggle("tall", detailOf(row) !== "");
      link.href = sessionAddress(id, row.found?.run_id, row.words);
      if (session && !more.isConnected) node.append(more);
      setText(state, session ? `${MARKS[mark] ?? mark}: ` : "");
      link.title = escapeBidi(session ? `${MARKS[mark] ?? mark}\n${session.directory ?? ""}` : row.found?.directory ?? "");
      setText(title, session?.title || session?.last_user_message || row.found?.title || "Untitled");
      title.title = title.textContent ?? "";
      more.setAttribute("aria-label", `Actions for ${title.title}`);
      if (row.found) detail.replaceChildren(...markHits(row.found));
      else setText(detail, detailOf(row));
      detail.title = row.found ? escapeBidi(row.found.snippet) : session?.state === "waiting" ? detail.textContent ?? "" : "";
      showAge(time, session?.updated_at);
      link.toggleAttribute("aria-current", false);
      if (id === current) link.setAttribute("aria-current", "page");
    },
  };
}

/** The heading of a group. That of a project has a link that starts a session there. */
function createLabel() {
  const label = h("h2", { class: "rail-label" });
  const start = h("a", { class: "row-new", "data-testid": "new-in-project" }, icon("new"));
  const node = h("div", { class: "rail-group" }, label, start);
  return {
    node,
    /** @param {Row} row */
    update({ label: name, title = "" }) {
      setText(label, name || "No directory");
      label.title = escapeBidi(title || name || "");
      start.hidden = !title;
      start.href = startAddress(title);
      start.title = `New session in ${label.textContent}`;
      start.setAttribute("aria-label", start.title);
    },
  };
}

/** @param {HTMLTimeElement} time @param {string} [at] */
function showAge(time, at) {
  time.hidden = !at;
  if (!at) return;
  time.dateTime = at;
  time.title = new Date(at).toLocaleString();
  setText(time, age(Date.now() - Date.parse(at)));
}

const LEAD = 12; // characters before the first hit, so that it is in view

/** Returns where the part of a snippet starts that fits a row: at a word shortly before the first hit. @param {Pick<Found, "snippet" | "hits">} found */
export function snippetStart({ snippet, hits }) {
  const hit = hits[0]?.[0] ?? 0;
  if (hit <= LEAD) return 0;
  const blank = snippet.indexOf(" ", hit - LEAD);
  return blank >= 0 && blank < hit ? blank + 1 : hit;
}

/** Renders a snippet with its hits marked. @param {Found} found */
function markHits({ snippet, hits }) {
  let at = snippetStart({ snippet, hits });
  /** @type {(Node | string)[]} */
  const parts = at > 0 ? ["…"] : [];
  for (const [from, to] of hits) {
    parts.push(escapeBidi(snippet.slice(at, from)), h("mark", {}, snippet.slice(from, to)));
    at = to;
  }
  return [...parts, escapeBidi(snippet.slice(at))];
}
