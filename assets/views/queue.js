// The queue: prompts being sent, and prompts of any client that wait for the current run.

import { h, messageOf } from "../dom.js";
import { clientName } from "./question-text.js";
import { icon } from "./icons.js";

/** @typedef {import("../store.js").Waiting} Waiting */
/** @typedef {{run: string, node: HTMLElement}} Entry a prompt being sent; run: "" until the portal accepted it */

/** @param {{session: import("../store.js").Session, rpc: import("./conversation.js").Rpc, onError: (message: string) => void}} options */
export function createQueue({ session, rpc, onError }) {
  /** @type {Entry[]} */
  let sending = [];
  /** Queued prompts, by run. @type {Map<string, HTMLElement>} */
  const shown = new Map();
  /** @type {Waiting[] | null} */
  let drawn = null;
  const node = h("ul", { class: "chips queue", "aria-label": "Queued prompts", hidden: true, "data-testid": "queue" });

  /** @param {Entry} entry */
  const remove = (entry) => {
    sending = sending.filter((other) => other !== entry);
    entry.node.remove();
    node.hidden = node.children.length === 0;
  };
  /** Reports whether the session has a run, queued or started. @param {string} run */
  const isKnown = (run) => run !== "" && (run === session.run || run in session.runs || session.waiting.some((waiting) => waiting.run === run));
  const update = () => {
    if (drawn !== session.waiting) draw();
    for (const entry of sending) if (isKnown(entry.run)) remove(entry);
  };
  const draw = () => {
    drawn = session.waiting;
    for (const [run, old] of shown) {
      if (drawn.some((waiting) => waiting.run === run)) continue;
      old.remove();
      shown.delete(run);
    }
    drawn.forEach((waiting, i) => {
      const one = shown.get(waiting.run) ?? row(waiting);
      shown.set(waiting.run, one);
      if (node.children[i] !== one) node.insertBefore(one, node.children[i] ?? null);
    });
    node.hidden = node.children.length === 0;
  };
  /** @param {Waiting} waiting */
  const row = ({ run, text, by }) => {
    const label = text || "Compact conversation";
    const button = h("button", { type: "button", class: "quiet tiny", "aria-label": `Cancel: ${label.slice(0, 60)}`, title: "Cancel this prompt", click: () => void cancel(run, button) }, icon("close"));
    return chip(label, by && by !== "ui" ? h("span", { class: "muted" }, `by ${clientName(by)}`) : "", button);
  };
  /** Cancels a prompt. The portal then removes it in every window. @param {string} run @param {HTMLButtonElement} button */
  const cancel = async (run, button) => {
    button.disabled = true;
    try {
      await rpc.call("run.cancel", { run_id: run });
    } catch (error) {
      button.disabled = false;
      onError(messageOf(error));
    }
  };

  update();
  return {
    node,
    update,
    remove,
    /** Shows a prompt that is being sent. @param {string} text @returns {Entry} */
    add(text) {
      const entry = { run: "", node: chip(text.split("\n", 1)[0], h("span", { class: "muted" }, "sending…")) };
      sending.push(entry);
      node.append(entry.node);
      node.hidden = false;
      return entry;
    },
    /** Sets the run of an accepted prompt. @param {Entry} entry @param {string} run */
    accepted(entry, run) {
      entry.run = run;
      update();
    },
  };
}

/** @param {string} text @param {(HTMLElement | string)[]} more */
const chip = (text, ...more) => h("li", { class: "chip waiting", title: text.slice(0, 1000) }, h("span", { class: "chip-text" }, text), ...more.filter(Boolean));
