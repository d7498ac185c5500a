// Package operation implements operations: work of the agent on a document (clarify, analyze, plan, or a free
// prompt). Each has a record that any number of clients read from any position.
//
// An operation is an activity that uses an ordinary session. It follows the record of that session and
// encodes it as messages numbered 0, 1, 2 … without gaps, at most [MaxMessages]. Clients keep such numbers
// over a restart of the portal, so a message is stored before anyone reads it.
package operation

// MaxMessages is the maximum number of messages of an operation, including its end.
const MaxMessages = 1000
