package permission_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

func TestNeedsNameTheirTargets(t *testing.T) {
	type needs = []permission.Need
	exec := func(target, prefix string) permission.Need {
		return permission.Need{Name: permission.Exec, Target: target, Prefix: prefix}
	}
	opaque := func(target, prefix string) permission.Need {
		return permission.Need{Name: permission.Exec, Target: target, Prefix: prefix, Opaque: true}
	}
	connects := func(target, prefix string) permission.Need {
		return permission.Need{Name: permission.Exec, Target: target, Prefix: prefix, Connects: true}
	}
	write := func(target string) permission.Need { return permission.Need{Name: permission.Write, Target: target} }
	git := func(name, target, prefix string) permission.Need {
		return permission.Need{Name: name, Target: target, Prefix: prefix}
	}
	for line, want := range map[string]needs{
		// A command is shown with one blank between its words and only the quotes that they need.
		`ls   -la  "a b" 'c'`:          {exec(`ls -la 'a b' c`, "ls")},
		`"git status"`:                 {opaque(`'git status'`, ""), exec("git status", "git status")},
		`grep --include='*.go' "$x" .`: {exec(`grep '--include=*.go' "$x" .`, "grep")},
		`git log --format=%h`:          {exec(`git log --format=%h`, "git log")},
		`ls *.go ~/x "it's"`:           {exec(`ls *.go ~/x "it's"`, "ls")},
		"ls \\\n -l":                   {exec("ls -l", "ls")},
		// Variables that select no program are omitted; others are part of the command.
		`CGO_ENABLED=0 go test ./...`:   {opaque(`go test ./...`, "go test")},
		`PATH=x go test`:                {opaque(`PATH=x go test`, "")},
		`LC_ALL=C GIT_DIR=x git status`: {opaque(`GIT_DIR=x git status`, "")},
		`x=1`:                           {exec(`x=1`, "")},
		// Every command of a line has a need of its own, each once.
		`ls && ls && cat a | wc`: {exec("ls", "ls"), exec("cat a", "cat"), exec("wc", "wc")},
		`echo $(git status)`:     {exec("echo $(git status)", "echo"), exec("git status", "git status")},
		// The prefix is the program with its subcommand, if the following words cannot name programs.
		`git status --short`:           {exec("git status --short", "git status")},
		`git --no-pager diff a`:        {exec("git --no-pager diff a", "git diff")},
		`git -C x status`:              {exec("git -C x status", "")},
		`git -c a=b status`:            {opaque("git -c a=b status", "")},
		`git config user.name`:         {exec("git config user.name", "git config")},
		`git config core.pager x`:      {opaque("git config core.pager x", "")},
		`npm test`:                     {opaque("npm test", "npm test")},
		`npm test -- --script-shell=x`: {opaque("npm test -- --script-shell=x", "")},
		`npm run build`:                {opaque("npm run build", "")},
		`go test -exec x ./...`:        {opaque("go test -exec x ./...", "")},
		`go test -exec=x ./...`:        {opaque("go test -exec=x ./...", "")},
		`go test $x`:                   {opaque("go test $x", "")},
		`go run .`:                     {opaque("go run .", "")},
		`cargo test --config x`:        {opaque("cargo test --config x", "")},
		`sort -u a`:                    {exec("sort -u a", "sort")},
		`sort --compress-program=x a`:  {opaque("sort --compress-program=x a", "")},
		`bash -c ls`:                   {opaque("bash -c ls", "")},
		// So can words of a build tool that name programs of the linker or of MSBuild.
		`go build -ldflags=-extld=x`:               {opaque("go build -ldflags=-extld=x", "")},
		`go build --ldflags '-extld=x'`:            {opaque("go build --ldflags -extld=x", "")},
		`go test -compiler gccgo`:                  {opaque("go test -compiler gccgo", "")},
		`dotnet build`:                             {opaque("dotnet build", "dotnet build")},
		`dotnet test --no-build -c Release App`:    {opaque("dotnet test --no-build -c Release App", "dotnet test")},
		`dotnet build -p:PreBuildEvent='rm -rf x'`: {opaque("dotnet build '-p:PreBuildEvent=rm -rf x'", "")},
		`dotnet build /P:X=y`:                      {opaque("dotnet build /P:X=y", "")},
		`dotnet build --property:X=y`:              {opaque("dotnet build --property:X=y", "")},
		`dotnet build -t:X`:                        {opaque("dotnet build -t:X", "")},
		`dotnet test --logger x`:                   {opaque("dotnet test --logger x", "")},
		`dotnet build @x`:                          {opaque("dotnet build @x", "")},
		`dotnet build ../x`:                        {opaque("dotnet build ../x", "")},
		`dotnet build ~/x`:                         {opaque("dotnet build ~/x", "")},
		`git grep -e -- -Ox`:                       {opaque("git grep -e -- -Ox", "")},
		`./x ls`:                                   {opaque("./x ls", "")},
		`$x ls`:                                    {opaque("$x ls", "")},
		`unknown ls`:                               {opaque("unknown ls", "")},
		// A git permission stands alone only for plain git.
		`git commit -m 'a b'`:  {git(permission.Commit, "git commit -m 'a b'", "git commit")},
		`git push origin main`: {git(permission.Push, "git push origin main", "git push")},
		`git push -f`:          {git(permission.ForcePush, "git push -f", "git push")},
		`./git push`: {
			{Name: permission.Push, Target: "./git push", Opaque: true}, opaque("./git push", ""),
		},
		`git -C x push`: {git(permission.Push, "git -C x push", ""), exec("git -C x push", "")},
		`sudo git push`: {opaque("sudo git push", ""), git(permission.Push, "git push", "git push")},
		// Redirections have the path, where it is known.
		`ls > a/../b`:             {exec("ls", "ls"), write("a/../b")},
		`ls >> /x/y`:              {exec("ls", "ls"), write("/x/y")},
		`ls > ~/x`:                {exec("ls", "ls"), write("~/x")},
		`ls > '~/x'`:              {exec("ls", "ls"), write("./~/x")},
		`ls > ~somebody/x`:        {exec("ls", "ls"), write("")},
		`ls > $x`:                 {connects("ls", "ls"), write("")},
		`ls > ~/../x`:             {exec("ls", "ls"), write("")},
		`ls > a/../~/x`:           {exec("ls", "ls"), write("a/../~/x")},
		`cd ~/a; ls > ../x`:       {exec("cd ~/a", "cd"), exec("ls", "ls"), write("../x"), write("")},
		`cd '~'; ls > x`:          {exec("cd '~'", "cd"), exec("ls", "ls"), write("x"), write("./~/x")},
		`ls > "$HOME/x"`:          {connects("ls", "ls"), write("")},
		`{ ls; } < $x`:            {connects("ls", "ls")},
		`ls > x/"$x"`:             {exec("ls", "ls"), write("")},
		`ls > {a,b}`:              {exec("ls", "ls"), write("")},
		`ls > "a b" 2> c`:         {exec("ls", "ls"), write("a b"), write("c")},
		`ls 2>&1 >/dev/null 3>&-`: {exec("ls", "ls")},
		`cat < a`:                 {exec("cat", "cat")},
		`ls | tee -a x "y z" >&2`: {exec("ls", "ls"), exec("tee -a x 'y z'", "tee"), write("x"), write("y z")},
		`ls > >(cat)`:             {exec("ls", "ls"), exec("cat", "cat")},
		`{ ls; cat; } > x`:        {exec("ls", "ls"), exec("cat", "cat"), write("x")},
		`> x`:                     {exec("", ""), write("x")},
		`cat < /dev/tcp/h/80`:     {exec("cat", "cat"), {Name: permission.Fetch, Target: "tcp://h/80"}},
		// A relative path may be in any directory that the shell may have entered.
		`cd sub && ls > x`:                      {exec("cd sub", "cd"), exec("ls", "ls"), write("x"), write("sub/x")},
		`cd /etc && ls > x`:                     {exec("cd /etc", "cd"), exec("ls", "ls"), write("x"), write("/etc/x")},
		`cd ~/a; ls > x`:                        {exec("cd ~/a", "cd"), exec("ls", "ls"), write("x"), write("~/a/x")},
		`cd $x; ls > x`:                         {exec("cd $x", "cd"), exec("ls", "ls"), write("")},
		`cd a; cd b; ls > x`:                    {exec("cd a", "cd"), exec("cd b", "cd"), exec("ls", "ls"), write("")},
		`cd a; ls > /x`:                         {exec("cd a", "cd"), exec("ls", "ls"), write("/x")},
		`for i in 1; do cd ..; ls > x; done`:    {exec("cd ..", "cd"), exec("ls", "ls"), write("")},
		`while ls; do cd a; done > x`:           {exec("ls", "ls"), exec("cd a", "cd"), write("")},
		`for i in 1; do cd /a; ls > x; done`:    {exec("cd /a", "cd"), exec("ls", "ls"), write("x"), write("/a/x")},
		`for i in 1; do ls; done; cd a; ls > x`: {exec("ls", "ls"), exec("cd a", "cd"), write("x"), write("a/x")},
		`bash -c 'cd a; ls > x'`:                {opaque(`bash -c 'cd a; ls > x'`, ""), exec("cd a", "cd"), exec("ls", "ls"), write("x"), write("a/x")},
		// A line that cannot be parsed is one opaque command.
		`echo "a`:     {opaque(`echo "a`, "")},
		``:            {{Name: permission.Exec, Opaque: true}},
		`f() { ls; }`: {opaque(`f() { ls; }`, ""), exec("ls", "ls")},
	} {
		assert.Equal(t, want, permission.ShellNeeds(line), "%s", line)
	}
}

func FuzzShellNeeds(f *testing.F) {
	for _, lists := range [][]string{everyday, runners, misread, {
		"git push -f", "bash -c 'git push'", `git -C "a b" commit -m "$(cat <<'EOF'` + "\nx\nEOF\n)\"", "a `b` $((1)) ${c} <(d) >&2 2>x",
		"\\", "'", "\"", "$(", "$'", "<<", "<<-E\n", "((((", "))))", "`", "sh sh\\ sh\\\\\\ sh", "git-", "git -c", "git --", "a=", "#", "\x00\xff",
	}} {
		for _, s := range lists {
			f.Add(s, "git push > x")
		}
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		needs := permission.ShellNeeds(a, b)
		require.NotEmpty(t, needs)
		for _, n := range needs {
			assert.Contains(t, []string{
				permission.Exec, permission.Commit, permission.Push, permission.ForcePush, permission.Write, permission.Read, permission.Fetch,
			}, n.Name)
			assert.True(t, strings.HasPrefix(n.Target, strings.SplitN(n.Prefix, " ", 2)[0]), "%+v", n)
		}
		assert.ElementsMatch(t, needs, permission.ShellNeeds(b, a), "the order of lines does not matter")
		if !isShell(a) || !isShell(b) {
			return
		}
		assertCovers(t, a+"\n"+b, a, b)
		for _, wrapped := range []string{"(" + a + "\n)", "{ " + a + "\n}", "if " + a + "\nthen :\nfi", "x=$(" + a + "\n)", ": \"$(" + a + "\n)\"", "! {" + "\n" + a + "\n} 2>&1"} {
			if isShell(wrapped) {
				assertCovers(t, wrapped, a)
			}
		}
		if quoted, err := syntax.Quote(a, syntax.LangBash); err == nil && strings.ContainsAny(a, " \t\n;&|(<>") {
			assertCovers(t, "bash -c "+quoted, a)
		}
		if isSimple(a) {
			assertCovers(t, "sudo "+a, a)
			assertCovers(t, "env X=y "+a, a)
		}
	})
}

// Whatever the sed script is, a following command that runs a program is recognized.
func FuzzSedScripts(f *testing.F) {
	for _, s := range []string{"1,5p", "s/a/b/g", "s|[|]|x|", "/x/{p;d}", ":a;N;$!ba", "a\\\ntext", "i text", "#e", "y/a/b/", "0~2!s,\\,,x,;p", "$!{N;D}", "q5", "ba e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		opaque := func(script string) bool {
			quoted, err := syntax.Quote(script, syntax.LangBash)
			return err != nil || permission.ShellNeeds("sed " + quoted)[0].Opaque
		}
		if opaque(script) || strings.HasSuffix(script, "\\") {
			return // a text that continues on the next line
		}
		for _, command := range []string{"e x", "w x", "s/a/b/e", "1e", "r x"} {
			assert.True(t, opaque(script+"\n"+command), "%q with %q", script, command)
		}
	})
}

// assertCovers checks that a line needs everything that others need.
func assertCovers(t *testing.T, line string, others ...string) {
	t.Helper()
	var whole, parts event.Question
	whole.SetNeeds(permission.ShellNeeds(line)...)
	for _, o := range others {
		parts.SetNeeds(permission.ShellNeeds(o)...)
		assert.Subset(t, whole.Names, parts.Names, "%q lacks what %q needs", line, o)
		assert.True(t, whole.Opaque || !parts.Opaque, "%q is not opaque as %q is", line, o)
	}
}

// isShell reports whether a line is a shell command that needs anything and is not nested too deeply.
func isShell(line string) bool {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	return err == nil && len(file.Stmts) > 0 && len(line) < 300 && strings.Count(line, "sh") < 4 && strings.Count(line, `\`) < 4 && !strings.HasSuffix(line, `\`)
}

// isSimple reports whether a line is a single command without variables.
func isSimple(line string) bool {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) != 1 || file.Stmts[0].Negated {
		return false
	}
	call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	return ok && len(call.Assigns) == 0
}
