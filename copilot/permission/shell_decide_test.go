package permission_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// decideShell returns the decision on a command line in /project.
func decideShell(p permission.Policy, line string) permission.Decision {
	var q event.Question
	q.SetNeeds(permission.ShellNeeds(line)...)
	return permission.Decide(q.AllNeeds(), "/project", p)
}

// gitOnly allows only the git permissions.
var gitOnly = permission.Policy{permission.Commit: permission.Allow, permission.Push: permission.Allow, permission.ForcePush: permission.Allow}

func TestGitPermissionAllowsPlainGit(t *testing.T) {
	for _, line := range []string{
		`git commit`, `git commit -m x`, `git commit -am 'x; y'`, `git commit --amend --no-edit`, `git commit -m a -m b -- a.go 'b c.go'`,
		`git commit --message="costs $x"`, `git commit -m "$x"`, `git commit -F -`, `git commit -F notes.txt`, `git commit --file=notes.txt`,
		`git commit -qsm x --author 'A <a@b>' --date=now`, `git commit --trailer "Co-authored-by: X <x@y>" -m x`,
		`git commit -m "--exec=x"`, `git commit -m --receive-pack=x`, "git commit -F - <<'EOF'\n$(touch x)\nEOF",
		`git push`, `git push origin main`, `git push -u origin HEAD`, `git push --tags --follow-tags --atomic`, `git push origin +a:b`,
		`git push --force-with-lease=a:b origin a`, `git push -o ci.skip origin`, `git push -fu origin main`,
		`git push https://example.com/a/b.git main`, `git push ssh://git@example.com:22/a/b`, `git push git@example.com:a/b.git`,
		`git push 2>&1`, `git push > /dev/null 2>&1`, `git push 2>/dev/null`, `git commit -m x && git push`, `git commit -m x; git push`,
		`git --no-pager push`, `"git" 'push'`, `\git push`, `GIT_TERMINAL_PROMPT=0 git push`, `LC_ALL=C git commit -m x`,
		`GIT_EDITOR=true git commit --amend`, `GIT_AUTHOR_NAME='A B' git commit -m x`, `if git commit -m x; then git push; fi`, `! git push`,
	} {
		assert.Equal(t, permission.Allow, decideShell(gitOnly, line), "%s", line)
	}
}

func TestGitPermissionAllowsNoOtherCommand(t *testing.T) {
	for group, lines := range map[string][]string{
		"variables select programs or libraries": {
			`GIT_EDITOR='touch X' git commit`, `EDITOR=x git commit`, `VISUAL=x git commit`, `GIT_SEQUENCE_EDITOR=x git commit`,
			`GIT_SSH_COMMAND=x git push`, `GIT_SSH=x git push`, `GIT_PROXY_COMMAND=x git push`, `GIT_ASKPASS=x git push`, `SSH_ASKPASS=x git push`,
			`GIT_EXEC_PATH=x git push`, `GIT_CONFIG=x git push`, `GIT_CONFIG_GLOBAL=x git push`, `GIT_DIR=x git commit`, `GIT_WORK_TREE=x git commit`,
			`GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.editor GIT_CONFIG_VALUE_0=x git commit`, `GIT_CONFIG_PARAMETERS="'a.b=c'" git commit`,
			`GIT_TEMPLATE_DIR=x git commit`, `GIT_EXTERNAL_DIFF=x git commit -v`, `GIT_ALLOW_PROTOCOL=ext git push`, `GIT_TRACE=/x git push`,
			`PAGER=x git commit`, `GIT_PAGER=x git push`, `LESSOPEN='|x' git push`, `GIT_EDITOR=$x git commit`, `GIT_EDITOR=tru"$x" git commit`,
			`LD_PRELOAD=x git commit`, `LD_LIBRARY_PATH=x git commit`, `LD_AUDIT=x git push`, `DYLD_INSERT_LIBRARIES=x git commit`,
			`PATH=x git commit`, `PATH+=:x git commit`, `HOME=x git commit`, `XDG_CONFIG_HOME=x git commit`, `BASH_ENV=x git commit`,
			`UNKNOWN=x git commit`, `http_proxy=x git push`, `a[0]=x git commit`, `LC_ALL=C PATH=x git commit`,
			`PATH=x; git commit`, `export PATH=x; git commit`, `declare -x PATH=x; git commit`, `read PATH < f; git commit`,
			`for PATH in x; do git commit; done`, `select PATH in x; do git commit; done`, `: {PATH}>/dev/null; git commit`,
			`x=1; git commit`, `A=1 && git push`,
		},
		"options select programs or configuration": {
			`git -c core.editor=x commit`, `git -c core.fsmonitor=x commit`, `git -c core.hooksPath=x commit`, `git -ccore.editor=x commit`,
			`git --config-env=core.editor=X commit`, `git --config-env core.editor=X commit`, `git --config-e=core.editor=X commit`,
			`git --exec-path=x commit`, `git --exec-path x commit`, `git --git-dir=x commit`, `git --git-dir x push`, `git --work-tree=x commit`,
			`git --namespace=x push`, `git --bare push`, `git -p push`, `git --paginate push`, `git --unknown commit`, `git -C sub commit`,
			`git -C sub push`, `git -c a.b=c -C x push`, `git $x push`, `git "$x" push`, `git --no-pager"$x" push`,
			`git push --receive-pack=x`, `git push --receive-pack x origin`, `git push --exec=x`, `git push --exe=x`, `git push --rec=x`, `git push --rece x`,
			`git push --upload-pack=x`, `git push --signed`, `git push --recurse-submodules=on-demand`, `git push --repo=ext::x`, `git push --unknown`,
			`git push --forc`, `git push --del origin x`, `git push -x`, `git push -ux`, `git push -"$x"`, `git push "$x"`, `git push $x`, `git push "$@"`,
			`git push origin $x`, `git push {-f,origin}`, `git push {"--exec=x",origin}`, `git push *`, `git push --push-option`, `git push -o $x`,
			`git commit -S`, `git commit -Skey`, `git commit --gpg-sign`, `git commit -p`, `git commit --patch`, `git commit --interactive`,
			`git commit -t x`, `git commit --mess=x`, `git commit --unknown`, `git commit -m $x`, `git commit $x`, `git commit "$x"`, `git commit -m`,
			`git commit --pathspec-from-file=x`, `git commit --help`, `git push --help`,
		},
		"another program than git": {
			`./git commit`, `/usr/bin/git commit`, `../git push`, `~/bin/git push`, `bin/git commit`, `GIT commit`, `git.exe push`, `$git commit`,
			`g"$x"it commit`, `git* commit`, `/usr/lib/git-core/git-push`, `git-commit -m x`, `gitt push`, `git commit-tree x`, `git send-pack x`,
			`git push-all`, `git status`, `git add .`, `git`, `git() { x; }; git push`, `alias git=x; git push`, `function git { x; }; git push`,
			`hash -p /x git; git push`, `enable -n x; git push`, `source x; git push`, `. x; git push`, `eval x; git push`, `trap x EXIT; git push`,
			`env git push`, `sudo git push`, `command git push`, `exec git push`, `nohup git push`, `xargs git push`, `coproc git push`,
		},
		"an address selects a program": {
			`git push 'ext::sh -c touch% X'`, `git push ext::x`, `git push fd::3`, `git push x::y`, `git push transport-helper::x`, `git push -f ext::x`,
			`git push -- ext::x`, `git push foo://bar/x`, `git push file:///tmp/x`, `git push ./x`, `git push ../x`, `git push /tmp/x`, `git push ~/x`,
			`git push sub/dir`, `git push .`, `git push ssh://-oProxyCommand=x/y`, `git push -- -oProxyCommand=x:y`, `git push user@-oProxyCommand=x:y`,
			`git push 'C:\x'`, `git push "ext::$x"`, `git push ""`,
		},
		"redirections write files": {
			`git commit >> X`, `git commit > X`, `git commit >| X`, `git commit &> X`, `git commit &>> X`, `git commit <> X`, `git commit 2> X`,
			`git commit 2>> X`, `git commit >& X`, `git commit 3> X`, `>X git commit`, `git commit > $x`, `git commit > "$x"`, `git commit > ~/x`,
			`{ git commit; } > X`, `(git commit) > X`, `if git push; then git commit; fi > X`, `while git push; do git commit; done >> X`,
			`git commit > /dev/null > X`, `git push > /dev/tcp/host/80`, `git commit -F - < /dev/tcp/host/80`,
		},
		"redirections and options read files elsewhere": {
			`git commit -F /etc/shadow`, `git commit --file /etc/shadow`, `git commit -F - < /etc/shadow`, `git commit -F ../x`, `git commit -F ~/x`, `git commit -F "$x"`,
			`git commit -aF /etc/shadow`, `git commit -F/etc/shadow`, `{ git commit -F -; } < /etc/shadow`,
		},
		"other commands beside it": {
			`git commit -m x; touch X`, `git commit -m x && touch X`, `git commit -m x | tee X`, `git commit -m x & touch X`, "git commit -m x\ntouch X",
			`git commit -m "$(touch X)"`, "git commit -m \"`touch X`\"", `git commit -m $(touch X)`, `git push <(touch X)`, `git push > >(touch X)`,
			"git commit -F - <<EOF\n$(touch X)\nEOF", `git commit -m "${x:-$(touch X)}"`, `git commit -m "$((x[$(touch X)]))"`, `git commit -m "${x@P}"`,
			`(touch X; git commit)`, `if touch X; then git commit; fi`, `case $(touch X) in x) git commit;; esac`, `git commit -m "x`, `git commit -m 'x`,
			"git commit -m x # n \\\ntouch X", `git commit -m "${x:-'$(touch X)'}"`, "git commit -F - <<EOF\n${x:-'$(touch X)'}\nEOF", "git commit -m \r#; touch X",
			"git commit -F - <<EOF\nEO\\\nF\ntouch X\nEOF", `a=(1)#; touch X; git commit`,
		},
	} {
		t.Run(group, func(t *testing.T) {
			for _, line := range lines {
				assert.Equal(t, permission.Ask, decideShell(gitOnly, line), "%s", line)
			}
		})
	}
}

func TestGitAndCommandPermissionsAllowAnyGit(t *testing.T) {
	p := permission.Policy{"git": permission.Allow, permission.Exec: permission.Allow}
	for _, line := range []string{
		`GIT_EDITOR='touch X' git commit`, `git -c core.editor=x commit`, `./git commit`, `git push ext::x`, `git -C sub push`, `git commit -S`, `git push --exec=x`,
	} {
		assert.Equal(t, permission.Allow, decideShell(p, line), "%s", line)
	}
}

func TestRedirectionNeedsPermissionToWrite(t *testing.T) {
	p := permission.Policy{permission.Exec: permission.Allow, permission.Commit: permission.Allow}
	for _, line := range []string{`ls > x`, `ls >> x`, `ls | tee x`, `ls | tee -a x`, `sudo tee x`, `{ ls; } > x`, `> x`, `ls &> x`, `git commit > x`} {
		assert.Equal(t, permission.Ask, decideShell(p, line), "%s", line)
	}
	p[permission.Write] = permission.Deny
	assert.Equal(t, permission.Deny, decideShell(p, `ls > x`))
	p[permission.Write] = permission.Allow
	assert.Equal(t, permission.Allow, decideShell(p, `ls > x`))
}

// everyday lists commands that agents run often.
var everyday = []string{
	`echo "${x//$'\n'/ }"`, `echo "${x%'.go'}"`, "cat <<'JS'\nJSON.parse(x)\nJS", `git log -n"$N"`, `git grep foo -n -- '*.go'`,
	`ls -la`, `cat a.txt`, `cat < a.txt`, `head -n 5 a && tail -3 b`, `grep -rn 'git push' . | sort | uniq -c`, `wc -l *.go`, `find . -name '*.go' -type f`,
	`sed -n '1,20p' a.go`, `sed -i 's/a/b/g' a.go`, `sed -i.bak -e 's|a|b|' -e '/x/d' a.go`, `rg -n foo`, `tree -L 2`, `diff -u a b`, `tar czf x.tgz src`, `sed -e ':a' -e '$!{N;ba' -e '}' a`, `sed ':a;N;$!ba;s/\n/ /g' a`,
	`mkdir -p a/b && cd a/b && touch c`, `cp -r a b && mv b c && rm -rf c`, `echo "$HOME" done`, `printf '%s\n' x`, `date +%s`, `pwd; whoami`,
	`git status`, `git status --short`, `git diff HEAD~1`, `git log --oneline -5`, `git add -A`, `git show HEAD:a.go`, `git branch -a`, `git checkout -b x`,
	`git stash`, `git fetch origin`, `git pull --rebase`, `git rev-parse HEAD`, `git --no-pager diff -- a.go`, `git blame a.go`, `git config user.name`, `git config user.email a@b`,
	`for f in *.go; do echo "$f"; done`, `while read -r line; do echo "$line"; done < a.txt`, `read -r -d '' x < a`, `if [ -f a ]; then cat a; fi`, `[[ -d x ]] && ls x`,
	`ls; [[ $? -eq 0 ]] && echo "ok"`, `echo $((1 + 2 * (3 - 0x1f)))`, `[[ $# -gt 1 ]]`, `[[ "${#x}" -lt 10 ]]`, `[[ -v HOME ]]`, `((1))`, `echo "${a[@]}" ${a[0]} ${x:1:3} ${!a*}`, `a[0]=1`, `wait`, `sleep 1 & wait $!`, `wait "$pid"`, `unset 'a[0]' 'a[@]'`,
	`for k in "${!a[@]}"; do echo "$k"; done`, `[ "$x" = '[$]' ]`, `[ -z "$x" ] || test "$y" -gt 1`,
	`x=$(git rev-parse HEAD) && echo "$x"`, `ls 2>/dev/null || true`, `ls > /dev/null 2>&1`, `set -euo pipefail; ls`, `export LANG=C; ls`, `command -v go`, `go version`,
	`jq . a.json`, `ps aux | grep x`, `sleep 1`, `kill 123`, `test -n "$x"`, `git tag v1`, `ls ~/x`, `chmod +x a.sh`, `python3 --version`, `unset x Y`, `unset -f f`, `unset 'a[0]'`, `test -v PATH`, `[ -n "$x" ]`, `[ "$x" = '[$]' ]`,
	"ls # c", "ls;# c\npwd", "ls \\\n  -l # c\n# git push \\", "cat <<EOF\n$x ${y:-z} \\$ \\\n  a\nEOF", "cat > /dev/null <<'EOF'\n$(x) \\\nEOF\nls", "cat <<-\"E_1\"\n\ta\n\tE_1\n", "cat <<A <<B\na\nA\nb\nB", "cat <<EOF\nEOF\nls",
	"x=$(cat <<EOF\n\\\\\na $(ls 'b')\nEOF\n)", `echo "${x:-a}" "$(echo 'b')" "${x:-$(echo 'c')}" ${x:-'d'}`, `[[ $x == @(a|b*) ]]`, `a=(1 2) # c`, "a=(\n1 # c\n)", `(ls) # c`, "case $x in # c\na) ls;; # d\nesac",
	`git log "--author=$x"`, `git log "--since=$x" -- "$y" *.go`, `git diff --stat -- *.go`, `git grep -n foo -- *.go`, `git grep -e foo -- "$x"`, `git show HEAD:"$x"`, `git submodule update --init`, `git bisect good v1`,
	`set -- "$x" -k`, `set -o pipefail`, `set +e`, `shopt -s nullglob globstar`, `: "${x:=1}"`, `: "${LANG:=C}"`,
}

// runners run other programs or scripts.
var runners = []string{
	`go test ./...`, `go build`, `go run .`, `go generate`, `npm test`, `npm run build`, `npx x`, `yarn`, `pnpm i`, `make`, `cargo test`, `gradle build`, `mvn test`,
	`tar --checkpoint=1 --checkpoint-action=exec=x cf a b`, `tar --checkpoint-action=exec='git push' -cf a b`, `tar -I x -cf a b`, `tar -cf a --use-compress-program=x b`,
	`tar --to-command=x -xf a`, `tar -xf a --rsh-command=x`, `tar -F x -xf a`, `tar xf host:a`, `tar --checkpoint-a=exec=x -cf a b`, `tar -cIf x a b`, `tar cFf x a b`,
	`sed e`, `sed '1e git push' a`, `sed 's/x/git push/e' a`, `sed 's/x/y/ge' a`, `sed -n 'e' a`, `sed -e p -e 'e x' a`, `sed 's/a/b/w x' a`, `sed 'w x' a`, `sed -f x a`,
	`sed --expression=e a`, `sed '/x/e y' a`, `sed '1{e
}' a`, `sed 's,a,b,;e x' a`, `sed "$x" a`, `sed $x a`, `sed 'y/a/b/;e' a`, `sed '2!e x' a`, `sed 's/[/]e/x/' a`, `sed ':a e x' a`, `sed 'ba e x' a`,
	"ed a <<< '!git push'", `ed -s a`, `ex a`, `./script`, `./script.sh --force`, `../x/y`, `bin/tool`, `/tmp/x`, `/bin/ls`, `~/x`, `script.sh`, `legit`, `$x`, `"$x" a`, `l$x`,
	`vim -c '!git push' -c q`, `vi a`, `nano a`, `emacs --batch`, `man -P x ls`, `man ls`, `less a`, `more a`, `rsync -e x a b:c`, `rsync a b`, `rg --pre x y`, `rg --pr x y`,
	`rg --pre=x y`, `rg -z x`, `rg --hostname-bin x y`, `rg $x`, `gh pr create`, `gh api x`, `hub push`, `glab mr create`, `ssh host x`, `scp a b:c`, `sftp x`, `curl x`, `wget x`,
	`find . -exec x {} +`, `find . -execdir x \;`, `find . -ok x \;`, `find . -okdir x \;`, `find . -name a $x`, `xargs x`, `env x`, `env`, `nice x`, `ionice x`, `nohup x`, `timeout 5 x`,
	`time -p ./x`, `stdbuf -o0 x`, `setsid x`, `sudo x`, `su -c x`, `doas x`, `awk 'BEGIN{system("x")}'`, `gawk x`, `perl -e x`, `python3 -c x`, `python3 x.py`, `ruby x`, `node x`, `php x`, `lua x`,
	`bash x`, `sh -c x`, `zsh x`, `fish x`, `busybox ls`, `toybox ls`, `docker run x`, `podman x`, `kubectl exec x`, `vagrant x`, `ansible x`, `tmux new x`, `screen x`, `script -c x`,
	`watch x`, `parallel x`, `entr x`, `flock a x`, `strace x`, `gdb x`, `ltrace x`, `valgrind x`, `perf x`, `crontab x`, `at now`, `systemd-run x`, `expect x`, `socat x`, `nc -e x`, `ncat x`,
	`sort --compress-program=x a`, `sort --compress-prog x a`, `sort --comp=x a`, `sort $x`, `split --filter=x a`, `split --fil=x a`, `install -s --strip-program=x a b`, `diff -l a b`, `file -z a`,
	`zip -TT x a`, `7z x`, `patch -p1`, `bc`, `dc`, `m4 x`, `tclsh x`, `gcc x.c`, `cc x`, `ld x`, `ldd x`, `cmake .`, `ninja`, `bazel x`, `ant`, `sbt x`, `mix x`, `rake`, `bundle exec x`, `pip install x`, `uv run x`,
	`source x`, `. x`, `eval x`, `exec x`, `trap x EXIT`, `alias a=b`, `builtin eval x`, `command x`, `enable x`, `hash -p a b`, `printf -v PATH x`, `read PATH`, `export PATH=x`, `export GIT_EDITOR=x`, `jobs -x y`,
	`read 'a[$(git push)]'`, "read 'a[`git push`]'", `export 'LC_a[$(x)]=y'`, `unset 'a[$(git push)]'`, `unset "$x"`, `test -v 'a[$(git push)]'`, `[ -v 'a[$(git push)]' ]`, `test -v "$x"`,
	`(( x ))`, `((a[$(git push)]))`, `let x`, `let 'a[$(git push)]'`, `x='a[$(git push)]'; echo $((x))`, `echo $[x]`, `echo $(( $x ))`, `for ((i = n; i < 3; i++)); do ls; done`,
	`[[ -v 'a[$(git push)]' ]]`, `[[ -v $x ]]`, `[[ -R x[0] ]]`, `[[ $x -eq 1 ]]`, `[[ 1 -lt 'a[$(git push)]' ]]`, `[[ "$x" -ge 1 ]]`, `a[x]=1`, `a=([x]=1)`, `echo ${a[x]}`, `echo ${a:x}`, `echo ${a:0:x}`,
	`x='a[$(git push)]'; echo ${!x}`, `declare -i x`, `declare -i x='a[$(git push)]'`, `echo $((1 + ${x:-1}))`, `wait -p 'a[$(git push)]' -n`, `wait -np x`, `wait $x`, `wait "$x" "$y"`,
	`b='a[$(git push)]'; unset 'a[b]'`, `test -v 'a[b]'`, `[ -v 'a[b]' ]`, `o=-v; [ $o 'a[$(git push)]' ]`, `test "$o" 'a[b]'`, `[ -R 'a[b]' ]`, `echo ${!a[@]:-x}`,
	`declare -f x`, `PATH=x ls`, `LD_PRELOAD=x ls`, `FOO=x ls`, `PATH=x`, `f() { ls; }; f`, `coproc ls`, `mapfile -C x a`, `complete -C x y`, `bind -x x`, `fc`, `echo "${x@P}"`,
	`git -c a.b=c status`, `git p`, `git lfs push`, `git difftool`, `git mergetool`, `git submodule foreach x`, `git bisect run x`, `git rebase -x y z`, `git rebase --ex y`, `git grep -Ox y`, `git grep --open=x y`,
	`git diff --ext-diff`, `git clone -c a.b=c x`, `git clone ext::x`, `git clone -u x y`, `git clone --template=x y`, `git init --template=x`, `git config alias.x '!y'`, `git config --global core.pager x`, `git config -e`,
	`git fetch --upload-pack=x`, `git fetch --upl x`, `git ls-remote --exec=x`, `git archive --remote=x --exec=y z`, `git merge -s x y`, `git help x`, `git send-email x`, `git filter-branch x`, `git daemon`, `git $x`,
	`git grep -e -- '-Ogit push origin main #'`, `git grep -f -- '-Ox' a`, `git grep -ie -- '-Ox'`, `git grep -e -- *`,
	`x='exec=git push'; git rebase "--$x" HEAD~1`, `x='Ogit push #'; git grep "-$x" a`, `git bisect "r$x" git push`, `git submodule "fore$x" 'git push'`, `git init "--$x"`, `git clone --"$x" a b`,
	`set -k; git diff GIT_EXTERNAL_DIFF='git push #'`, `set -ek`, `set -o keyword`, `shopt -so keyword`, `set "$x"`, `set $x`, `shopt "$x"`,
	`set -a; : "${GIT_EXTERNAL_DIFF:=git push #}"; git diff`, `unset PATH; : "${PATH:=/tmp/x:/bin}"; ls`, `echo ${PAGER=x}`,
}

// misread are lines that bash reads in another way than the parser does; each pushes in bash.
var misread = []string{
	"ls # x \\\ngit push --force", "cat <<A # x \\\nA\ngit push\nA",
	`echo "${x:-'$(git push)'}"`, "cat <<E\n${x:-'`git push`'}\nE", `echo "${x:-a${y-'$(git push)'}}"`,
	"ls \r#; git push", "ls \\\r\ngit push",
	"cat <<EOF\nEO\\\nF\ngit push\nEOF", "cat <<EOF\n\\\nEOF\ngit push\nEOF", "cat <<-EOF\n\\\n\tEOF\ngit push\nEOF",
	"cat <<$'E\\x46'\nEF\ngit push\nE\\x46", "cat <<$'E\\x46'\nE\\x46\n: <<'X'\nEF\ngit push\nX", "cat <<\"E\\\"F\"\nE\\\"F\n: <<'X'\nE\"F\ngit push\nX",
	"cat <<EOF\n${x}EOF\n: <<'X'\nEOF\ngit push\nX", "cat <<EOF\n$(: '\nEOF\ngit push\n: ')\nEOF", "x=$(cat <<EOF\nEOF)\ngit push\nEOF\n)",
	"echo `cat <<EOF\nEO\\\\\nF\ngit push\nEOF\n`",
	`[[ a == @($(git push)) ]]`, "[[ a != +(`git push`) ]]", `[[ a == @(<(git push)) ]]`, `[[ a == @(')') ]]; git push; : ' ]] # '`, `!(git push)`,
	`a=(1)#; git push`, "echo $(echo \"x\"#; git push\n)", "echo $(echo \"x\"\\\n#; git push\n)",
}

func TestPushIsFoundWhereBashReadsALineInAnotherWay(t *testing.T) {
	for _, line := range misread {
		assert.Equal(t, permission.Deny, decideShell(permission.Policy{"*": permission.Allow, permission.Push: permission.Deny}, line), "%q", line)
		assert.Equal(t, permission.Ask, decideShell(permission.Policy{"*": permission.Allow, permission.Fetch: permission.Deny}, line), "%q", line)
	}
}

func TestPatternsRestrictLinesThatBashReadsInAnotherWay(t *testing.T) {
	const line = `rm -rf "${x:-'build'}"`
	for _, d := range []permission.Decision{permission.Ask, permission.Deny} {
		assert.Equal(t, d, decideShell(permission.Policy{"*": permission.Allow, "exec.run(rm *)": d}, line))
	}
	assert.Equal(t, permission.Ask, decideShell(permission.Policy{"exec.run(rm *)": permission.Allow}, line))
}

func TestEverydayCommandsAreAllowedDespiteDenyRule(t *testing.T) {
	for _, line := range everyday {
		assert.Equal(t, permission.Allow, decideShell(permission.Policy{permission.Exec: permission.Allow}, line), "%s", line)
		assert.Equal(t, permission.Allow, decideShell(permission.Policy{"*": permission.Allow, permission.Push: permission.Deny}, line), "%s", line)
	}
}

func TestRunnersAreAskedIfAnythingIsDenied(t *testing.T) {
	for _, line := range runners {
		allowed := permission.Policy{"*": permission.Allow}
		assert.Equal(t, permission.Allow, decideShell(allowed, line), "%s", line)
		for _, name := range []string{permission.Push, permission.Commit, permission.Write, permission.Fetch} {
			p := permission.Policy{"*": permission.Allow, name: permission.Deny}
			assert.NotEqual(t, permission.Allow, decideShell(p, line), "%s with %s: deny", line, name)
		}
	}
}

func TestPushIsDeniedInsideVisibleWrapper(t *testing.T) {
	p := permission.Policy{"*": permission.Allow, permission.Push: permission.Deny}
	for _, line := range []string{
		`sudo git push`, `env A=b git push`, `xargs git push`, `timeout 60 git push`, `nohup /usr/bin/git push`, `time git push`, `command git push`, `exec git push`,
		`find . -exec git push \;`, `ssh host git push`, `bash -c 'git push -f'`, `sh -c "cd x && git push"`, `bash -c $'git\x20push'`, `eval git push`, `nice -n 5 git-push`,
		`python3 -c "import os; os.system('git push')"`, `$'\x67it' push`, `echo $(git push)`, `cat <(git push)`, `{ git push; }`, `git push || true`, `git -C x push`, `git -c a=b push`,
	} {
		assert.Equal(t, permission.Deny, decideShell(p, line), "%s", line)
	}
}
