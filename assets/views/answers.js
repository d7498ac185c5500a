// The controls that answer a question, one form for each kind.

import { h, hasKeyboard } from "../dom.js";
import { createFields } from "../form-view.js";
import { icon } from "./icons.js";
import { isSubmit } from "./keys.js";
import { showMenu } from "./menu.js";
import { planChoiceLabel, httpURL } from "./question-text.js";

/**
 * @typedef {import("../store.js").Question} Question
 * @typedef {(result: unknown) => void} Answer
 * @typedef {HTMLElement & {value: string}} Field
 * @typedef {{nodes: HTMLElement[], enter?: () => void, escape?: () => void, reason?: () => string, field?: Field | null,
 *   choices?: (() => void)[], keepsText?: () => boolean}} AnswerForm enter, escape: actions of these keys; reason: the reason typed so far; field: where
 *   typing goes; choices: actions of the keys 1 to 9; keepsText: reports whether Escape would discard what was typed
 */

/** @param {string} label @param {() => void} act @param {Record<string, import("../dom.js").Prop>} [props] */
const button = (label, act, props = {}) => h("button", { type: "button", click: act, ...props }, label);

/** Permissions, plans and sign-ins. @param {Question} question @param {Answer} answer @returns {AnswerForm} */
export function confirmForm(question, answer) {
  const { kind, params } = question;
  if (kind === "plan") return planForm(params, answer);
  const refuse = denyControl(kind === "sign-in" ? "Decline" : "Deny", "Reason (optional)", Boolean(params.allow_reason), answer);
  const scopes = params.allow_remember ? sessionScopes(params.scopes ?? [], answer) : [];
  const allow = () => answer({ ok: true });
  const label = kind === "sign-in" ? "Done" : scopes.length > 0 ? "Allow once" : "Allow";
  const first = button(label, allow, { class: "primary", "data-testid": "allow", title: "Enter", "aria-keyshortcuts": "Enter 1" });
  if (kind === "sign-in") return { nodes: [address(params.meta?.url ?? ""), first, refuse.node], escape: refuse.act };
  const allows = scopes.length > 0 ? h("span", { class: "split" }, first, scopesButton(scopes)) : first;
  return {
    nodes: [allows, refuse.node], enter: allow, escape: refuse.act, reason: refuse.reason, field: params.allow_reason ? refuse.field : null,
    choices: [allow, ...scopes.map(({ act }) => act)],
  };
}

/**
 * The ways to allow for the rest of the session, narrowest first.
 * @param {{kind: string, label: string, rules: string[]}[]} scopes @param {Answer} answer @returns {import("./menu.js").MenuItem[]}
 */
function sessionScopes(scopes, answer) {
  const session = scopes.length > 0 ? scopes : [{ kind: "", label: "", rules: [] }];
  return session.map(({ kind, label, rules }, i) => ({
    label: label ? `Allow for this session: ${label}` : "Allow for this session", hint: rules.join("\n"), testid: i === 0 ? "allow-session" : `allow-scope-${kind}`, keys: String(i + 2),
    act: () => answer({ ok: true, remember: true, ...(kind && { scope: kind }) }),
  }));
}

/** The button beside Allow that opens the wider ways. @param {import("./menu.js").MenuItem[]} scopes */
function scopesButton(scopes) {
  const node = h("button", { type: "button", class: "primary", "aria-label": "More ways to allow", title: "More ways to allow", "aria-haspopup": "menu", "aria-expanded": "false", "data-testid": "scopes" }, icon("chevron"));
  node.addEventListener("click", () => showMenu(node, "More ways to allow", scopes));
  return node;
}

/** Shows a whole URL, as a link if it is http or https. @param {string} url */
function address(url) {
  const target = httpURL(url);
  return target
    ? h("a", { class: "address", href: target, target: "_blank", rel: "noopener noreferrer", "data-testid": "address" }, target)
    : h("code", { class: "address" }, url);
}

/** A button that denies, and a field for the reason. @param {string} label @param {string} hint @param {boolean} withReason @param {Answer} answer */
function denyControl(label, hint, withReason, answer) {
  const field = h("input", { type: "text", placeholder: hint, "aria-label": "Reason for denying", "data-testid": "reason" });
  const reason = () => field.value.trim();
  const act = () => answer(reason() ? { ok: false, reason: reason() } : { ok: false });
  field.addEventListener("keydown", onEnter(act));
  const refuse = button(label, act, { "data-testid": "refuse", title: "Esc", "aria-keyshortcuts": "Escape" });
  return { act, reason, field, node: h("span", { class: "refusal" }, refuse, ...(withReason ? [field] : [])) };
}

/** @param {Record<string, any>} params @param {Answer} answer @returns {AnswerForm} */
function planForm(params, answer) {
  /** @type {string[]} */
  const choices = params.meta?.choices?.length ? params.meta.choices : [""];
  const refuse = denyControl("Request changes", "What should change?", true, answer);
  const nodes = choices.map((choice, i) => button(choice ? planChoiceLabel(choice) : "Approve", () => answer(choice ? { ok: true, choice } : { ok: true }), {
    class: i === 0 ? "primary" : undefined, "data-testid": "choice",
  }));
  return { nodes: [...nodes, refuse.node], escape: refuse.act, reason: refuse.reason, field: refuse.field, choices: nodes.map((node) => () => node.click()) };
}

/** @param {Question} question @param {Answer} answer @returns {AnswerForm} */
export function pickForm({ params }, answer) {
  const decline = () => answer({ ids: [] });
  /** @type {{id: string, label: string, detail?: string}[]} */
  const items = params.items ?? [];
  if (!params.multi) {
    const nodes = items.map(({ id, label, detail }) => button(label, () => answer({ ids: [id] }), { "data-testid": "choice", title: detail }));
    nodes.slice(0, 9).forEach((node, i) => {
      node.prepend(h("kbd", { "aria-hidden": "true" }, String(i + 1)), " ");
      node.setAttribute("aria-keyshortcuts", String(i + 1));
    });
    return {
      nodes: [...nodes, button("Decline", decline, { class: "quiet", "data-testid": "refuse", title: "Esc" })], escape: decline, choices: nodes.map((node) => () => node.click()),
    };
  }
  const boxes = items.map(({ id }) => h("input", { type: "checkbox", value: id, "data-testid": "field-check" }));
  const labels = items.map(({ label, detail }, i) => h("label", {}, boxes[i], label, ...(detail ? [h("span", { class: "muted" }, detail)] : [])));
  const done = () => answer({ ids: boxes.filter(({ checked }) => checked).map(({ value }) => value) });
  return {
    choices: boxes.map((box) => () => box.click()),
    nodes: [h("div", { class: "checks" }, ...labels), button("Answer", done, { class: "primary", "data-testid": "choice" }), button("Decline", decline, { "data-testid": "refuse", title: "Esc" })],
    escape: decline,
  };
}

/** @param {Question} question @param {Answer} answer @returns {AnswerForm} */
export function promptForm({ params }, answer) {
  const props = { "aria-label": "Your answer", placeholder: "Your answer", "data-testid": "answer-text", autocomplete: "off" };
  /** @type {Field} */
  const field = params.multiline ? h("textarea", { ...props, rows: 2 }) : h("input", { ...props, type: params.secret ? "password" : "text" });
  field.value = params.default_value ?? "";
  const submit = () => (field.value.trim() ? answer({ value: field.value }) : field.focus());
  const decline = () => answer({ value: null });
  field.addEventListener("keydown", onEnter(submit));
  return {
    nodes: [field, button("Answer", submit, { class: "primary", "data-testid": "answer" }), button("Decline", decline, { "data-testid": "refuse", title: "Esc" })],
    enter: submit,
    escape: decline,
    reason: () => field.value.trim(),
    keepsText: () => field.value.trim() !== "" && field.value !== (params.default_value ?? ""),
    field,
  };
}

/** @param {Question} question @param {Answer} answer @returns {AnswerForm} */
export function answerForm(question, answer) {
  const { nodes, values } = createFields(question.params.fields, `form-${question.id}`);
  const decline = () => answer({ ok: false });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    answer({ ok: true, fields: values() });
  };
  const form = h("form", { class: "form", submit }, ...nodes, h("div", { class: "answers" },
    h("button", { type: "submit", class: "primary", "data-testid": "submit" }, "Send"),
    button("Decline", decline, { "data-testid": "refuse" })));
  const first = /** @type {Field | null} */ (form.querySelector("input, select, textarea"));
  return { nodes: [form], enter: () => first?.focus(), field: first };
}

/** @param {() => void} act @returns {(event: KeyboardEvent) => void} */
const onEnter = (act) => (event) => {
  if (!isSubmit(event, event.target instanceof HTMLTextAreaElement && !hasKeyboard())) return;
  event.preventDefault();
  if (!event.repeat) act();
};
