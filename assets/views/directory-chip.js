// The chip for the directory of a new session: it opens the field for directories, with favourites and recent ones.

import { baseName, h, setText } from "../dom.js";
import { attachPopover, placePopover } from "./chip.js";
import { favourites, recentDirectories, toggleFavourite } from "./directories.js";
import { directoryField } from "./directory.js";
import { icon } from "./icons.js";
import { isComposing } from "./keys.js";

/** @param {{rpc: import("../rpc.js").Connection, list: () => import("../list.js").List, onDone: () => void, onClose: () => void}} options onDone: the user has chosen; onClose: the field was closed in any way */
export function directoryChip({ rpc, list, onDone, onClose }) {
  const name = h("span", { class: "chip-label" }, "…");
  const note = h("span", { class: "chip-note" });
  const button = h("button", { type: "button", class: "chip-button chip-directory", "aria-haspopup": "dialog", "data-testid": "chip-directory" }, icon("folder"), h("span", { class: "hidden-text" }, "Directory: "), name, note, icon("fold"));
  const star = h("button", { type: "button", class: "quiet round star", "aria-label": "Favourite", "data-testid": "favourite" }, icon("star"));
  const use = h("button", { type: "button", class: "primary", "data-testid": "use-directory" }, "Use this directory");
  /** @type {ReturnType<typeof directoryField>} */
  const field = directoryField({ rpc, known, onDescribe, onPick: () => close() });
  const actions = h("div", { class: "directory-actions", mousedown: (/** @type {Event} */ event) => event.preventDefault() }, star, use); // the field keeps the focus, and the list its height
  const popover = h("div", { class: "chip-menu directory-menu", popover: "auto", role: "dialog", "aria-label": "Directory" },
    field.node, actions);
  const node = h("span", { class: "chip-place" }, button, popover);

  /** @returns {import("./directory.js").Entry[]} */
  function known() {
    const starred = favourites(localStorage);
    const recent = recentDirectories(list().sessions.values(), starred);
    return [...starred.map((path) => entry(path, "Favourites")), ...recent.map((path) => entry(path, "Recent"))];
  }
  /** @param {import("./directory.js").Described} described */
  function onDescribe({ path, exists, git }) {
    show(path, exists ? git?.branch ?? "" : "not found");
  }
  /** @param {string} path @param {string} about */
  const show = (path, about) => {
    setText(name, baseName(path) || path);
    setText(note, about);
    button.title = path;
    showStar();
  };
  const showStar = () => star.setAttribute("aria-pressed", String(favourites(localStorage).includes(field.value)));
  const close = () => {
    popover.hidePopover();
    onDone();
  };
  attachPopover(button, popover, { focus() {
    showStar();
    field.input.focus();
    field.input.select();
  } });
  star.addEventListener("click", () => {
    if (field.value) toggleFavourite(localStorage, field.value);
    showStar();
  });
  use.addEventListener("click", close);
  popover.addEventListener("beforetoggle", (event) => event.newState === "closed" && onClose());
  popover.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target !== field.input || isComposing(event)) return;
    event.preventDefault(); // it would submit the form
    close();
  });
  new ResizeObserver(() => popover.matches(":popover-open") && placePopover(button, popover)).observe(popover);

  return {
    node,
    get value() {
      return field.value;
    },
    set value(path) {
      field.value = path;
      show(path, "");
    },
    open() {
      popover.showPopover();
    },
  };
}

/** @param {string} path @param {string} group @returns {import("./directory.js").Entry} */
const entry = (path, group) => ({ path, name: baseName(path) || path, group, isKnown: true });
