// Makes inline code that names a file of the session a link to it.

import { h } from "../dom.js";
import { parsePlace } from "../paths.js";

/**
 * What links need.
 * @typedef {object} Files
 * @property {(paths: string[]) => Promise<Set<string>>} find returns those that can be shown
 * @property {(path: string, line?: number) => string} href
 */

const MOST = 200; // in one text

/** Links the files that a text names. @param {HTMLElement} root @param {Files} files */
export async function linkFiles(root, { find, href }) {
  const places = [...root.querySelectorAll("code")].filter((code) => !code.closest("pre, a")).slice(0, MOST)
    .flatMap((code) => {
      const place = parsePlace(code.textContent ?? "");
      return place ? [{ code, ...place }] : [];
    });
  if (places.length === 0) return;
  const found = await find(places.map(({ path }) => path));
  for (const { code, path, line } of places) {
    if (!found.has(path) || !code.isConnected || code.closest("a")) continue;
    const link = h("a", { class: "path-link", href: href(path, line), "data-testid": "path-link" });
    code.replaceWith(link);
    link.append(code);
  }
}

/** Finds out which files can be shown, for many texts with one call. @param {(paths: string[]) => Promise<string[]>} ask @returns {Files["find"]} */
export function fileFinder(ask) {
  /** @type {Set<string>} */
  let wanted = new Set();
  /** @type {Promise<Set<string>> | null} */
  let next = null;
  return (paths) => {
    for (const path of paths) wanted.add(path);
    next ??= new Promise((resolve) => setTimeout(resolve, 50)).then(async () => {
      const all = [...wanted];
      [wanted, next] = [new Set(), null];
      return new Set(await ask(all.slice(0, 1000)).catch(() => []));
    });
    return next;
  };
}
