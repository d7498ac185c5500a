// The questions of the agent, shown above the composer until they are answered, here or elsewhere.

import { h, setHTML, setText } from "../dom.js";
import { answerForm, confirmForm, pickForm, promptForm } from "./answers.js";
import { keptAnswers, setFieldValues } from "./kept-answers.js";
import { askingAgent, questionText, questionSource, closingText, questionTitle } from "./question-text.js";
import { ANSWER_DELAY, TYPING_PAUSE, isTextKey, canAnswer, canStop, canTakeFocus, choiceNumber } from "./keys.js";

/**
 * @typedef {import("../store.js").Question} Question
 * @typedef {{node: HTMLElement, focus: () => void, answer: (result: unknown) => void, nameAgent: (agent: string) => void, ask: (question: Question) => void, question: Question, signature: string, isClosed: boolean, isEscaped: boolean, unsent?: () => void}} Card focus: moves the focus to where typing goes; ask: takes another request for the same question; isEscaped: Escape was the last answer; unsent: sends the answer that was given while the portal could not be reached
 * @typedef {Pick<import("./composer.js").Composer, "focus" | "typing">} Composer
 */

const CLOSING_TIME = 4000; // ms for which a card shows who answered
const ANSWER_TIMEOUT = 4000; // ms after which an answer without effect can be given again

/** @type {Record<string, (question: Question, answer: import("./answers.js").Answer) => import("./answers.js").AnswerForm>} */
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
  const kept = keptAnswers(sessionStorage, session);
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
    const next = [...cards.values()].find(({ isClosed }) => !isClosed);
    if (next) next.focus();
    else composer.focus();
  };

  let closed = -Infinity; // when the last question closed that Escape would have answered
  /** @param {Card} card */
  const closeCard = (card) => {
    if (card.isClosed) return;
    card.isClosed = true;
    if (card.isEscaped || !answeredHere.has(card.question.id)) closed = performance.now();
    kept.drop(card);
    const text = answeredHere.has(card.question.id) ? "" : closingText(session.answered.get(card.question.id));
    if (!text) return remove(card);
    const hadFocus = card.node.contains(document.activeElement);
    card.node.classList.replace("question", "answered");
    delete card.node.dataset.testid;
    card.node.replaceChildren(h("p", { role: "status" }, `${questionTitle(card.question, session.directory)} `, h("span", { class: "muted" }, text)));
    if (hadFocus) composer.focus();
    later(() => remove(card), CLOSING_TIME);
  };

  /** Focuses a question once the user stops typing; not if there is a draft. @param {Card} card */
  const focusWhenIdle = (card) => {
    const { inComposer, text, sinceKey } = composer.typing();
    const active = document.activeElement;
    const elsewhere = Boolean(active && active !== document.body && !inComposer && !active.matches(".scroll, main"));
    if (card.isClosed || !card.node.isConnected || elsewhere || text.trim()) return;
    if (canTakeFocus({ elsewhere, inComposer, text, sinceKey })) card.focus();
    else later(() => focusWhenIdle(card), TYPING_PAUSE);
  };

  /** @param {Question} question */
  const show = (question) => {
    /** The request that got the last answer. @type {Question | undefined} */
    let answered;
    const card = createCard(question, (result, failed) => {
      const asked = card.question;
      const { rpc: id } = asked;
      card.unsent = undefined;
      if (id !== null && asked === answered) return failed("The portal has stopped asking here. Reload the page to answer.");
      if (id === null || !rpc.answer(id, result)) {
        card.unsent = () => card.answer(result);
        kept.set(card, result);
        return failed("Can't reach the portal. Your answer is sent when it reconnects and this session is shown.");
      }
      answered = asked;
      kept.set(card); // it may be rejected
      answeredHere.add(question.id);
      later(() => card.question === asked && failed(""), ANSWER_TIMEOUT);
    }, composer, session.directory);
    card.nameAgent(askingAgent(question, session));
    cards.set(question.id, card);
    node.append(card.node);
    const was = kept.get(card);
    if (was) setFieldValues(card.node, was.values);
    card.node.addEventListener("input", () => {
      if (card.unsent) { // the answer will be another one
        card.unsent = undefined;
        card.ask(card.question);
      }
      kept.set(card);
    });
    if (was?.result !== undefined) card.answer(was.result); // sends it, or says that it waits
    focusWhenIdle(card);
  };

  /** Number keys answer the first question when nothing that takes keys has the focus. @param {KeyboardEvent} event */
  const onKey = (event) => {
    const active = document.activeElement;
    if (event.defaultPrevented || choiceNumber(event) === 0 || (active && active !== document.body && !active.matches(".scroll, main"))) return;
    const card = [...cards.values()].find(({ isClosed }) => !isClosed);
    if (card && !document.querySelector("dialog[open]")) card.node.dispatchEvent(new KeyboardEvent("keydown", { key: event.key, cancelable: true }));
  };
  document.addEventListener("keydown", onKey);

  return {
    node,
    update() {
      const open = new Map(session.questions.map((question) => [question.id, question]));
      for (const [id, card] of cards) {
        const now = open.get(id);
        if (now && signatureOf(now) === card.signature) {
          if (now !== card.question) card.ask(now);
          card.nameAgent(askingAgent(now, session)); // the tool call of a sub-agent may be reported after its question
          if (now.rpc !== null) card.unsent?.();
          continue;
        }
        cards.delete(id);
        if (now) remove(card);
        else closeCard(card);
      }
      for (const question of session.questions) {
        if (!cards.has(question.id) && FORMS[question.method]) show(question);
      }
    },
    /** Reports whether Escape stops the run, rather than being meant for a question that has just closed. @param {KeyboardEvent} key */
    canStop: (key) => canStop(key, performance.now(), closed),
    dispose() {
      document.removeEventListener("keydown", onKey);
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** Identifies a question besides its id, which another question can reuse. A form that is asked again has another message: why it was rejected. @param {Question} question */
const signatureOf = ({ method, params }) => JSON.stringify([method, params.run_id, params.title, params.fields ?? params.message, params.items]);

/**
 * @param {Question} question
 * @param {(result: unknown, failed: (problem: string) => void) => void} send
 * @param {Composer} composer @param {string} directory of the session @returns {Card}
 */
function createCard(question, send, composer, directory) {
  const title = questionTitle(question, directory);
  const asker = h("p", { class: "muted asker" });
  const problem = h("p", { class: "error-text", role: "alert" });
  const controls = h("fieldset", { class: "answers" });
  const heading = h("h2", {}, title);
  let details = detail(question);
  const node = h("div", {
    class: "card question", "data-testid": "question", "data-kind": question.kind, "data-danger": question.params.danger_level,
    tabindex: "0", role: "alertdialog",
  }, asker, heading, details, controls, problem);
  const answer = (/** @type {unknown} */ result) => {
    if (controls.disabled) return;
    card.isEscaped = false;
    if (node.contains(document.activeElement)) node.focus({ preventScroll: true }); // a disabled button would lose the focus
    controls.disabled = true;
    problem.textContent = "";
    send(result, (text) => {
      controls.disabled = false;
      problem.textContent = text;
    });
  };
  const form = FORMS[question.method](question, answer);
  controls.append(...form.nodes);
  let since = performance.now();
  node.addEventListener("focus", () => (since = performance.now()));
  node.addEventListener("keydown", (event) => {
    const isReady = canAnswer(event, performance.now(), since);
    if (event.key === "Escape") {
      event.preventDefault();
      if (form.keepsText?.()) node.focus(); // the text is no answer yet, and stays
      else if (event.target !== node && form.reason?.() === "") node.focus();
      else if (isReady && !controls.disabled) {
        form.escape?.();
        card.isEscaped = controls.disabled;
      }
    } else if (form.choices && choiceNumber(event) > 0 && !isTextField(event.target)) {
      const choose = form.choices[choiceNumber(event) - 1];
      if (!choose) return;
      event.preventDefault();
      if (isReady && !controls.disabled) choose();
    } else if (event.target === node && event.key === "Enter") {
      event.preventDefault();
      if (isReady) form.enter?.();
    } else if (event.target === node && isTextKey(event)) {
      (form.field ?? composer).focus(); // the typed character goes there
    }
  });
  // A click right after a button appeared was meant for something else.
  node.addEventListener("click", (event) => {
    if (performance.now() - since < ANSWER_DELAY && event.detail === 0) event.stopPropagation();
  }, true);
  // A field with a default value does not get the focus: Enter would send it, and may be meant for something else.
  const focus = () => (question.method === "ui.prompt.request" && !form.field?.value ? form.field ?? node : node).focus({ preventScroll: true });
  const nameAgent = (/** @type {string} */ agent) => {
    const source = questionSource(question, agent);
    setText(asker, source);
    node.setAttribute("aria-label", `${source}: ${title}`);
  };
  /** Takes another request, after a reconnect or because the answer was rejected. What was filled in stays. @param {Question} now */
  const ask = (now) => {
    if (questionText(now) !== questionText(card.question)) {
      const next = detail(now);
      next.setAttribute("role", "alert"); // it says why
      details.replaceWith(next);
      details = next;
    }
    card.question = now;
    controls.disabled = false;
    problem.textContent = "";
  };
  /** @type {Card} */
  const card = { node, focus, answer, nameAgent, ask, question, signature: signatureOf(question), isClosed: false, isEscaped: false };
  return card;
}

/** Reports whether keys type into an element. @param {EventTarget | null} target */
const isTextField = (target) => target instanceof HTMLElement && target.matches("textarea, select, input:not([type=checkbox], [type=radio])");

/** Shows what exactly will happen. @param {Question} question */
function detail(question) {
  const { kind, params } = question;
  const html = params.meta?.html;
  const text = questionText(question);
  if (html) {
    const node = h("div", { class: kind === "plan" ? "detail markdown" : "detail", tabindex: "0", role: "group", "aria-label": "Details", "data-testid": "detail" });
    setHTML(node, html);
    return node;
  }
  if (!text || text === params.title) return h("span", { hidden: true });
  const code = kind === "permission";
  return h(code ? "pre" : "div", { class: code ? "detail" : "detail words", tabindex: "0", role: "group", "aria-label": "Details", "data-testid": "detail" }, text);
}
