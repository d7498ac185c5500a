// What was filled in for a question, and an answer that could not be sent: both outlive the view. Pure, but for the storage and the fields.

import { keep, loadKept } from "./kept.js";

/** @typedef {{question: {id: string}, signature: string, node: HTMLElement}} Card */
/** @typedef {{signature: string, values: (string | boolean)[], result?: unknown}} KeptAnswer result: of an answer that was not sent */

/** @param {HTMLElement} node @returns {(HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement)[]} */
const fieldsIn = (node) => [.../** @type {NodeListOf<any>} */ (node.querySelectorAll("input, textarea, select"))];

/** @param {{type: string}} field */
const isChecked = ({ type }) => type === "checkbox" || type === "radio";

/** Returns what the fields of a card have, in order. @param {HTMLElement} node @returns {(string | boolean)[]} */
export const fieldValues = (node) => fieldsIn(node).map((field) => (isChecked(field) ? /** @type {HTMLInputElement} */ (field).checked : field.value));

/** @param {HTMLElement} node @param {(string | boolean)[]} values */
export function setFieldValues(node, values) {
  fieldsIn(node).forEach((field, i) => {
    if (isChecked(field)) /** @type {HTMLInputElement} */ (field).checked = values[i] === true;
    else if (typeof values[i] === "string") field.value = /** @type {string} */ (values[i]);
  });
}

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
    const list = [...all].filter(([id]) => open.has(id));
    keep(store, name, list.length > 0 ? list : undefined);
  };
  return {
    /** Returns what is kept for a question; undefined if that is of another one with its id. @param {Card} card */
    get({ question, signature }) {
      const found = load().get(question.id);
      return found?.signature === signature ? found : undefined;
    },
    /** @param {Card} card @param {unknown} [result] */
    set({ question, signature, node }, result) {
      if (node.querySelector("input[type=password]")) return;
      save(load().set(question.id, { signature, values: fieldValues(node), result }));
    },
    /** @param {Card} card */
    drop({ question }) {
      const all = load();
      if (all.delete(question.id)) save(all);
    },
  };
}
