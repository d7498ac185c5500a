// Package operation has the operations: pieces of work on a document that the
// agent does (clarify, analyze, plan, or a free prompt), each with a record of
// its own that any number of clients read, from any place in it.
//
// An operation is an activity over a session like any other. It follows the
// record of that session and tells it in messages numbered 0, 1, 2 … without
// holes, at most [MaxMessages]. As clients hold such a number over a restart of
// the portal, a message is stored before anybody reads it.
package operation

// MaxMessages is how many messages an operation has at most, its end included.
const MaxMessages = 1000
