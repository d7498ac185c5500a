package sdk

import (
	"debug/buildinfo"
	"os/exec"
	"strings"
)

// portalModule is the Go module of the portal, as in go.mod.
const portalModule = "github.com/copilot-portal/portal"

// IsPortal reports whether a program, given by path or by name on PATH, is a portal: this one, a link to it
// or another copy. A portal that used itself as the Copilot CLI would start portals without end.
func IsPortal(program string) bool {
	path, err := exec.LookPath(program)
	if err != nil {
		return false
	}
	info, err := buildinfo.ReadFile(path)
	return err == nil && info.Main.Path == portalModule && !strings.HasSuffix(info.Path, ".test")
}
