// The menu of a session, and the dialog for a text or a confirmation.

import { h, messageOf } from "../dom.js";
import { sessionAddress } from "../route.js";

/** @typedef {import("../store.js").Info} Info @typedef {Pick<import("../rpc.js").Connection, "call">} Caller */

/** @param {{root: HTMLElement, rpc: import("../rpc.js").Connection, navigate: (address: string) => void, isCurrent: (id: string) => boolean}} options */
export function sessionMenu({ root, rpc, navigate, isCurrent }) {
  const menu = h("div", { class: "menu", role: "menu", popover: "auto" });
  root.append(menu);

  /** @param {Info} session */
  const remove = (session) => {
    const text = h("p", {}, `“${session.title || session.last_user_message || "Untitled"}” will be permanently deleted. Files in its directory are kept.`);
    dialog("Delete session?", [text], "Delete", async () => {
      const current = isCurrent(session.session_id); // before the notification of its removal
      const { left } = await rpc.call("portal.session.delete", { session_id: session.session_id });
      if (current) navigate("#/");
      if (left) dialog("Deleted here, but not everywhere", [h("p", {}, left)], "", async () => {});
    }, "danger");
  };

  menu.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the sidebar handles arrows, too
    const items = [...menu.querySelectorAll("button")];
    const at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (event.key === "ArrowDown") items[(at + 1) % items.length].focus();
    else if (event.key === "ArrowUp") items[(at + items.length - 1) % items.length].focus();
    else return;
    event.preventDefault();
  });

  return {
    /** @param {Info} session @param {HTMLElement} button */
    open(session, button) {
      /** @param {string} name @param {string} label @param {(session: Info) => void} act @param {string} [kind] */
      const item = (name, label, act, kind = "") => h("button", { type: "button", role: "menuitem", class: kind, "data-testid": `menu-${name}`, click: () => {
        menu.hidePopover();
        act(session);
      } }, label);
      const { pinned = false, archived = false } = session;
      menu.replaceChildren(
        item("rename", "Rename…", (session) => renameSession(rpc, session)),
        item("pin", pinned ? "Unpin" : "Pin", (session) => placeSession(rpc, session, { pinned: !pinned })),
        item("archive", archived ? "Move out of archive" : "Archive", (session) => placeSession(rpc, session, { archived: !archived })),
        item("fork", "Fork", (session) => void forkSession(rpc, session, navigate)),
        item("markdown", "Export as Markdown", (session) => exportSession(session, "markdown")),
        item("json", "Export as JSON lines", (session) => exportSession(session, "jsonl")),
        item("delete", "Delete…", remove, "danger"),
      );
      menu.showPopover();
      const { bottom, right } = button.getBoundingClientRect();
      menu.style.top = `${Math.min(bottom + 2, innerHeight - menu.offsetHeight - 8)}px`;
      menu.style.left = `${Math.max(8, right - menu.offsetWidth)}px`;
      menu.querySelector("button")?.focus();
    },
  };
}

/** Renames a session, and asks for the title if none is given. @param {Caller} rpc @param {Info} session @param {string} [title] */
export function renameSession(rpc, session, title = "") {
  const input = h("input", { type: "text", value: title || session.title || "", "aria-label": "Title", maxlength: 200 });
  const act = () => rpc.call("portal.session.rename", { session_id: session.session_id, title: input.value.trim() });
  const ask = () => dialog("Rename session", [input], "Rename", act);
  if (title) act().catch(ask);
  else ask();
}

/** Pins or archives a session, for all clients. @param {Caller} rpc @param {Info} session @param {{pinned?: boolean, archived?: boolean}} place */
function placeSession(rpc, session, place) {
  const act = () => rpc.call("portal.session.update", { session_id: session.session_id, ...place });
  act().catch((error) => dialog("Could not change the list", [h("p", {}, error.message)], "Try again", act));
}

/** Saves a session as a file. @param {Info} session @param {"markdown" | "jsonl"} format */
export function exportSession(session, format) {
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

/**
 * Opens a dialog that performs an action, and stays open if that fails.
 * @param {string} title @param {Node[]} content @param {string} label of the button; "" for none @param {() => Promise<unknown>} act @param {string} [kind] of the button
 */
export function dialog(title, content, label, act, kind = "") {
  const problem = h("p", { class: "error-text", role: "alert" });
  const node = h("dialog", { class: "dialog", "aria-label": title });
  const close = () => node.close();
  const cancel = h("button", { type: "button", click: close }, label ? "Cancel" : "Close");
  const go = h("button", { type: "submit", class: `primary ${kind}` }, label);
  const form = h("form", { method: "dialog" }, h("h2", {}, title), ...content, problem, h("div", { class: "dialog-actions" }, cancel, ...(label ? [go] : [])));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      await act();
      close();
    } catch (error) {
      problem.textContent = messageOf(error);
    }
    go.disabled = false;
  });
  node.append(form);
  node.addEventListener("close", () => node.remove());
  document.body.append(node);
  node.showModal();
}
