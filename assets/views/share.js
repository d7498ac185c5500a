// The dialog that shares a session: it creates links, lists and revokes them.

import { copyText } from "../blocks/actions.js";
import { h, messageOf, setText, whileBusy } from "../dom.js";
import { titleOf } from "../list.js";
import { LIFETIMES, RIGHTS, expiryText, isLocal, usedText } from "../share.js";

/**
 * @typedef {{share_id: string, rights: "read" | "answer", label?: string, expires_at: string, used_at?: string}} Share
 * @typedef {Pick<import("../rpc.js").Connection, "call">} Caller @typedef {import("../store.js").Info} Info
 */

/**
 * Opens the dialog.
 * @param {Caller} rpc @param {Info} session @param {import("./session-menu.js").Follow} follow
 */
export function shareSession(rpc, session, follow) {
  const problem = h("p", { class: "error-text", role: "alert" });
  const rights = select("share-rights", Object.entries(RIGHTS), "read");
  const lifetime = select("share-lifetime", LIFETIMES.map(([seconds, label]) => [String(seconds), label]), "604800");
  const label = h("input", { type: "text", maxlength: 100, placeholder: "Optional", "data-testid": "share-label" });
  const created = h("div", { class: "share-new", hidden: true, "data-testid": "share-new" });
  const list = h("ul", { class: "share-list", "data-testid": "share-list" });
  const heading = h("h3", { hidden: true }, "Links");
  const create = h("button", { type: "submit", class: "primary", "data-testid": "share-create" }, "Create link");
  const title = h("span");
  const showTitle = (/** @type {Info} */ session) => setText(title, titleOf(session));
  showTitle(session);
  const form = h("form", { class: "share" },
    h("h2", {}, "Share session"),
    h("p", { class: "muted" }, "Anyone with a link can see everything in “", title, "”, including what is added later. Nothing else of this portal is shared."),
    h("div", { class: "share-row" }, h("label", {}, "People with the link can", rights), h("label", {}, "The link expires after", lifetime)),
    h("label", {}, "Who it is for", label), created, heading, list, problem,
    h("div", { class: "dialog-actions" }, h("button", { type: "button", click: () => node.close() }, "Close"), create));
  const node = h("dialog", { class: "dialog", "aria-label": "Share session", "data-testid": "share" }, form);

  /** Runs an action of a button, and shows why it failed. @param {HTMLButtonElement} button @param {() => Promise<void>} act */
  const run = (button, act) => whileBusy(button, act, (text) => (problem.textContent = text));
  let loads = 0; // so far
  const load = async () => {
    const mine = ++loads;
    const { shares } = await rpc.call("portal.share.list", { session_id: session.session_id });
    if (mine !== loads) return; // it is older than what is shown
    heading.hidden = shares.length === 0;
    list.replaceChildren(...shares.map((/** @type {Share} */ share) => row(share)));
  };
  /** @param {Share} share */
  const row = (share) => {
    const name = share.label || RIGHTS[share.rights];
    const revoke = h("button", { type: "button", class: "small", "aria-label": `Revoke the link: ${name}`, "data-testid": "share-revoke", click: () => void run(revoke, async () => {
      await rpc.call("portal.share.revoke", { session_id: session.session_id, share_id: share.share_id });
      if (created.dataset.share === share.share_id) created.hidden = true;
      await load();
      create.focus(); // its button is gone
    }) }, "Revoke");
    const details = [share.label ? RIGHTS[share.rights] : "", expiryText(share.expires_at, Date.now()), usedText(share.used_at, Date.now())].filter(Boolean);
    return h("li", {}, h("div", { class: "share-text" }, h("span", {}, name), h("span", { class: "muted" }, details.join(" · "))), revoke);
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void run(create, async () => {
      const params = { session_id: session.session_id, rights: rights.value, expires_in: Number(lifetime.value), label: label.value.trim() };
      const share = await rpc.call("portal.share.create", params);
      showCreated(created, share);
      label.value = "";
      await load();
    });
  });
  const unfollow = follow(session.session_id, showTitle);
  node.addEventListener("close", () => {
    unfollow();
    node.remove();
  });
  document.body.append(node);
  node.showModal();
  load().catch((error) => (problem.textContent = messageOf(error)));
}

/** Shows a new link, for the only time. @param {HTMLElement} created @param {Share & {path: string}} share */
function showCreated(created, share) {
  const address = new URL(share.path, location.href).href;
  const field = h("input", { type: "text", readonly: true, "aria-label": "Link", "data-testid": "share-address", focus: () => field.select() });
  field.value = address;
  const copy = h("button", { type: "button", "data-testid": "share-copy", click: () => void copyText(address, copy) }, "Copy");
  created.dataset.share = share.share_id;
  const local = isLocal(location.hostname) ? h("p", { class: "muted" }, "This address works on this machine only. To reach the portal from others, start it with --lan.") : "";
  created.replaceChildren(h("p", { role: "status" }, "Copy the link now. It isn't shown again."), h("div", { class: "share-address" }, field, copy), local);
  created.hidden = false;
  copy.focus();
}

/** @param {string} testid @param {[string, string][]} options @param {string} value */
function select(testid, options, value) {
  const node = h("select", { "data-testid": testid }, ...options.map(([value, label]) => h("option", { value }, label)));
  node.value = value;
  return node;
}
