// Who asks, what, and who answered, in words. No page is needed here.

/** @typedef {Pick<import("../store.js").Question, "kind" | "method" | "params">} Question */

/** @param {Question} question */
export function headline({ kind, method, params }) {
  if (kind === "plan") return "Approve this plan?";
  if (method === "ui.prompt.request") return params.message || params.title;
  return params.title || "Allow the agent to continue?";
}

/** @param {Question} question */
export function askedBy({ kind, params }) {
  if (kind === "permission") return "The agent needs your permission";
  if (kind === "plan") return "The agent proposes a plan";
  if (kind === "sign-in") return "A service asks you to sign in";
  if (kind === "form") return params.title || "A server needs information";
  return "The agent has a question";
}

/** What a card says about it; the address to visit stands on its own. @param {Question} question */
export function about({ kind, method, params }) {
  if (method === "ui.prompt.request") return "";
  const text = params.message ?? "";
  const url = kind === "sign-in" ? params.meta?.url : "";
  return url && text.endsWith(url) ? text.slice(0, -url.length).trim() : text;
}

/** Who answers, by the name of what they use. @type {Record<string, string>} */
const BY = { rest: "a REST client", rpc: "another program", ui: "another window", page: "another window", policy: "a rule", "": "someone else" };

/** Who that is that uses a dialect. @param {string} by */
export const throughWhom = (by) => (Object.hasOwn(BY, by) ? BY[by] : by);

/**
 * What a card says in the end, when the answer came from somewhere else.
 * @param {import("../store.js").Ending | undefined} ending
 */
export function farewell(ending) {
  if (!ending) return "No answer needed.";
  if (ending.ending === "expired") return "Timed out.";
  if (ending.ending === "cancelled") return "No answer needed.";
  const who = throughWhom(ending.by ?? "");
  if (ending.approved === undefined) return `Answered by ${who}.`;
  const reason = ending.reason ? ` “${ending.reason}”` : "";
  return ending.approved ? `Allowed by ${who}.` : `Denied by ${who}.${reason}`;
}

/** Ways to carry out a plan. @type {Record<string, string>} */
const WAYS = {
  interactive: "Approve",
  autopilot: "Approve and run on autopilot",
  autopilot_fleet: "Approve and run on autopilot with several agents",
  exit_only: "Approve without running",
};

/** @param {string} way */
export const wayName = (way) => (Object.hasOwn(WAYS, way) ? WAYS[way] : way);

/** The address to visit, as the browser reads it; "" if it is none of the web. @param {string} text */
export function webAddress(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : "";
  } catch {
    return "";
  }
}
