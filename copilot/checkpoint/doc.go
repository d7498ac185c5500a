// Package checkpoint stores the states of working directories, compares them, and brings files back.
//
// A [Store] holds the checkpoints of one directory in a git directory of its own (package git, Shadow), so it never
// touches a repository of the user: not HEAD, branches, index or objects. Untracked files count, too; files that the
// repository excludes do not, nor do submodules, nested repositories and files above a size. Those are named.
//
// Changes of files are planned first, as steps from one content to another. A plan is written to disk before its first
// step, and every step replaces a file atomically and only if it has the expected content. So a process that is killed
// halfway leaves a plan that [Stores.Recover], or the next use of the store, completes.
package checkpoint
