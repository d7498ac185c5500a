package transcript_test

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest/transcript"
)

func value(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err, text)
	return v
}

func TestPatternMatchesSupersets(t *testing.T) {
	for _, tc := range []struct{ pattern, value, fault string }{
		{`{"a":1}`, `{"a":1,"b":2}`, ""},
		{`{"a":{"b":true}}`, `{"a":{"b":false}}`, ".a.b: false is not true"},
		{`{"a":1}`, `{"b":1}`, ".a is missing"},
		{`{"a":1}`, `[1]`, ": [1] is not an object"},
		{`{"a":"*"}`, `{"a":null}`, ""},
		{`{"a":"*"}`, `{}`, ".a is missing"},
		{`{"a":"~"}`, `{"b":1}`, ""},
		{`{"a":"~"}`, `{"a":0}`, ".a should be absent but is 0"},
		{`{"a":null}`, `{"a":null}`, ""},
		{`"/^a.c$/"`, `"abc"`, ""},
		{`"/^a.c$/"`, `"abcd"`, `"abcd" does not match /^a.c$/`},
		{`"/1/"`, `1`, "1 does not match"},
		{`"/${dir}/x/"`, `"in /a+b/x"`, ""},
		{`"${dir}/x"`, `"/a+b/x"`, ""},
		{`"${no}"`, `"x"`, "${no} has no value yet"},
		{`["$x","$x"]`, `["a","a"]`, ""},
		{`["$x","$x"]`, `["a","b"]`, `[]: "b" is not "a"`},
		{`[1,2]`, `[1]`, "an item is missing: 2"},
		{`[1]`, `[1,2]`, "1 unexpected items, the first is 2"},
		{`["...",2]`, `[1,2]`, ""},
		{`["...",2,"..."]`, `[1,2,3]`, ""},
		{`["...",4,"..."]`, `[1,2,3]`, "an item is missing: 4"},
		{`["...","$x","$x"]`, `["a","b","b"]`, ""},
		{`[1]`, `{}`, "{} is not a list"},
	} {
		t.Run(tc.pattern+" and "+tc.value, func(t *testing.T) {
			err := transcript.Names{"dir": "/a+b"}.Match(value(t, tc.pattern), value(t, tc.value))
			if tc.fault == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tc.fault)
			}
		})
	}
}

func TestOnlyAMatchBindsNames(t *testing.T) {
	names := transcript.Names{}
	require.Error(t, names.Match(value(t, `{"a":"$x","b":1}`), value(t, `{"a":"no","b":2}`)))
	assert.Empty(t, names)
	require.NoError(t, names.Match(value(t, `{"a":"$x","b":1}`), value(t, `{"a":"yes","b":1}`)))
	assert.Equal(t, transcript.Names{"x": "yes"}, names)
}
