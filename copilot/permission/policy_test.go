package permission_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

func TestDecide(t *testing.T) {
	const (
		allow = permission.Allow
		ask   = permission.Ask
		deny  = permission.Deny
	)
	type p = permission.Policy
	named := func(names ...string) event.Question { return event.Question{Names: names} }
	reads := func(path string) event.Question {
		return event.Question{Names: []string{permission.Read}, Path: path}
	}
	shell := func(line string) event.Question {
		var q event.Question
		q.SetNeeds(permission.ShellNeeds(line)...)
		return q
	}
	tests := []struct {
		name       string
		question   event.Question
		session    permission.Policy
		configured permission.Policy
		want       permission.Decision
	}{
		{"without a rule everything is asked", named("exec.run"), nil, nil, ask},
		{"except reading inside the directory", reads("/project/a"), nil, nil, allow},
		{"reading the directory itself is inside", reads("/project"), nil, nil, allow},
		{"a relative path is inside", reads("a/b"), nil, nil, allow},
		{"reading elsewhere is asked", reads("/etc/passwd"), nil, nil, ask},
		{"a path leading outside is elsewhere", reads("/project/../etc"), nil, nil, ask},
		{"so is a relative one", reads("../x"), nil, nil, ask},
		{"a sibling with the same prefix is elsewhere", reads("/workshop/a"), nil, nil, ask},
		{"a name that begins with dots is inside", reads("/project/..a"), nil, nil, allow},
		{"reading an unknown path is asked", reads(""), nil, nil, ask},
		{"writing inside the directory is asked", event.Question{Names: []string{permission.Write}, Path: "/project/a"}, nil, nil, ask},

		{"a rule decides", named("exec.run"), p{"exec.run": deny}, nil, deny},
		{"a rule for everything decides", named("exec.run"), p{"*": deny}, nil, deny},
		{"a rule for a prefix decides", named("mcp.files.read"), p{"mcp.files": allow}, nil, allow},
		{"a rule for the shortest prefix decides", named("mcp.files.read"), p{"mcp": allow}, nil, allow},
		{"a prefix ends at a dot", named("mcp.files.read"), p{"mcp.fil": allow}, nil, ask},
		{"the longest prefix decides", named("mcp.files.read"), p{"mcp": deny, "mcp.files": allow}, nil, allow},
		{"the whole name decides before a prefix", named("mcp.files.read"), p{"mcp.files": deny, "mcp.files.read": allow}, nil, allow},
		{"the rule for everything covers a name without a dot", named("lookup"), p{"*": allow}, nil, allow},
		{"a name may begin with a dot", named(".x"), p{"*": deny}, nil, deny},
		{"a name may end with one", named("x."), p{"x": deny}, nil, deny},
		{"case does not matter", named("mcp.Files.read"), p{"MCP.fileS.Read": deny}, nil, deny},
		{"of rules that differ in case the strictest decides", named("git.push"), p{"git.push": allow, "GIT.PUSH": deny, "Git.Push": ask}, nil, deny},
		{"a question without names is asked", named(), nil, nil, ask},
		{"unless a rule covers everything", named(), p{"*": deny}, nil, deny},
		{"an empty name is not a permission", named(""), p{"exec.run": allow}, nil, ask},
		{"the rule for everything covers it", named(""), p{"*": deny}, nil, deny},

		{"the session's policy decides before the configured one", named("exec.run"), p{"exec.run": allow}, p{"exec.run": deny}, allow},
		{"the configured policy decides if the session's has no rule", named("exec.run"), p{"git": allow}, p{"exec.run": deny}, deny},
		{"a more specific rule of any policy decides", named("git.push"), p{"*": allow}, p{"git.push": deny}, deny},
		{"asking for everything equals having no rule", reads("/project/a"), p{"*": ask}, nil, allow},
		{"even over a configured rule", named("exec.run"), p{"*": ask}, p{"*": allow}, ask},
		{"asking for reading asks", reads("/project/a"), p{"fs.read": ask}, nil, ask},
		{"denying everything denies reading", reads("/project/a"), p{"*": deny}, nil, deny},
		{"allowing everything allows reading elsewhere", reads("/etc/passwd"), p{"*": allow}, nil, allow},

		{"of several names the strictest decides", named("exec.run", "git.push"), p{"exec.run": allow, "git.push": deny}, nil, deny},
		{"in any order", named("git.push", "exec.run"), p{"exec.run": allow, "git.push": deny}, nil, deny},
		{"ask is stricter than allow", named("exec.run", "git.push"), p{"exec.run": allow}, nil, ask},
		{"all must be allowed", named("exec.run", "git.push"), p{"exec.run": allow, "git": allow}, nil, allow},

		{"denied pushes deny force pushes", named(permission.ForcePush), p{"*": allow, "git.push": deny}, nil, deny},
		{"asked pushes ask for force pushes", named(permission.ForcePush), p{"*": allow, "git.push": ask}, nil, ask},
		{"allowed pushes do not allow force pushes", named(permission.ForcePush), p{"git.push": allow}, nil, ask},
		{"a rule of its own decides a force push", named(permission.ForcePush), p{"git.push": deny, "git.forcePush": allow}, nil, allow},
		{"a push is not a force push", named(permission.Push), p{"*": allow, "git.forcePush": deny}, nil, allow},

		{"a shell command is decided", shell("ls"), p{"exec.run": allow}, nil, allow},
		{"the strictest of all its parts decides", shell("ls && git push"), p{"*": allow, "git.push": deny}, nil, deny},
		{"a script is allowed if git is not denied", shell("python3 x.py"), p{"exec.run": allow}, nil, allow},
		{"a script is asked if git is denied", shell("python3 x.py"), p{"exec.run": allow, "git": deny}, nil, ask},
		{"or if a git permission is denied", shell("python3 x.py"), p{"exec.run": allow, "git.commit": deny}, nil, ask},
		{"or if it is denied in the configuration", shell("python3 x.py"), p{"*": allow}, p{"git.forcePush": deny}, ask},
		{"or if everything else is denied", shell("python3 x.py"), p{"exec.run": allow, "*": deny}, nil, ask},
		{"but not if the session allows git again", shell("python3 x.py"), p{"*": allow, "git.push": allow}, p{"git.push": deny}, allow},
		{"nor because of a tool with the prefix git", shell("python3 x.py"), p{"exec.run": allow, "github": deny, "gitlab.push": deny}, nil, allow},
		{"a denied script stays denied", shell("python3 x.py"), p{"exec.run": deny, "git": deny}, nil, deny},
		{"text that pushes is denied like a push", shell("bash -c 'git push -f'"), p{"*": allow, "git.push": deny}, nil, deny},
		{"a wrapper changes nothing", shell("timeout 60 git push"), p{"exec.run": allow, "git.push": ask}, nil, ask},
		{"an option does not hide a commit", shell("git -c user.name=x commit -m y"), p{"exec.run": allow, "git.commit": deny}, nil, deny},
		{"a quoted directory does not hide a push", shell(`git -C "my dir" push`), p{"exec.run": allow, "git.push": deny}, nil, deny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 20 { // maps have no order
				assert.Equal(t, tt.want, permission.Decide(tt.question.AllNeeds(), "/project", tt.session, tt.configured))
			}
		})
	}
}

func TestParseDecision(t *testing.T) {
	for text, want := range map[string]permission.Decision{
		"allow": permission.Allow, "ask": permission.Ask, "deny": permission.Deny, " Allow\n": permission.Allow, "DENY": permission.Deny,
	} {
		d, err := permission.ParseDecision(text)
		require.NoError(t, err)
		assert.Equal(t, want, d)
	}
	for _, text := range []string{"", "yes", "allow ask", "*"} {
		_, err := permission.ParseDecision(text)
		assert.Equal(t, fault.Invalid, fault.KindOf(err), "%q", text)
	}
}

func TestEverywhere(t *testing.T) {
	for _, d := range []permission.Decision{permission.Allow, permission.Deny} {
		assert.Equal(t, d, permission.Decide(event.Question{Names: []string{"anything.at.all"}}.AllNeeds(), "/project", permission.Everywhere(d)))
	}
}
