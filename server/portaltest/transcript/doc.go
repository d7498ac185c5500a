// Package transcript plays conversations between a UI and the portal from text files, which contain the messages
// that the UI sends and those that it expects. spec/transcripts/README.md describes the format.
//
// Any [UI] can play a [Script], so the same file applies to every carrier. Each message, in either direction, is
// also validated with the schema of the protocol.
package transcript
