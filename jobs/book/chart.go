package book

import "encoding/json"

// NodeKind is the kind of a node in a chart.
type NodeKind string

// The kinds of nodes.
const (
	TaskNode  NodeKind = "TaskNode"  // a task
	CondNode  NodeKind = "CondNode"  // a task that is a condition
	ParBegin  NodeKind = "ParBegin"  // start of parallel branches
	ParEnd    NodeKind = "ParEnd"    // end of parallel branches
	CondBegin NodeKind = "CondBegin" // start of a condition made of several works
	CondEnd   NodeKind = "CondEnd"   // end of that condition, where it is decided
	LoopEnd   NodeKind = "LoopEnd"   // exit of a loop
	AltEnd    NodeKind = "AltEnd"    // where both branches of an Alt join
)

// Node is a node in the flow chart of a job.
type Node struct {
	// ID is the position in the list, starting at 1.
	ID     int     `json:"id"`
	Hint   Hint    `json:"hint"`
	Label  string  `json:"label,omitempty"`
	Arrows []Arrow `json:"arrows"`
}

// Hint says what a node shows. Work is 0 if the node does not stand for a work.
type Hint struct {
	Kind NodeKind
	Work int
}

// MarshalJSON encodes the hint as [kind, workId], or as the kind alone.
func (h Hint) MarshalJSON() ([]byte, error) {
	if h.Work == 0 {
		return json.Marshal(h.Kind)
	}
	return json.Marshal([]any{h.Kind, h.Work})
}

// Arrow is an edge to another node.
type Arrow struct {
	To       int    `json:"to"`
	LoopBack bool   `json:"loopBack"`
	Label    string `json:"label,omitempty"`
}
