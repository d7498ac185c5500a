package studio

// Stream gives what of an answer that comes in these pieces would be told as code.
func Stream(pieces []string) (told string) {
	var f codeExtractor
	for _, piece := range pieces {
		told += f.write(piece)
	}
	return told
}

// Spoken gives what stands before the suggestions.
func Spoken(pieces []string) (told string) {
	f := codeExtractor{before: true, word: suggestions}
	for _, piece := range pieces {
		told += f.write(piece)
	}
	return told
}

// Chatted takes the answer to a message apart.
func ReadChat(text string) Chatted { return chatted(text) }
