// Package transcript plays conversations of a UI with the portal that are written
// down as text files: what the UI sends, and what has to come back. The files and
// their language are described in spec/transcripts/README.md.
//
// A [Script] is played over anything that is a [UI], so the same file holds for
// every carrier. Each message that passes, in either direction, is also held
// against the schema of the protocol ([Schema]).
package transcript
