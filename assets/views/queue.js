// Prompts that were sent and have not begun: on their way, or waiting for the run that goes on.

import { h } from "../dom.js";
import { loadQueue, saveQueue } from "./drafts.js";
import { icon } from "./icons.js";

/** @typedef {{text: string, run: string, since: number, node: HTMLElement}} Entry run: "" until the portal has it; since: when it had it, ms */

const PATIENCE = 3000; // ms after which a prompt does not wait if nothing runs

/** @param {{session: import("../store.js").Session, rpc: import("./conversation.js").Rpc, onError: (message: string) => void}} options */
export function createQueue({ session, rpc, onError }) {
  /** @type {Entry[]} */
  let entries = [];
  const node = h("ul", { class: "chips queue", "aria-label": "Prompts that wait", hidden: true, "data-testid": "queue" });

  /** @param {Entry} entry */
  const remove = (entry) => {
    entries = entries.filter((other) => other !== entry);
    entry.node.remove();
    node.hidden = entries.length === 0;
    keep();
  };
  const keep = () => saveQueue(sessionStorage, session.id, entries.filter(({ run }) => run).map(({ text, run }) => ({ text, run })));
  /** @param {Entry} entry */
  const begun = ({ run, since }) => {
    if (run === "") return false;
    const { prompts = 0, status = "" } = session.runs[run] ?? {};
    return session.run === run || prompts > 0 || status !== "" || (session.run === "" && performance.now() - since > PATIENCE);
  };
  const update = () => {
    for (const entry of entries) if (begun(entry)) remove(entry);
  };
  /** @param {Entry} entry */
  const cancel = async (entry) => {
    try {
      await rpc.call("run.cancel", { run_id: entry.run });
      remove(entry);
    } catch (error) {
      onError(error instanceof Error ? error.message : String(error));
    }
  };

  /** @param {string} text @returns {Entry} */
  const add = (text) => {
    const entry = { text, run: "", since: 0, node: h("li", { class: "chip waiting", title: text.slice(0, 1000) }, h("span", { class: "chip-text" }, text.split("\n", 1)[0]), h("span", { class: "muted" }, "sending…")) };
    entries.push(entry);
    node.append(entry.node);
    node.hidden = false;
    return entry;
  };
  /** The portal has it. @param {Entry} entry @param {string} run @param {number} since */
  const accepted = (entry, run, since = performance.now()) => {
    Object.assign(entry, { run, since });
    entry.node.lastChild?.remove();
    entry.node.append(h("button", { type: "button", class: "quiet tiny", "aria-label": `Do not run: ${entry.text.slice(0, 60)}`, title: "Do not run this", click: () => void cancel(entry) }, icon("close")));
    keep();
    update();
  };
  for (const { text, run } of loadQueue(sessionStorage, session.id)) accepted(add(text), run, -PATIENCE);

  return { node, update, remove, add, accepted };
}
