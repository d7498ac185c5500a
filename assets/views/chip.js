// A chip below the composer: a button that shows a choice, and opens a menu to change it.

import { h, setText } from "../dom.js";
import { icon } from "./icons.js";
import { isComposing } from "./keys.js";

/** @typedef {{value: string, name: string, note?: string, text?: string, group?: string}} Choice note stands beside the name, text below it; group: heading of consecutive choices */

const FILTER_FROM = 12; // choices

/**
 * Opens a popover at a button: below it, or above if there is no room. Esc closes it, and nothing else.
 * @param {HTMLButtonElement} button @param {HTMLElement} popover @param {{draw?: () => void, focus: () => void}} on opening
 */
export function attachPopover(button, popover, { draw = () => {}, focus }) {
  button.popoverTargetElement = popover;
  button.setAttribute("aria-expanded", "false");
  popover.addEventListener("toggle", (event) => {
    const isOpen = /** @type {ToggleEvent} */ (event).newState === "open";
    button.setAttribute("aria-expanded", String(isOpen));
    popover.classList.remove("placed"); // hidden until it has its place
    if (!isOpen) return;
    draw();
    placePopover(button, popover);
    focus();
  });
  popover.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || isComposing(event) || event.defaultPrevented) return;
    event.preventDefault();
    event.stopPropagation(); // it would stop the run
    popover.hidePopover();
    button.focus();
  });
}

/** @param {HTMLElement} button @param {HTMLElement} popover */
export function placePopover(button, popover) {
  const { left, top, bottom } = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = popover;
  const isAbove = innerHeight - bottom < height + 12 && top > innerHeight - bottom;
  popover.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  popover.classList.add("placed");
  popover.style.top = `${isAbove ? Math.max(8, top - height - 4) : bottom + 4}px`;
}

/** @param {{label: string, id: string, onChoose: (value: string) => void, onOpen?: () => void}} options id is its data-testid */
export function createChip({ label, id, onChoose, onOpen = () => {} }) {
  const name = h("span", { class: "chip-label" });
  const note = h("span", { class: "chip-note" });
  const button = h("button", { type: "button", class: "chip-button", "aria-haspopup": "menu", "data-testid": id }, h("span", { class: "hidden-text" }, `${label}: `), name, note, icon("fold"));
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": `Filter: ${label}`, hidden: true });
  const list = h("div", { role: "menu", "aria-label": label });
  const menu = h("div", { class: "chip-menu", popover: "auto" }, filter, list);
  const node = h("span", { class: "chip-place" }, button, menu);
  /** @type {Choice[] | undefined} */
  let loaded;

  const items = () => [...list.querySelectorAll("button")].filter((item) => !item.hidden);
  const draw = () => {
    const hadFocus = list.contains(document.activeElement);
    const choices = loaded ?? [];
    list.replaceChildren(...choices.flatMap(({ value, name, note = "", text = "", group = "" }, i) => [...(group && group !== choices[i - 1]?.group ? [h("p", { class: "choice-group", role: "presentation" }, group)] : []), h("button", {
      type: "button", role: "menuitemradio", class: "chip-choice", "aria-checked": String(value === button.value), "data-value": value, click: () => choose(value),
    }, h("span", { class: "choice-name" }, name), h("span", { class: "choice-note" }, note), ...(text ? [h("span", { class: "choice-text" }, text)] : []))]));
    if (choices.length === 0) list.replaceChildren(h("span", { class: "choice-text", role: "menuitem", "aria-disabled": "true" }, loaded ? "None available" : "Loading…"));
    filter.hidden = choices.length <= FILTER_FROM;
    applyFilter();
    if (hadFocus) focusChosen();
  };
  const applyFilter = () => {
    const words = filter.hidden ? "" : filter.value.toLowerCase();
    for (const heading of list.querySelectorAll("p")) heading.hidden = words !== "";
    for (const item of list.querySelectorAll("button")) item.hidden = !(item.textContent ?? "").toLowerCase().includes(words);
  };
  const focusChosen = () => (filter.hidden ? list.querySelector(/** @type {"button"} */ ("[aria-checked=true]")) ?? items()[0] : filter)?.focus();
  /** @param {string} value */
  const choose = (value) => {
    menu.hidePopover();
    button.focus();
    if (value === button.value) return;
    select(value);
    onChoose(value);
  };
  /** Shows a value. @param {string} value @param {string} [unknown] its name if it is not among the choices */
  const select = (value, unknown = value) => {
    const choice = loaded?.find((choice) => choice.value === value);
    button.value = value;
    setText(name, choice?.name ?? unknown);
    setText(note, choice?.note ?? "");
    if (menu.matches(":popover-open")) draw();
  };

  attachPopover(button, menu, { focus: focusChosen, draw() {
    filter.value = "";
    onOpen();
    draw();
  } });
  filter.addEventListener("input", applyFilter);
  menu.addEventListener("keydown", (event) => {
    if (isComposing(event)) return;
    const open = items();
    const at = open.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (event.key === "ArrowDown") open[(at + 1) % open.length]?.focus();
    else if (event.key === "ArrowUp") open[(at + open.length - (at < 0 ? 0 : 1)) % open.length]?.focus();
    else if (event.key === "Home" && at >= 0) open[0].focus();
    else if (event.key === "End" && at >= 0) open[open.length - 1].focus();
    else if (event.key === "Enter" && document.activeElement === filter) open[0]?.click();
    else return;
    event.preventDefault();
  });

  return {
    node,
    get value() {
      return button.value;
    },
    /** Sets the choices, and shows a value. @param {Choice[]} list @param {string} value @param {string} [unknown] */
    show(list, value, unknown) {
      loaded = list;
      select(value, unknown);
      if (menu.matches(":popover-open")) placePopover(button, menu);
    },
    select,
    /** @param {string} title of the button */
    explain: (title) => (button.title = title),
    /** @param {boolean} isDisabled */
    disable: (isDisabled) => (button.disabled = isDisabled),
    open() {
      button.focus();
      if (!button.disabled) menu.showPopover();
    },
  };
}
