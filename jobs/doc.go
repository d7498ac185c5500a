// Package jobs does the tasks and jobs of a job book (package book; spec/contracts/jobs.notes.md; spec/jobs.md).
//
// A task is a prompt with a way to tell whether it was done; a job is a tree of tasks. Both are activities: each has a record
// of numbered events, which any number of clients read at their own pace and which survive the process. The sessions that a
// task works in are sessions like any other, so every client can watch them.
package jobs
