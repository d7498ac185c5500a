// Cards for what the agent asks, above the composer until somebody answers.

import { h } from "./dom.js";

/**
 * @typedef {import("./store.js").Question} Question
 * @typedef {import("./rest.js").Answer} Answer
 * @typedef {(question: Question, answer: Answer) => Promise<string>} Send returns "" or what went wrong
 */

const CALM = 500; // ms in which Enter, perhaps meant for the composer, allows nothing
const FAREWELL = 4000; // ms for which a card says who else answered

/** @param {HTMLElement} root @param {HTMLTextAreaElement} prompt @param {Send} send */
export function createQuestions(root, prompt, send) {
  /** @type {Map<string, HTMLElement>} */
  const cards = new Map();

  /** @param {HTMLElement} card */
  const remove = (card) => {
    const hadFocus = card.contains(document.activeElement);
    card.remove();
    if (hadFocus) (cards.values().next().value ?? prompt).focus();
  };

  /** Someone who writes is not interrupted. @param {HTMLElement} card */
  const offerFocus = (card) => {
    const active = document.activeElement;
    if (!active || active === document.body || (active === prompt && !prompt.value)) card.focus();
  };

  return {
    clear() {
      cards.clear();
      root.replaceChildren();
    },
    /** @param {Question[]} questions @param {Map<string, string>} answered by whom */
    update(questions, answered) {
      for (const [id, card] of cards) {
        if (questions.some((question) => question.id === id)) continue;
        cards.delete(id);
        const by = answered.get(id);
        if (!by || card.dataset.answered) remove(card);
        else sayGoodbye(card, by, () => remove(card));
      }
      for (const question of questions) {
        if (cards.has(question.id)) continue;
        const card = createCard(question, prompt, send);
        cards.set(question.id, card);
        root.append(card);
        offerFocus(card);
      }
    },
  };
}

/** @param {HTMLElement} card @param {string} by @param {() => void} done */
function sayGoodbye(card, by, done) {
  const hadFocus = card.contains(document.activeElement);
  card.replaceChildren(h("p", {}, `Answered by ${by}.`));
  card.classList.remove("question");
  delete card.dataset.testid;
  if (hadFocus) card.focus();
  setTimeout(done, FAREWELL);
}

/** @param {Question} question @param {HTMLTextAreaElement} prompt @param {Send} send */
function createCard(question, prompt, send) {
  const permission = question.kind === "permission";
  const heading = h("h2", {}, question.title || "May the agent go on?");
  const problem = h("p", { class: "error-text", role: "alert" });
  const card = h("article", { class: "card question", "data-testid": "question", tabindex: "0", "aria-label": `The agent asks: ${question.title}` });
  const controls = h("fieldset", { class: "answers" });
  let focusedAt = 0;
  card.addEventListener("focus", () => (focusedAt = performance.now()));

  /** @param {Answer} answer */
  const answer = async (answer) => {
    if (controls.disabled) return;
    controls.disabled = true;
    card.dataset.answered = "here";
    card.focus();
    problem.textContent = await send(question, answer);
    controls.disabled = !problem.textContent;
    if (problem.textContent) delete card.dataset.answered;
  };

  const asks = permission ? `The agent asks for permission: ${question.name}` : "The agent asks";
  card.append(h("p", { class: "muted" }, asks), heading);
  if (question.detail) card.append(h("pre", { tabindex: "0" }, question.detail));
  card.append(controls, problem);
  const keys = permission ? addPermission(controls, question, answer) : addInput(controls, question, answer);

  card.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      if (keys.escape) keys.escape();
      else prompt.focus();
    } else if (event.target === card && event.key === "Enter") {
      event.preventDefault();
      if (keys.enter && !event.repeat && performance.now() - focusedAt > CALM) keys.enter();
    } else if (event.target === card && isCharacter(event)) {
      prompt.focus(); // somebody began to write: the character goes there
    }
  });
  return card;
}

/** @param {KeyboardEvent} event */
const isCharacter = (event) => event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;

/** @typedef {{enter?: () => void, escape?: () => void}} Keys what these do when the card has the focus */

/** @param {HTMLElement} root @param {Question} question @param {(answer: Answer) => void} answer @returns {Keys} */
function addPermission(root, question, answer) {
  const reason = h("input", { type: "text", placeholder: "Reason (optional)", "aria-label": "Reason for refusing", keydown: onEnter(() => refuse()) });
  const allow = () => answer({ approved: true });
  const refuse = () => answer(reason.value.trim() ? { approved: false, reason: reason.value.trim() } : { approved: false });
  root.append(
    h("button", { type: "button", class: "primary", "data-testid": "allow", title: "Enter", click: allow }, "Allow"),
    h("button", { type: "button", "data-testid": "allow-session", title: `No more questions about ${question.name} in this session`, click: () => answer({ approved: true, remember: true }) }, "Allow for this session"),
    h("span", { class: "refusal" }, h("button", { type: "button", "data-testid": "refuse", title: "Esc", click: refuse }, "Refuse"), reason),
  );
  return { enter: allow, escape: refuse };
}

/** @param {HTMLElement} root @param {Question} question @param {(answer: Answer) => void} answer @returns {Keys} */
function addInput(root, question, answer) {
  for (const choice of question.choices) {
    root.append(h("button", { type: "button", "data-testid": "choice", click: () => answer({ answer: choice }) }, choice));
  }
  if (!question.freeform) return {};
  const submit = () => (input.value.trim() ? answer({ answer: input.value.trim() }) : input.focus());
  const input = h("input", { type: "text", "data-testid": "answer-text", placeholder: "Your answer", "aria-label": "Your answer", keydown: onEnter(submit) });
  root.append(h("span", { class: "refusal" }, input, h("button", { type: "button", click: submit }, "Answer")));
  return { enter: () => input.focus() };
}

/** @param {() => void} act @returns {(event: KeyboardEvent) => void} */
const onEnter = (act) => (event) => {
  if (event.key !== "Enter" || event.isComposing || event.repeat) return;
  event.preventDefault();
  act();
};
