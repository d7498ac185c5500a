"""A client of the portal in Python 3, with the standard library only: JSON-RPC with server-sent events (spec/rpc.md).

    python3 client.py [http://localhost:8888]

If the portal requires a token, PORTAL_TOKEN has it. The agent's text goes to standard output, the rest to standard error.
"""
import contextlib, http.client, json, os, sys, time, urllib.error, urllib.parse, urllib.request

PORTAL = (sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8888").rstrip("/")
TOKEN = {"Authorization": f"Bearer {os.environ['PORTAL_TOKEN']}"} if os.environ.get("PORTAL_TOKEN") else {}
PROMPT = "Say `Here are the files of this directory:` then run `ls` and say `done`"
LOST = (OSError, http.client.HTTPException)  # the connection failed: another attempt may succeed


def note(text):
    print(f"# {text}", file=sys.stderr, flush=True)


def request(url, body=None, headers={}):
    try:
        # The portal sends a comment after 15 s of silence, so 45 s without a byte mean that the connection is dead.
        return urllib.request.urlopen(urllib.request.Request(url, body, {**TOKEN, **headers}), timeout=45)
    except urllib.error.HTTPError as error:
        raise ValueError(f"{error.code} {error.read().decode()}") from error
    except urllib.error.URLError as error:
        raise OSError(f"No portal answers at {PORTAL} ({error.reason}). Start one: make run ARGS=--demo") from error


def call(method, **params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    with request(f"{PORTAL}/rpc", body) as response:
        answer = json.load(response)
    if "error" in answer:
        raise ValueError(f"{method}: {answer['error']['message']}: {answer['error'].get('data')}")  # data is for people
    return answer["result"]


def events(url, cursor):
    """Yields the events after the cursor, each with event, data and perhaps id."""
    with request(url, headers={"Last-Event-ID": cursor} if cursor else {}) as response:
        event = {}
        for line in response:
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field:
                event[field] = json.loads(value) if field == "data" else value
            elif event:
                yield event
                event = {}


def handle(session, event, data):
    if event == "timeline.message" and data["type"] == "text":
        # The end of a text has what was not sent in pieces, normally nothing.
        print(data["content"], end="" if data["delta"] else "\n", flush=True)
    elif event == "timeline.toolCall":
        note(f"{data['toolName']} {data['status']}")
    elif event in ("tool.approval", "question"):
        answer(session, data, data.get("args", {}).get("command") == "ls")
    elif event == "error":
        note(f"{data['message']}: {data.get('data')}")
    elif event == "gap":
        note(f"events are missing: {data['reason']}")


def answer(session, question, approved):
    """Allows what a question asks for, once, or refuses it."""
    try:
        call("question.answer", sessionId=session, requestId=question["requestId"], approved=approved)
        note(f"{'allowed once' if approved else 'refused'}: {question.get('detail')}")
    except ValueError as error:
        note(error)  # another client may have been first


def follow(session, message, url):
    """Follows a run to its end and returns its status. It drops its first connection in the middle."""
    cursor, drop, failures = None, 5, 0
    while True:
        together = []
        try:
            with contextlib.closing(events(url, cursor)) as stream:  # closes the connection at the end of the block
                for event in stream:
                    # An event without an id belongs to the next one that has an id, and is sent again if the connection is
                    # lost between them. So they are handled, and the cursor moves, when all have arrived.
                    together.append(event)
                    if "id" not in event:
                        continue
                    for one in together:
                        handle(session, one["event"], one["data"])
                    cursor, together, drop, failures = event["id"], [], drop - 1, 0
                    if event["event"] == "done" and event["data"]["messageId"] == message:
                        return event["data"]["status"]
                    if drop == 0:
                        note(f"connection dropped after {cursor}")
                        break
        except LOST:
            failures += 1
            if failures > 5:
                raise
            time.sleep(1)


def main():
    # An interactive client answers questions, and the agent asks before it runs a command.
    options = {"model": "demo", "workingDirectory": os.getcwd(), "interactive": True, "permissions": {"exec.run": "ask"}}
    session = call("session.create", **options)["sessionId"]
    note(f"session {session}")
    try:
        sent = call("session.send", sessionId=session, prompt=PROMPT)
        status = follow(session, sent["messageId"], urllib.parse.urljoin(PORTAL, sent["streamUrl"]))
        note(f"run {status}")
    finally:
        call("session.close", sessionId=session)
        note("session closed")
    return 0 if status == "completed" else 1


try:
    sys.exit(main())
except (ValueError, *LOST) as problem:
    sys.exit(f"# {problem}")
