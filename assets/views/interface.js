// The view of one interface: its frame, a composer for changes, and its versions.

import { age, escapeBidi, h, hasKeyboard, messageOf, setText } from "../dom.js";
import { summaryOf, newInterface, applyMessage } from "../interfaces.js";
import { isGone, newConnections } from "../rpc.js";
import { compareVersions } from "./compare.js";
import { createDraftField } from "./draft-field.js";
import { createFrame } from "./frame.js";
import { dialog, notice } from "./dialog.js";
import { isSubmit } from "./keys.js";

/**
 * @typedef {import("../interfaces.js").Info} Info
 * @typedef {import("../interfaces.js").Interface} Interface
 * @typedef {{id: string, rpc: import("../rpc.js").Connection, navigate: (address: string) => void, onChange: () => void, onTitle: (title: string) => void}} Options
 */

const DRAFT_LENGTH = 4000; // characters shown

/**
 * @param {Options} options
 * @returns {import("../app.js").View}
 */
export function interfaceView({ id, rpc, navigate, onChange, onTitle }) {
  const title = h("h1", { "data-testid": "title" }, "Interface");
  const about = h("p", { class: "subtitle muted" });
  const note = h("p", { class: "muted", role: "status", "data-testid": "note" }, "Loading…");
  const call = (/** @type {string} */ method, more = {}) => rpc.call(`portal.interface.${method}`, { interface_id: id, ...more });
  /** @param {Promise<unknown>} calling */
  const act = (calling) => calling.then(() => composer.fail(""), (error) => composer.fail(error.message));
  const composer = createComposer({ id, onChange: (prompt) => call("change", { prompt }), onStop: () => act(call("cancel")), onMake: () => act(call("make")) });
  const frame = createFrame({ id, rpc, onRepair: (prompt) => void act(call("change", { prompt })), onBack: (version) => void act(call("back", { version })) });
  const versions = createVersions({ onBack: (version) => void act(call("back", { version })), onCompare: (version) => watched && compareVersions(call, watched.info, version) });
  const allowed = h("p", { class: "muted allowed", hidden: true, "data-testid": "allowed" });
  const remove = h("button", { type: "button", class: "danger", "data-testid": "delete", click: () => dialog(`Delete “${title.textContent}”?`,
    [h("p", {}, "The interface and all its versions will be deleted. This cannot be undone.")], "Delete", () => call("delete"), "danger") }, "Delete…");
  const body = h("div", { class: "interface", hidden: true }, h("div", { class: "interface-main" }, frame.node, composer.node), h("div", { class: "interface-side" }, versions.node, allowed));
  const node = h("section", { class: "page interface-page" }, h("header", { class: "top" }, h("div", { class: "top-text" }, title, about), remove), note, body);
  /** @type {Interface | undefined} */ let watched;
  const isNewConnection = newConnections(rpc);
  let changed = false;
  let shown = 0; // the version in the frame
  let isDisposed = false;

  const watch = async () => {
    try {
      const { interface: info } = await call("watch");
      watched = newInterface(info);
      setText(note, "");
      body.hidden = false;
    } catch (error) {
      if (!isGone(error)) setText(note, messageOf(error));
    }
    changed = true;
    onChange();
  };
  /** @param {number} version */
  const load = async (version) => {
    shown = version;
    try {
      const { script, error, version: got } = await call("get", { version });
      if (shown !== version || isDisposed) return;
      if (error) frame.fail(error);
      else frame.show(script, got);
    } catch (error) {
      if (shown === version) shown = 0;
      if (!isGone(error)) frame.fail(messageOf(error));
    }
  };
  const show = (/** @type {Interface} */ state) => {
    const { info } = state;
    if (state.deleted) {
      body.hidden = true;
      remove.hidden = true;
      frame.dispose();
      setText(note, "This interface was deleted.");
      return navigate("#/interfaces");
    }
    setText(title, info.title);
    onTitle(title.textContent ?? "");
    setText(about, summaryOf(info));
    frame.node.hidden = info.current === 0;
    frame.update(info);
    composer.update(state);
    versions.update(info);
    allowed.hidden = !info.allowed;
    if (info.allowed && allowed.dataset.url !== info.allowed) {
      allowed.dataset.url = info.allowed;
      allowed.replaceChildren(escapeBidi(`Can call ${info.allowed} `), h("button", { type: "button", class: "small", "data-testid": "take-back", click: () => void act(call("allow", { base_url: "" })) }, "Revoke"));
    }
    if (info.current && info.current !== shown) void load(info.current);
  };
  return {
    node,
    update() {
      if (isNewConnection()) void watch();
      if (watched && changed) show(watched);
      changed = false;
    },
    receive(message) {
      if (!watched || !applyMessage(watched, message)) return;
      changed = true;
      onChange();
    },
    focus: () => composer.focus(),
    commands: () => (watched && !watched.deleted ? [{ label: "Delete this interface", run: () => remove.click() }] : []),
    dispose() {
      isDisposed = true;
      composer.dispose();
      frame.dispose();
      if (rpc.state === "open") void call("unwatch").catch(() => {}); // it fails only if the connection is lost
    },
  };
}

/** The composer for changes, with their progress. @param {{id: string, onChange: (prompt: string) => Promise<void>, onStop: () => void, onMake: () => void}} options */
function createComposer({ id, onChange, onStop, onMake }) {
  const input = h("textarea", { rows: 1, "aria-label": "What should change", placeholder: "What should change?", "data-testid": "prompt" });
  const send = h("button", { type: "submit", class: "primary", disabled: true, "data-testid": "send" }, "Update");
  const stop = h("button", { type: "button", class: "stop", hidden: true, "data-testid": "stop", click: () => onStop() }, "Stop");
  const progress = h("p", { class: "muted", role: "status", "data-testid": "progress" });
  const draft = h("pre", { class: "draft", tabindex: "0", "aria-label": "Generated code", hidden: true, "data-testid": "draft" });
  const problem = h("p", { class: "error-text problem-text", role: "alert", "data-testid": "problem" });
  const again = h("button", { type: "button", class: "primary", hidden: true, "data-testid": "make", click: () => onMake() }, "Try again");
  const question = h("div", { class: "card", role: "group", "aria-label": "Question", hidden: true, "data-testid": "question" });
  const box = h("div", { class: "box" }, input, h("div", { class: "actions" }, h("span", { class: "keys muted" }, hasKeyboard() ? "Enter to send" : ""), stop, send));
  const node = h("form", { class: "composer" }, progress, draft, problem, again, question, box);
  let busy = false;
  let sending = false;
  let drawn = "";
  const ready = () => void (send.disabled = busy || sending || !input.value.trim());
  const written = createDraftField({ field: input, id: `interface:${id}`, onChange: ready, onRestore: (_, why) => setText(problem, why) });
  /** @param {string} prompt @param {(why: string) => void} fail */
  const ask = async (prompt, fail) => {
    if (sending) return;
    sending = true;
    setText(problem, "");
    ready();
    try {
      await onChange(prompt);
    } catch (error) {
      fail(messageOf(error));
    }
    sending = false;
    ready();
  };
  const submit = () => {
    if (send.disabled) return;
    const text = input.value.trim();
    written.set("");
    void ask(text, (why) => {
      if (!written.restore({ text }, why)) notice("Could not change the interface", h("p", {}, why));
    });
  };
  input.addEventListener("keydown", (event) => {
    if (!isSubmit(event, !hasKeyboard())) return;
    event.preventDefault();
    if (!event.repeat) submit();
  });
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  /** @param {Info["question"]} pending */
  const showQuestion = (pending) => {
    const key = JSON.stringify(pending ?? null);
    question.hidden = !pending || busy;
    if (key === drawn) return;
    drawn = key;
    if (!pending) return question.replaceChildren();
    question.replaceChildren(h("p", {}, pending.text), h("div", { class: "bar-buttons" },
      ...pending.options.map((option) => h("button", { type: "button", click: () => void ask(option, (why) => setText(problem, why)) }, option)),
      h("button", { type: "button", class: "quiet", click: () => onStop() }, "Keep as is")));
  };
  return {
    node,
    focus: () => hasKeyboard() && input.focus(),
    dispose: written.dispose,
    /** @param {string} message */
    fail: (message) => setText(problem, message),
    /** @param {Interface} watched */
    update({ info, draft: code, saveError }) {
      const isNew = Boolean(info.work) && info.current === 0;
      busy = Boolean(info.work);
      stop.hidden = !busy;
      send.hidden = busy;
      node.dataset.busy = String(busy);
      setText(progress, !busy ? "" : `${isNew ? "Creating the interface" : "Updating the interface"}…${code ? ` ${code.split("\n").length} lines` : ""}`);
      draft.hidden = !busy || !code;
      draft.textContent = escapeBidi(code.slice(-DRAFT_LENGTH));
      draft.scrollTop = draft.scrollHeight;
      if (!busy && (info.error || saveError)) setText(problem, info.error || saveError);
      else if (busy) setText(problem, "");
      again.hidden = busy || info.current !== 0;
      input.disabled = info.current === 0;
      box.hidden = info.current === 0 && !busy;
      input.placeholder = info.question ? "Answer in your own words" : "What should change?";
      showQuestion(info.question);
      ready();
    },
  };
}

/** The list of versions, newest first. @param {{onBack: (version: number) => void, onCompare: (version: number) => void}} options */
function createVersions({ onBack, onCompare }) {
  const list = h("ol", { class: "versions", "data-testid": "versions" });
  let drawn = "";
  return {
    node: h("section", { "aria-label": "Versions" }, h("h2", {}, "Versions"), list),
    /** @param {Info} info */
    update({ versions, current, work }) {
      const key = JSON.stringify([versions, current, Boolean(work), Math.floor(Date.now() / 60_000)]);
      if (key === drawn) return;
      drawn = key;
      list.replaceChildren(...[...versions].reverse().map((version) => {
        const { number, prompt, description, assumptions = [], components, created_at: created, based } = version;
        const isCurrent = number === current;
        return h("li", { "aria-current": isCurrent ? "true" : null, "data-version": number },
          h("div", { class: "version-head" }, h("strong", {}, `Version ${number}`), ...(isCurrent ? [h("span", { class: "badge" }, "current")] : []), h("time", { class: "muted", datetime: created, title: new Date(created).toLocaleString() }, age(Date.now() - Date.parse(created)))),
          ...(prompt ? [h("p", { class: "version-prompt" }, prompt)] : []),
          h("p", {}, description),
          ...(assumptions.length > 0 ? [h("details", {}, h("summary", { class: "muted" }, assumptions.length === 1 ? "1 assumption" : `${assumptions.length} assumptions`), h("ul", {}, ...assumptions.map((one) => h("li", {}, one))))] : []),
          h("p", { class: "muted" }, [components === 1 ? "1 component" : `${components} components`, based && based !== number - 1 ? `based on version ${based}` : ""].filter(Boolean).join(" · ")),
          h("div", { class: "bar-buttons" },
            ...(isCurrent ? [] : [h("button", { type: "button", class: "small", disabled: Boolean(work), "aria-label": `Restore version ${number}`, "data-act": "back", click: () => onBack(number) }, "Restore")]),
            ...(versions.length > 1 ? [h("button", { type: "button", class: "small", "aria-label": `Compare version ${number}`, "data-act": "compare", click: () => onCompare(number) }, "Compare")] : [])));
      }));
    },
  };
}
