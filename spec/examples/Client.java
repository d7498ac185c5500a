// A client of the portal in Java 17 or later, with the standard library only: JSON-RPC with server-sent events (spec/rpc.md).
//
//   java Client.java [http://localhost:8888]
//
// If the portal requires a token, PORTAL_TOKEN has it. The agent's text goes to standard output, the rest to standard error.
import java.io.*;
import java.net.URI;
import java.net.http.*;
import java.util.*;

public class Client {
    static final HttpClient HTTP = HttpClient.newHttpClient();
    static String portal = "http://localhost:8888", session, run, status, cursor;
    static int drop = 5; // entries until the client drops its connection
    static int failures; // of connections, one after another

    public static void main(String[] args) throws Exception {
        if (args.length > 0) portal = args[0].replaceAll("/$", "");
        try {
            converse("Say `Here are the files of this directory:` then run `ls` and say `done`");
        } catch (IOException | IllegalStateException e) {
            note(e.getMessage());
        }
        System.exit("completed".equals(status) ? 0 : 1);
    }

    static void converse(String prompt) throws Exception {
        // An interactive client answers questions, and the agent asks before it runs a command.
        var options = "'model': 'demo', 'workingDirectory': %s, 'interactive': true, 'permissions': {'exec.run': 'ask'}";
        session = text(call("session.create", options, System.getProperty("user.dir")), "sessionId");
        note("session " + session);
        try {
            var sent = call("session.send", "'sessionId': %s, 'prompt': %s", session, prompt);
            run = text(sent, "messageId");
            while (status == null) read(URI.create(portal).resolve(text(sent, "streamUrl")));
            note("run " + status);
        } finally {
            call("session.close", "'sessionId': %s", session);
            note("session closed");
        }
    }

    /** Reads the stream after the cursor, up to the end of the run or of the connection. */
    static void read(URI stream) throws Exception {
        var request = HttpRequest.newBuilder(stream);
        if (cursor != null) request.header("Last-Event-ID", cursor);
        // An event without an id belongs to the next one that has an id, and is sent again if the connection is lost
        // between them. So they are handled, and the cursor moves, when all have arrived.
        var together = new ArrayList<String>(); // name, data, name, data …
        try (var lines = send(request)) { // closes the connection
            String id = null;
            for (String line; status == null && (line = lines.readLine()) != null;) {
                if (line.startsWith("id: ")) id = line.substring(4);
                if (line.startsWith("event: ")) together.add(line.substring(7));
                if (line.startsWith("data: ")) together.add(line.substring(6));
                if (!line.isEmpty() || id == null) continue;
                for (int i = 0; i < together.size(); i += 2) handle(together.get(i), together.get(i + 1));
                together.clear();
                cursor = id;
                id = null;
                failures = 0;
                if (--drop == 0) {
                    note("connection dropped after " + cursor);
                    return;
                }
            }
        } catch (IOException e) { // another attempt may succeed
            if (++failures > 5) throw e;
            Thread.sleep(1000);
        }
    }

    static void handle(String event, String data) throws Exception {
        switch (event) {
            case "timeline.message" -> { // the end of a text has what was not sent in pieces, normally nothing
                if (text(data, "type").equals("text")) System.out.print(text(data, "content") + (data.contains("\"delta\":true") ? "" : "\n"));
            }
            case "timeline.toolCall" -> note(text(data, "toolName") + " " + text(data, "status"));
            case "tool.approval", "question" -> answer(data, text(data, "command").equals("ls"));
            case "error" -> note(text(data, "message") + ": " + text(data, "data"));
            case "gap" -> note("events are missing: " + text(data, "reason"));
            case "done" -> status = text(data, "messageId").equals(run) ? text(data, "status") : null;
        }
    }

    /** Allows what a question asks for, once, or refuses it. */
    static void answer(String question, boolean approved) throws Exception {
        var params = "'sessionId': %s, 'requestId': %s, 'approved': " + approved;
        try {
            call("question.answer", params, session, text(question, "requestId"));
            note((approved ? "allowed once: " : "refused: ") + text(question, "detail"));
        } catch (IllegalStateException e) {
            note(e.getMessage()); // another client may have been first
        }
    }

    /** Calls a method. In its parameters, ' stands for a double quote, and %s for a text. */
    static String call(String method, String params, Object... texts) throws Exception {
        for (int i = 0; i < texts.length; i++) texts[i] = '"' + texts[i].toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
        var body = "{'jsonrpc': '2.0', 'id': 1, 'method': '" + method + "', 'params': {" + params + "}}";
        var request = HttpRequest.BodyPublishers.ofString(body.replace('\'', '"').formatted(texts));
        try (var lines = send(HttpRequest.newBuilder(URI.create(portal + "/rpc")).POST(request))) {
            var answer = lines.readLine();
            if (!answer.contains("\"error\":{")) return answer;
            throw new IllegalStateException(method + ": " + text(answer, "message") + ": " + text(answer, "data"));
        }
    }

    static BufferedReader send(HttpRequest.Builder request) throws Exception {
        var token = System.getenv("PORTAL_TOKEN");
        if (token != null) request.header("Authorization", "Bearer " + token);
        try {
            var response = HTTP.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
            var lines = new BufferedReader(new InputStreamReader(response.body(), "UTF-8"));
            if (response.statusCode() == 200) return lines;
            throw new IllegalStateException(response.statusCode() + " " + lines.readLine());
        } catch (java.net.ConnectException e) {
            throw new IOException("No portal answers at " + portal + ". Start one: make run ARGS=--demo", e);
        }
    }

    /** Returns a text in JSON by its key, or "". This page needs no more JSON; use a library if yours does. */
    static String text(String json, String key) {
        var start = "\"" + key + "\":\"";
        if (!json.contains(start)) return "";
        var out = new StringBuilder();
        for (int at = json.indexOf(start) + start.length(); json.charAt(at) != '"'; at++) {
            if (json.charAt(at) != '\\') out.append(json.charAt(at));
            else switch (json.charAt(++at)) {
                case 'n' -> out.append('\n');
                case 't' -> out.append('\t');
                case 'u' -> out.append((char) Integer.parseInt(json.substring(at + 1, (at += 4) + 1), 16));
                default -> out.append(json.charAt(at));
            }
        }
        return out.toString();
    }

    static void note(String text) { System.err.println("# " + text); }
}
