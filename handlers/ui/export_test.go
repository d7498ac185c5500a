package ui

import (
	"context"

	"github.com/copilot-portal/portal/copilot/event"
)

// ReadUpTo reads the past up to a number, as a history does.
func ReadUpTo(ctx context.Context, record *event.Record, last uint64) error {
	p := &history{entryEncoder: entryEncoder{runEncoder: newRunEncoder()}}
	return p.read(ctx, record, last, true)
}

// ResultText is what a result of a client's tool reads as.
var ResultText = resultText
