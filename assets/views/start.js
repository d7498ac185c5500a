// A new session: what it needs, what to try, and what is missing before the agent can work.

import { h, messageOf, setText } from "../dom.js";
import { sessionAddress } from "../route.js";
import { createAttachments, runInput, acceptFiles } from "./attachments.js";
import { directoryField, saveDirectory, suggestDirectory } from "./directory.js";
import { modelField } from "./models.js";
import { setupCard } from "./setup.js";

const LAST = { model: "portal.model", permissions: "portal.permissions", draft: "portal.draft" }; // names in the browser's storage

/** What to try, by model: the scripted one follows keywords only. */
const EXAMPLES = {
  demo: ["think, then show markdown", "run `git status` and say `done`", "ask `Which colour?` choices `red` `green`"],
  real: ["Explain what this project does and how it is built.", "Run the tests and tell me what fails and why.", "Review the last commit and point out mistakes."],
};

/** @type {{id: string, name: string, text: string}[]} */
const PERMISSIONS = [
  { id: "ask", name: "Ask me", text: "Reads freely. Asks before changing files or running commands." },
  { id: "allow", name: "Allow everything", text: "Changes files and runs any command without asking." },
  { id: "deny", name: "Deny", text: "Denies everything that needs your permission." },
];

/**
 * @param {{rpc: import("../rpc.js").Connection, sessions: import("../sessions.js").Sessions, navigate: (address: string) => void,
 *   list: () => import("../list.js").List}} options
 * @returns {import("../app.js").View}
 */
export function startView({ rpc, sessions, navigate, list }) {
  const setup = h("div", { class: "setup-place" }); // below what is written, which does not move when it comes
  const problem = h("p", { class: "error-text", role: "alert" });
  const directory = directoryField({ rpc });
  const models = modelField({ onChange: () => show() });
  const permissions = permissionField();
  const prompt = h("textarea", { "data-testid": "prompt", rows: 3, "aria-label": "Prompt", placeholder: "Ask a question or describe a task" });
  const attachments = createAttachments({ onChange: () => show(), onError: (message) => (problem.textContent = message) });
  const send = h("button", { class: "primary", "data-testid": "send", type: "submit", disabled: true }, "Start");
  const examples = h("ul", { class: "examples" });
  const form = h("form", { class: "start-form" },
    h("div", { class: "box" }, prompt, attachments.node, h("div", { class: "actions" }, attachments.button, attachments.picker,
      h("span", { class: "muted keys" }, h("kbd", {}, "Enter"), " to start, ", h("kbd", {}, "Shift"), "+", h("kbd", {}, "Enter"), " for a new line"), send)),
    problem,
    h("section", { class: "try" }, h("h2", {}, "Examples"), examples),
    models.node, setup, directory.node, permissions.node);
  const node = h("section", { class: "page", "data-testid": "start" },
    h("header", { class: "top" }, h("h1", {}, "New session")),
    h("div", { class: "scroll" }, h("div", { class: "column start" }, form)));

  let sending = false;
  let ready = false;
  /** A session that was begun, but did not get its prompt. */
  let begun = { key: "", id: "" };
  let shownFor = "";

  const show = () => {
    send.disabled = sending || !ready || !models.value || !prompt.value.trim() && attachments.list().length === 0;
    setText(send, sending ? "Starting…" : "Start");
    const kind = models.value === "demo" ? "demo" : "real";
    if (kind === shownFor) return;
    shownFor = kind;
    examples.replaceChildren(...EXAMPLES[kind].map((text) => h("li", {}, h("button", { type: "button", class: "example", click: () => {
      prompt.value = text;
      prompt.focus();
      show();
    } }, text))));
  };

  const load = async () => {
    const [offered] = await Promise.allSettled([rpc.call("model.list", { include_details: true })]);
    const [status] = await Promise.allSettled([rpc.call("portal.status")]); // then the agent has shown what it is like
    const gone = [offered, status].some((result) => result.status === "rejected" && result.reason.code === "gone");
    if (gone) return; // it is asked again when the connection is back
    ready = true;
    const why = offered.status === "rejected" ? offered.reason.message : "";
    const found = offered.status === "fulfilled" ? offered.value : { models: [] };
    models.show(found, localStorage.getItem(LAST.model) ?? "");
    const card = setupCard(status.status === "fulfilled" ? status.value.agent : undefined, why, found.models, load);
    setup.replaceChildren(...(card ? [card] : []));
  };

  const place = async () => {
    const found = await suggestDirectory(rpc, list());
    if (found && !directory.value) directory.value = found;
  };

  /** The session for what is chosen, made only once. */
  const session = async () => {
    const chosen = { directory: directory.value, model: models.value, permissions: permissions.value === "ask" ? {} : { "*": permissions.value } };
    const key = JSON.stringify(chosen);
    if (begun.key === key) return begun.id;
    const { session_id: id } = await rpc.call("portal.session.start", chosen);
    begun = { key, id };
    return id;
  };

  const start = async () => {
    const text = prompt.value;
    if (send.disabled) return;
    sending = true;
    prompt.readOnly = true;
    problem.textContent = "";
    show();
    try {
      const id = await session();
      await sessions.open(id); // first, so that all of its times are known
      const { input, attachments: files } = runInput(text, attachments.list(), []);
      await rpc.call("run.start", { session_id: id, input, portal: { attachments: files } });
      localStorage.setItem(LAST.model, models.value);
      saveDirectory(directory.value);
      localStorage.setItem(LAST.permissions, permissions.value);
      sessionStorage.removeItem(LAST.draft);
      prompt.value = "";
      attachments.set([]);
      navigate(sessionAddress(id));
    } catch (error) {
      problem.textContent = messageOf(error);
    }
    sending = false;
    prompt.readOnly = false;
    show();
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void start();
  });
  acceptFiles(node, (files) => void attachments.add(files));
  prompt.addEventListener("input", show);
  prompt.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!event.repeat) void start();
  });

  prompt.value = sessionStorage.getItem(LAST.draft) ?? "";
  show();
  let opened = false;
  return {
    node,
    update() {
      if (rpc.state === "open" && !opened) {
        void place();
        void load();
      }
      opened = rpc.state === "open";
    },
    focus: () => matchMedia("(hover: hover)").matches && prompt.focus(), // no keyboard jumps up on a phone
    dispose() {
      if (prompt.value) sessionStorage.setItem(LAST.draft, prompt.value);
    },
  };
}

/** What the agent may do, with what that means. */
function permissionField() {
  const last = localStorage.getItem(LAST.permissions);
  const chosen = PERMISSIONS.some(({ id }) => id === last) ? last : "ask";
  const node = h("div", { class: "field" }, h("span", { class: "field-name" }, "Permissions"),
    h("div", { class: "permissions", role: "radiogroup", "aria-label": "Permissions", "data-testid": "permissions" },
      ...PERMISSIONS.map(({ id, name, text }) => h("label", { class: "permission" },
        h("input", { type: "radio", name: "permissions", value: id, checked: id === chosen }), h("strong", {}, name), h("span", { class: "muted" }, text)))));
  return {
    node,
    get value() {
      return node.querySelector(/** @type {"input"} */ ("input:checked"))?.value ?? "ask";
    },
  };
}
