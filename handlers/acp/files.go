package acp

import (
	"context"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/agent"
)

// files returns the files that the editor has open, for the agent. It returns false if the editor does not let agents read them.
func (a *attachment) files() (agent.Files, bool) {
	can := a.conn.capabilities().Files
	files := agent.Files{Read: a.readFile}
	if can.Write {
		files.Write = a.writeFile
	}
	return files, can.Read
}

func (a *attachment) readFile(ctx context.Context, path string) (string, error) {
	var text acp.FileText
	err := a.conn.peer.Call(ctx, "fs/read_text_file", readFileParams{a.id, path}, &text)
	return text.Content, err
}

func (a *attachment) writeFile(ctx context.Context, path, text string) error {
	return a.conn.peer.Call(ctx, "fs/write_text_file", writeFileParams{a.id, path, text}, nil)
}
