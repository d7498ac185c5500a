// Cards for what the agent asks, above the composer until somebody answers.

import { h } from "./dom.js";
import { createFields } from "./form-view.js";
import { webAddress } from "./markdown.js";
import { createMarkdown } from "./markdown-view.js";

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

/** Ends without an answer. @type {Record<string, string>} */
const ENDINGS = { expired: "Nobody answered in time.", cancelled: "No answer is needed any more." };

/** @param {HTMLElement} card @param {string} by @param {() => void} done */
function sayGoodbye(card, by, done) {
  const hadFocus = card.contains(document.activeElement);
  card.replaceChildren(h("p", {}, Object.hasOwn(ENDINGS, by) ? ENDINGS[by] : `Answered by ${by}.`));
  card.classList.remove("question");
  delete card.dataset.testid;
  if (hadFocus) card.focus();
  setTimeout(done, FAREWELL);
}

/** @param {Question} question @param {HTMLTextAreaElement} prompt @param {Send} send */
function createCard(question, prompt, send) {
  const title = question.kind === "plan" ? "Shall it be carried out?" : question.title; // a plan shows its own
  const heading = h("h2", {}, title || "May the agent go on?");
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

  card.append(h("p", { class: "muted" }, asks(question)), heading);
  if (question.kind === "plan") card.append(planNode(question.detail));
  else if (question.detail) card.append(h("pre", { tabindex: "0" }, question.detail));
  card.append(controls, problem);
  const keys = ADD[question.kind](controls, question, answer);

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

/** Who asks for what. @param {Question} question */
function asks({ kind, name, source }) {
  if (kind === "permission") return `The agent asks for permission: ${name}`;
  if (kind === "plan") return "The agent has made a plan";
  return source ? `${source} asks` : "The agent asks";
}

/** @param {string} text */
function planNode(text) {
  const node = h("div", { class: "plan markdown", tabindex: "0", "data-testid": "plan" });
  createMarkdown(node)(text, true);
  return node;
}

/** @typedef {{enter?: () => void, escape?: () => void}} Keys what these do when the card has the focus */
/** @typedef {(root: HTMLElement, question: Question, answer: (answer: Answer) => void) => Keys} Add adds the controls */

/** @param {HTMLElement} root @param {Question} question @param {(answer: Answer) => void} answer @returns {Keys} */
function addPermission(root, question, answer) {
  const allow = () => answer({ approved: true });
  const { node, refuse } = refusal("Refuse", "Reason (optional)", answer);
  root.append(
    h("button", { type: "button", class: "primary", "data-testid": "allow", title: "Enter", click: allow }, "Allow"),
    h("button", { type: "button", "data-testid": "allow-session", title: `No more questions about ${question.name} in this session`, click: () => answer({ approved: true, remember: true }) }, "Allow for this session"),
    node,
  );
  node.querySelector("button")?.setAttribute("title", "Esc");
  return { enter: allow, escape: refuse };
}

/** A button that refuses, with a reason. @param {string} label @param {string} hint @param {(answer: Answer) => void} answer */
function refusal(label, hint, answer) {
  const reason = h("input", { type: "text", placeholder: hint, "aria-label": "Reason for refusing", "data-testid": "reason", keydown: onEnter(() => refuse()) });
  const refuse = () => answer(reason.value.trim() ? { approved: false, reason: reason.value.trim() } : { approved: false });
  return { refuse, node: h("span", { class: "refusal" }, h("button", { type: "button", "data-testid": "refuse", click: refuse }, label), reason) };
}

/** Ways to carry out a plan. @type {Record<string, string>} */
const WAYS = {
  interactive: "Carry it out",
  autopilot: "Carry it out on autopilot",
  autopilot_fleet: "Carry it out on autopilot, with several agents",
  exit_only: "Accept it, do nothing yet",
};

/** @type {Add} */
function addPlan(root, question, answer) {
  const ways = question.choices.map((way, i) => h("button", {
    type: "button", class: i === 0 && "primary", "data-testid": "choice", click: () => answer({ approved: true, answer: way }),
  }, Object.hasOwn(WAYS, way) ? WAYS[way] : way));
  if (ways.length === 0) ways.push(h("button", { type: "button", class: "primary", "data-testid": "choice", click: () => answer({ approved: true }) }, WAYS.interactive));
  root.append(...ways, refusal("Not like this", "What shall be different?", answer).node);
  return {};
}

/** The whole address is to be seen, as the browser reads it; only those of the web can be followed. @type {Add} */
function addSignIn(root, question, answer) {
  const address = webAddress(question.url);
  root.append(
    address ? h("a", { class: "address", href: address, target: "_blank", rel: "noreferrer", "data-testid": "address" }, address) : h("code", { class: "address" }, question.url),
    h("button", { type: "button", class: "primary", "data-testid": "done", click: () => answer({ approved: true }) }, "Done"),
    h("button", { type: "button", "data-testid": "refuse", click: () => answer({ approved: false }) }, "Decline"),
  );
  return {};
}

/** @type {Add} */
function addForm(root, question, answer) {
  const { nodes, values } = createFields(question.fields, `form-${question.id}`);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    answer({ approved: true, fields: values() });
  };
  root.append(h("form", { class: "form", submit }, ...nodes, h("div", { class: "answers" },
    h("button", { type: "submit", class: "primary", "data-testid": "submit" }, "Send"),
    h("button", { type: "button", "data-testid": "refuse", click: () => answer({ approved: false }) }, "Decline"))));
  return {};
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

/** @type {Record<Question["kind"], Add>} */
const ADD = { permission: addPermission, input: addInput, plan: addPlan, "sign-in": addSignIn, form: addForm };
