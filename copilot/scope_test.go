package copilot_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// offered returns the scopes of the open question, as "kind: label [rules]".
func offered(w *world, s *copilot.Session) (list []string) {
	w.t.Helper()
	asked := of[event.QuestionAsked](w.t, s)
	require.NotEmpty(w.t, asked)
	for _, scope := range asked[len(asked)-1].Question.Scopes {
		list = append(list, fmt.Sprintf("%s: %s %s", scope.Kind, scope.Label, scope.Rules))
	}
	return list
}

func TestQuestionOffersApplicableScopes(t *testing.T) {
	tests := []struct {
		name     string
		question event.Question
		policy   permission.Policy
		want     []string
	}{
		{"of a command", commandLine("q", "git status -s"), nil, []string{
			"command: this exact command [exec.run(git status -s)]", "program: git status * [exec.run(git status *)]", "commands: all commands [exec.run]",
		}},
		{"of a program without subcommands", commandLine("q", "ls /tmp"), nil, []string{
			"command: this exact command [exec.run(ls /tmp)]", "program: ls * [exec.run(ls *)]", "commands: all commands [exec.run]",
		}},
		{"of an opaque command, only its line", commandLine("q", "python3 x.py"), nil, []string{
			"command: this exact command [exec.run(=python3 x.py)]", "commands: all commands [exec.run]",
		}},
		{"of a test", commandLine("q", "npm test -- -u"), nil, []string{
			"command: this exact command [exec.run(npm test -- -u)]", "program: npm test * [exec.run(npm test *)]", "commands: all commands [exec.run]",
		}},
		{"scopes that would not avoid the question are not offered", commandLine("q", "npm test"), permission.Policy{"git.push": permission.Deny}, []string{
			"command: this exact command [exec.run(npm test)]",
		}},
		{"shell expansions are matched literally", commandLine("q", "ls *"), nil, []string{
			"command: this exact command [exec.run(=ls *)]", "program: ls * [exec.run(ls *)]", "commands: all commands [exec.run]",
		}},
		{"of a line, the parts that are asked for", commandLine("q", "git add . && rm 'a b' > /elsewhere/log"), permission.Policy{"exec.run(git add *)": permission.Allow}, []string{
			"command: this exact command [exec.run(rm 'a b') fs.write(/elsewhere/log)]", "program: rm *, writing /elsewhere/log [exec.run(rm *) fs.write(/elsewhere/log)]",
			"commands: all commands, writing /elsewhere/log [exec.run fs.write(/elsewhere/log)]",
		}},
		{"of a line that writes an unknown file", commandLine("q", "ls > $x"), nil, []string{
			"command: this exact command [exec.run(=ls > $x) fs.write(=ls > $x)]",
		}},
		{"of a push", commandLine("q", "git push origin main"), nil, []string{
			"command: this exact command [git.push(git push origin main)]", "program: git push * [git.push(git push *)]", "commands: all of git.push [git.push]",
		}},
		{"of an unreadable command", requires("q", permission.Need{Name: "exec.run", Opaque: true}), nil, nil},
		{"of a command with a secret", commandLine("q", "curl -H ghp_0123456789abcdefghijABCDEFGHIJ012345"), nil, []string{"commands: all commands [exec.run]"}},
		{"of a file elsewhere", uses("fs.read", "/etc/ssl/x"), nil, []string{
			"file: this file: /etc/ssl/x [fs.read(/etc/ssl/x)]", "directory: files in /etc/ssl and below [fs.read(/etc/ssl/**)]",
		}},
		{"of a file whose name is a pattern", uses("fs.read", "/etc/[a]*"), nil, []string{
			`file: this file: /etc/[a]* [fs.read(/etc/\[a]\*)]`, "directory: files in /etc and below [fs.read(/etc/**)]",
		}},
		{"of a file at the top", uses("fs.write", "/x"), nil, []string{"file: this file: /x [fs.write(/x)]"}},
		{"of a file at home", uses("fs.write", "HOME/x"), nil, []string{"file: this file: HOME/x [fs.write(HOME/x)]"}},
		{"of a file in the working directory", uses("fs.write", "DIR/a/b"), nil, []string{
			"file: this file: DIR/a/b [fs.write(DIR/a/b)]", "directory: files in DIR/a and below [fs.write(DIR/a/**)]",
			"workspace: all files in the working directory [fs.write(DIR/**)]",
		}},
		{"of several files, all of them", requires("q", permission.Need{Name: "fs.write", Target: "/p/a/x"}, permission.Need{Name: "fs.write", Target: "/p/b/[y]"}), nil, []string{
			`file: these files: /p/a/x, /p/b/[y] [fs.write(/p/a/x) fs.write(/p/b/\[y])]`, "directory: files in /p/a, /p/b and below [fs.write(/p/a/**) fs.write(/p/b/**)]",
		}},
		{"of a file that is read and written, it once", requires("q", permission.Need{Name: "fs.read", Target: "/p/a"}, permission.Need{Name: "fs.write", Target: "/p/a"}), nil, []string{
			"file: this file: /p/a [fs.read(/p/a) fs.write(/p/a)]", "directory: files in /p and below [fs.read(/p/**) fs.write(/p/**)]",
		}},
		{"of a file and a connection, both", commandLine("q", "tee /p/a > /dev/tcp/a.test/80"), permission.Policy{"exec.run": permission.Allow}, []string{
			"file: this file: /p/a, the host a.test [fs.write(/p/a) net.fetch(a.test)]", "directory: files in /p and below, the host a.test [fs.write(/p/**) net.fetch(a.test)]",
		}},
		{"of a connection and a file, both", commandLine("q", "echo > /dev/tcp/a.test/80; tee /p/a"), permission.Policy{"exec.run": permission.Allow}, []string{
			"host: this host: a.test, writing /p/a [net.fetch(a.test) fs.write(/p/a)]",
		}},
		{"of an unknown file", uses("fs.write", ""), nil, nil},
		{"of a URL", uses("net.fetch", "http://Localhost:3000/x"), nil, []string{"host: this host: localhost:3000 [net.fetch(localhost:3000)]"}},
		{"of an invalid URL", uses("net.fetch", `https://a.test\@b.test`), nil, nil},
		{"of a server's tool", uses("mcp.db.query", ""), nil, []string{"tool: this tool: mcp.db.query [tool(mcp.db.query)]"}},
		{"of a client's tool", uses("openFile", ""), nil, []string{"tool: this tool: openFile [tool(openFile)]"}},
		{"of a tool named like the wildcard", uses("*", ""), nil, nil},
		{"of a tool named like a family", uses("exec", ""), nil, []string{"tool: this tool: exec [tool(exec)]"}},
		{"of a tool named like all servers", uses("MCP", ""), nil, []string{"tool: this tool: MCP [tool(MCP)]"}},
		{"of a tool named like a command", uses("git.push", ""), nil, []string{"tool: this tool: git.push [tool(git.push)]"}},
		{"of a tool named like all commands", uses("exec.run", ""), nil, nil},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			home, err := os.UserHomeDir()
			require.NoError(w.t, err)
			in := strings.NewReplacer("DIR", w.directory, "HOME", home).Replace
			for i, n := range tt.question.Needs {
				tt.question.Needs[i].Target = in(n.Target)
			}
			w.asks(tt.question)
			s := w.startWith(tt.policy)
			w.run(s, "a")
			var want []string
			for _, text := range tt.want {
				want = append(want, in(text))
			}
			assert.Equal(w.t, want, offered(w, s))
		})
	}
}

func TestRememberedRuleMatchesItsScope(t *testing.T) {
	tests := []struct {
		name   string
		first  event.Question
		answer event.Answer
		then   event.Question
		want   copilot.State
	}{
		{"a command is remembered", commandLine("q", "ls"), always, commandLine("q", "ls"), copilot.StateIdle},
		{"another command is asked", commandLine("q", "ls"), always, commandLine("q", "cat /etc/passwd"), copilot.StateWaiting},
		{"other arguments are asked", commandLine("q", "ls"), always, commandLine("q", "ls /root"), copilot.StateWaiting},
		{"a command within the scope is not asked", commandLine("q", "ls"), scoped(permission.ScopeProgram), commandLine("q", "ls /root"), copilot.StateIdle},
		{"all commands are remembered", commandLine("q", "ls"), scoped(permission.ScopeCommands), commandLine("q", "cat /etc/passwd"), copilot.StateIdle},
		{"a file is remembered", uses("fs.read", "/etc/passwd"), always, uses("fs.read", "/etc/passwd"), copilot.StateIdle},
		{"another file is asked", uses("fs.read", "/etc/passwd"), always, uses("fs.read", "/etc/shadow"), copilot.StateWaiting},
		{"a directory is remembered", uses("fs.read", "/etc/passwd"), scoped(permission.ScopeDirectory), uses("fs.read", "/etc/shadow"), copilot.StateIdle},
		{"reading does not allow writing", uses("fs.read", "/etc/passwd"), scoped(permission.ScopeDirectory), uses("fs.write", "/etc/passwd"), copilot.StateWaiting},
		{"a host is remembered", uses("net.fetch", "https://a.test/x"), always, uses("net.fetch", "https://a.test/y"), copilot.StateIdle},
		{"another host is asked", uses("net.fetch", "https://a.test/x"), always, uses("net.fetch", "https://b.test/x"), copilot.StateWaiting},
		{"a tool is remembered", uses("mcp.db.query", ""), always, uses("mcp.db.query", ""), copilot.StateIdle},
		{"another tool is asked", uses("mcp.db.query", ""), always, uses("mcp.db.drop", ""), copilot.StateWaiting},
		{"a tool whose name is longer is asked", uses("shop", ""), always, uses("shop.buy", ""), copilot.StateWaiting},
		{"a tool whose name differs in case is asked", uses("shop", ""), always, uses("Shop", ""), copilot.StateWaiting},
		{"servers are asked after a tool of that name", uses("mcp", ""), always, uses("mcp.db.query", ""), copilot.StateWaiting},
		{"a command is asked after a tool of its name", uses("git.push", ""), always, commandLine("q", "git push"), copilot.StateWaiting},
		{"a tool named like a command is remembered", uses("git.push", ""), always, uses("git.push", ""), copilot.StateIdle},
		{"a tool is asked after a command of its name", commandLine("q", "git push"), scoped(permission.ScopeProgram), uses("git.push", ""), copilot.StateWaiting},
		{"a shell with other input is asked", commandLine("q", "echo a | sh"), always, commandLine("q", "echo b | sh"), copilot.StateWaiting},
		{"a part of a line is remembered", commandLine("q", "ls && pwd"), always, commandLine("q", "pwd"), copilot.StateIdle},
		{"a denial is remembered", commandLine("q", "ls"), never, commandLine("q", "ls"), copilot.StateIdle},
		{"a denial is not wider", commandLine("q", "ls"), never, commandLine("q", "ls x"), copilot.StateWaiting},
		{"an answer without a scope applies once", uses("fs.write", ""), always, uses("fs.write", ""), copilot.StateWaiting},
		{"a scope without remember applies once", commandLine("q", "ls"), event.Answer{Approved: true, Scope: permission.ScopeCommand}, commandLine("q", "ls"), copilot.StateWaiting},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			w.asks(tt.first)
			s := w.start()
			w.run(s, "a")
			require.NoError(w.t, s.Answer("q", tt.answer, "test"))
			synctest.Wait()
			w.asks(tt.then)
			w.run(s, "b")
			assert.Equal(w.t, tt.want, s.Info().State)
		})
	}
}

func scoped(kind permission.ScopeKind) event.Answer {
	return event.Answer{Approved: true, Remember: true, Scope: kind}
}

func TestUnofferedScopeIsAnError(t *testing.T) {
	inWorld(t, "", copilot.Options{}, func(w *world) {
		w.asks(commandLine("q", "python3 x.py"))
		s := w.start()
		w.run(s, "a")
		err := s.Answer("q", scoped(permission.ScopeProgram), "test")
		assert.Equal(w.t, fault.Invalid, fault.KindOf(err))
		require.ErrorContains(w.t, err, `the scope "program" is not offered`)
		assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
		require.NoError(w.t, s.Answer("q", scoped(permission.ScopeCommand), "test"))
		answered := of[event.QuestionClosed](w.t, s)
		assert.Equal(w.t, scoped(permission.ScopeCommand), answered[0].Answer)
	})
}

func TestRememberedPermissionIsRevoked(t *testing.T) {
	inWorld(t, "", copilot.Options{}, func(w *world) {
		w.asks(commandLine("q", "ls && pwd"))
		s := w.startWith(permission.Policy{"exec.run": permission.Ask})
		w.run(s, "a")
		require.NoError(w.t, s.Answer("q", always, "test"))
		synctest.Wait()
		both := permission.Policy{"exec.run(ls)": permission.Allow, "exec.run(pwd)": permission.Allow}
		assert.Equal(w.t, both, s.Remembered())
		changes := of[event.PolicyChanged](w.t, s)
		assert.Equal(w.t, both, changes[len(changes)-1].Remembered)

		require.ErrorIs(w.t, s.Revoke("exec.run(cat)"), fault.ErrRuleNotFound)
		require.NoError(w.t, s.Revoke("EXEC.run(ls)"))
		assert.Equal(w.t, permission.Policy{"exec.run(pwd)": permission.Allow}, s.Remembered())
		w.run(s, "b")
		assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
		require.NoError(w.t, s.Answer("q", yes, "test"))
		require.NoError(w.t, s.Revoke(""))
		assert.Empty(w.t, s.Remembered())
		assert.Equal(w.t, permission.Policy{"exec.run": permission.Ask}, s.Rules(), "configured rules stay")
		changes = of[event.PolicyChanged](w.t, s)
		assert.Empty(w.t, changes[len(changes)-1].Remembered)
	})
}

func TestSessionRemembersTwoHundredPermissions(t *testing.T) {
	inWorld(t, "", copilot.Options{}, func(w *world) {
		s := w.start()
		remember := func(line string) error {
			w.asks(commandLine("q", line))
			w.run(s, "a")
			return s.Answer("q", always, "test")
		}
		for i := range 200 {
			require.NoError(w.t, remember(fmt.Sprintf("ls %d", i)))
			synctest.Wait()
		}
		err := remember("ls 200")
		assert.Equal(w.t, fault.Invalid, fault.KindOf(err))
		require.ErrorContains(w.t, err, "200 permissions are remembered already: revoke some of them, or answer for once")
		assert.Len(w.t, s.Remembered(), 200)
		assert.Equal(w.t, copilot.StateWaiting, s.Info().State, "the question stays open")
		require.NoError(w.t, s.Revoke("exec.run(ls 7)"))
		require.NoError(w.t, s.Answer("q", always, "test"))
		assert.Equal(w.t, permission.Allow, s.Remembered()["exec.run(ls 200)"])
	})
}

func TestChangedRuleRemovesRememberedRulesOfItsName(t *testing.T) {
	for name, tt := range map[string]struct {
		rules permission.Policy
		want  copilot.State
	}{
		"a denial of the name":    {permission.Policy{"exec.run": permission.Deny, "*": permission.Deny}, copilot.StateIdle},
		"an unchanged rule":       {permission.Policy{"exec.run": permission.Ask}, copilot.StateIdle},
		"a rule for another name": {permission.Policy{"fs.write": permission.Deny}, copilot.StateIdle},
		"the remembered rule":     {permission.Policy{"exec.run(ls)": permission.Ask}, copilot.StateWaiting},
	} {
		inWorld(t, name, copilot.Options{}, func(w *world) {
			asker := w.asks(commandLine("q", "ls"))
			s := w.startWith(permission.Policy{"exec.run": permission.Ask})
			w.run(s, "a")
			require.NoError(w.t, s.Answer("q", always, "test"))
			synctest.Wait()
			require.NoError(w.t, s.SetRules(tt.rules))
			w.run(s, "b")
			assert.Equal(w.t, tt.want, s.Info().State)
			if tt.want == copilot.StateIdle {
				assert.Equal(w.t, name != "a denial of the name", asker.got()[1].Approved)
			}
		})
	}
}

func TestRememberedRulesSurviveSuspendAndRestart(t *testing.T) {
	for _, end := range []string{"stop", "kill"} {
		atHome(t, end, func(h *home) {
			p := h.portal()
			h.agents.Script = func(t *fake.Turn) { t.AskAlways(commandLine("q", "ls")) }
			s := p.start()
			prompt(h.t, s, "a")
			settle()
			require.NoError(h.t, s.Answer("q", always, "test"))
			settle()
			if end == "stop" {
				p.stop()
			} else {
				p.kill()
			}
			p = h.portal()
			defer p.stop()
			s = p.session(s.ID())
			assert.Equal(h.t, permission.Policy{"exec.run(ls)": permission.Allow}, s.Remembered())
			prompt(h.t, s, "b")
			settle()
			assert.Equal(h.t, copilot.StateIdle, s.Info().State, "not asked again")
			require.NoError(h.t, s.Revoke("exec.run(ls)"))
			prompt(h.t, s, "c")
			settle()
			assert.Equal(h.t, copilot.StateWaiting, s.Info().State)
			require.NoError(h.t, s.Answer("q", no, "test"))
		})
	}
}

func TestDeniedToolAnswerIsNotRemembered(t *testing.T) {
	inWorld(t, "", copilot.Options{}, func(w *world) {
		w.asks(uses("shop", ""))
		s := w.start()
		w.run(s, "a")
		require.NoError(w.t, s.Answer("q", always, "test"))
		synctest.Wait()
		require.NoError(w.t, s.SetRules(permission.Policy{"shop": permission.Deny}))
		assert.Empty(w.t, s.Remembered())
	})
}

// commandLine returns the question for a shell command line.
func commandLine(id, line string) event.Question {
	return requires(id, permission.LineNeeds(line)...)
}

// uses returns the question for the use of a file, an address or a tool.
func uses(name, target string) event.Question {
	return requires("q", permission.Need{Name: name, Target: target})
}
