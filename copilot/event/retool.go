package event

import (
	"bytes"
)

func (t Tool) Equal(other Tool) bool {
	return t.Name == other.Name && t.Description == other.Description && t.Limit == other.Limit && bytes.Equal(t.Schema, other.Schema)
}
