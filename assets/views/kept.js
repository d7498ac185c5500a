// What a tab keeps while it is open, over reloads and changes of the view. Pure, but for the storage.

/** @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem">} Store */

/** The length of the longest text that is kept: there is little room, and what is kept is written with every key. */
export const LONGEST = 256 * 1024;

/** Returns what is kept under a name; undefined if there is nothing that can be read. @param {Store} store @param {string} name @returns {any} */
export function loadKept(store, name) {
  try {
    return JSON.parse(store.getItem(name) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a value under a name; undefined removes it. Does nothing if the store is full or forbidden. @param {Store} store @param {string} name @param {unknown} value */
export function keep(store, name, value) {
  try {
    if (value === undefined) store.removeItem(name);
    else store.setItem(name, JSON.stringify(value));
  } catch {
    // it lives as long as the view
  }
}

/** @typedef {{get: (name: string) => any, set: (name: string, value: unknown) => unknown, delete: (name: string) => unknown}} Kept */

/** Values of a group that are kept under their names. @param {Store} store @param {string} group @returns {Kept} */
export const keptIn = (store, group) => ({
  get: (name) => loadKept(store, `${group}:${name}`),
  set: (name, value) => keep(store, `${group}:${name}`, value),
  delete: (name) => keep(store, `${group}:${name}`, undefined),
});
