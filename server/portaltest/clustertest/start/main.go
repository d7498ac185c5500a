// The start command starts a cluster on this machine for trying it, as make cluster does: NATS servers, portals and a proxy.
// It stops all of them when it gets SIGINT or SIGTERM.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

func main() {
	log.SetFlags(0)
	var c cluster
	flag.StringVar(&c.portal, "portal", "bin/portal", "the portal")
	flag.StringVar(&c.nats, "nats", ".tools/nats-server", "the NATS server")
	flag.StringVar(&c.dir, "dir", "bin/cluster", "directory of all data")
	flag.IntVar(&c.port, "port", 8888, "port of the proxy; those of the portals follow")
	flag.IntVar(&c.servers, "servers", 3, "number of NATS servers")
	flag.IntVar(&c.nodes, "nodes", 3, "number of portals")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.run(ctx); err != nil {
		log.Fatalf("cluster: %v", err)
	}
}

// cluster says what to start.
type cluster struct {
	portal, nats, dir    string
	port, servers, nodes int
}

// run starts everything, and stops it when ctx ends.
func (c *cluster) run(ctx context.Context) (err error) {
	if c.dir, err = filepath.Abs(c.dir); err != nil {
		return err
	}
	nats, err := clustertest.StartNATS(ctx, clustertest.Options{Program: c.nats, Dir: c.dir, Servers: c.servers})
	if err != nil {
		return err
	}
	defer nats.Close()
	portals := make([]*portal, c.nodes)
	defer stopAll(portals)
	var targets []string
	for i := range portals {
		if portals[i], err = c.start(ctx, i+1, nats); err != nil {
			return err
		}
		targets = append(targets, portals[i].address)
	}
	proxy, err := clustertest.StartProxy(net.JoinHostPort("localhost", strconv.Itoa(c.port)), targets...)
	if err != nil {
		return err
	}
	defer proxy.Close()
	log.Print(c.describe(nats, portals))
	<-ctx.Done()
	log.Print("Stopping.")
	return nil
}

// describe says where everything is.
func (c *cluster) describe(nats *clustertest.NATS, portals []*portal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nA cluster with its data in %s. Ctrl-C stops it.\n\n", c.dir)
	fmt.Fprintf(&b, "  http://localhost:%d/   each connection goes to the next portal\n", c.port)
	for _, p := range portals {
		fmt.Fprintf(&b, "  http://%s/   portal %s, process %d\n", p.address, p.name, p.command.Process.Pid)
	}
	fmt.Fprintf(&b, "\n  PORTAL_CLUSTER_NATS=%s\n  PORTAL_CLUSTER_REPLICAS=%d\n", strings.Join(nats.URLs(), ","), c.replicas())
	fmt.Fprintf(&b, "\nWith these variables, see\n  bin/portal cluster status\n  bin/portal cluster check --monitoring %s\n", strings.Join(nats.Monitors(), ","))
	return b.String()
}

// replicas returns how many servers keep each message.
func (c *cluster) replicas() int { return min(c.servers, 3) }

// portal is a running portal.
type portal struct {
	name, address string
	command       *exec.Cmd
	exited        chan struct{}
	work          sync.WaitGroup
}

// start starts a portal with data of its own, and waits until it listens.
func (c *cluster) start(ctx context.Context, number int, nats *clustertest.NATS) (*portal, error) {
	p := &portal{name: fmt.Sprintf("node-%d", number), exited: make(chan struct{})}
	p.address = net.JoinHostPort("localhost", strconv.Itoa(c.port+number))
	home := filepath.Join(c.dir, p.name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	p.command = exec.Command(c.portal, "--demo", "--port", strconv.Itoa(c.port+number), "--data-dir", filepath.Join(home, "data")) //nolint:gosec,noctx // the program to try, which a signal stops
	p.command.Env = append(os.Environ(), "COPILOT_HOME="+home, "PORTAL_CLUSTER_NAME="+p.name,
		"PORTAL_CLUSTER_NATS="+strings.Join(nats.URLs(), ","), "PORTAL_CLUSTER_REPLICAS="+strconv.Itoa(c.replicas()))
	p.command.SysProcAttr = clustertest.Apart()
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	said, err := p.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	open := make(chan struct{})
	p.work.Go(func() {
		_, _ = bufio.NewReader(out).ReadString('\n') // the line with the port
		close(open)
		_, _ = io.Copy(io.Discard, out)
	})
	p.work.Go(func() { p.show(said) })
	go p.wait()
	select {
	case <-open:
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return p, err
	}
	return p, p.ended()
}

// show shows what a portal says.
func (p *portal) show(said io.Reader) {
	for lines := bufio.NewScanner(said); lines.Scan(); {
		log.Printf("%s | %s", p.name, lines.Text())
	}
}

// wait says when a portal has ended.
func (p *portal) wait() {
	defer close(p.exited)
	p.work.Wait()        // the pipes are read
	_ = p.command.Wait() // its state says more
	log.Printf("%s | ended: %s", p.name, p.command.ProcessState)
}

// ended returns an error if the portal has ended.
func (p *portal) ended() error {
	select {
	case <-p.exited:
		return errors.New(p.name + " does not start")
	default:
		return nil
	}
}

// stopAll stops portals as a system does that shuts down.
func stopAll(portals []*portal) {
	for _, p := range portals {
		if p != nil {
			_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
		}
	}
	for _, p := range portals {
		if p == nil {
			continue
		}
		select {
		case <-p.exited:
		case <-time.After(10 * time.Second):
			_ = p.command.Process.Kill()
			<-p.exited
		}
	}
}
