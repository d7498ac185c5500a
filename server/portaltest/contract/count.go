package contract

import "os"

// counts names the environment variable with the path of a file, to which every validated message adds a line.
const counts = "CONTRACT_COUNTS"

// count records that a message was validated. Lines of concurrent processes do not mix.
func count(document, kind string) {
	path := os.Getenv(counts) //nolint:forbidigo // every package would have to define a flag
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // of the developer
	if err != nil {
		return
	}
	_, _ = f.WriteString(document + ": " + kind + "\n")
	_ = f.Close()
}
