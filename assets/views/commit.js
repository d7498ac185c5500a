// Commits and pull requests from the panel of changes.

import { h, setText, whileBusy, withCommands } from "../dom.js";
import { commitLabel, commitNotes, committedText, notCommittedText, pullCommands } from "../commit.js";
import { STATUSES, fileNotes } from "../changes.js";
import { dialog } from "./dialog.js";

/**
 * @typedef {import("../commit.js").CommitProposal} CommitProposal @typedef {import("../commit.js").PullProposal} PullProposal
 * @typedef {(method: string, params?: Record<string, unknown>) => Promise<any>} Call calls a method for the session
 */

/**
 * The button that commits, and the line that says what became of it and offers a pull request.
 * @param {{call: Call, scope: () => string, onCommit: () => void}} options scope is the run in view, or ""
 */
export function commitTools({ call, scope, onCommit }) {
  const problem = h("p", { class: "change-problem", role: "alert" });
  const text = h("span", { role: "status", "data-testid": "committed" });
  const draft = { message: "" }; // of a commit that was not made
  const pull = askButton("Create pull request…", problem, async () => {
    const proposal = /** @type {PullProposal} */ (await call("pull_request.propose"));
    if (!pull.isConnected) return; // another session is shown
    if (!proposal.available) throw new Error(`No pull request can be created: ${proposal.reason}`);
    pullDialog(call, proposal, (url) => {
      setText(text, "Pull request created: ");
      if (url.startsWith("https://github.com/")) text.append(h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, url.slice("https://github.com/".length)));
      pull.hidden = true;
    });
  });
  pull.dataset.testid = "pull-request";
  const line = h("div", { class: "changes-undo", hidden: true, "data-testid": "commit-line" }, text, pull, problem);
  const button = askButton("Commit…", problem, async () => {
    line.hidden = true;
    const params = scope() ? { run_id: scope() } : {};
    const proposal = /** @type {CommitProposal} */ (await call("commit.propose", params));
    if (!button.isConnected) return; // another session is shown
    /** @param {string} said @param {boolean} [canPull] */
    const show = (said, canPull = true) => {
      line.hidden = false;
      pull.hidden = !canPull;
      problem.replaceChildren();
      text.replaceChildren(...withCommands(said));
    };
    if (!proposal.available) return show(notCommittedText(proposal), proposal.files.length === 0);
    commitDialog(call, proposal, draft, call("commit.propose", { ...params, ask: true }), (result) => {
      show(committedText(result));
      onCommit();
    });
  }, () => (line.hidden = false));
  button.dataset.testid = "commit";
  return { button, line };
}

/** A button for something that first asks the portal. @param {string} label @param {HTMLElement} problem @param {() => Promise<void>} act @param {() => void} [onProblem] */
function askButton(label, problem, act, onProblem = () => {}) {
  /** @param {string} text */
  const report = (text) => {
    problem.replaceChildren(...(text ? [h("span", { class: "error-text" }, text)] : []));
    if (text) onProblem();
  };
  const button = h("button", { type: "button", class: "quiet small", click: () => void whileBusy(button, act, report) }, label);
  return button;
}

/**
 * Asks for the files and the message of a commit.
 * @param {Call} call @param {CommitProposal} proposal @param {{message: string}} draft what the user wrote before, "" for nothing @param {Promise<CommitProposal>} asked with the message of the model
 * @param {(result: {commit: string, branch: string, files: number}) => void} onCommit
 */
function commitDialog(call, proposal, draft, asked, onCommit) {
  const boxes = proposal.files.map((file) => {
    const box = h("input", { type: "checkbox", checked: !file.problem, disabled: Boolean(file.problem) });
    const notes = [...(file.problem ? [`Not committed: ${file.problem}`] : []), ...fileNotes(file)];
    const [letter, meaning] = STATUSES[file.status] ?? ["?", file.status];
    const label = h("label", { class: "commit-file" }, box, h("span", { class: "change-mark", "aria-hidden": "true" }, letter), h("span", { class: "hidden-text" }, `${meaning}: `),
      h("bdi", { class: "path" }, file.path), ...notes.map((note) => h("span", { class: "change-note" }, note)));
    label.dataset.path = file.path;
    return { box, label, path: file.path };
  });
  const chosen = () => boxes.filter(({ box }) => box.checked && !box.disabled).map(({ path }) => path);
  const message = h("textarea", { rows: 4, "aria-label": "Message", required: true, maxlength: 20000, spellcheck: true });
  message.value = draft.message || proposal.message;
  const status = h("p", { class: "muted", role: "status" }, "Writing a message…");
  const all = h("input", { type: "checkbox", checked: true });
  const files = h("fieldset", { class: "commit-files" }, h("legend", {}, "Files"), ...(boxes.length > 1 ? [h("label", { class: "commit-file" }, all, "All files")] : []), ...boxes.map(({ label }) => label));
  const node = dialog(`Commit to ${proposal.branch || "no branch"}`, [files, h("label", { class: "commit-message" }, "Message", message), status,
    ...commitNotes(proposal).map((note) => h("p", { class: "muted" }, note))], commitLabel(chosen().length), async () => {
    onCommit(await call("commit.create", { paths: chosen(), message: message.value, branch: proposal.branch }));
    draft.message = "";
  });
  node.classList.add("wide-dialog");
  node.dataset.testid = "commit-dialog";
  const submit = /** @type {HTMLButtonElement} */ (node.querySelector("button[type=submit]"));
  const update = () => {
    const count = chosen().length;
    const most = boxes.filter(({ box }) => !box.disabled).length;
    all.checked = count === most;
    all.indeterminate = count > 0 && count < most;
    setText(submit, commitLabel(count));
    submit.disabled = count === 0;
  };
  all.addEventListener("change", () => {
    for (const { box } of boxes) if (!box.disabled) box.checked = all.checked;
    update();
  });
  files.addEventListener("change", update);
  update();
  let isEdited = draft.message !== "";
  message.focus();
  if (!isEdited) message.select(); // typing replaces it
  message.addEventListener("input", () => {
    isEdited = true;
    draft.message = message.value;
  });
  asked.then(({ message: text, by_model: byModel }) => {
    if (byModel && !isEdited) {
      message.value = text;
      if (document.activeElement === message) message.select();
    }
    setText(status, byModel ? (isEdited ? "" : "The model wrote this message.") : "The message is from your prompt.");
  }, () => setText(status, "The message is from your prompt."));
}

/** Shows what creates a pull request, and does it. @param {Call} call @param {PullProposal} proposal @param {(url: string) => void} onCreated */
function pullDialog(call, proposal, onCreated) {
  const title = h("input", { type: "text", value: proposal.title, required: true, maxlength: 256 });
  const body = h("textarea", { rows: 6, maxlength: 65536 });
  body.value = proposal.body;
  const commands = h("pre", { class: "commit-commands", tabindex: "0", role: "group", "aria-label": "Commands" }, h("code"));
  const update = () => setText(/** @type {HTMLElement} */ (commands.firstElementChild), pullCommands(proposal.commands, title.value));
  title.addEventListener("input", update);
  update();
  const to = `${proposal.branch} → ${proposal.repository}${proposal.base ? ` (${proposal.base})` : ""}`;
  const node = dialog("Create pull request", [h("p", {}, h("bdi", {}, to)), h("label", { class: "commit-message" }, "Title", title), h("label", { class: "commit-message" }, "Description", body),
    h("div", {}, h("p", { class: "muted" }, "This pushes the branch, never by force, and creates the pull request. The portal runs:"), commands)], "Push and create", async () => {
    const { url } = await call("pull_request.create", { commands: proposal.commands, title: title.value.trim(), body: body.value });
    onCreated(url);
  });
  node.classList.add("wide-dialog");
  node.dataset.testid = "pull-dialog";
  title.focus();
  title.setSelectionRange(title.value.length, title.value.length);
}
