package clustertest

import (
	"errors"
	"io"
	"net"
	"sync"
)

// Proxy passes each connection to the next of its targets that answers, as a load balancer without stickiness does. With
// NATS servers as targets it is the network between one portal and them. Its methods may be called concurrently. The
// caller must close it.
type Proxy struct {
	listener net.Listener
	work     sync.WaitGroup

	mu      sync.Mutex
	targets []string
	next    int
	open    map[*link]struct{}
	severed bool
	flows   chan struct{} // closed while data passes
}

// link is a connection of a client.
type link struct {
	near   net.Conn
	closed chan struct{}
	close  func() // may be called repeatedly
}

// StartProxy starts a proxy on a loopback address; port 0 selects a free one.
func StartProxy(address string, targets ...string) (*Proxy, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // closed by Close
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, targets: targets, open: map[*link]struct{}{}, flows: make(chan struct{})}
	close(p.flows)
	p.work.Go(p.accept)
	return p, nil
}

// Address returns the address of the proxy, as in "127.0.0.1:4222".
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// URL returns the address for HTTP.
func (p *Proxy) URL() string { return "http://" + p.Address() }

// Drop closes all connections and returns their number. New ones are accepted.
func (p *Proxy) Drop() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.open)
	for l := range p.open {
		l.close()
	}
	clear(p.open)
	return n
}

// Sever closes all connections and refuses new ones until Heal: the other side is not there.
func (p *Proxy) Sever() {
	p.mu.Lock()
	p.severed = true
	p.mu.Unlock()
	p.Drop()
}

// Pause holds all data back until Heal, and loses none: packets do not arrive, and each side believes in its connection for a while.
func (p *Proxy) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flows:
		p.flows = make(chan struct{})
	default:
	}
}

// Heal ends Sever and Pause.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.severed = false
	select {
	case <-p.flows:
	default:
		close(p.flows)
	}
}

// Close closes all connections and the address.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Sever()
	p.work.Wait()
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		closed := make(chan struct{})
		l := &link{near: near, closed: closed}
		l.close = sync.OnceFunc(func() {
			close(closed)
			_ = near.Close()
		})
		if p.hold(l) {
			p.work.Go(func() { p.carry(l) })
		}
	}
}

// hold registers a connection, or closes it if the proxy is severed.
func (p *Proxy) hold(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.severed {
		l.close()
		return false
	}
	p.open[l] = struct{}{}
	return true
}

// carry copies data in both directions until either side ends the connection.
func (p *Proxy) carry(l *link) {
	defer p.end(l)
	if !p.wait(l) {
		return
	}
	far, err := p.dial()
	if err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		<-l.closed
		_ = far.Close()
	})
	both.Go(func() {
		defer p.end(l)
		p.copy(l, l.near, far)
	})
	p.copy(l, far, l.near)
	p.end(l)
	both.Wait()
}

// dial connects to the next target that answers.
func (p *Proxy) dial() (conn net.Conn, err error) {
	err = errors.New("there is no target")
	for range p.targets {
		p.mu.Lock()
		target := p.targets[p.next%len(p.targets)]
		p.next++
		p.mu.Unlock()
		if conn, err = net.Dial("tcp", target); err == nil { //nolint:noctx // on loopback, at once
			return conn, nil
		}
	}
	return nil, err
}

// copy copies data while it may pass.
func (p *Proxy) copy(l *link, to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !p.wait(l) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait waits until data may pass. It returns false if the connection is closed first.
func (p *Proxy) wait(l *link) bool {
	p.mu.Lock()
	flows := p.flows
	p.mu.Unlock()
	select {
	case <-flows:
		return true
	case <-l.closed:
		return false
	}
}

func (p *Proxy) end(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.close()
	delete(p.open, l)
}

// freePorts returns ports of loopback that nothing uses now.
func freePorts(n int) (list []int, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed below
		if err != nil {
			return nil, err
		}
		defer listener.Close()                                   //nolint:errcheck // after all are chosen, so that they differ
		list = append(list, listener.Addr().(*net.TCPAddr).Port) //nolint:errcheck,forcetypeassert // the address of a TCP listener
	}
	return list, nil
}
