// What the page says about links to a session. Pure.

/** @typedef {"read" | "answer"} Rights */

/** Lifetimes to choose from, with their labels. @type {[number, string][]} seconds */
export const LIFETIMES = [[3600, "1 hour"], [86_400, "1 day"], [604_800, "7 days"], [2_592_000, "30 days"]];

/** @type {Record<Rights, string>} */
export const RIGHTS = { read: "Read", answer: "Read and answer" };

/** Returns a number with its unit. @param {number} n @param {string} unit */
const count = (n, unit) => `${n} ${unit}${n === 1 ? "" : "s"}`;

/** Returns a duration in its largest unit, rounded up. @param {number} ms */
function duration(ms) {
  const minutes = Math.max(1, Math.ceil(ms / 60_000));
  if (minutes < 120) return count(minutes, "minute");
  const hours = Math.ceil(minutes / 60);
  return hours < 48 ? count(hours, "hour") : count(Math.ceil(hours / 24), "day");
}

/** Returns when a link expires. @param {string} expires RFC 3339 @param {number} now ms */
export const expiryText = (expires, now) => (Date.parse(expires) <= now ? "expired" : `expires in ${duration(Date.parse(expires) - now)}`);

/** Returns when a link was used last. @param {string | undefined} used RFC 3339 @param {number} now ms */
export function usedText(used, now) {
  if (!used) return "never used";
  const ago = now - Date.parse(used);
  return ago < 120_000 ? "in use, or used just now" : `last used ${duration(ago)} ago`;
}

/** Returns what the page of a link says at its end. @param {Rights} rights @param {string} expires @param {number} now ms */
export const linkText = (rights, expires, now) => `You can read this session${rights === "answer" ? " and answer its questions" : ""}. The link ${expiryText(expires, now).replace("expired", "has expired")}.`;

/** Reports whether a host name means the machine that uses it. @param {string} host */
export const isLocal = (host) => /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);
