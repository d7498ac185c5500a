// Helpers that build the page. Text never becomes markup; only setHTML takes HTML, from the portal.

/** @typedef {string | boolean | number | null | undefined | ((event: any) => void)} Prop */

/**
 * Creates an element. A function becomes a listener, true an attribute without a value; false, null and undefined are left out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Record<string, Prop>} [props] @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, String(value));
  }
  node.append(...children.map((child) => (typeof child === "string" ? escapeBidi(child) : child)));
  return node;
}

/**
 * Makes bidirectional control characters visible: they make a name or a command read differently from what it is. handlers/render does the
 * same.
 * @param {string} text
 */
export const escapeBidi = (text) => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (char) => `‹U+${char.charCodeAt(0).toString(16).toUpperCase()}›`);

/**
 * Sets the HTML of an element. Only for HTML that the portal sanitized (meta.html, delta.html, spec/page.md).
 * @param {Element} node @param {string} html
 */
export function setHTML(node, html) {
  node.innerHTML = html;
}

/**
 * Finds an element of index.html.
 * @template {HTMLElement} T
 * @param {string} id @param {new () => T} type @returns {T}
 */
export function find(id, type) {
  const node = document.getElementById(id);
  if (!(node instanceof type)) throw new Error(`index.html lacks #${id}`);
  return node;
}

/**
 * Returns a function that schedules an update for the next frame. In a hidden tab, which has no frames, a timer makes it.
 * @param {() => void} update
 */
export function frameScheduler(update) {
  let frame = 0;
  const run = () => {
    frame = 0;
    update();
  };
  const schedule = () => {
    if (!frame) frame = document.hidden ? window.setTimeout(run, 250) : requestAnimationFrame(run);
  };
  document.addEventListener("visibilitychange", () => {
    cancelAnimationFrame(frame); // it may never come in a hidden tab
    frame = 0;
    schedule();
  });
  return schedule;
}

/** Sets the text if it changed, so that screen readers announce it once. @param {Element} node @param {string} text */
export function setText(node, text) {
  const shown = escapeBidi(text);
  if (node.textContent !== shown) node.textContent = shown;
}

/**
 * Does something for a button, which stays busy and keeps the focus until it is done; clicks meanwhile do nothing.
 * @param {HTMLElement} button @param {() => unknown} act @param {(problem: string) => void} report shows why it failed; "" at the start
 */
export async function whileBusy(button, act, report) {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  report("");
  try {
    await act();
  } catch (error) {
    report(messageOf(error));
  }
  button.removeAttribute("aria-disabled");
}

/** Sets the children of a node, moving as few as possible: a moved one loses the focus. @param {HTMLElement} root @param {Node[]} nodes */
export function setChildren(root, nodes) {
  const kept = new Set(nodes);
  for (const child of [...root.childNodes]) if (!kept.has(child)) child.remove();
  nodes.forEach((node, i) => {
    if (root.childNodes[i] !== node) root.insertBefore(node, root.childNodes[i] ?? null);
  });
}

/**
 * Shows items as children of a node. An item keeps its row, also if it moves to another node; a row that moves loses the focus.
 * @template T
 * @template {{node: HTMLElement, update: (item: T) => void}} R
 * @param {(item: T) => string | number} idOf @param {(item: T) => R} create
 */
export function keyedRows(idOf, create) {
  /** @type {Map<string | number, R>} */
  const rows = new Map();
  return {
    rows,
    /** @param {HTMLElement} root @param {T[]} items */
    show: (root, items) => setChildren(root, items.map((item) => {
      const row = rows.get(idOf(item)) ?? create(item);
      rows.set(idOf(item), row);
      row.update(item);
      return row.node;
    })),
  };
}

/**
 * Changes a part of the page. If that hides, disables or removes what has the focus in it, `refocus` gives the focus to something near, so that the user
 * does not start again at the top of the page.
 * @param {HTMLElement} root @param {() => void} change @param {() => void} refocus
 */
export function keepFocus(root, change, refocus) {
  const focused = document.activeElement;
  const hadFocus = focused !== document.body && root.contains(focused);
  change();
  if (!hadFocus || !focused || (focused.isConnected && focused.checkVisibility() && !focused.matches(":disabled"))) return;
  if (document.activeElement === focused || document.activeElement === document.body) refocus();
}

/**
 * Gives the focus to a part of the page that cannot have it before it is shown. `shown` gives it then, unless the user has gone elsewhere.
 * @param {() => void} focus
 */
export function lateFocus(focus) {
  /** @type {Element | null} */
  let before = null;
  return {
    focus() {
      before = document.activeElement;
      focus();
    },
    shown() {
      if (before && document.activeElement === before) focus();
      before = null;
    },
  };
}

class ClipboardError extends Error {}

/** Copies a text. Rejects if the browser forbids it. Only pages over HTTPS and from localhost have the API; others copy what is selected. @param {string} text */
export async function writeClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copySelected(text)) throw new ClipboardError("The browser does not allow the page to copy.");
  }
}

/** Copies a text by selecting it in a field for a moment. Returns false if the browser forbids copying. @param {string} text */
function copySelected(text) {
  const focused = document.activeElement;
  const field = h("textarea", { class: "copy-source", readonly: true });
  field.value = text;
  ([...document.querySelectorAll("dialog:modal")].at(-1) ?? document.body).append(field); // beside an open dialog, nothing can be selected
  field.focus({ preventScroll: true });
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  return isCopied;
}

/** A button that copies a text, or selects it if the browser forbids copying. If there is no text, `text` rejects, and its caller says why. @param {() => string | Promise<string>} text @param {Node} shown @param {string} label @param {string} [name] */
export function copyButton(text, shown, label, name = "Copy") {
  const button = h("button", { type: "button", class: "quiet small", "aria-label": label }, name);
  const copy = async () => {
    try {
      await writeClipboard(await text());
      return "Copied";
    } catch (error) {
      if (!(error instanceof ClipboardError)) return "Not copied";
      getSelection()?.selectAllChildren(shown);
      return "Selected";
    }
  };
  button.addEventListener("click", async () => {
    button.textContent = await copy();
    setTimeout(() => (button.textContent = name), 2000);
  });
  return button;
}

/** Renders parts in backticks as code. @param {string} text @returns {(Node | string)[]} */
export const withCode = (text) => text.split("`").map((part, i) => (i % 2 === 1 ? h("code", {}, part) : part));

/** Renders parts in backticks as commands with a copy button. @param {string} text @returns {(Node | string)[]} */
export function withCommands(text) {
  return text.split(/`([^`]+)`/).map((part, i) => {
    if (i % 2 === 0) return part;
    const code = h("code", {}, part);
    return h("span", { class: "command" }, code, copyButton(() => part, code, `Copy ${part}`));
  });
}

/** Formats an age: "now", "5 min", "3 h", "2 d". @param {number} ms */
export function age(ms) {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h`;
  return `${Math.floor(minutes / 60 / 24)} d`;
}

/** Formats a number of bytes: "980 B", "1.2 kB", "3.4 MB". @param {number} bytes */
export function fileSize(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Returns the message of a caught error. @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** Returns the last element of a path. @param {string} path */
export const baseName = (path) => path.split(/[\\/]/).filter(Boolean).pop() ?? path;

/** Reports whether there is likely a keyboard besides one on the screen, as on phones, which opens with the focus in a field. */
export const hasKeyboard = () => !matchMedia("(hover: none) and (pointer: coarse)").matches;

/** Delays calls until none came for some ms. @param {number} ms @param {() => void} act */
export function debounce(ms, act) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, ms);
  };
}
