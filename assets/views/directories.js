// The directories that the user knows: favourites, which this browser keeps, and those of recent sessions. Pure.

/** @typedef {Pick<Storage, "getItem" | "setItem">} Store */

const STORAGE_KEY = "portal.favourites";
const MAX_RECENT = 6;

/** @param {Store} store @returns {string[]} */
export function favourites(store) {
  try {
    const paths = JSON.parse(store.getItem(STORAGE_KEY) ?? "[]");
    return Array.isArray(paths) ? paths.filter((path) => typeof path === "string" && path !== "") : [];
  } catch {
    return [];
  }
}

/** Adds a favourite, or removes it. Does nothing if the store is full or forbidden. @param {Store} store @param {string} path */
export function toggleFavourite(store, path) {
  const before = favourites(store);
  const after = before.includes(path) ? before.filter((other) => other !== path) : [...before, path].sort();
  try {
    store.setItem(STORAGE_KEY, JSON.stringify(after));
  } catch {
    // they stay as they are
  }
}

/** Returns the directories of recent sessions, newest first, except some. @param {Iterable<{directory?: string, updated_at?: string}>} sessions @param {string[]} except */
export function recentDirectories(sessions, except) {
  const newest = [...sessions].sort((a, b) => (b.updated_at ?? "").localeCompare(a.updated_at ?? ""));
  const paths = new Set(newest.map(({ directory }) => directory ?? "").filter((path) => path !== "" && !except.includes(path)));
  return [...paths].slice(0, MAX_RECENT);
}

/** Reports whether a text is a word rather than a path. @param {string} typed */
export const isWord = (typed) => typed.trim() !== "" && !/^([/~]|[A-Za-z]:[\\/]|\\\\)/.test(typed.trim());

/**
 * Returns the paths to complete for what was typed. A bare word is looked for in the current directory, beside it, and at home.
 * @param {string} typed @param {string} current the directory before the user typed, or ""
 */
export function pathsToComplete(typed, current) {
  if (!isWord(typed)) return [typed];
  const word = typed.trim();
  const base = current.replace(/[\\/]+$/, "");
  return [...new Set([...(base ? [`${base}/${word}`, `${parentOf(base)}${word}`] : []), `~/${word}`])];
}

/** Returns the parent of an absolute path, with a slash at its end. @param {string} path */
export const parentOf = (path) => path.replace(/[\\/]+$/, "").replace(/[^\\/]*$/, "") || "/";

/** Whether a path has no parent: "/", or a drive of Windows. @param {string} path */
export const isRoot = (path) => /^([A-Za-z]:)?[\\/]*$/.test(path);
