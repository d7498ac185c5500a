package contract

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Stream validates server-sent events against spec/streams.asyncapi.yaml as they are written to it.
type Stream struct {
	tb testing.TB

	mu     sync.Mutex
	ended  bool // the test can no longer fail
	lines  lines
	fields map[string]string // of the event so far
}

// NewStream returns a validator of the events of a stream, for [io.TeeReader].
func NewStream(tb testing.TB) *Stream {
	tb.Helper()
	s := &Stream{tb: tb, fields: map[string]string{}}
	s.lines.take = s.take
	tb.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = true
	})
	return s
}

// Write takes the next bytes of the stream. It never fails.
func (s *Stream) Write(p []byte) (int, error) {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.Write(p)
}

func (s *Stream) take(line []byte) {
	s.tb.Helper()
	if err := s.check(string(line)); err != nil && !s.ended {
		s.tb.Errorf("spec/streams.asyncapi.yaml: %v", err)
	}
}

// check validates a line. The first plugins need the blank after the colon (spec/contracts/json-rpc-http.notes.md, "Stream").
func (s *Stream) check(line string) error {
	if strings.HasPrefix(line, ":") {
		return nil
	}
	if line != "" {
		name, value, _ := strings.Cut(line, ": ")
		if _, repeated := s.fields[name]; repeated || !isField.MatchString(line) {
			return fmt.Errorf("the stream has the line %.500q", line)
		}
		s.fields[name] = value
		return nil
	}
	event := s.fields
	s.fields = map[string]string{}
	if len(event) == 0 {
		return nil // after a comment
	}
	return CheckEvent(event["id"], event["event"], event["data"])
}

var (
	isField    = regexp.MustCompile(`^(id|event|data): \S`)
	isPosition = regexp.MustCompile(`^(\d+-\d+)?$`)
)

// CheckEvent validates an event of a stream. The id may be empty.
func CheckEvent(id, event, data string) error {
	all, err := stream()
	if err != nil {
		return err
	}
	schema, known := all[event]
	if !known {
		return fmt.Errorf("the event %q is not described", event)
	}
	if !isPosition.MatchString(id) {
		return fmt.Errorf("the event %s has the id %.100q", event, id)
	}
	count("streams.asyncapi.yaml", "event")
	return validate(schema, "the event "+event, data)
}

// CheckTerminal validates a frame of a terminal against spec/streams.asyncapi.yaml. It accepts a frame of the client that is no JSON, which the portal
// refuses.
func CheckTerminal(frame []byte, isSent bool) error {
	all, err := terminal()
	if err != nil {
		return err
	}
	var value any = string(frame)
	if isSent {
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(frame)); err != nil {
			return nil //nolint:nilerr // see above
		}
		if _, isObject := value.(map[string]any); !isObject {
			return fmt.Errorf("%.1000s is no object", frame)
		}
	}
	count("streams.asyncapi.yaml", "frame of a terminal")
	if err := checkAny(all, value); err != nil {
		return fmt.Errorf("%.1000s: %w", frame, err)
	}
	return nil
}

// CheckFrame validates a frame that a client of an operation has received against spec/operations.asyncapi.yaml.
func CheckFrame(frame []byte) error {
	all, err := operations()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(frame))
	if err != nil {
		return errors.New("it is no JSON")
	}
	count("operations.asyncapi.yaml", "frame")
	if err := checkAny(all, value); err != nil {
		return fmt.Errorf("%.1000s: %w", frame, err)
	}
	return nil
}
