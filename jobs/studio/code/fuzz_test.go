package code_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/studio/code"
)

func seeds(f *testing.F) {
	f.Helper()
	for _, s := range []string{
		"function App() { return <p onClick={() => eval('x')}>{a?.b}</p> }", "const App = <T,>(x: T) => window['a' + `b${c}`]", "class A { #x; static {} }",
		"import('x'); export default 1", "with (a) b", "const {a, ...b} = window", "for await (const x of y) {}", "(0, (1, eval))``", "", "<></>",
	} {
		f.Add(s)
	}
}

func FuzzCheck(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, source string) {
		got, err := code.Check(source)
		if err == nil {
			require.Contains(t, got, "App")
			return
		}
		var faults code.Faults
		require.ErrorAs(t, err, &faults)
		require.NotEmpty(t, faults)
		require.LessOrEqual(t, len(faults), 10)
	})
}

// FuzzBuild checks that built code passes the check again.
func FuzzBuild(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, source string) {
		built, err := code.Build(source)
		if err != nil {
			return
		}
		require.Contains(t, built, "window.__GeneratedComponent = App;")
		_, err = code.Check("const App = 1;\n" + built)
		require.NoError(t, err, built)
	})
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"```jsx\nx\n```", "~~~\n```\n", "function App", "````\n```\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		source, ok := code.Find(answer)
		require.Equal(t, ok, source != "")
		require.True(t, source == answer || strings.Contains(strings.ReplaceAll(answer, "\r\n", "\n"), source))
	})
}
