package demo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/studio/code"
)

const outlineOfFilms = `# Films 1 (openapi3)
A list of films
base URL: https://films.test/v1
auth key: apiKey header X-Key

## Operations
GET /films — List films #Films
  query genre: string drama|comedy
  → 200: [Film]
POST /films — Add a film #Films
  body!: application/json Film
DELETE /films/{id} #Films (deprecated)
  path id!: integer // Which
GET /people #People
  → 200: [Person]
PUT /people
  body: application/json [Person]

## Models
Film: {id!: integer read-only, tags: [string], title!: string, by: Person}
Person: {name!: string}
`

// between marks a text as the studio does.
func between(kind, text string) string {
	return "=== " + kind + " 0123456789abcdef begins ===\n" + text + "\n=== " + kind + " 0123456789abcdef ends ===\n"
}

func toGenerate(outline, options string) string {
	return "You write interfaces to APIs.\n" + options + "\n" + between("specification", outline)
}

func toCustomize(request, before string, history ...string) string {
	return "You change an interface.\n" + between("request", request) + between("history", strings.Join(history, "\n")) + between("code", before) + between("specification", outlineOfFilms)
}

// interfaceTo returns the code that the demo writes for a prompt.
func interfaceTo(t *testing.T, prompt string) string {
	t.Helper()
	source, ok := code.Find(ask(t, request(user(prompt))).content)
	require.True(t, ok)
	return source
}

func TestInterfaceCoversTheDescription(t *testing.T) {
	source := interfaceTo(t, toGenerate(outlineOfFilms, "- Theme: dark.\n- Layout: sidebar. Group"))
	components, err := code.Check(source)
	require.NoError(t, err)
	assert.Contains(t, components, "App")
	for _, part := range []string{`"title":"Films","theme":"dark","layout":"sidebar"`, `"auth":true,"pagination":true`, `DELETE /films/{id} #Films (deprecated)\n`} {
		assert.Contains(t, source, part)
	}
	assert.Equal(t, source, interfaceTo(t, toGenerate(outlineOfFilms, "- Theme: dark.\n- Layout: sidebar. Group")), "the code is deterministic")
	without := interfaceTo(t, toGenerate(outlineOfFilms, "- Leave out everything about keys and passwords\n- No pagination: lists"))
	assert.Contains(t, without, `"auth":false,"pagination":false`)
}

func TestEveryOutlineMakesAnInterface(t *testing.T) {
	files, err := filepath.Glob("../../jobs/studio/spec/testdata/*.outline.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		outline, err := os.ReadFile(f)
		require.NoError(t, err)
		_, err = code.Check(interfaceTo(t, toGenerate(string(outline), "")))
		assert.NoError(t, err, f)
	}
}

func TestPromptWithoutDescriptionMakesNoInterface(t *testing.T) {
	_, ok := code.Find(ask(t, request(user("You write interfaces to APIs.\n"))).content)
	assert.False(t, ok)
}

func TestRequestsChangeTheSettings(t *testing.T) {
	before := interfaceTo(t, toGenerate(outlineOfFilms, ""))
	for ask, want := range map[string]string{
		"Make it dark":                           `"theme":"dark"`,
		"Use light colours":                      `"theme":"light"`,
		"Add a search bar":                       `"search":true,"searchIn":""`,
		"Filter the table of Films":              `"search":true,"searchIn":"Films"`,
		"More compact, please":                   `"compact":true`,
		"Make it friendlier":                     `"note":"Make it friendlier"`,
		"Search in all tables, every table, all": `"search":true`,
	} {
		t.Run(ask, func(t *testing.T) {
			r := interfaceTo(t, toCustomize(ask, before))
			first, rest, _ := strings.Cut(r, "\n")
			assert.Contains(t, first, want)
			_, old, _ := strings.Cut(before, "\n")
			assert.Equal(t, old, rest, "nothing else changes")
			_, err := code.Check(r)
			assert.NoError(t, err)
		})
	}
}

func TestAnswerHasDescriptionAndAssumptions(t *testing.T) {
	before := interfaceTo(t, toGenerate(outlineOfFilms, ""))
	said := ask(t, request(user(toCustomize("dark", before)))).content
	assert.Contains(t, said, "\nDescription: The settings in the first line are changed.\nAssumptions:\n- The demo")
}

func TestAmbiguousRequestIsAskedBack(t *testing.T) {
	before := interfaceTo(t, toGenerate(outlineOfFilms, ""))
	said := ask(t, request(user(toCustomize("Add a search bar to the table", before)))).content
	assert.Contains(t, said, "```question\n")
	assert.Contains(t, said, `"options":["Films table","People table","All tables"]`)
	answered := interfaceTo(t, toCustomize("Films table", before, "user: Add a search bar to the table", "assistant: Which one do you mean?"))
	assert.Contains(t, answered, `"search":true,"searchIn":"Films"`)
}

func TestImpossibleRequestsAreRefused(t *testing.T) {
	before := interfaceTo(t, toGenerate(outlineOfFilms, ""))
	assert.Contains(t, ask(t, request(user(toCustomize("Brew coffee", before)))).content, "```refusal\n")
}

func TestForeignCodeIsChangedInItsFirstLine(t *testing.T) {
	r := interfaceTo(t, toCustomize("dark", "function App() { return null; }\n"))
	assert.Equal(t, "// Asked for: dark\nfunction App() { return null; }\n", r)
}

func TestRequestedFaultsAreMade(t *testing.T) {
	for keywords, passes := range map[string][2]bool{ // first, and after the repair
		"broken": {false, true}, "broken twice": {false, false}, "hostile loop": {true, true},
	} {
		t.Run(keywords, func(t *testing.T) {
			outline := strings.Replace(outlineOfFilms, "A list", "<!-- demo: "+keywords+" --> A list", 1)
			prompt := toGenerate(outline, "")
			check := func(said string) bool {
				source, ok := code.Find(said)
				if !ok {
					return false
				}
				_, err := code.Check(source)
				return err == nil
			}
			first := ask(t, request(user(prompt)))
			assert.Equal(t, passes[0], check(first.content), first.content[:min(300, len(first.content))])
			second := ask(t, request(user(prompt), assistant(first.content), user("It cannot be used.\n"+between("fault", "1:1: what it is"))))
			assert.Equal(t, passes[1], check(second.content))
			if passes[1] {
				assert.NotContains(t, second.content, "<!-- demo")
			}
		})
	}
}

func TestChatHasSuggestionsAndKeywords(t *testing.T) {
	said := ask(t, request(user("You are the assistant.\n"+between("message", "What formats do you support?")))).content
	assert.Contains(t, said, "OpenAPI 3, Swagger 2 or GraphQL")
	assert.Contains(t, said, "```suggestions\n- Upload")
	said = ask(t, request(user("Message:\n"+between("message", "say `Hello`")))).content
	assert.True(t, strings.HasPrefix(said, "Hello\n```suggestions"), said)
}
