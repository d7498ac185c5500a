// What commits and pull requests say. Pure.

import { countFiles } from "./changes.js";

/**
 * The results of portal.commit.propose and portal.pull_request.propose (spec/page.md, "Commits").
 *
 * @typedef {import("./changes.js").FileChange & {problem?: string}} CommitFile
 * @typedef {{available: boolean, reason?: string, branch: string, author: string, message: string, by_model: boolean, files: CommitFile[],
 *   other_staged: number, skipped_hooks: string[], skips_signature: boolean}} CommitProposal
 * @typedef {{available: boolean, reason?: string, repository: string, branch: string, base: string, title: string, body: string, commits: number,
 *   commands: string[]}} PullProposal
 */

/** @param {number} files */
export const commitLabel = (files) => (files === 0 ? "Commit" : `Commit ${countFiles(files)}`);

/** Says what a commit does and goes without. @param {CommitProposal} proposal @returns {string[]} */
export function commitNotes({ branch, author, other_staged: staged, skipped_hooks: hooks, skips_signature: unsigned }) {
  const without = [hooks.length > 0 && `does not run hooks (${hooks.join(", ")})`, unsigned && "does not sign"].filter(Boolean).join(" and ");
  return [
    `Author: ${author}`,
    !branch && "HEAD is detached: the commit is on no branch.",
    staged > 0 && `${countFiles(staged)} that you staged ${staged === 1 ? "stays" : "stay"} staged.`,
    without && `The portal ${without}, because the repository names these programs. Commit in a terminal if you need them.`,
  ].filter((note) => typeof note === "string" && note !== "").map(String);
}

/** @param {{commit: string, branch: string, files: number}} result */
export const committedText = ({ commit, branch, files }) => `Committed ${countFiles(files)}${branch ? ` to ${branch}` : ""} (${commit.slice(0, 8)})`;

/** Says why nothing can be committed. @param {Pick<CommitProposal, "reason" | "files">} proposal */
export const notCommittedText = ({ reason = "", files }) => `${files.length > 0 ? "Cannot commit" : "Nothing to commit"}: ${reason}`;

/** Writes the commands of a pull request with another title. @param {string[]} commands @param {string} title */
export function pullCommands(commands, title) {
  const [create] = commands[commands.length - 1].split(" --title ", 1); // no part before it has blanks
  return [...commands.slice(0, -1), `${create} --title ${quote(title.trim())} --body-file -`].join("\n");
}

/** Quotes a text for a shell. @param {string} text */
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
