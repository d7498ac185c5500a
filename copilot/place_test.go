package copilot_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestSessionIsNotStartedOnNodesThatCannotBeReached(t *testing.T) {
	atHome(t, "the error is that of this node", func(h *home) {
		t := h.t
		p := h.portalWith(copilot.Options{Others: func() []string { return []string{"other"} }}) // it has no sockets
		defer p.stop()
		_, err := p.host.Start(t.Context(), copilot.Start{Directory: filepath.Join(h.work, "missing")})
		require.ErrorIs(t, err, fault.ErrDirectoryNotFound)
	})
}
