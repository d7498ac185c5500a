package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Helper is the first argument that makes a program call [Run] with the others: the
// portal is its own helper in a sandbox.
const Helper = "sandbox-run"

// The parts of the helper.
const (
	enterPart = "enter"
	relayPart = "relay"
)

// errHelper is the error of calls that no [Sandbox.Command] makes.
var errHelper = errors.New(Helper + " is for the portal itself, in a sandbox")

// Run is the helper in a sandbox without a network; args are from [Sandbox.Command]. It
// starts the relay and becomes the command, so it returns where that fails. The relay
// returns at its end.
func Run(args []string) error {
	if len(args) < 2 {
		return errHelper
	}
	directory := args[1]
	switch part, rest := args[0], args[2:]; {
	case part == enterPart && len(rest) > 1:
		return enter(directory, strings.FieldsFunc(rest[0], func(r rune) bool { return r == ',' }), rest[1:])
	case part == relayPart:
		return relay(directory, rest)
	}
	return errHelper
}

// enter listens for what the command connects to, leaves that to a relay, and becomes the
// command. The sockets exist before, so nothing has to wait for the relay.
func enter(directory string, hosts, command []string) error {
	var listen net.ListenConfig
	proxy, err := listen.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	listeners, targets := []net.Listener{proxy}, []string{""}
	for _, host := range hosts {
		for i, address := range onLoopback(host) {
			l, err := listen.Listen(context.Background(), "tcp", address)
			if err != nil && i > 0 {
				continue // no IPv6 here
			}
			if err != nil {
				return err
			}
			listeners, targets = append(listeners, l), append(targets, host)
		}
	}
	if err := startRelay(directory, targets, listeners); err != nil {
		return err
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, command, behindProxy(os.Environ(), proxy.Addr().String())) //nolint:gosec // what the portal wants to run
}

// behindProxy sets the variables that lead programs to a proxy. What listens on the
// sandbox's own loopback is reached directly.
func behindProxy(env []string, address string) []string {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"=http://"+address, strings.ToLower(name)+"=http://"+address)
	}
	const direct = "localhost,127.0.0.1,::1"
	return append(env, "NO_PROXY="+direct, "no_proxy="+direct)
}

// startRelay starts this program again, as the relay.
func startRelay(directory string, targets []string, listeners []net.Listener) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(self, append([]string{Helper, relayPart, directory}, targets...)...) //nolint:gosec,noctx // ourselves; it ends with the sandbox
	command.Stderr = os.Stderr
	for _, l := range listeners {
		tcp, ok := l.(*net.TCPListener)
		if !ok {
			return fmt.Errorf("%s is no TCP socket", l.Addr())
		}
		file, err := tcp.File()
		if err != nil {
			return err
		}
		command.ExtraFiles = append(command.ExtraFiles, file)
	}
	return command.Start()
}

// firstFile is the descriptor of the first of a command's ExtraFiles.
const firstFile = 3

// relay carries what comes in on each socket it was given to the gate: to its proxy
// where the target is "", else to a target behind it. And it carries the portal's
// connection to the agent. It ends with the first that fails.
func relay(directory string, targets []string) error {
	failed := make(chan error)
	go func() { failed <- relayAgent(filepath.Join(directory, agentSocket)) }()
	for i, target := range targets {
		l, err := net.FileListener(os.NewFile(uintptr(firstFile+i), ""))
		if err != nil {
			return err
		}
		go func() { failed <- serve(l, filepath.Join(directory, proxySocket), target) }()
	}
	return <-failed // the process ends with it, and so do the others
}

// serve carries the connections of a listener to a target behind the proxy.
func serve(l net.Listener, proxy, target string) error {
	var work sync.WaitGroup
	defer work.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		work.Go(func() {
			out, err := dialGate(proxy, target)
			if err != nil {
				_ = conn.Close()
				return
			}
			join(context.Background(), conn, out)
		})
	}
}

// dialGate connects to the proxy of the gate, and through it to a target other than "".
func dialGate(proxy, target string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(context.Background(), "unix", proxy)
	if err != nil || target == "" {
		return conn, err
	}
	return connectThrough(conn, target, nil)
}

// relayAgent joins the portal with the port of the agent, which the portal names first,
// in a line.
func relayAgent(socket string) error {
	var d net.Dialer
	portal, err := d.DialContext(context.Background(), "unix", socket)
	if err != nil {
		return err
	}
	reader := bufio.NewReader(portal)
	port, err := reader.ReadString('\n')
	if err != nil {
		return err
	}
	agent, err := d.DialContext(context.Background(), "tcp", net.JoinHostPort("127.0.0.1", strings.TrimSpace(port)))
	if err != nil {
		return err
	}
	join(context.Background(), buffered{portal, reader}, prompt{agent})
	return errors.New("the connection between the portal and the agent has ended")
}
