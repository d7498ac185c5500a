package agent

import "context"

// Files are the files that a client, such as an editor, has open: with the changes that are not saved yet. Paths are absolute.
type Files struct {
	// Read returns the text of a file as the client has it. An error means that the client does not have it.
	Read func(ctx context.Context, path string) (string, error)
	// Write replaces the text and saves it. nil means that the client cannot.
	Write func(ctx context.Context, path, text string) error
}

// Buffer is a file as a client of the session has it, saved or not.
type Buffer struct {
	Text string
	// Write replaces the text and saves it. nil means that the client cannot.
	Write func(ctx context.Context, text string) error
}
