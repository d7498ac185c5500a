// The view of one interface: its frame, a composer for changes, and its versions.

import { age, escapeBidi, h, hasKeyboard, keepFocus, keyedRows, lateFocus, messageOf, setText } from "../dom.js";
import { summaryOf, newInterface, applyMessage } from "../interfaces.js";
import { isGone, newConnections } from "../rpc.js";
import { compareVersions } from "./compare.js";
import { createDraftField } from "./draft-field.js";
import { createFrame } from "./frame.js";
import { dialog, notice } from "./dialog.js";
import { keep, loadKept } from "./kept.js";
import { isSubmit } from "./keys.js";

/**
 * @typedef {import("../interfaces.js").Info} Info
 * @typedef {import("../interfaces.js").Interface} Interface
 * @typedef {import("../interfaces.js").Version} Version
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
  const frame = createFrame({ id, rpc, onRepair: (prompt) => void act(call("change", { prompt })), onBack: (version) => void act(call("back", { version })), onRefuse: () => update() });
  const versions = createVersions({ onBack: (version) => void act(call("back", { version })), onCompare: (version) => watched && compareVersions(call, watched.info, version) });
  const access = createAccess({ onRevoke: () => void act(call("allow", { base_url: "" })), onAllow: () => frame.askAgain() });
  const remove = h("button", { type: "button", class: "danger", "data-testid": "delete", click: () => dialog(`Delete “${title.textContent}”?`,
    [h("p", {}, "The interface and all its versions will be deleted. This cannot be undone.")], "Delete", () => call("delete"), "danger") }, "Delete…");
  const body = h("div", { class: "interface", hidden: true }, h("div", { class: "interface-main" }, frame.node, composer.node), h("div", { class: "interface-side" }, versions.node, access.node));
  const node = h("section", { class: "page interface-page" }, h("header", { class: "top" }, h("div", { class: "top-text" }, title, about), remove), note, body);
  /** @type {Interface | undefined} */ let watched;
  const isNewConnection = newConnections(rpc);
  let changed = false;
  let shown = 0; // the version in the frame
  let isDisposed = false;
  const focus = lateFocus(() => hasKeyboard() && composer.focus());
  const update = () => {
    changed = true;
    onChange();
  };

  const watch = async () => {
    try {
      const { interface: info } = await call("watch");
      if (isDisposed) return;
      watched = newInterface(info);
      setText(note, "");
      body.hidden = false;
      draw();
      focus.shown();
    } catch (error) {
      if (!isGone(error)) setText(note, messageOf(error));
    }
    update();
  };
  /** @param {number} version */
  const load = async (version) => {
    shown = version;
    try {
      const { script, error, version: got } = await call("get", { version });
      if (shown !== version || isDisposed) return;
      if (error) frame.fail(error, got);
      else frame.show(script, got);
    } catch (error) {
      if (shown !== version || isDisposed) return;
      shown = 0;
      if (!isGone(error)) frame.fail(messageOf(error), version);
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
    access.update(info.allowed, frame.isRefused());
    if (info.current && info.current !== shown) void load(info.current);
  };
  const draw = () => keepFocus(node, () => show(/** @type {Interface} */ (watched)), composer.focus);
  return {
    node,
    update() {
      if (isNewConnection()) void watch();
      if (watched && changed) draw();
      changed = false;
    },
    receive(message) {
      if (watched && applyMessage(watched, message)) update();
    },
    focus: focus.focus,
    commands: () => (watched && !watched.deleted ? [{ label: "Delete this interface", run: () => remove.click() }] : []),
    dispose() {
      isDisposed = true;
      composer.dispose();
      frame.dispose();
      if (rpc.state === "open") void call("unwatch").catch(() => {}); // it fails only if the connection is lost
    },
  };
}

/** What the interface may call, with a button that changes it. @param {{onRevoke: () => void, onAllow: () => void}} options */
function createAccess({ onRevoke, onAllow }) {
  const text = h("span", {});
  const revoke = h("button", { type: "button", class: "small", "data-testid": "take-back", click: onRevoke }, "Revoke");
  const allow = h("button", { type: "button", class: "small", "data-testid": "allow-later", click: onAllow }, "Allow…");
  const node = h("p", { class: "muted allowed", hidden: true, "data-testid": "allowed" }, text, " ", revoke, allow);
  return {
    node,
    /** @param {string} allowed the base URL, or "" @param {boolean} isRefused */
    update(allowed, isRefused) {
      node.hidden = !allowed && !isRefused;
      setText(text, allowed ? `Can call ${allowed}` : "Cannot call its API.");
      revoke.hidden = !allowed;
      allow.hidden = !revoke.hidden;
    },
  };
}

const NO_RESULT = "The last request has no result."; // its portal ended before it had one, or another one works on it

/** The composer for changes, with their progress. @param {{id: string, onChange: (prompt: string) => Promise<void>, onStop: () => void, onMake: () => void}} options */
function createComposer({ id, onChange, onStop, onMake }) {
  const input = h("textarea", { rows: 1, "aria-label": "What should change", placeholder: "What should change?", "data-testid": "prompt" });
  const send = h("button", { type: "submit", class: "primary", disabled: true, "data-testid": "send" }, "Update");
  const stop = h("button", { type: "button", class: "stop", hidden: true, "data-testid": "stop", click: () => onStop() }, "Stop");
  const progress = h("span", { role: "status", "data-testid": "progress" });
  const lines = h("span", { "data-testid": "lines" }); // it changes all the time, so it is not announced
  const draft = h("pre", { class: "draft", tabindex: "0", "aria-label": "Generated code", hidden: true, "data-testid": "draft" });
  const problem = h("p", { class: "error-text problem-text", role: "alert", "data-testid": "problem" });
  const again = h("button", { type: "button", class: "primary", hidden: true, "data-testid": "make", click: () => onMake() }, "Try again");
  const question = h("div", { class: "card", role: "group", "aria-label": "Question", hidden: true, "data-testid": "question" });
  const box = h("div", { class: "box" }, input, h("div", { class: "actions" }, h("span", { class: "keys muted" }, hasKeyboard() ? "Enter to send" : ""), stop, send));
  const node = h("form", { class: "composer", tabindex: "-1", "aria-label": "Changes" }, h("p", { class: "muted progress" }, progress, lines), draft, problem, again, question, box);
  const RETURNED = `returned:${id}`; // the last request that was put back into the box
  let busy = false;
  let sending = false;
  let drawn = "";
  const ready = () => void (send.disabled = busy || sending || !input.value.trim());
  const written = createDraftField({ field: input, id: `interface:${id}`, onChange: ready, onRestore: (_, why) => setText(problem, why) });
  /** Focuses the box, or all of this while there is none. */
  const focus = () => (hasKeyboard() && !input.disabled && !box.hidden ? input : node).focus({ preventScroll: true });
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
    const returned = loadKept(sessionStorage, RETURNED);
    keep(sessionStorage, RETURNED, undefined); // it may fail again
    keepFocus(node, () => written.set(""), focus);
    void ask(text, (why) => {
      keep(sessionStorage, RETURNED, returned); // the last request of the interface is the same
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
  /** Puts a request that had no result into the box, once. @param {string} request @param {string} why */
  const giveBack = (request, why) => {
    const returned = loadKept(sessionStorage, RETURNED) ?? "";
    if (request === returned) return;
    keep(sessionStorage, RETURNED, request || undefined);
    if (!request && problem.textContent === NO_RESULT) { // another portal made it, or it begins only now
      setText(problem, "");
      if (input.value === returned) written.set("");
    }
    if (request && !input.value.includes(request)) written.restore({ text: request }, why);
  };
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
    focus,
    dispose: written.dispose,
    /** @param {string} message */
    fail: (message) => setText(problem, message),
    /** @param {Interface} watched */
    update({ info, draft: code, saveError, failed }) {
      const isNew = Boolean(info.work) && info.current === 0;
      busy = Boolean(info.work);
      giveBack(failed, info.error || saveError || NO_RESULT); // before the problem is replaced
      stop.hidden = !busy;
      send.hidden = busy;
      node.dataset.busy = String(busy);
      setText(progress, !busy ? "" : isNew ? "Creating the interface…" : "Updating the interface…");
      setText(lines, busy && code ? ` ${code.split("\n").length} lines` : "");
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

/** The list of versions, newest first. @param {VersionActions} options */
function createVersions(options) {
  const list = h("ol", { class: "versions", "data-testid": "versions" });
  const rows = keyedRows((/** @type {ShownVersion} */ { version }) => version.number, ({ version }) => createVersion(version, options));
  return {
    node: h("section", { "aria-label": "Versions" }, h("h2", {}, "Versions"), list),
    /** @param {Info} info */
    update({ versions, current, work }) {
      rows.show(list, [...versions].reverse().map((version) => ({ version, isCurrent: version.number === current, isOnly: versions.length === 1, isBusy: Boolean(work) })));
    },
  };
}

/**
 * @typedef {{onBack: (version: number) => void, onCompare: (version: number) => void}} VersionActions
 * @typedef {{version: Version, isCurrent: boolean, isOnly: boolean, isBusy: boolean}} ShownVersion
 * @param {Version} version @param {VersionActions} actions
 */
function createVersion({ number, prompt, description, assumptions = [], components, created_at: created, based }, { onBack, onCompare }) {
  const badge = h("span", { class: "badge" }, "current");
  const time = h("time", { class: "muted", datetime: created, title: new Date(created).toLocaleString() });
  const back = h("button", { type: "button", class: "small", "aria-label": `Restore version ${number}`, "data-act": "back", click: () => onBack(number) }, "Restore");
  const compare = h("button", { type: "button", class: "small", "aria-label": `Compare version ${number}`, "data-act": "compare", click: () => onCompare(number) }, "Compare");
  const node = h("li", { "data-version": number },
    h("div", { class: "version-head" }, h("strong", {}, `Version ${number}`), badge, time),
    ...(prompt ? [h("p", { class: "version-prompt" }, prompt)] : []),
    h("p", {}, description),
    ...(assumptions.length > 0 ? [h("details", {}, h("summary", { class: "muted" }, assumptions.length === 1 ? "1 assumption" : `${assumptions.length} assumptions`), h("ul", {}, ...assumptions.map((one) => h("li", {}, one))))] : []),
    h("p", { class: "muted" }, [components === 1 ? "1 component" : `${components} components`, based && based !== number - 1 ? `based on version ${based}` : ""].filter(Boolean).join(" · ")),
    h("div", { class: "bar-buttons" }, back, compare));
  return {
    node,
    /** @param {ShownVersion} shown */
    update: ({ isCurrent, isOnly, isBusy }) => keepFocus(node, () => {
      node.ariaCurrent = isCurrent ? "true" : null;
      badge.hidden = !isCurrent;
      setText(time, age(Date.now() - Date.parse(created)));
      back.hidden = isCurrent;
      back.disabled = isBusy;
      compare.hidden = isOnly;
    }, () => compare.focus({ preventScroll: true })),
  };
}
