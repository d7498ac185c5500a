// What this browser stores about new sessions. Pure, but for the storage.

/** @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem">} Store */
/** @typedef {"model" | "mode" | "permissions"} Name */

/** The choices of the last session, which the start page offers again. */
const LAST = { model: "portal.model", mode: "", permissions: "portal.permissions" };

/** @param {Name} name */
const keyOf = (name) => `portal.default.${name}`;

/** Returns the user's default; "" if there is none: then the last session's choice counts. @param {Store} store @param {Name} name */
export const getDefault = (store, name) => store.getItem(keyOf(name)) ?? "";

/** Stores a default; "" removes it. @param {Store} store @param {Name} name @param {string} value */
export function setDefault(store, name, value) {
  if (value) store.setItem(keyOf(name), value);
  else store.removeItem(keyOf(name));
}

/** Returns what a new session starts with: the default, else the last choice, else "". @param {Store} store @param {Name} name */
export const initialChoice = (store, name) => getDefault(store, name) || (LAST[name] && store.getItem(LAST[name])) || "";

/** Stores the choices of a session that was started. @param {Store} store @param {{model: string, permissions: string}} choices */
export function saveChoices(store, { model, permissions }) {
  store.setItem(LAST.model, model);
  store.setItem(LAST.permissions, permissions);
}
