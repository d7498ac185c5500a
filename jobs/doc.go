// Package jobs runs the tasks and jobs of a job book (package book; spec/contracts/jobs.notes.md;
// spec/jobs.md).
//
// A task is a prompt with criteria for its success; a job is a tree of tasks. Both are activities: each has a
// record of numbered events that any number of clients read at their own pace and that outlives the process.
// Tasks work in ordinary sessions, so every client can watch those.
package jobs
