// Package clustertest starts the parts of a cluster on loopback that are no portals: NATS servers, and proxies that spread
// connections and interrupt them.
package clustertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Options of NATS servers. Program and Dir are required.
type Options struct {
	Program string // path of nats-server
	Dir     string // of configurations, stores and logs; those of earlier servers go on
	Servers int    // default 1; several form a cluster
	Config  string // more lines of the configuration of each, which override those before
}

// NATS are NATS servers with JetStream, which write to the disk before they acknowledge. Their methods must not be called
// concurrently. The caller must close them.
type NATS struct {
	options Options
	servers []*natsServer
}

type natsServer struct {
	name                    string
	client, route, monitors int // ports
	command                 *exec.Cmd
	exited                  chan struct{} // closed at the end of the process; nil: not started
}

// attempts is how often StartNATS chooses ports: until a server listens, other programs may take its port.
const attempts = 5

// StartNATS starts servers and waits until they can be used.
func StartNATS(ctx context.Context, o Options) (n *NATS, err error) {
	o.Servers = max(o.Servers, 1)
	for range attempts {
		if n, err = startOnFreePorts(ctx, o); err == nil || ctx.Err() != nil {
			return n, err
		}
	}
	return nil, err
}

func startOnFreePorts(ctx context.Context, o Options) (*NATS, error) {
	ports, err := freePorts(3 * o.Servers)
	if err != nil {
		return nil, err
	}
	n := &NATS{options: o}
	for i := range o.Servers {
		n.servers = append(n.servers, &natsServer{name: fmt.Sprintf("nats-%d", i+1), client: ports[3*i], route: ports[3*i+1], monitors: ports[3*i+2]})
	}
	for _, s := range n.servers {
		err = errors.Join(err, n.launch(s))
	}
	for _, s := range n.servers {
		if err == nil {
			err = n.waitReady(ctx, s)
		}
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// URLs returns the addresses of all servers for clients.
func (n *NATS) URLs() (list []string) {
	for _, s := range n.servers {
		list = append(list, fmt.Sprintf("nats://127.0.0.1:%d", s.client))
	}
	return list
}

// Addresses returns the addresses of all servers for proxies.
func (n *NATS) Addresses() (list []string) {
	for _, s := range n.servers {
		list = append(list, fmt.Sprintf("127.0.0.1:%d", s.client))
	}
	return list
}

// Monitors returns the addresses at which the servers show their state over HTTP.
func (n *NATS) Monitors() (list []string) {
	for _, s := range n.servers {
		list = append(list, fmt.Sprintf("http://127.0.0.1:%d", s.monitors))
	}
	return list
}

// PIDs returns the process ids of the servers that run.
func (n *NATS) PIDs() (list []int) {
	for _, s := range n.servers {
		if s.exited != nil {
			list = append(list, s.command.Process.Pid)
		}
	}
	return list
}

// Kill kills a server with SIGKILL and waits for its end. Servers count from 0.
func (n *NATS) Kill(i int) { n.servers[i].end(syscall.SIGKILL) }

// Stop stops a server with SIGTERM and waits for its end.
func (n *NATS) Stop(i int) { n.servers[i].end(syscall.SIGTERM) }

// Restart starts a server that was killed or stopped, with its port and store, and waits until it can be used.
func (n *NATS) Restart(ctx context.Context, i int) (err error) {
	for range attempts { // something else may have its port for a moment
		if err = n.launch(n.servers[i]); err != nil {
			return err
		}
		if err = n.waitReady(ctx, n.servers[i]); err == nil || ctx.Err() != nil {
			return err
		}
		n.Kill(i)
	}
	return err
}

// Close stops all servers. It may be called repeatedly.
func (n *NATS) Close() {
	for _, s := range n.servers {
		s.signal(syscall.SIGTERM)
	}
	for _, s := range n.servers {
		s.end(syscall.SIGTERM)
	}
}

// launch starts the process of a server.
func (n *NATS) launch(s *natsServer) error {
	dir := filepath.Join(n.options.Dir, s.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	config := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(config, []byte(n.config(s)), 0o600); err != nil {
		return err
	}
	log, err := os.OpenFile(n.logOf(s), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()                                                                             //nolint:errcheck // the process has its own
	s.command = exec.Command(n.options.Program, "-c", config, "-sd", filepath.Join(dir, "store")) //nolint:gosec,noctx // the pinned program, which signals stop
	s.command.Stderr, s.command.SysProcAttr = log, Apart()
	if err := s.command.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	s.exited = exited
	go func(c *exec.Cmd) {
		defer close(exited)
		_ = c.Wait() // its log says more
	}(s.command)
	return nil
}

func (n *NATS) logOf(s *natsServer) string { return filepath.Join(n.options.Dir, s.name, "log") }

// config returns the configuration of a server. It does not tell clients about the other servers, whose connections would pass a proxy by.
func (n *NATS) config(s *natsServer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "server_name: %s\nhost: 127.0.0.1\nport: %d\nhttp: 127.0.0.1:%d\nmax_payload: 8MB\n", s.name, s.client, s.monitors)
	b.WriteString("jetstream: { sync_interval: always }\n")
	if len(n.servers) > 1 {
		var routes []string
		for _, other := range n.servers {
			routes = append(routes, fmt.Sprintf("\"nats://127.0.0.1:%d\"", other.route))
		}
		fmt.Fprintf(&b, "cluster: { name: portal, host: 127.0.0.1, port: %d, no_advertise: true, routes: [%s] }\n", s.route, strings.Join(routes, ", "))
	}
	return b.String() + n.options.Config + "\n"
}

// waitReady waits until a server says that it can be used.
func (n *NATS) waitReady(ctx context.Context, s *natsServer) error {
	const patience = 2 * time.Minute // on a busy machine
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for !s.isHealthy(ctx) {
		select {
		case <-every.C:
		case <-s.exited:
			return fmt.Errorf("%s ended:\n%s", s.name, n.lastOf(s))
		case <-ctx.Done():
			return fmt.Errorf("%s cannot be used: %w:\n%s", s.name, ctx.Err(), n.lastOf(s))
		}
	}
	return nil
}

// lastOf returns the end of the log of a server.
func (n *NATS) lastOf(s *natsServer) string {
	text, _ := os.ReadFile(n.logOf(s)) // there may be none
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

func (s *natsServer) isHealthy(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/healthz", s.monitors), nil)
	if err != nil {
		return false
	}
	answer, err := (&http.Client{Timeout: time.Second}).Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func (s *natsServer) signal(with os.Signal) {
	if s.exited != nil {
		_ = s.command.Process.Signal(with) // it may have ended
	}
}

// end ends the process of a server.
func (s *natsServer) end(with os.Signal) {
	if s.exited == nil {
		return
	}
	s.signal(with)
	select {
	case <-s.exited:
	case <-time.After(10 * time.Second):
		_ = s.command.Process.Kill()
		<-s.exited
	}
	s.exited = nil
}
