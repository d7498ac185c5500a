package permission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

const opaque = "opaque"

func TestShellCommandsNeedPermissions(t *testing.T) {
	const (
		exec   = permission.Exec
		commit = permission.Commit
		push   = permission.Push
		force  = permission.ForcePush
		write  = permission.Write
		read   = permission.Read
	)
	tests := map[string][]struct {
		command string
		want    string // names, and whether it is opaque
	}{
		"plain commands": {
			{`ls -la`, exec},
			{`go test ./...`, exec + " " + opaque},
			{`npm test`, exec + " " + opaque},
			{`cat a.txt > b.txt`, exec + " " + write},
			{`rm -rf build`, exec},
			{`curl -s https://example.com`, exec + " " + opaque},
			{`echo "git push"`, exec},
			{`grep -r 'git push -f' .`, exec},
			{`echo $HOME *.go`, exec},
			{`./script.sh --force`, exec + " " + opaque},
			{`find . -name '*.go' -type f`, exec},
			{`[ -f go.mod ]`, exec},
			{`[[ -n $x ]]`, exec},
			{`A=1`, exec},
			{`CGO_ENABLED=0 GOOS=linux go build`, exec + " " + opaque},
			{`cat .git/config`, exec},
			{`legit push`, exec + " " + opaque},
			{`sed -n '1,5p' f`, exec},
			{`sleep 1 # then git push`, exec},
			{`awkward`, exec + " " + opaque},
			{`2>/dev/null ls`, exec},
		},
		"git without commits and pushes": {
			{`git`, exec},
			{`git status`, exec},
			{`git --version`, exec},
			{`git log --oneline -5`, exec},
			{`git --no-pager diff HEAD~1`, exec},
			{`git -C "my dir" status`, exec},
			{`git add -A`, exec},
			{`git fetch --all --prune`, exec},
			{`git pull --rebase`, exec},
			{`git pull --recurse-submodules`, exec},
			{`git stash push -m x`, exec},
			{`git rebase origin/main`, exec},
			{`git checkout -b push`, exec},
			{`git log --grep push`, exec},
			{`git clean -fdx`, exec},
			{`git ls-files --exclude-standard`, exec},
			{`git submodule update --init`, exec},
			{`git tag push`, exec},
			{`GIT_PAGER=cat git log`, exec},
			{`GIT_TERMINAL_PROMPT=0 git fetch`, exec},
		},
		"commits": {
			{`git commit -m x`, commit},
			{`git commit -am "x; git push -f"`, commit},
			{`git commit --amend --no-edit`, commit},
			{"git commit -m 'first\n\ngit push (soon)'", commit},
			{`git -C dir commit`, exec + " " + commit},
			{`git -C "my dir" commit`, exec + " " + commit},
			{`git -C my\ dir commit`, exec + " " + commit},
			{`git --git-dir=x --work-tree y commit`, exec + " " + commit + " " + opaque},
			{`git --git-dir x commit`, exec + " " + commit + " " + opaque},
			{`git --no-pager -P commit`, commit},
			{`git commit -m "costs 5 $"`, commit},
			{`git commit -m 'a $(b)' -m 'a ` + "`b`" + `'`, commit},
			{"git commit -F - <<EOF\ngit push -f\nEOF", commit},
			{"git commit -F - <<-'EOF'\n\tuse `x` or $(y)\n\tEOF\n", commit},
			{"git \\\n  commit \\\n  -m x", commit},
			{`GIT_EDITOR=true git commit`, commit},
			{`git commit -F /tmp/message`, commit + " " + read},
			{`git commit -F - < message`, commit + " " + read},
		},
		"pushes": {
			{`git push`, push},
			{`  git   push	origin main  `, push},
			{`git push origin main:main`, push},
			{`git push -u origin HEAD`, push},
			{`git push --tags --follow-tags`, push},
			{`git push --dry-run`, push},
			{`git push --set-upstream origin x`, push},
			{`git push origin :`, push},
			{`git push git@example.com:a/b.git`, push},
			{`git push 2>&1`, push},
			{`git push > log 2>&1`, write + " " + push},
			{`>out git push`, write + " " + push},
			{`&>out git push`, write + " " + push},
			{`git push # -f`, push},
			{`git push --porcelain --progress --no-verify`, push},
			{`/usr/bin/git push`, exec + " " + push + " " + opaque},
			{`~/bin/git push`, exec + " " + push + " " + opaque},
			{`"git" push`, push},
			{`'git' 'push'`, push},
			{`g"i"t pu's'h`, push},
			{`\git push`, push},
			{`gi\t push`, push},
			{`GIT push`, exec + " " + push + " " + opaque},
			{`git.exe push`, exec + " " + push + " " + opaque},
			{`"C:\Program Files\Git\bin\git.exe" push`, exec + " " + push + " " + opaque},
			{`/usr/lib/git-core/git-push`, exec + " " + push + " " + opaque},
			{`git send-pack origin main`, exec + " " + push + " " + opaque},
			{`(git push)`, push},
			{`{ git push; }`, push},
			{`! git push`, push},
			{`if git push; then ls; fi`, push + " " + exec},
			{`f() { git push; }`, exec + " " + push + " " + opaque},
			{`case x in x) git push;; esac`, push},
			{`cd x && git push`, exec + " " + push},
			{`git commit -m x && git push`, commit + " " + push},
			{"git add .\ngit push", exec + " " + push},
			{`git status;git push`, exec + " " + push},
			{`git push|cat`, push + " " + exec},
			{`git push&`, push},
		},
		"pushes that overwrite or delete": {
			{`git push -f`, force},
			{`git push -fu origin main`, force},
			{`git push -uf origin main`, force},
			{`git push --force`, force},
			{`git push origin main --force`, force},
			{`git push --force-with-lease`, force},
			{`git push --force-with-lease=main:abc`, force},
			{`git push --forc`, exec + " " + force + " " + opaque},
			{`git push origin +main`, force},
			{`git push origin '+refs/heads/*:refs/heads/*'`, force},
			{`git push origin +:`, force},
			{`git push origin :main`, force},
			{`git push -d origin main`, force},
			{`git push --delete origin main`, force},
			{`git push --del origin main`, exec + " " + force + " " + opaque},
			{`git push --mirror`, force},
			{`git push --prune origin`, force},
			{`git push "--force"`, force},
			{`git push -"f"`, force},
			{`git -C dir push -f`, exec + " " + force},
			{`git --no-pager push -f`, force},
			{`git push > log -f`, write + " " + force},
			{`git push 2>&1 --force`, force},
			{`git push < /dev/null +main`, force},
			{"git push <<EOF -f\nx\nEOF", force},
			{"git \\\n push \\\n --force", force},
			{`git-push -f`, exec + " " + force + " " + opaque},
			{`git push -- +main`, force},
		},
		"git that may run anything": {
			{`git -c alias.x='!sh' x`, exec + " " + opaque},
			{`git -c user.name=me commit -m x`, exec + " " + commit + " " + opaque},
			{`git -c core.sshCommand=x push`, exec + " " + push + " " + opaque},
			{`git -c a=b -c c=d push -f`, exec + " " + force + " " + opaque},
			{`git --config-env=core.pager=X log`, exec + " " + opaque},
			{`git --config-env core.pager=X push`, exec + " " + push + " " + opaque},
			{`git --exec-path=/tmp/evil status`, exec + " " + opaque},
			{`git p`, exec + " " + opaque},
			{`git lfs push`, exec + " " + opaque},
			{`git subtree push --prefix x origin main`, exec + " " + opaque},
			{`git submodule foreach 'git push'`, exec + " " + opaque},
			{`git bisect run make`, exec + " " + opaque},
			{`git rebase -x 'git push' main`, exec + " " + opaque},
			{`git rebase -ix 'git push' main`, exec + " " + opaque},
			{`git rebase --exec 'git push' main`, exec + " " + opaque},
			{`git fetch --upload-pack=evil origin`, exec + " " + opaque},
			{`git push --receive-pack=evil origin`, exec + " " + push + " " + opaque},
			{`git clone 'ext::sh -c evil'`, exec + " " + opaque},
			{`git filter-branch --tree-filter x`, exec + " " + opaque},
			{`GIT_SSH_COMMAND=evil git push`, exec + " " + push + " " + opaque},
			{`PATH=/tmp/evil:$PATH git status`, exec + " " + opaque},
			{`git $x`, exec + " " + opaque},
			{`git {push,-f}`, exec + " " + opaque},
			{`git push $x`, exec + " " + push + " " + opaque},
			{`git push "$x"`, exec + " " + push + " " + opaque},
			{`git push {-f,origin}`, exec + " " + push + " " + opaque},
			{`git push -$x`, exec + " " + push + " " + opaque},
		},
		"programs that run others": {
			{`sudo git push`, exec + " " + push + " " + opaque},
			{`sudo -u git git push -f`, exec + " " + force + " " + opaque},
			{`env A=b git push`, exec + " " + push + " " + opaque},
			{`env`, exec + " " + opaque},
			{`xargs git push`, exec + " " + push + " " + opaque},
			{`timeout 60 git push`, exec + " " + push + " " + opaque},
			{`nohup /usr/bin/git push`, exec + " " + push + " " + opaque},
			{`time git push`, push},
			{`command git push`, exec + " " + push + " " + opaque},
			{`exec git push`, exec + " " + push + " " + opaque},
			{`eval git push`, exec + " " + push + " " + opaque},
			{`find . -exec git push \;`, exec + " " + push + " " + opaque},
			{`find . -execdir sh {} +`, exec + " " + opaque},
			{`ssh host git push`, exec + " " + push + " " + opaque},
			{`docker run image git push`, exec + " " + opaque},
			{`alias g=git`, exec + " " + opaque},
			{`make push`, exec + " " + opaque},
		},
		"programs that run text": {
			{`bash -c 'git push -f'`, exec + " " + force + " " + opaque},
			{`sh -c "git commit -m x && git push"`, exec + " " + commit + " " + push + " " + opaque},
			{`/bin/bash -lc 'cd x; git push'`, exec + " " + push + " " + opaque},
			{`bash -c git\ push`, exec + " " + push + " " + opaque},
			{`sudo sh -c "bash -c 'git push'"`, exec + " " + push + " " + opaque},
			{`bash -c 'git pu''sh'`, exec + " " + push + " " + opaque},
			{`bash script.sh`, exec + " " + opaque},
			{`eval "$x"`, exec + " " + opaque},
			{`env -S 'git push'`, exec + " " + push + " " + opaque},
			{`trap "git push" EXIT`, exec + " " + push + " " + opaque},
			{`python3 -c "import os; os.system('git push')"`, exec + " " + push + " " + opaque},
			{"python3.13 - <<'PY'\nimport os\nPY", exec + " " + opaque},
			{`node -e '1'`, exec + " " + opaque},
			{`awk '{print $1}' f`, exec + " " + opaque},
			{"sh <<EOF\ngit push\nEOF", exec + " " + opaque},
			{`echo 'git push' | sh`, exec + " " + opaque},
			{`. ./env.sh`, exec + " " + opaque},
			{`bash5 -c x`, exec + " " + opaque},
			{`BASH -c x`, exec + " " + opaque},
			{`pwsh -Command "git push"`, exec + " " + push + " " + opaque},
		},
		"words computed at run time": {
			{`echo $(git push -f)`, exec + " " + force},
			{`echo "$(git push -f)"`, exec + " " + force},
			{"echo `git push`", exec + " " + push},
			{"echo \"`git push`\"", push + " " + exec},
			{`git push $(echo origin) -f`, exec + " " + force + " " + opaque},
			{`git push "$(git remote)" main --force`, exec + " " + force + " " + opaque},
			{`cat <(git push)`, exec + " " + push},
			{`tee >(git push)`, exec + " " + push},
			{`x=$(git push)`, exec + " " + push},
			{`"$x" push`, exec + " " + opaque},
			{`$x push`, exec + " " + opaque},
			{`$'git' push`, push},
			{`$'g\151t' push`, push},
			{`/usr/bin/gi? push`, exec + " " + opaque},
			{`{git,push}`, exec + " " + opaque},
			{"cat <<EOF\n$(git push)\nEOF", exec + " " + push},
			{"git commit -m \"$(cat <<'EOF'\nsay \"it's\"; git push -f\nEOF\n)\"", exec + " " + commit},
		},
		"lines that cannot be parsed": {
			{``, exec + " " + opaque},
			{` ; `, exec + " " + opaque},
			{`# git push`, exec + " " + opaque},
			{`> /dev/null`, exec},
			{`echo 'a`, exec + " " + opaque},
			{`echo "a`, exec + " " + opaque},
			{`git push "-f`, exec + " " + force + " " + opaque},
			{`git push $(echo -f`, exec + " " + push + " " + opaque},
			{`git push \`, exec + " " + push + " " + opaque},
			{`)`, exec + " " + opaque},
		},
	}
	for group, cases := range tests {
		t.Run(group, func(t *testing.T) {
			for _, tt := range cases {
				assert.Equal(t, sorted(strings.Fields(tt.want)), shellNames(tt.command), "%s", tt.command)
			}
		})
	}
	t.Run("the names of all segments are returned", func(t *testing.T) {
		assert.Equal(t, sorted([]string{exec, commit, force, opaque}), shellNames("cd x", "git commit", "git push -f", "git push -f", "sh"))
		assert.Equal(t, sorted([]string{exec, opaque}), shellNames())
	})
}

func shellNames(segments ...string) string {
	var q event.Question
	q.SetNeeds(permission.ShellNeeds(segments...)...)
	if q.Opaque {
		q.Names = append(q.Names, opaque)
	}
	return sorted(q.Names)
}

// sorted joins names in a fixed order.
func sorted(names []string) string {
	slices.Sort(names)
	return strings.Join(names, " ")
}

// With quadratic time, this test would not end.
func TestShellNeedsTakesLinearTime(_ *testing.T) {
	for _, part := range []string{"a", "'", "\"", "$(", "(", "`", "\\", "\\ ", "<<x\n", "<<x\nx\n", "#\n", "\\\n", "git ", "git push ", "sh 'x' ", "=", "$'"} {
		permission.ShellNeeds(strings.Repeat(part, 1<<15/len(part)))
		permission.ShellNeeds("sh " + strings.Repeat(part, 1<<15/len(part)))
	}
}
