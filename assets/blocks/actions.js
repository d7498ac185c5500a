// The actions of a message: a bar that shows on hover and focus, and a menu of all of them. On touch, there is only the button of the menu.

import { h, setHTML, writeClipboard } from "../dom.js";
import { icon } from "../views/icons.js";
import { showMenu } from "../views/menu.js";
import { notice } from "../views/dialog.js";

/** @typedef {{name: string, label: string, icon?: import("../views/icons.js").IconName, act: (button: HTMLElement) => void}} Action icon: it is in the bar, too */

const SHOWN_TIME = 2000; // ms for which the bar says what was copied

/**
 * Adds the actions to a block. Only the button of the menu is in the page, and in the tab order, from the start.
 * @param {HTMLElement} node @param {string} label @param {() => Action[]} actions what can be done now
 */
export function addActions(node, label, actions) {
  const more = h("button", { type: "button", class: "quiet tool-button", "aria-label": label, "aria-haspopup": "menu", "aria-expanded": "false", title: label, "data-testid": "more", click: () => open() }, icon("more"));
  const bar = h("div", { class: "message-actions", role: "group", "aria-label": label }, more);
  const open = () => showMenu(more, label, actions().map(({ name, label, act }) => ({ label, testid: `action-${name}`, act: () => act(more) })));
  let isFilled = false;
  node.addEventListener("pointerenter", (event) => {
    if (isFilled || event.pointerType === "touch") return;
    isFilled = true;
    more.before(...actions().filter(({ icon }) => icon).map((action) => barButton(action)));
  });
  node.append(bar);
}

/** @param {Action} action */
function barButton({ name, label, icon: sign = "more", act }) {
  // The menu has the same action for the keyboard.
  const button = h("button", { type: "button", class: "quiet tool-button", tabindex: "-1", "aria-label": label, title: label, "data-testid": `bar-${name}` }, icon(sign));
  button.addEventListener("click", () => act(button));
  return button;
}

/** Copies a text, and shows that on a button. If the browser forbids copying, it offers the text in a dialog. @param {string} text @param {HTMLElement} button */
export async function copyText(text, button) {
  try {
    await writeClipboard(text);
  } catch {
    const field = h("textarea", { readonly: true, rows: 8, class: "copy-field", "aria-label": "Text to copy" });
    field.value = text;
    notice("Copy this text", h("p", { class: "muted" }, "The browser does not allow the page to copy."), field);
    field.select();
    return;
  }
  showCopied(button);
}

/** Buttons that say that they copied: what they show otherwise, and the timer that shows it again. @type {WeakMap<HTMLElement, {before: Node[], timer: ReturnType<typeof setTimeout>}>} */
const copied = new WeakMap();

/** Shows on a button for a while that it copied. @param {HTMLElement} button */
function showCopied(button) {
  const shown = copied.get(button);
  clearTimeout(shown?.timer);
  const before = shown?.before ?? [...button.childNodes];
  button.replaceChildren(icon("check"), h("span", { class: "hidden-text", role: "status" }, "Copied"));
  const timer = setTimeout(() => {
    copied.delete(button);
    button.replaceChildren(...before);
  }, SHOWN_TIME);
  copied.set(button, { before, timer });
}

/** Returns the text of HTML as it is shown. @param {string} html from the portal */
export function shownText(html) {
  const node = h("div", { class: "markdown copy-source", "aria-hidden": "true" });
  setHTML(node, html);
  document.body.append(node);
  const text = node.innerText;
  node.remove();
  return text.trim();
}
