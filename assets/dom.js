// Small helpers to build the page. No text ever becomes markup here.

/** @typedef {string | boolean | number | null | undefined | ((event: any) => void)} Prop */

/**
 * Makes an element. A function is a listener, true an attribute without a value, false and undefined none.
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
  node.append(...children);
  return node;
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

/** Sets a text only when it changes, so that nothing is announced twice. @param {Element} node @param {string} text */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A button that copies a text, or selects it where the browser forbids copying. @param {() => string} text @param {Node} shown @param {string} label */
export function copyButton(text, shown, label) {
  const button = h("button", { type: "button", class: "quiet small", "aria-label": label }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(shown);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return button;
}

/** How long ago, in a word. @param {number} ms */
export function age(ms) {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h`;
  return `${Math.floor(minutes / 60 / 24)} d`;
}
