package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
)

// kind is that of operations in the store.
const kind = "operation"

// How long a message waits for a store that does not take it, and how often it is
// offered.
const (
	keepFor   = 5 * time.Second
	keepEvery = 250 * time.Millisecond
)

// publish numbers messages, stores them with what has changed in the operation, all
// or nothing, and then lets readers have them. It is called by the goroutine of
// the operation alone. Error: the store did not take them; they have no number.
func (o *Operation) publish(drafts []draft, change func(*Info)) error {
	o.mu.Lock()
	info := o.info
	o.mu.Unlock()
	messages := number(&info, drafts)
	if change != nil {
		change(&info)
	}
	err := o.keep(info, messages)
	if err != nil && !info.Status.Ended() {
		return err
	}
	o.show(info, messages, err)
	return nil
}

// number makes messages that follow those of an operation.
func number(info *Info, drafts []draft) []Message {
	messages := make([]Message, len(drafts))
	for i, d := range drafts {
		messages[i] = d.number(info.ID, info.Messages, time.Now())
		info.Messages++
		if d.kind != Thinking {
			info.Note = oneLine(d.text)
		}
	}
	return messages
}

// show lets readers have messages. The end is told even if the store did not take
// it: nobody waits for ever.
func (o *Operation) show(info Info, messages []Message, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.info = info
	o.lost = errors.Is(err, store.ErrLost)
	o.owed = err != nil && !o.lost
	if !o.lost {
		for _, m := range messages {
			_, _ = o.record.Append(m) // nobody else closes it
		}
	}
	if info.Status.Ended() {
		o.record.Close()
	}
}

// keep stores messages and what is known of the operation, and tries again for a
// while if that fails.
func (o *Operation) keep(info Info, messages []Message) error {
	s := o.host.options.Store
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepFor)
	defer cancel()
	a := activityOf(info)
	lines := frames(messages)
	for {
		_, err := s.Note(ctx, a, lines...)
		switch {
		case err == nil || arrived(ctx, s, info, messages):
			return nil
		case errors.Is(err, store.ErrLost) && o.isForgotten(ctx):
			return copilot.Errorf(copilot.Unavailable, "the messages cannot be stored: the store has begun anew, without the operation")
		case errors.Is(err, store.ErrLost), errors.Is(err, store.ErrClosed):
			return err
		}
		select {
		case <-ctx.Done():
			o.host.options.Log.Error("the store does not take the messages of an operation", "operation", o.id, "error", err)
			return copilot.Errorf(copilot.Unavailable, "the messages cannot be stored: %w", err)
		case <-time.After(keepEvery):
		}
	}
}

// arrived says whether a write that seemed to fail has been made.
func arrived(ctx context.Context, s *store.Store, info Info, messages []Message) bool {
	if len(messages) == 0 {
		return false
	}
	last, err := s.Lines(ctx, kind, info.ID, uint64(info.Messages-1), 1) //nolint:gosec // there is a message
	return err == nil && len(last) == 1 && bytes.Equal(last[0], messages[len(messages)-1].Frame)
}

// isForgotten says whether nobody else has taken the operation: the file of the store
// was removed or damaged, and there is a fresh one. What counts is here, then.
func (o *Operation) isForgotten(ctx context.Context) bool {
	_, err := o.host.options.Store.Activity(ctx, kind, o.id)
	return errors.Is(err, store.ErrNotFound)
}

// settle stores an end that the store did not take when it came.
func (o *Operation) settle(ctx context.Context) error {
	o.mu.Lock()
	info, owed := o.info, o.owed
	o.mu.Unlock()
	if !owed {
		return nil
	}
	a, err := o.host.options.Store.Activity(ctx, kind, o.id)
	if errors.Is(err, store.ErrNotFound) {
		return nil // nobody asks for it there
	}
	if err != nil {
		return err
	}
	now, cancel := context.WithCancel(ctx)
	cancel()                                                // nothing more will come
	missing, err := o.Next(now, int(a.Last)-1, MaxMessages) //nolint:gosec // at most MaxMessages
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err = o.host.options.Store.Note(ctx, activityOf(info), frames(missing)...)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.owed = err != nil && !errors.Is(err, store.ErrLost)
	return err
}

func frames(messages []Message) [][]byte {
	lines := make([][]byte, len(messages))
	for i, m := range messages {
		lines[i] = m.Frame
	}
	return lines
}

// activityOf is an operation as the store has it.
func activityOf(info Info) store.Activity {
	head, _ := json.Marshal(info) // a result is JSON, the rest are texts and numbers
	return store.Activity{Kind: kind, ID: info.ID, Created: info.Created, Head: head, Done: info.Status.Ended()}
}

// infoOf reads what activityOf has made.
func infoOf(a store.Activity) (Info, error) {
	var info Info
	err := json.Unmarshal(a.Head, &info)
	if string(info.Result) == "null" {
		info.Result = nil
	}
	info.Messages = int(a.Last) //nolint:gosec // at most MaxMessages
	return info, err
}
