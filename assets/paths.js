// Paths of files in texts. Pure.

import { fileSize } from "./dom.js";

/** @typedef {{path: string, line: number}} Place line: from 1; 0 if there is none */

const MAX_PATH = 300; // characters

/** Reads a text as a path, perhaps with a line: "a.go", "a.go:12", "a.go:12:3", "a.go#L12". Returns null if it cannot be one. @param {string} text @returns {Place | null} */
export function parsePlace(text) {
  const [, path = "", colon, hash] = /^(.+?)(?::(\d{1,7})(?:-\d{1,7}|:\d{1,7})?|#L(\d{1,7})(?:-L?\d{1,7})?)?$/.exec(text.trim()) ?? [];
  if (path === "" || path.length > MAX_PATH || path.startsWith("-") || path.includes("://") || path.endsWith("/")) return null;
  return { path, line: Number(colon ?? hash ?? 0) };
}

/** Whether a path leads out of the directory that it is relative to. @param {string} path */
export const isOutside = (path) => /^([/\\~]|[A-Za-z]:[/\\]|\.\.([/\\]|$))/.test(path);

/** Returns what is worth knowing about a file besides its lines. @param {{size: number, count: number, binary?: boolean, encoding?: string, line_ends?: string}} file @returns {string[]} */
export function describeFile({ size, count, binary, encoding, line_ends: ends }) {
  return [
    binary ? (encoding === "utf-16" ? "UTF-16" : "Binary") : count === 1 ? "1 line" : `${count.toLocaleString("en")} lines`,
    fileSize(size),
    encoding === "unknown" ? "Not UTF-8" : "",
    ends === "crlf" ? "CRLF" : ends === "mixed" ? "Mixed line ends" : "",
  ].filter(Boolean);
}
