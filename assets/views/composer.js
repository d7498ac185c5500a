// The composer of a session: the box for prompts, with the session's settings, the queue, and what to do while a run works.

import { h, hasKeyboard, messageOf, setText } from "../dom.js";
import { isGone, UNREACHABLE } from "../rpc.js";
import { isCapable } from "../store.js";
import { runInput, writtenIn } from "./attachments.js";
import { createBox } from "./box.js";
import { notice } from "./dialog.js";
import { icon } from "./icons.js";
import { whenBusy } from "./keys.js";
import { createQueue } from "./queue.js";
import { createSettings } from "./settings.js";
import { hasArrived, knownOf, loadUnsent, saveUnsent } from "./unsent.js";

/**
 * @typedef {import("../store.js").Session} Session @typedef {import("./conversation.js").Rpc} Rpc
 * @typedef {import("./box.js").Written} Written
 * @typedef {ReturnType<typeof createComposer>} Composer
 */

/**
 * @param {{session: Session, rpc: Rpc, onSent: () => void, commands: () => import("./commands.js").Command[], earlier: () => Promise<boolean>,
 *   resend: (run: string) => Promise<void>}} options earlier loads earlier items, and returns false if there are none; resend sends a prompt again in a fork
 */
export function createComposer({ session, rpc, onSent, commands, earlier, resend }) {
  const sendText = h("span", { class: "button-text" }, "Send");
  const send = h("button", { type: "submit", class: "primary", "data-testid": "send" }, icon("send"), sendText);
  const steer = h("button", { type: "button", class: "with-icon", title: "The agent reads it before its next step (Ctrl+Enter)", "data-testid": "steer", hidden: true, click: () => submit("steer") },
    icon("steer"), h("span", { class: "button-text" }, "Steer"));
  const stopButton = h("button", { type: "button", class: "stop with-icon", title: "Stop (Esc)", "data-testid": "stop", hidden: true }, icon("stop"), h("span", { class: "button-text" }, "Stop"));
  const keys = h("span", { class: "keys muted", "aria-hidden": "true" });
  let stopping = "";

  /** @param {string} message */
  const showError = (message) => box.showError(message);
  const settings = createSettings({ session, rpc, onError: showError });
  const queue = createQueue({ session, rpc, onError: showError, onLost: (text) => void box.restore({ text, attached: [], mentions: [] }, "") });
  const box = createBox({
    draft: session.id,
    above: [queue.node],
    buttons: [stopButton, steer, send],
    chips: [...settings.nodes, keys],
    findFiles: (query) => rpc.call("portal.files.complete", { session_id: session.id, query }),
    commands,
    prompts: () => session.items.flatMap((item) => (item.kind === "prompt" ? [item.text] : [])),
    onSubmit: (action) => submit(action),
    onChange: () => update(),
  });

  /** Takes prompts out of the box that the portal got before the connection broke. */
  const takeOutArrived = () => {
    const unsent = loadUnsent(sessionStorage, session.id);
    const arrived = unsent.filter(({ text, ...known }) => hasArrived(session, text, known));
    if (arrived.length === 0) return;
    saveUnsent(sessionStorage, session.id, unsent.filter((one) => !arrived.includes(one)));
    for (const { text, names } of arrived) box.takeOut(text, names);
  };
  /** Whether the portal may have what is in the box: that shows when the session is attached again. */
  const isUnsure = () => session.detached && loadUnsent(sessionStorage, session.id).length > 0;
  const update = () => {
    takeOutArrived();
    const running = session.run !== "";
    const empty = box.isEmpty();
    if (rpc.state === "open") box.dropError(UNREACHABLE);
    stopButton.hidden = !running;
    stopButton.disabled = running && stopping === session.run;
    const steers = isCapable(session, "steering");
    steer.hidden = !running || empty || !steers;
    send.hidden = running && empty;
    send.disabled = steer.disabled = empty || box.isReading() || isUnsure();
    setText(sendText, running ? "Queue" : "Send");
    setText(keys, hasKeyboard() ? keysText(running, empty, steers) : "");
    settings.update();
    queue.update();
  };

  /** @param {Written} written @param {"queue" | "steer"} busy */
  const start = async (written, busy) => {
    const { input, attachments: files } = runInput(written.text, written.attached, written.mentions);
    const portal = { mode: settings.mode(), when_busy: busy, attachments: files };
    const names = written.attached.map(({ name }) => name);
    const known = knownOf(session);
    const entry = queue.add(written.text || names.join(", "));
    try {
      const { run_id: run } = await rpc.call("run.start", { session_id: session.id, input, portal });
      queue.accepted(entry, run);
    } catch (error) {
      queue.remove(entry);
      if (isGone(error)) saveUnsent(sessionStorage, session.id, [...loadUnsent(sessionStorage, session.id), { text: written.text, names, ...known }]);
      giveBack(written, messageOf(error));
    }
    box.refresh();
  };
  /** Puts what could not be sent into the box, or tells the user, who has left it. @param {Written} written @param {string} why */
  const giveBack = (written, why) => {
    if (box.restore(written, why)) return;
    notice("Could not send the prompt", h("p", {}, why), h("p", {}, `It is in the box of “${session.title || "Untitled"}”.`));
  };
  /** @param {"send" | "steer"} action */
  const submit = (action) => {
    if (send.disabled) return;
    const written = box.written();
    saveUnsent(sessionStorage, session.id, []); // what is in the box is sent again
    box.clear();
    onSent();
    void start(written, whenBusy(action));
  };
  /** Returns the prompt of a run, which is loaded if necessary. @param {string} run */
  const promptOf = async (run) => {
    for (;;) {
      const found = session.items.find((item) => item.kind === "prompt" && item.run === run && !item.steers);
      if (found?.kind === "prompt") return found;
      const isFirst = session.items.findIndex((item) => item.run === run) <= 0; // what is before it may be its prompt
      if (!isFirst || !await earlier()) throw new Error("The prompt is no longer available.");
    }
  };
  const stop = () => {
    const run = session.run;
    if (!run || stopping === run) return false;
    stopping = run;
    update();
    rpc.call("run.cancel", { run_id: run }).catch((error) => {
      stopping = "";
      showError(error.message);
      update();
    });
    return true;
  };
  stopButton.addEventListener("click", stop);
  update();

  return {
    node: box.node,
    update,
    stop,
    chooseModel: settings.choose,
    permit: settings.permit,
    focus: () => hasKeyboard() && box.focus(),
    typing: box.typing,
    accept: box.accept,
    /** Compacts the conversation. */
    compact: () => rpc.call("portal.session.compact", { session_id: session.id }).then(onSent, (error) => showError(error.message)),
    /** Sends the prompt of a run again. @param {string} run */
    async retry(run) {
      showError("");
      try {
        const prompt = await promptOf(run);
        const written = writtenIn(prompt);
        if (!written) return await resend(run);
        onSent();
        await start(written, "queue");
      } catch (error) {
        showError(messageOf(error));
      }
    },
    dispose: box.dispose,
  };
}

/** @param {boolean} running @param {boolean} empty @param {boolean} steers */
function keysText(running, empty, steers) {
  if (empty) return "";
  if (running && !steers) return "Enter to queue";
  return running ? "Enter to queue, Ctrl+Enter to steer" : "Enter to send, Shift+Enter for a new line";
}
