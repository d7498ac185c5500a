// The menu of a session.

import { h, messageOf } from "../dom.js";
import { titleOf } from "../list.js";
import { sessionAddress } from "../route.js";
import { dialog, notice } from "./dialog.js";
import { showMenu } from "./menu.js";
import { shareSession } from "./share.js";

/** @typedef {import("../store.js").Info} Info @typedef {Pick<import("../rpc.js").Connection, "call">} Caller */

/**
 * @typedef {(id: string, show: (session: Info) => void) => () => void} Follow calls show when a session changes, until the returned function is called
 * @typedef {{rpc: import("../rpc.js").Connection, navigate: (address: string) => void, isCurrent: (id: string) => boolean, follow: Follow}} Options isCurrent: the session is shown
 */

/** Opens the menu of a session. @param {Options} options @param {Info} session @param {HTMLElement} button */
export function showSessionMenu(options, session, button) {
  const { rpc, navigate, follow } = options;
  const { pinned = false, archived = false, can_fork: canFork = true } = session;
  showMenu(button, `Actions for ${titleOf(session)}`, [
    { label: "Rename…", testid: "menu-rename", act: () => renameSession(rpc, session) },
    { label: pinned ? "Unpin" : "Pin", testid: "menu-pin", act: () => placeSession(rpc, session, { pinned: !pinned }) },
    { label: archived ? "Move out of archive" : "Archive", testid: "menu-archive", act: () => placeSession(rpc, session, { archived: !archived }) },
    ...(canFork ? [{ label: "Fork", testid: "menu-fork", act: () => void forkSession(rpc, session, navigate) }] : []),
    { label: "Share…", testid: "menu-share", act: () => shareSession(rpc, session, follow) },
    { label: "Export as Markdown", testid: "menu-markdown", act: () => exportSession(session, "markdown") },
    { label: "Export as JSON lines", testid: "menu-json", act: () => exportSession(session, "jsonl") },
    { label: "Delete…", testid: "menu-delete", kind: "danger", act: () => deleteSession(options, session) },
  ]);
}

/** Deletes a session once it is confirmed. @param {Options} options @param {Info} session */
function deleteSession({ rpc, navigate, isCurrent }, session) {
  const text = h("p", {}, `“${titleOf(session)}” will be permanently deleted. Files in its directory are kept.`);
  dialog("Delete session?", [text], "Delete", async () => {
    const current = isCurrent(session.session_id); // before the notification of its removal
    const { left } = await rpc.call("portal.session.delete", { session_id: session.session_id });
    if (current) navigate("#/");
    if (left) notice("Deleted here, but not everywhere", h("p", {}, left));
  }, "danger");
}

/** Renames a session, and asks for the title if none is given. @param {Caller} rpc @param {Info} session @param {string} [title] */
export function renameSession(rpc, session, title = "") {
  const input = h("input", { type: "text", value: title || session.title || "", "aria-label": "Title", maxlength: 200 });
  const act = () => rpc.call("portal.session.rename", { session_id: session.session_id, title: input.value.trim() });
  const ask = (failed = "") => dialog("Rename session", [input], "Rename", act, "", failed);
  if (title) act().catch((error) => ask(messageOf(error)));
  else ask();
}

/** Pins or archives a session, for all clients. @param {Caller} rpc @param {Info} session @param {{pinned?: boolean, archived?: boolean}} place */
function placeSession(rpc, session, place) {
  const act = () => rpc.call("portal.session.update", { session_id: session.session_id, ...place });
  act().catch((error) => dialog("Could not change the list", [h("p", {}, error.message)], "Try again", act));
}

/** Saves a session as a file. @param {Info} session @param {"markdown" | "jsonl"} format */
function exportSession(session, format) {
  const act = async () => {
    // The header proves that the request comes from this page, where browsers send no origin (decision 135).
    const response = await fetch(`api/copilot/session/${encodeURIComponent(session.session_id)}/export?format=${format}`, { headers: { "X-Session-ID": "page" }, cache: "no-store" });
    if (!response.ok || !response.headers.get("Content-Disposition")) throw new Error((await response.json().catch(() => ({}))).error ?? `The portal returned status ${response.status}.`);
    const address = URL.createObjectURL(await response.blob());
    h("a", { href: address, download: `${fileName(session)}.${format === "jsonl" ? "jsonl" : "md"}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000); // the browser reads it after the click
  };
  act().catch((error) => dialog("Could not export the session", [h("p", {}, error.message)], "Try again", act));
}

/** Returns a name for the file of a session. @param {Info} session */
const fileName = (session) => (session.title || session.last_user_message || "Session").replace(/[^\p{L}\p{N}]+/gu, " ").trim().slice(0, 60) || "Session";

/**
 * Forks a session, and opens the copy.
 * @param {Caller} rpc @param {Info} session @param {(address: string) => void} navigate @param {string} [after] the last run of the copy
 */
export async function forkSession(rpc, session, navigate, after) {
  const act = () => rpc.call("portal.session.fork", { session_id: session.session_id, ...(after && { after_run: after }) }).then(({ session_id: id }) => navigate(sessionAddress(id)));
  await act().catch((error) => dialog("Could not fork session", [h("p", {}, error.message)], "Try again", act));
}
