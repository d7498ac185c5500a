// The frame of a generated interface, with bars for its errors and permission.

import { escapeBidi, h, keepFocus, setText, whileBusy } from "../dom.js";
import { fromBase64, toBase64 } from "../bytes.js";
import { FrameChannel } from "../frame-channel.js";
import { baseVersion, isPrivateURL, repairPrompt } from "../interfaces.js";
import { isComposing } from "./keys.js";

const FRAME = new URL("../frame.html", import.meta.url).href;

/**
 * @typedef {import("../interfaces.js").Info} Info
 * @param {{id: string, rpc: import("../rpc.js").Connection, onRepair: (prompt: string) => void, onBack: (version: number) => void, onRefuse: () => void}} options
 */
export function createFrame({ id, rpc, onRepair, onBack, onRefuse }) {
  const place = h("div", { class: "frame-place", tabindex: "-1", role: "group", "aria-label": "Interface", "data-testid": "frame" });
  const focus = () => place.focus({ preventScroll: true });
  const permission = permissionBar({ id, rpc, onHide: focus, onDecided(allowed) {
    channel?.setAllowed(allowed);
    if (!allowed) onRefuse();
  } });
  const bar = h("div", { class: "frame-bar bad", role: "alert", hidden: true, "data-testid": "trouble" });
  const link = h("div", { class: "frame-bar", role: "status", hidden: true, "data-testid": "link" });
  const node = h("div", { class: "frame" }, permission.node, bar, link, place);
  /** @type {FrameChannel | undefined} */ let channel;
  /** @type {HTMLIFrameElement | undefined} */ let frame;
  /** @type {Info | undefined} */ let info;
  let version = 0;
  let shownError = "";

  /** @param {string} text @param {(Node | false)[]} buttons */
  const showBar = (text, ...buttons) => keepFocus(bar, () => {
    bar.hidden = !text;
    bar.replaceChildren(...(text ? [h("span", {}, text), ...buttons.filter((one) => one !== false)] : []));
  }, focus);
  const restartButton = () => h("button", { type: "button", click: () => current && show(current.script, version) }, "Restart");
  const restoreButton = () => {
    const found = info && baseVersion(info, version);
    return found !== undefined && h("button", { type: "button", "data-testid": "earlier", click: () => onBack(found.number) }, `Restore version ${found.number}`);
  };
  /** @param {string} error */
  const fixButton = (error) => h("button", { type: "button", class: "primary", "data-testid": "repair", click: () => onRepair(repairPrompt(error)) }, "Ask Copilot to fix it");
  /** @type {{script: string} | undefined} */ let current;

  const onChange = () => {
    if (!channel) return;
    permission.ask(channel.needsPermission);
    link.hidden = !channel.link;
    if (channel.link) link.replaceChildren(h("span", {}, `The interface tried to open ${channel.link}. Links are blocked here.`), h("button", { type: "button", class: "quiet", click: () => (link.hidden = true) }, "Dismiss"));
    place.dataset.state = channel.state;
    switch (channel.state) {
      case "hung":
        remove();
        return showBar("Stopped: the interface did not respond for five seconds.", fixButton("The code hangs: it stops responding, as in an endless loop"), restoreButton(), restartButton());
      case "navigated":
        remove();
        return showBar("Stopped: the interface tried to leave its frame.", restoreButton(), restartButton());
      default:
    }
    if (channel.error && channel.error !== shownError) showBar(`Interface error: ${escapeBidi(channel.error)}`, fixButton(channel.error), restoreButton());
    shownError = channel.error;
  };
  const remove = () => {
    keepFocus(place, () => frame?.remove(), focus);
    frame = undefined;
    channel?.drop();
  };
  /** @param {MessageEvent} event */
  const listen = (event) => {
    if (frame && event.source === frame.contentWindow) channel?.receive(event.data);
  };
  /** Runs a script in a new frame. @param {string} script @param {number} number of the version */
  const show = (script, number) => {
    remove();
    showBar("");
    shownError = "";
    version = number;
    current = { script };
    const newFrame = h("iframe", { sandbox: "allow-scripts", title: "Interface", referrerpolicy: "no-referrer" });
    frame = newFrame;
    channel = new FrameChannel({ script, onChange, post: (message, transfer) => newFrame.contentWindow?.postMessage(message, "*", transfer), // its origin is opaque
      async call({ method, url, headers, body }) {
        const answer = await rpc.call("portal.interface.call", { interface_id: id, method, url, headers, body: toBase64(body) });
        return { status: answer.status, statusText: answer.status_text, headers: answer.headers, body: fromBase64(answer.body) };
      } });
    channel.setAllowed(permission.decision());
    newFrame.addEventListener("load", () => frame === newFrame && channel?.loaded());
    newFrame.src = FRAME;
    place.replaceChildren(newFrame);
    onChange();
  };
  const clock = setInterval(() => (document.hidden ? channel?.resetPing() : channel?.tick()), 1000);
  const resetPing = () => channel?.resetPing();
  addEventListener("message", listen);
  document.addEventListener("visibilitychange", resetPing);
  return {
    node,
    show,
    isRefused: permission.isRefused,
    /** Asks again whether it may call its API. */
    askAgain: permission.askAgain,
    /** Shows an error in place of the frame. @param {string} text @param {number} number of the version */
    fail(text, number) {
      remove();
      version = number;
      current = undefined;
      channel = undefined; // it would take the missing frame for one that does not respond
      delete place.dataset.state;
      permission.ask(false);
      link.hidden = true;
      showBar(text, restoreButton());
    },
    /** @param {Info} updated */
    update(updated) {
      info = updated;
      permission.update(updated);
      channel?.setAllowed(permission.decision());
    },
    dispose() {
      clearInterval(clock);
      removeEventListener("message", listen);
      document.removeEventListener("visibilitychange", resetPing);
      remove();
    },
  };
}

/**
 * The bar that asks whether the interface may call its API, and for the API's URL if the description has none.
 * @param {{id: string, rpc: import("../rpc.js").Connection, onDecided: (allowed: boolean) => void, onHide: () => void}} options
 */
function permissionBar({ id, rpc, onDecided, onHide }) {
  const text = h("span", {});
  const address = h("input", { type: "url", "aria-label": "API address", placeholder: "https://api.example.com/v1", "data-testid": "base-url", spellcheck: "false" });
  const problem = h("span", { class: "error-text" });
  const allow = h("button", { type: "button", class: "primary", "data-testid": "allow" }, "Allow");
  const refuse = h("button", { type: "button", "data-testid": "refuse" }, "Don't allow");
  const node = h("div", { class: "frame-bar ask", role: "group", "aria-label": "API access", hidden: true, "data-testid": "permission" }, text, address, problem, h("span", { class: "bar-buttons" }, refuse, allow));
  /** @type {Info | undefined} */ let info;
  let asked = false;
  let refused = false;
  let isPrivate = false; // the portal resolved the URL to this machine or its network
  const url = () => address.value.trim();
  const update = () => {
    const baseURL = url();
    const where = baseURL && (isPrivate || isPrivateURL(baseURL)) ? " This address is on this machine or its local network, so the interface could reach services there." : "";
    setText(text, info?.base_url ? `This interface wants to call ${baseURL}.${where}` : `This interface wants to call its API, but the description has no address. Enter it here.${where}`);
    setText(allow, isPrivate ? "Allow anyway" : "Allow");
    allow.disabled = !baseURL;
  };
  const hide = () => keepFocus(node, () => (node.hidden = true), onHide);
  const decide = async () => {
    await whileBusy(allow, async () => {
      const result = await rpc.call("portal.interface.allow", { interface_id: id, base_url: url(), private: isPrivate });
      isPrivate = result.private;
      if (result.allowed) {
        hide();
        refused = false;
        onDecided(true);
      }
    }, (why) => setText(problem, why));
    update();
  };
  allow.addEventListener("click", () => void decide());
  refuse.addEventListener("click", () => {
    hide();
    refused = true;
    onDecided(false);
  });
  address.addEventListener("input", () => {
    isPrivate = false;
    update();
  });
  address.addEventListener("keydown", (event) => event.key === "Enter" && !isComposing(event) && !allow.disabled && void decide());
  return {
    node,
    decision: () => (info?.allowed ? true : refused ? false : undefined),
    isRefused: () => refused && !info?.allowed,
    askAgain() {
      node.hidden = false;
      update();
      (allow.disabled ? address : allow).focus();
    },
    /** @param {boolean} needed whether calls wait */
    ask(needed) {
      if (needed && !asked) {
        node.hidden = false;
        update();
      }
      if (asked && !needed) hide();
      asked = needed;
    },
    /** @param {Info} updated */
    update(updated) {
      if (!info) address.value = updated.base_url;
      address.hidden = Boolean(updated.base_url);
      if (info?.allowed && !updated.allowed) refused = false; // after a revocation it may ask again
      info = updated;
      if (info.allowed && !node.hidden) hide();
    },
  };
}
