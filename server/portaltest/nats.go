package portaltest

import (
	"path/filepath"
	"testing"

	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// NATS starts NATS servers, which stop at the end of the test.
func NATS(tb testing.TB, o clustertest.Options) *clustertest.NATS {
	tb.Helper()
	root, err := checkout()
	if err != nil {
		tb.Fatal(err)
	}
	o.Program, o.Dir = filepath.Join(root, ".tools", "nats-server"), tb.TempDir()
	n, err := clustertest.StartNATS(tb.Context(), o)
	if err != nil {
		tb.Fatalf("%v (make nats installs the server, make test does it)", err)
	}
	tb.Cleanup(n.Close)
	return n
}

// Balance starts a proxy without stickiness on a free port, for portals, or for one portal and NATS servers. It ends with the test.
func Balance(tb testing.TB, targets ...string) *clustertest.Proxy {
	tb.Helper()
	p, err := clustertest.StartProxy("localhost:0", targets...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}
