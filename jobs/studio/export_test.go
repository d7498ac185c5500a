package studio

// Stream returns the code streamed for an answer that arrives in pieces.
func Stream(pieces []string) (streamed string) {
	var f codeExtractor
	for _, piece := range pieces {
		streamed += f.write(piece)
	}
	return streamed
}

// Spoken returns the text streamed before the suggestions.
func Spoken(pieces []string) (streamed string) {
	f := codeExtractor{before: true, word: suggestions}
	for _, piece := range pieces {
		streamed += f.write(piece)
	}
	return streamed
}

// ReadChat parses the answer to a message.
func ReadChat(text string) Chatted { return chatted(text) }
