import assert from "node:assert/strict";
import test from "node:test";
import { commitLabel, commitNotes, committedText, notCommittedText, pullCommands } from "./commit.js";

test("a commit says what it goes without", () => {
  const proposal = { available: true, branch: "main", author: "Ada <a@b>", message: "", by_model: false, files: [], other_staged: 0, skipped_hooks: [], skips_signature: false };
  assert.deepEqual(commitNotes(proposal), ["Author: Ada <a@b>"]);
  const notes = commitNotes({ ...proposal, branch: "", other_staged: 2, skipped_hooks: ["pre-commit", "commit-msg"], skips_signature: true });
  assert.deepEqual(notes.slice(1), [
    "HEAD is detached: the commit is on no branch.",
    "2 files that you staged stay staged.",
    "The portal does not run hooks (pre-commit, commit-msg) and does not sign, because the repository names these programs. Commit in a terminal if you need them.",
  ]);
  assert.equal(commitLabel(1), "Commit 1 file");
  assert.equal(committedText({ commit: "0123456789abcdef", branch: "", files: 2 }), "Committed 2 files (01234567)");
});

test("the commands of a pull request have the edited title, quoted", () => {
  const commands = ["git push x", "gh pr create --repo a/b --title 'old --title x' --body-file -"];
  assert.equal(pullCommands(commands, " it's "), "git push x\ngh pr create --repo a/b --title 'it'\\''s' --body-file -");
});

test("why nothing can be committed", () => {
  assert.equal(notCommittedText({ reason: "all is committed", files: [] }), "Nothing to commit: all is committed");
  assert.equal(notCommittedText({ reason: "a merge is in progress", files: [{}] }), "Cannot commit: a merge is in progress");
});
