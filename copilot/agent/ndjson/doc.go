// Package ndjson drives any program that speaks the Copilot CLI Protocol:
// JSON-RPC 2.0, one message a line, on its standard streams. [Client] has the
// methods of the protocol with its time limits and retries; [Driver] makes of such
// a program an agent of the portal, whose prompts are chats. spec/cli.md says what
// the protocol leaves open.
package ndjson
