// What was filled in for a question, and an answer that could not be sent: both outlive the view. Pure, but for the storage and the fields.

import { keep, loadKept } from "./kept.js";

/** @typedef {{question: {id: string}, signature: string, node: HTMLElement}} Card */
/** @typedef {{values: (string | boolean)[], result?: unknown}} KeptAnswer result: of an answer that was not sent */

/** @param {HTMLElement} node @returns {(HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement)[]} */
const fieldsIn = (node) => [.../** @type {NodeListOf<any>} */ (node.querySelectorAll("input, textarea, select"))];

/** @param {{type: string}} field */
const isChecked = ({ type }) => type === "checkbox" || type === "radio";

/** Returns what the fields of a card have, in order. @param {HTMLElement} node @returns {(string | boolean)[]} */
const fieldValues = (node) => fieldsIn(node).map((field) => (isChecked(field) ? /** @type {HTMLInputElement} */ (field).checked : field.value));

/** @param {HTMLElement} node @param {(string | boolean)[]} values */
export function setFieldValues(node, values) {
  fieldsIn(node).forEach((field, i) => {
    if (values[i] === undefined) return;
    if (isChecked(field)) /** @type {HTMLInputElement} */ (field).checked = values[i] === true;
    else field.value = String(values[i]);
    field.dispatchEvent(new Event("input", { bubbles: true })); // checks it
  });
}

/** Other questions can have the same id, such as the text after "Something else…". @param {Card} card */
const keyOf = ({ question, signature }) => JSON.stringify([question.id, signature]);

/**
 * Keeps answers to the open questions of a session, but none with a password.
 * @param {import("./kept.js").Store} store @param {{id: string, questions: {id: string}[]}} session
 */
export function keptAnswers(store, session) {
  const name = `answers:${session.id}`;
  /** @returns {Map<string, KeptAnswer>} */
  const load = () => new Map(loadKept(store, name) ?? []);
  /** @param {Map<string, KeptAnswer>} all */
  const save = (all) => {
    const open = new Set(session.questions.map(({ id }) => id));
    const list = [...all].filter(([key]) => open.has(JSON.parse(key)[0]));
    keep(store, name, list.length > 0 ? list : undefined);
  };
  return {
    /** @param {Card} card */
    get: (card) => load().get(keyOf(card)),
    /** @param {Card} card @param {unknown} [result] */
    set(card, result) {
      if (card.node.querySelector("input[type=password]")) return;
      save(load().set(keyOf(card), { values: fieldValues(card.node), result }));
    },
    /** @param {Card} card */
    drop(card) {
      const all = load();
      if (all.delete(keyOf(card))) save(all);
    },
  };
}
