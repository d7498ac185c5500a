// Package store keeps sessions on disk, so that they survive the process: who they are, what was recorded, how far
// readers had come, and words to find them by. It is one SQLite file in one directory that several processes share.
//
// It knows no events. A session's record is a row of numbered entries, each of them bytes; groups of consecutive
// entries are stored as one segment, because a row costs many times what an entry does.
//
// Handing something over never waits: one goroutine per process writes what all sessions handed over, in one
// transaction, at most [Options.Delay] later. [Lease.Stored] tells how far that has come. What is handed over is
// written in order, once, or not at all with the reason in [Store.Failure]; it is never dropped silently.
//
// Entries that are not needed any more are removed when there is time ([Lease.Drop]), which moves no number: records have
// holes.
//
// Beside sessions it keeps activities ([Activity]), whose lines are durable when [Store.AppendActivity] returns, and who has come to
// the portal ([Store.Admit]).
//
// Only the process that holds a session's [Lease] writes to it. Everybody reads.
package store
