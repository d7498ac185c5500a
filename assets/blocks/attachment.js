// What is attached to a prompt: images as thumbnails that open in a dialog, other files as chips.

import { fileSize, h } from "../dom.js";
import { icon } from "../views/icons.js";

/** @typedef {import("../store.js").Attachment} Attachment */

/** @param {Attachment[]} attachments */
export function attachmentList(attachments) {
  return h("ul", { class: "chips", "aria-label": "Attachments", "data-testid": "attached" }, ...attachments.map((one) => h("li", {}, attachment(one))));
}

/** @param {Attachment} attached */
function attachment(attached) {
  const { name, path, first, last, media_type: type, data, size } = attached;
  if (type && data) return thumbnail(name || "Image", `data:${type};base64,${data}`);
  const lines = first ? `:${first}${last && last !== first ? `–${last}` : ""}` : "";
  return h("span", { class: "chip", title: path ?? false }, icon("file"), `${name}${lines}`, ...(size ? [h("span", { class: "muted" }, fileSize(size))] : []));
}

/** @param {string} name @param {string} source */
function thumbnail(name, source) {
  return h("button", { type: "button", class: "thumbnail", title: name, "aria-label": `Show ${name}`, "data-testid": "thumbnail", click: () => showImage(name, source) },
    h("img", { class: "attached-image", src: source, alt: "" }));
}

/** Shows an image in full. @param {string} name @param {string} source */
function showImage(name, source) {
  const node = h("dialog", { class: "dialog image-dialog", "aria-label": name, "data-testid": "image-dialog" },
    h("div", { class: "side-head" }, h("h2", {}, name), h("button", { type: "button", class: "quiet round", "aria-label": "Close", click: () => node.close() }, icon("close"))),
    h("img", { src: source, alt: name }));
  node.addEventListener("click", (event) => event.target === node && node.close()); // beside it
  node.addEventListener("close", () => node.remove());
  document.body.append(node);
  node.showModal();
}
