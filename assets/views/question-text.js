// Texts of questions: who asks, what, and who answered. Pure.

import { relativeTitle } from "../blocks/labels.js";
import { toolKey } from "../items.js";

/** @typedef {Pick<import("../store.js").Question, "kind" | "method" | "params">} Question */

/** @param {Question} question @param {string} [directory] of the session: paths in it become relative */
export function questionTitle({ kind, method, params }, directory = "") {
  if (kind === "plan") return "Approve this plan?";
  if (method === "ui.prompt.request") return params.message || params.title;
  return relativeTitle(params.title || "Allow the agent to continue?", kind === "permission" ? directory : "");
}

/**
 * Says who asks.
 * @param {Question} question @param {string} [agent] the name of the sub-agent, "" for the main agent
 */
export function questionSource({ kind, params }, agent = "") {
  const who = agent ? `The sub-agent ${agent}` : "The agent";
  if (kind === "permission") return `${who} needs your permission`;
  if (kind === "plan") return `${who} proposes a plan`;
  if (kind === "sign-in") return "A service asks you to sign in";
  if (kind === "form") return params.title || "A server needs information";
  return `${who} has a question`;
}

/**
 * Returns the name of the sub-agent that asks, "" for the main agent: that of the tool call that needs the answer.
 * @param {Question} question @param {Pick<import("../store.js").Session, "index" | "agents">} session
 */
export function askingAgent({ params }, { index, agents }) {
  const call = params.meta?.tool_call_id;
  const agent = call ? index.get(toolKey(params.run_id ?? "", call))?.agent : undefined;
  if (!agent) return "";
  const known = Object.hasOwn(agents, agent) ? agents[agent] : undefined;
  return known?.title || known?.name || agent;
}

/** Returns the details of a question, without the URL, which is shown separately. @param {Question} question */
export function questionText({ kind, method, params }) {
  if (method === "ui.prompt.request") return "";
  const text = params.message ?? "";
  const url = kind === "sign-in" ? params.meta?.url : "";
  return url && text.endsWith(url) ? text.slice(0, -url.length).trim() : text;
}

/** Names of clients, by dialect. @type {Record<string, string>} */
const CLIENTS = { rest: "a REST client", rpc: "another program", ui: "another window", page: "another window", policy: "a rule", "": "someone else" };

/** Names the client that uses a dialect. @param {string} by */
export const clientName = (by) => (Object.hasOwn(CLIENTS, by) ? CLIENTS[by] : by);

/**
 * Describes how a question ended that was not answered here.
 * @param {import("../store.js").Ending | undefined} ending
 */
export function closingText(ending) {
  if (!ending) return "No answer needed.";
  if (ending.ending === "expired") return "Timed out.";
  if (ending.ending === "cancelled") return "No answer needed.";
  const client = clientName(ending.by ?? "");
  if (ending.approved === undefined) return `Answered by ${client}.`;
  const reason = ending.reason ? ` “${ending.reason}”` : "";
  return ending.approved ? `Allowed by ${client}.` : `Denied by ${client}.${reason}`;
}

/** Labels of the choices for a plan. @type {Record<string, string>} */
const PLAN_CHOICES = {
  interactive: "Approve",
  autopilot: "Approve and run on autopilot",
  autopilot_fleet: "Approve and run on autopilot with several agents",
  exit_only: "Approve without running",
};

/** @param {string} choice */
export const planChoiceLabel = (choice) => (Object.hasOwn(PLAN_CHOICES, choice) ? PLAN_CHOICES[choice] : choice);

/** Returns a normalized http or https URL, or "". @param {string} text */
export function httpURL(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : "";
  } catch {
    return "";
  }
}
