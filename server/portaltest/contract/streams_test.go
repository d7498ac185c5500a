package contract_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// eventsOfTable returns the events in the table of spec/rpc.md.
func eventsOfTable(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("../../../spec/rpc.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| event | data |\n|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	name := regexp.MustCompile("`([^`]+)`")
	for row := range strings.Lines(table) {
		first, _, _ := strings.Cut(row[1:], "|")
		for _, match := range name.FindAllStringSubmatch(first, -1) {
			names = append(names, match[1])
		}
	}
	require.NotEmpty(t, names)
	return names
}

func TestStreamsHaveTheEventsOfTheTable(t *testing.T) {
	text, err := os.ReadFile("../../../spec/streams.asyncapi.yaml")
	require.NoError(t, err)
	type reference struct {
		Ref string `yaml:"$ref"`
	}
	var document struct {
		Channels struct {
			Stream struct {
				Messages map[string]struct {
					Name    string
					Payload reference
				}
			}
		}
		Components struct {
			Schemas struct {
				SessionEvent struct {
					OneOf []struct {
						Properties struct {
							Event struct{ Const string }
							Data  reference
						}
					} `yaml:"oneOf"`
				} `yaml:"sessionEvent"`
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &document))
	streamed, notified := map[string]string{}, map[string]string{}
	for key, message := range document.Channels.Stream.Messages {
		assert.Equal(t, key, message.Name)
		streamed[key] = message.Payload.Ref
	}
	for _, one := range document.Components.Schemas.SessionEvent.OneOf {
		notified[one.Properties.Event.Const] = one.Properties.Data.Ref
	}
	assert.Len(t, streamed, len(eventsOfTable(t)))
	for _, name := range slices.Sorted(slices.Values(eventsOfTable(t))) {
		assert.Contains(t, streamed, name)
	}
	delete(notified, "end") // on WebSockets only
	assert.Equal(t, streamed, notified, "the same events on both carriers")
}
