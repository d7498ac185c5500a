package book

import "encoding/json"

// NodeKind is what a node of a chart shows.
type NodeKind string

// The kinds of nodes.
const (
	TaskNode  NodeKind = "TaskNode"  // a task
	CondNode  NodeKind = "CondNode"  // a task that is a condition
	ParBegin  NodeKind = "ParBegin"  // from here on things happen at the same time
	ParEnd    NodeKind = "ParEnd"    // until all have come here
	CondBegin NodeKind = "CondBegin" // here begins a condition made of several works
	CondEnd   NodeKind = "CondEnd"   // and here it is decided
	LoopEnd   NodeKind = "LoopEnd"   // where a loop is left to
	AltEnd    NodeKind = "AltEnd"    // where both ways of an Alt meet again
)

// Node is a node of the flow chart of a job.
type Node struct {
	// ID counts from 1, in the order of the list.
	ID     int     `json:"id"`
	Hint   Hint    `json:"hint"`
	Label  string  `json:"label,omitempty"`
	Arrows []Arrow `json:"arrows"`
}

// Hint says what a node shows; Work is 0 where it stands for no work of its own.
type Hint struct {
	Kind NodeKind
	Work int
}

// MarshalJSON writes [kind, workId], or the kind alone.
func (h Hint) MarshalJSON() ([]byte, error) {
	if h.Work == 0 {
		return json.Marshal(h.Kind)
	}
	return json.Marshal([]any{h.Kind, h.Work})
}

// Arrow leads to another node.
type Arrow struct {
	To       int    `json:"to"`
	LoopBack bool   `json:"loopBack"`
	Label    string `json:"label,omitempty"`
}
