package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// unit is the unit of comparing records: one character of a text, or an entry that is not part of a text.
type unit struct {
	block, char string // of a text
	entry       string // as JSON
}

// entry is a response of live or a line of an export.
type entry struct {
	block string // the block that it belongs to; "" for none
	text  string // of the delta, or the complete text of the end
	ends  bool
	json  string
}

// expander makes two readers comparable, of which one received the deltas of a text and the other only its end.
// It contains the text received of each open block.
type expander map[string]string

// take returns the units of the next entry. An end is its text if no delta of it was received. It adds no text
// after deltas, even if a reader that joined in the middle received only the last ones. If the deltas do not
// match the end, the text appears twice, which fails every comparison.
func (x expander) take(e entry) []unit {
	switch {
	case e.block == "":
		return []unit{{entry: e.json}}
	case !e.ends:
		x[e.block] += e.text
		return characters(e.block, e.text)
	}
	received := x[e.block]
	delete(x, e.block)
	end := unit{entry: e.json}
	if received != "" && strings.HasSuffix(e.text, received) {
		return []unit{end}
	}
	return append(characters(e.block, e.text), end)
}

func characters(block, text string) (units []unit) {
	for _, char := range strings.Split(text, "") {
		units = append(units, unit{block: block, char: char})
	}
	return units
}

func expandResponses(list []portaltest.Response) (units []unit) {
	texts := expander{}
	for _, r := range list {
		units = append(units, texts.take(responseEntry(r))...)
	}
	return units
}

func responseEntry(r portaltest.Response) entry {
	b, _ := json.Marshal(r) // r was decoded from JSON
	e := entry{json: string(b)}
	switch r.Name() {
	case "onReasoning":
		e.block, e.text = "reasoning "+r.Text("reasoningId"), r.Text("delta")
	case "onEndReasoning":
		e.block, e.text, e.ends = "reasoning "+r.Text("reasoningId"), r.Text("completeContent"), true
	case "onMessage":
		e.block, e.text = "message "+r.Text("messageId"), r.Text("delta")
	case "onEndMessage":
		e.block, e.text, e.ends = "message "+r.Text("messageId"), r.Text("completeContent"), true
	}
	return e
}

func expandLines(t *testing.T, lines []string) (units []unit) {
	t.Helper()
	texts := expander{}
	for _, line := range lines {
		units = append(units, texts.take(lineEntry(t, line))...)
	}
	return units
}

func lineEntry(t *testing.T, line string) entry {
	t.Helper()
	var event struct {
		Type string
		Body json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(line), &event), line)
	e := entry{json: line}
	kind, verb, _ := strings.Cut(event.Type, ".")
	if kind != "reasoning" && kind != "message" || verb != "delta" && verb != "ended" {
		return e
	}
	var body struct{ ID, Text string }
	require.NoError(t, json.Unmarshal(event.Body, &body), line)
	e.block, e.text, e.ends = kind+" "+body.ID, body.Text, verb == "ended"
	return e
}

func TestEndReplacesOnlyItsOwnDeltas(t *testing.T) {
	piece := func(text string) portaltest.Response {
		return portaltest.Response{"callback": "onMessage", "messageId": "m", "delta": text}
	}
	end := portaltest.Response{"callback": "onEndMessage", "messageId": "m", "completeContent": "w1 w2 w3 "}
	all := expandResponses([]portaltest.Response{end})

	assert.Equal(t, all, expandResponses([]portaltest.Response{piece("w1 "), piece("w2 w3 "), end}))
	assert.Equal(t, all[len("w1 "):], expandResponses([]portaltest.Response{piece("w2 "), piece("w3 "), end}), "it began in the middle")
	for name, pieces := range map[string][]portaltest.Response{
		"lost":    {piece("w1 "), piece("w3 "), end},
		"twice":   {piece("w1 "), piece("w2 "), piece("w2 "), piece("w3 "), end},
		"swapped": {piece("w2 "), piece("w1 "), piece("w3 "), end},
		"ended":   {piece("w1 "), piece("w2 "), piece("w3 "), end, end},
	} {
		units := expandResponses(pieces)
		assert.Less(t, common(units, all), len(units), name)
	}
}
