package event

// FilesRestored reports that a client brought files of the session's directory back to an earlier state: see
// [copilot.Session.Revert], [copilot.Session.Restore] and [copilot.Session.Undo].
type FilesRestored struct {
	ID     string      `json:"id,omitzero"` // which Undo accepts
	Kind   RestoreKind `json:"kind,omitzero"`
	Target string      `json:"target,omitzero"` // the run whose changes were taken back, or to whose start files returned; "": all runs
	By     string      `json:"by,omitzero"`     // the dialect of the client
	Undoes string      `json:"undoes,omitzero"` // of an undo: the id of what it took back
	Paths  []string    `json:"paths,omitzero"`  // the first 20, relative to the directory
	Files  int         `json:"files,omitzero"`  // all of them
	Left   []string    `json:"left,omitzero"`   // files that could not be changed, because they changed meanwhile; the first 20
}

// RestoreKind says how files were brought back.
type RestoreKind string

// The kinds.
const (
	RestoreRevert RestoreKind = "revert"  // changes were taken back, and later ones kept
	RestoreState  RestoreKind = "restore" // files became what they were
	RestoreUndo   RestoreKind = "undo"    // one of these was taken back
)

func (b FilesRestored) visit(v visitor) Body {
	for _, list := range []*[]string{&b.Paths, &b.Left} {
		each(v, list, func(path *string, v visitor) {
			v.hold(textCost)
			v.text(path, masked|counted)
		})
	}
	return b
}
