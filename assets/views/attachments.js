// Files attached to a prompt: images become parts of it, texts attachments.

import { toBase64 } from "../bytes.js";
import { h, messageOf } from "../dom.js";
import { icon } from "./icons.js";

/**
 * @typedef {{name: string, image?: {media_type: string, data: string}, text?: string}} AttachedFile
 */

const MAX_IMAGE = 10 << 20; // bytes
const MAX_TEXT = 1 << 20;
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/**
 * Reads a file. Rejects with an Error that tells the user why it cannot be attached.
 * @param {File} file @returns {Promise<AttachedFile>}
 */
export async function readAttachment(file) {
  const name = file.name || "pasted";
  if (IMAGES.includes(file.type)) {
    if (file.size > MAX_IMAGE) throw new Error(`${name} is larger than 10 MB.`);
    return { name, image: { media_type: file.type, data: toBase64(await file.arrayBuffer()) } };
  }
  if (file.size > MAX_TEXT) throw new Error(`${name} is larger than 1 MB. Mention files in the directory with @ instead.`);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    if (text.includes("\0")) throw new TypeError();
    return { name, text };
  } catch {
    throw new Error(`${name} is not a text or image file.`);
  }
}

/**
 * Returns the parameters of run.start for a prompt.
 * @param {string} text @param {AttachedFile[]} attached @param {string[]} mentions paths in the directory
 */
export function runInput(text, attached, mentions) {
  const images = attached.flatMap(({ name, image }) => (image ? [{ type: "image", name, ...image }] : []));
  const input = images.length > 0 ? { type: "parts", parts: [{ type: "text", text }, ...images] } : { type: "text", text };
  const texts = attached.flatMap(({ name, text }) => (text === undefined ? [] : [{ name, text }]));
  return { input, attachments: [...texts, ...mentions.map((path) => ({ path }))] };
}

/**
 * Returns what was written in a prompt, to send it again; undefined if it has a text that only the portal has.
 * @param {Pick<import("../store.js").PromptItem, "text" | "attachments">} prompt @returns {import("./box.js").Written | undefined}
 */
export function writtenIn({ text, attachments }) {
  if (attachments.some(({ path, data }) => !path && !data)) return undefined;
  const attached = attachments.flatMap(({ name, media_type = "", data }) => (data ? [{ name, image: { media_type, data } }] : []));
  return { text, attached, mentions: attachments.flatMap(({ path, data }) => (path && !data ? [path] : [])) };
}

/**
 * Creates the list of attached files, each with a button that removes it. `onChange` is also called when files begin and end to be read.
 * @param {{attached: AttachedFile[], onChange: () => void, onError: (message: string) => void}} options attached: those at the start
 */
export function createAttachments({ attached, onChange, onError }) {
  let reading = 0; // files
  const node = h("ul", { class: "chips attached", "aria-label": "Attachments" });
  const picker = h("input", { type: "file", multiple: true, hidden: true, "data-testid": "files", "aria-label": "Attach files" });
  const button = h("button", { type: "button", class: "quiet round", "aria-label": "Attach files", title: "Attach files", click: () => picker.click() }, icon("clip"));

  const draw = () => {
    node.replaceChildren(...attached.map((one) => h("li", { class: "chip" }, icon("file"), one.name,
      h("button", { type: "button", class: "quiet tiny", "aria-label": `Remove ${one.name}`, click: () => set(attached.filter((other) => other !== one)) }, icon("close")))));
    node.hidden = attached.length === 0;
  };
  /** @param {AttachedFile[]} list */
  const set = (list) => {
    attached = list;
    draw();
    onChange();
  };
  /** @param {Iterable<File>} files */
  const add = async (files) => {
    for (const file of [...files]) {
      reading++;
      onChange();
      try {
        const one = await readAttachment(file);
        attached = [...attached, one]; // others may have been added or removed meanwhile
      } catch (error) {
        onError(messageOf(error));
      }
      reading--;
      draw();
      onChange();
    }
  };
  picker.addEventListener("change", async () => {
    await add(picker.files ?? []);
    picker.value = "";
  });
  draw();
  return { node, button, picker, add, set, list: () => attached, isReading: () => reading > 0 };
}

/**
 * Handles files that are dropped or pasted.
 * @param {HTMLElement} node @param {(files: File[]) => void} add
 */
export function acceptFiles(node, add) {
  node.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    node.classList.add("dropping");
  });
  node.addEventListener("dragleave", (event) => {
    if (!(event.relatedTarget instanceof Node && node.contains(event.relatedTarget))) node.classList.remove("dropping");
  });
  node.addEventListener("drop", (event) => {
    node.classList.remove("dropping");
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    add(files);
  });
  node.addEventListener("paste", (event) => {
    const types = event.clipboardData?.types ?? [];
    if (types.includes("text/plain") && types.includes("text/html")) return; // of Word or Excel: the file is a picture of the text
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    add(files);
  });
}
