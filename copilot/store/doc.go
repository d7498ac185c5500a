// Package store keeps sessions on disk: their heads, records, reader positions and search texts, in one SQLite file
// that several processes share. It also keeps activities ([Activity]), visitors ([Store.Admit]) and
// shares ([Share]).
//
// The store does not know events. A record is a sequence of numbered entries of bytes. Consecutive entries share a
// segment, because a row costs many times as much as an entry.
//
// Methods that queue data never wait. One goroutine per process writes what all sessions queued, in one transaction, at
// most [Options.Delay] later (in a cluster: 50 ms), in order and once. [Lease.Stored] reports how far it has come, [Store.Failure] why it
// cannot continue. Nothing is dropped silently. The lines of an activity are durable when [Store.AppendActivity]
// returns.
//
// Entries that are no longer needed are removed in the background ([Lease.Drop]). Numbers do not change: records have
// holes.
//
// Only the process that holds a session's [Lease] writes to it. Every process reads.
package store
