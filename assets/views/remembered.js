// The remembered permissions of a session, which can be revoked.

import { h, messageOf } from "../dom.js";

/** @type {Record<string, string>} */
const DECISIONS = { allow: "Allowed", deny: "Denied", ask: "Ask" };

/** @param {import("../store.js").Session} session @param {import("./conversation.js").Rpc} rpc */
export function rememberedSection(session, rpc) {
  const list = h("ul", { class: "remembered" });
  const problem = h("p", { class: "error-text", role: "alert" });

  /** Revokes rules. An event then updates the list. @param {{rule: string} | {all: true}} rules */
  const revoke = async (rules) => {
    problem.textContent = "";
    try {
      await rpc.call("portal.session.revoke", { session_id: session.id, ...rules });
    } catch (error) {
      problem.textContent = messageOf(error);
    }
  };
  const all = h("button", { type: "button", class: "small", "data-testid": "revoke-all", click: () => revoke({ all: true }) }, "Revoke all");
  const node = h("section", { class: "side-part", "data-testid": "side-remembered", "aria-label": "Remembered permissions" },
    h("h3", {}, "Remembered permissions"), list, all, problem);

  const update = () => {
    const hadFocus = node.contains(document.activeElement);
    const remembered = Object.entries(session.remembered).sort();
    node.hidden = remembered.length === 0;
    all.hidden = remembered.length < 2;
    list.replaceChildren(...remembered.map(([rule, decision]) => h("li", { "data-rule": rule },
      h("span", {}, h("span", { class: "muted" }, `${DECISIONS[decision] ?? decision} `), h("code", {}, rule)),
      h("button", { type: "button", class: "small", "aria-label": `Revoke ${rule}`, click: () => revoke({ rule }) }, "Revoke"))));
    if (hadFocus) list.querySelector("button")?.focus();
  };
  update();
  return { node, update };
}
