// What the agent asks, above the composer until somebody answers, here or elsewhere.

import { h, setHTML } from "../dom.js";
import { answerForm, confirmForm, pickForm, promptForm } from "./answers.js";
import { about, askedBy, farewell, headline } from "./asking.js";
import { CALM, WRITING, isCharacter, mayAnswer, mayTakeFocus } from "./keys.js";

/**
 * @typedef {import("../store.js").Question} Question
 * @typedef {{node: HTMLElement, focus: () => void, question: Question, sign: string, gone: boolean}} Card focus: to where typing goes
 * @typedef {import("./composer.js").Composer} Composer
 */

const FAREWELL = 4000; // ms for which a card says who else answered
const PATIENCE = 4000; // ms after which an answer that nobody took can be given again

/** @type {Record<string, (question: Question, give: import("./answers.js").Give) => import("./answers.js").Answers>} */
const FORMS = {
  "ui.confirm.request": confirmForm, "ui.pick.request": pickForm, "ui.prompt.request": promptForm, "portal.form.request": answerForm,
};

/** @param {{session: import("../store.js").Session, rpc: import("./conversation.js").Rpc, composer: Composer}} options */
export function createQuestions({ session, rpc, composer }) {
  const node = h("section", { class: "questions", "aria-label": "Questions from the agent" });
  /** @type {Map<string, Card>} */
  const cards = new Map();
  /** @type {Set<string>} */
  const answeredHere = new Set();
  /** @type {Set<ReturnType<typeof setTimeout>>} */
  const timers = new Set();

  /** @param {() => void} act @param {number} ms */
  const later = (act, ms) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      act();
    }, ms);
    timers.add(timer);
  };

  /** @param {Card} card */
  const remove = (card) => {
    const hadFocus = card.node.contains(document.activeElement);
    card.node.remove();
    if (!hadFocus) return;
    const next = [...cards.values()].find(({ gone }) => !gone);
    if (next) next.focus();
    else composer.focus();
  };

  /** @param {Card} card */
  const goodbye = (card) => {
    if (card.gone) return;
    card.gone = true;
    const text = answeredHere.has(card.question.id) ? "" : farewell(session.answered.get(card.question.id));
    if (!text) return remove(card);
    const hadFocus = card.node.contains(document.activeElement);
    card.node.classList.replace("question", "answered");
    delete card.node.dataset.testid;
    card.node.replaceChildren(h("p", { role: "status" }, `${headline(card.question)} `, h("span", { class: "muted" }, text)));
    if (hadFocus) composer.focus();
    later(() => remove(card), FAREWELL);
  };

  /** Gives the focus to a question, as soon as nobody writes; unless they have begun to. @param {Card} card */
  const offer = (card) => {
    const { inComposer, text, sinceKey } = composer.writing();
    const active = document.activeElement;
    const elsewhere = Boolean(active && active !== document.body && !inComposer && !active.matches(".scroll, main"));
    if (card.gone || !card.node.isConnected || elsewhere || text.trim()) return;
    if (mayTakeFocus({ elsewhere, inComposer, text, sinceKey })) card.focus();
    else later(() => offer(card), WRITING);
  };

  /** @param {Question} question */
  const show = (question) => {
    const card = createCard(question, (result, failed) => {
      const { rpc: id } = card.question;
      if (id === null || !rpc.answer(id, result)) return failed("Can't reach the portal. You can answer when it reconnects.");
      answeredHere.add(question.id);
      later(() => failed(""), PATIENCE);
    }, composer);
    cards.set(question.id, card);
    node.append(card.node);
    offer(card);
  };

  return {
    node,
    update() {
      const open = new Map(session.questions.map((question) => [question.id, question]));
      for (const [id, card] of cards) {
        const now = open.get(id);
        if (now && signOf(now) === card.sign) {
          card.question = now; // it may have another id to answer by
          continue;
        }
        cards.delete(id);
        if (now) remove(card);
        else goodbye(card);
      }
      for (const question of session.questions) {
        if (!cards.has(question.id) && FORMS[question.method]) show(question);
      }
    },
    leave() {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** What a question is, apart from its id: another of the same id takes its place. @param {Question} question */
const signOf = ({ method, params }) => `${method}\n${params.title}\n${params.message}`;

/**
 * @param {Question} question
 * @param {(result: unknown, failed: (problem: string) => void) => void} send
 * @param {Composer} composer @returns {Card}
 */
function createCard(question, send, composer) {
  const problem = h("p", { class: "error-text", role: "alert" });
  const controls = h("fieldset", { class: "answers" });
  const heading = h("h2", {}, headline(question));
  const node = h("div", {
    class: "card question", "data-testid": "question", "data-kind": question.kind, "data-danger": question.params.danger_level,
    tabindex: "0", role: "alertdialog", "aria-label": `${askedBy(question)}: ${headline(question)}`,
  }, h("p", { class: "muted asker" }, askedBy(question)), heading, detail(question), controls, problem);
  const form = FORMS[question.method](question, (result) => {
    if (controls.disabled) return;
    controls.disabled = true;
    problem.textContent = "";
    send(result, (text) => {
      controls.disabled = false;
      problem.textContent = text;
    });
  });
  controls.append(...form.nodes);
  let since = performance.now();
  node.addEventListener("focus", () => (since = performance.now()));
  node.addEventListener("keydown", (event) => {
    const calm = mayAnswer(event, performance.now(), since);
    if (event.key === "Escape") {
      event.preventDefault();
      if (event.target !== node && form.reason?.() === "") node.focus();
      else if (calm) form.escape?.();
    } else if (event.target === node && event.key === "Enter") {
      event.preventDefault();
      if (calm) form.enter?.();
    } else if (event.target === node && isCharacter(event)) {
      (form.field ?? composer).focus(); // somebody began to write: the character goes there
    }
  });
  // A button that has just come is not what somebody wanted to press.
  node.addEventListener("click", (event) => {
    if (performance.now() - since < CALM && event.detail === 0) event.stopPropagation();
  }, true);
  // A field in which Enter could send what it holds from the beginning does not get the focus: the key may be meant for something else.
  const focus = () => (question.method === "ui.prompt.request" && !form.field?.value ? form.field ?? node : node).focus({ preventScroll: true });
  return { node, focus, question, sign: signOf(question), gone: false };
}

/** Exactly what will happen. @param {Question} question */
function detail(question) {
  const { kind, params } = question;
  const html = params.meta?.html;
  const text = about(question);
  if (html) {
    const node = h("div", { class: kind === "plan" ? "detail markdown" : "detail", tabindex: "0", role: "group", "aria-label": "What it is about", "data-testid": "detail" });
    setHTML(node, html);
    return node;
  }
  if (!text || text === params.title) return h("span", { hidden: true });
  const code = kind === "permission";
  return h(code ? "pre" : "div", { class: code ? "detail" : "detail words", tabindex: "0", role: "group", "aria-label": "What it is about", "data-testid": "detail" }, text);
}
