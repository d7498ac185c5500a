// A menu of actions that opens at a button.

import { h } from "../dom.js";

/** @typedef {{label: string, act: () => void, hint?: string, testid?: string, kind?: string, checked?: boolean, keys?: string}} MenuItem kind: its class; checked: it is the current choice; keys: a key that does the same */

/**
 * Opens a menu of actions at a button.
 * @param {HTMLElement} button @param {string} label @param {MenuItem[]} items
 */
export function showMenu(button, label, items) {
  openMenu(button, label, (close) => items.map(({ label, act, hint, testid, kind, checked, keys }) => h("button", {
    type: "button", role: checked === undefined ? "menuitem" : "menuitemradio", "aria-checked": checked === undefined ? false : String(checked), class: kind ?? false,
    "data-testid": testid, title: hint, "aria-keyshortcuts": keys, click: () => {
      close();
      act();
    },
  }, ...(keys ? [h("kbd", { "aria-hidden": "true" }, keys), " "] : []), label)));
}

/**
 * Opens a menu below a button, or above it if there is no room; closes it if it is open. The arrow keys move in it; Escape closes it and does nothing else.
 * @param {HTMLElement} button @param {string} label @param {(close: () => void) => HTMLElement[]} contentOf returns the buttons of the menu, or groups of them @param {string} [name] its class and test id
 */
export function openMenu(button, label, contentOf, name = "menu") {
  if (button.getAttribute("aria-expanded") === "true") return button.setAttribute("aria-expanded", "false"); // the click has closed it
  const menu = h("div", { class: `menu ${name}`, role: "menu", popover: "auto", "aria-label": label, "data-testid": name });
  const close = () => menu.isConnected && menu.hidePopover();
  menu.append(...contentOf(close));
  menu.addEventListener("keydown", (event) => onKey(event, menu, close));
  menu.addEventListener("toggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState === "open") return;
    button.setAttribute("aria-expanded", "false");
    if (menu.contains(document.activeElement) || document.activeElement === document.body) button.focus({ preventScroll: true });
    menu.remove();
  });
  (button.closest("aside, main, dialog, header") ?? document.body).append(menu); // in the landmark of the button
  menu.showPopover();
  button.setAttribute("aria-expanded", "true");
  place(menu, button.getBoundingClientRect());
  /** @type {HTMLElement | null} */ (menu.querySelector("[aria-checked=true]") ?? menu.querySelector("button"))?.focus();
}

/** @param {KeyboardEvent} event @param {HTMLElement} menu @param {() => void} close */
function onKey(event, menu, close) {
  event.stopPropagation(); // what is below handles these keys, too
  const items = [...menu.querySelectorAll("button")];
  const at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  if (event.key === "ArrowDown") items[(at + 1) % items.length].focus();
  else if (event.key === "ArrowUp") items[(at + items.length - 1) % items.length].focus();
  else if (event.key === "Home") items[0].focus();
  else if (event.key === "End") items[items.length - 1].focus();
  else if (event.key === "Escape" || event.key === "Tab") close();
  else return;
  event.preventDefault();
}

/** Aligns the menu with the side of the button where there is more room. @param {HTMLElement} menu @param {DOMRect} at */
function place(menu, { top, bottom, left, right }) {
  const below = bottom + 2 + menu.offsetHeight <= innerHeight - 8;
  menu.style.top = `${Math.max(8, below ? bottom + 2 : top - 2 - menu.offsetHeight)}px`;
  const start = left + right < innerWidth ? left : right - menu.offsetWidth;
  menu.style.left = `${Math.max(8, Math.min(start, innerWidth - menu.offsetWidth - 8))}px`;
}
