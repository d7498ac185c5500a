// Package store keeps sessions on disk: their heads, records, reader positions and search texts, in one SQLite file that
// several processes share. Beside sessions it keeps activities ([Activity]) and visitors ([Store.Admit]).
//
// It knows no events. A record is a row of numbered entries, each of them bytes. Consecutive entries are stored as one
// segment, because a row costs many times what an entry does.
//
// Handing something over never waits: one goroutine per process writes what all sessions handed over, in one
// transaction, at most [Options.Delay] later, in order and once. [Lease.Stored] reports how far that has come,
// [Store.Failure] why it does not go on. Nothing is dropped silently. The lines of an activity are durable when
// [Store.AppendActivity] returns.
//
// Entries that are no longer needed are removed in the background ([Lease.Drop]). Numbers do not move: records have holes.
//
// Only the process that holds a session's [Lease] writes to it. Every process reads.
package store
