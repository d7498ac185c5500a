#!/bin/sh
# A client of the portal with curl and sed: REST with its long poll (spec/rest.md).
#
#   sh client.sh [http://localhost:8888]
#
# If the portal requires a token, PORTAL_TOKEN has it. The agent's text goes to standard output, the rest to standard error.
set -eu
portal=${1:-http://localhost:8888}
portal=${portal%/}
api=$portal/api/copilot/session
id=

note() { printf '# %s\n' "$*" >&2; }
fail() { note "$*"; exit 1; }

# request ARGUMENTS: runs curl, which reads the token from its standard input: every user of the machine can see arguments.
request() {
	{ [ -z "${PORTAL_TOKEN:-}" ] || printf 'header = "Authorization: Bearer %s"\n' "$PORTAL_TOKEN"; } | curl -s --config - "$@"
}

# value KEY: prints a text of the JSON object $r, as it is encoded. This page needs no more JSON; use jq if yours does.
value() { printf '%s\n' "$r" | sed -nE 's/.*"'"$1"'":"(([^"\\]|\\.)*)".*/\1/p'; }

# show TEXT: prints an encoded text.
show() { printf '%b' "$(printf '%s\n' "$1" | sed 's/\\"/"/g')"; }

# Without this, the session would stay in the list of the portal. "stop" instead of DELETE would keep its record.
finish() {
	if [ -n "$id" ]; then
		request -X DELETE "$api/$id" >/dev/null && note 'session deleted'
	fi
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

# live SECONDS: waits for the next response and sets r. It fails if the connection drops, or after so many seconds. The
# portal keeps the position of its reader and moves it only with a response, so the next call continues there.
live() { r=$(request --max-time "$1" "$api/$id/live"); }

# answer: allows the command that this client expects, once, and refuses any other.
answer() {
	question=$(value requestId) command=$(value detail) approved=false decision=refused
	[ "$command" != ls ] || approved=true decision='allowed once'
	# A lost connection during the run. Nothing arrives before the answer, so curl gives up after a second.
	if live 1; then handle; else note 'connection dropped'; fi
	r=$(request --data "{\"approved\": $approved}" "$api/$id/answer/$question")
	case $r in
	'{}') note "$decision: $command" ;;
	*) note "not answered: $(value error)" ;; # another client may have been first
	esac
}

# handle: handles the response $r.
handle() {
	callback=$(value callback)
	case $callback in
	onMessage) show "$(value delta)" ;;
	onEndMessage) echo ;;
	onPermissionRequest) answer ;;
	onEndToolExecution)
		case $r in
		*'"error":{'*) note "tool failed: $(value message)" ;;
		*) note 'tool completed' ;;
		esac
		;;
	'')
		case $r in
		*'"HttpRequestTimeout"'*) ;; # nothing happened for 5 s
		*'"sessionError"'*) note "error: $(value sessionError)" ;; # onIdle follows
		*) fail "live: $(value error)" ;;
		esac
		;;
	esac
}

# The agent asks for permissions; it must not ask anything else, because this client has no answers.
r=$(request --data-binary "$PWD" "$api/start/demo?permissions=ask&interactive=false") ||
	fail "No portal answers at $portal. Start one: make run ARGS=--demo"
id=$(value sessionId)
[ -n "$id" ] || fail "No session: $(value error). Is the portal started with --demo? Does PORTAL_TOKEN have its token?"
note "session $id"

r=$(request --data-binary 'Say `Here are the files of this directory:` then run `ls` and say `done`' "$api/$id/query")
[ "$r" = '{}' ] || fail "query: $(value error)"

callback= lost=0
until [ "$callback" = onIdle ]; do # onIdle: the run has ended
	if live 15; then
		lost=0
		handle
	else
		lost=$((lost + 1))
		[ "$lost" -le 5 ] || fail "No portal answers at $portal any more."
		sleep 1
	fi
done
r=$(request "$api/$id/history?limit=5000") # its last event says how
note "run $(value outcome)"
[ "$(value outcome)" = completed ]
