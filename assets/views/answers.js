// The controls by which a question is answered, one set for each kind.

import { h } from "../dom.js";
import { createFields } from "../form-view.js";
import { wayName, webAddress } from "./asking.js";

/**
 * @typedef {import("../store.js").Question} Question
 * @typedef {(result: unknown) => void} Give
 * @typedef {HTMLElement & {value: string}} Field
 * @typedef {{nodes: HTMLElement[], enter?: () => void, escape?: () => void, reason?: () => string, field?: Field | null}} Answers enter, escape: what these
 *   keys do; reason: what was written as a reason so far; field: where typing goes
 */

/** @param {string} label @param {() => void} act @param {Record<string, import("../dom.js").Prop>} [props] */
const button = (label, act, props = {}) => h("button", { type: "button", click: act, ...props }, label);

/** Permissions, plans and pages to visit. @param {Question} question @param {Give} give @returns {Answers} */
export function confirmForm(question, give) {
  const { kind, params } = question;
  if (kind === "plan") return planForm(params, give);
  const refuse = refusal(kind === "sign-in" ? "Decline" : "Deny", "Reason (optional)", Boolean(params.allow_reason), give);
  const allow = () => give({ ok: true });
  /** @type {HTMLElement[]} */
  const nodes = [button(kind === "sign-in" ? "Done" : "Allow", allow, { class: "primary", "data-testid": "allow", title: "Enter", "aria-keyshortcuts": "Enter" })];
  if (params.allow_remember) {
    nodes.push(...sessionScopes(params.scopes ?? [], give));
  }
  if (kind === "sign-in") return { nodes: [address(params.meta?.url ?? ""), ...nodes, refuse.node], escape: refuse.act };
  return { nodes: [...nodes, refuse.node], enter: allow, escape: refuse.act, reason: refuse.reason };
}

/**
 * Allows for the rest of the session: the narrowest scope by a button, the wider ones in a menu beside it.
 * @param {{kind: string, label: string, rules: string[]}[]} scopes narrowest first @param {Give} give
 */
function sessionScopes(scopes, give) {
  const [narrowest, ...wider] = scopes;
  const title = narrowest ? `Don't ask again in this session: ${narrowest.label}` : "Don't ask again in this session";
  const first = button("Allow for this session", () => give({ ok: true, remember: true, ...(narrowest && { scope: narrowest.kind }) }), { "data-testid": "allow-session", title });
  if (!wider.length) return [first];
  const items = wider.map(({ kind, label, rules }) => button(`Allow ${label}`, () => give({ ok: true, remember: true, scope: kind }), {
    "data-testid": "allow-scope", "data-scope": kind, title: rules.join("\n"),
  }));
  const summary = h("summary", {}, "More options");
  const menu = h("details", { class: "scopes", "data-testid": "scopes" }, summary,
    h("div", { class: "answers", role: "group", "aria-label": "For this session" }, h("span", { class: "muted" }, "For this session:"), ...items));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.preventDefault();
    event.stopPropagation(); // it does not refuse
    menu.open = false;
    summary.focus();
  });
  return [first, menu];
}

/** The whole address is to be seen; only those of the web can be followed. @param {string} url */
function address(url) {
  const target = webAddress(url);
  return target
    ? h("a", { class: "address", href: target, target: "_blank", rel: "noopener noreferrer", "data-testid": "address" }, target)
    : h("code", { class: "address" }, url);
}

/** A button that refuses, and a field for the reason. @param {string} label @param {string} hint @param {boolean} withReason @param {Give} give */
function refusal(label, hint, withReason, give) {
  const field = h("input", { type: "text", placeholder: hint, "aria-label": "Reason for denying", "data-testid": "reason" });
  const reason = () => field.value.trim();
  const act = () => give(reason() ? { ok: false, reason: reason() } : { ok: false });
  field.addEventListener("keydown", onEnter(act));
  const refuse = button(label, act, { "data-testid": "refuse", title: "Esc", "aria-keyshortcuts": "Escape" });
  return { act, reason, node: h("span", { class: "refusal" }, refuse, ...(withReason ? [field] : [])) };
}

/** @param {Record<string, any>} params @param {Give} give @returns {Answers} */
function planForm(params, give) {
  /** @type {string[]} */
  const ways = params.meta?.choices?.length ? params.meta.choices : [""];
  const refuse = refusal("Request changes", "What should change?", true, give);
  const nodes = ways.map((way, i) => button(way ? wayName(way) : "Approve", () => give(way ? { ok: true, choice: way } : { ok: true }), {
    class: i === 0 ? "primary" : undefined, "data-testid": "choice",
  }));
  return { nodes: [...nodes, refuse.node], escape: refuse.act, reason: refuse.reason };
}

/** @param {Question} question @param {Give} give @returns {Answers} */
export function pickForm({ params }, give) {
  const decline = () => give({ ids: [] });
  /** @type {{id: string, label: string, detail?: string}[]} */
  const items = params.items ?? [];
  if (!params.multi) {
    const nodes = items.map(({ id, label, detail }) => button(label, () => give({ ids: [id] }), { "data-testid": "choice", title: detail }));
    return { nodes: [...nodes, button("Decline", decline, { class: "quiet", "data-testid": "refuse", title: "Esc" })], escape: decline };
  }
  const boxes = items.map(({ id }) => h("input", { type: "checkbox", value: id, "data-testid": "field-check" }));
  const labels = items.map(({ label, detail }, i) => h("label", {}, boxes[i], label, ...(detail ? [h("span", { class: "muted" }, detail)] : [])));
  const done = () => give({ ids: boxes.filter(({ checked }) => checked).map(({ value }) => value) });
  return {
    nodes: [h("div", { class: "checks" }, ...labels), button("Answer", done, { class: "primary", "data-testid": "choice" }), button("Decline", decline, { "data-testid": "refuse", title: "Esc" })],
    escape: decline,
  };
}

/** @param {Question} question @param {Give} give @returns {Answers} */
export function promptForm({ params }, give) {
  const props = { "aria-label": "Your answer", placeholder: "Your answer", "data-testid": "answer-text", autocomplete: "off" };
  /** @type {Field} */
  const field = params.multiline ? h("textarea", { ...props, rows: 2 }) : h("input", { ...props, type: params.secret ? "password" : "text" });
  field.value = params.default_value ?? "";
  const answer = () => (field.value.trim() ? give({ value: field.value }) : field.focus());
  const decline = () => give({ value: null });
  field.addEventListener("keydown", onEnter(answer));
  return {
    nodes: [field, button("Answer", answer, { class: "primary", "data-testid": "answer" }), button("Decline", decline, { "data-testid": "refuse", title: "Esc" })],
    enter: answer,
    escape: decline,
    reason: () => field.value.trim(),
    field,
  };
}

/** @param {Question} question @param {Give} give @returns {Answers} */
export function answerForm(question, give) {
  const { nodes, values } = createFields(question.params.fields, `form-${question.id}`);
  const decline = () => give({ ok: false });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    give({ ok: true, fields: values() });
  };
  const form = h("form", { class: "form", submit }, ...nodes, h("div", { class: "answers" },
    h("button", { type: "submit", class: "primary", "data-testid": "submit" }, "Send"),
    button("Decline", decline, { "data-testid": "refuse" })));
  const first = /** @type {Field | null} */ (form.querySelector("input, select, textarea"));
  return { nodes: [form], enter: () => first?.focus(), field: first };
}

/** @param {() => void} act @returns {(event: KeyboardEvent) => void} */
const onEnter = (act) => (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.repeat) return;
  event.preventDefault();
  act();
};
