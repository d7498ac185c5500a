// A field whose text is a draft: it survives a reload, and a view that is left and opened again while the text is being sent. What comes back then
// goes into the field that is shown by that time.

import { joinTexts, loadDraft, mentionsIn, saveDraft } from "./drafts.js";

/** @typedef {{text: string, mentions?: string[]}} Written */

/** The fields that are shown, by draft. @type {Map<string, {put: (written: any, why: string) => void, drop: (sent: string) => void, onChange: () => void}>} */
const shown = new Map();

/**
 * @template {Written} W
 * @param {object} options
 * @param {HTMLTextAreaElement} options.field
 * @param {string} options.id what the draft belongs to
 * @param {() => void} options.onChange the text has changed
 * @param {(written: W, why: string) => void} [options.onRestore] something could not be sent; its text follows
 * @param {() => void} [options.onForget] the text was sent; by default, the field becomes empty
 */
export function createDraftField({ field, id, onChange, onRestore, onForget }) {
  /** @type {import("./drafts.js").Draft} */
  let draft;
  const save = () => {
    draft = { text: field.value, mentions: mentionsIn(field.value, draft.mentions) };
    saveDraft(sessionStorage, id, draft);
  };
  /** @param {string} text */
  const set = (text) => {
    field.value = text;
    save();
    onChange();
  };
  const self = {
    onChange,
    /** @param {W} written @param {string} why */
    put(written, why) {
      draft.mentions.push(...(written.mentions ?? []));
      onRestore?.(written, why);
      set(joinTexts(written.text, field.value));
    },
    /** @param {string} sent */
    drop(sent) {
      if (field.value.trim() !== sent) return;
      if (onForget) onForget();
      else set("");
    },
  };
  /** Returns the field that is shown, else this one, with what was written since it was left. */
  const latest = () => {
    const other = shown.get(id);
    if (!other) load();
    return other ?? self;
  };
  const load = () => {
    draft = loadDraft(sessionStorage, id);
    field.value = draft.text;
  };

  load();
  field.addEventListener("input", () => {
    save();
    onChange();
  });
  shown.set(id, self);
  return {
    set,
    /** Files of the directory that the text mentions. */
    mentions: () => mentionsIn(field.value, draft.mentions),
    /** @param {string} path */
    mention: (path) => void draft.mentions.push(path),
    /** Puts back what could not be sent, before what was written meanwhile. Returns false if no field shows it. @param {W} written @param {string} why */
    restore(written, why) {
      latest().put(written, why);
      return shown.has(id);
    },
    /** Deletes what was sent, but not what was written meanwhile. @param {string} sent */
    forget: (sent) => latest().drop(sent),
    /** Updates what is shown beside the field. */
    refresh: () => shown.get(id)?.onChange(),
    dispose() {
      if (shown.get(id) === self) shown.delete(id);
    },
  };
}
