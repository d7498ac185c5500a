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

// Helper is the first argument that makes a program call [Run] with the others: the portal is its own helper
// in a sandbox.
const Helper = "sandbox-run"

// The parts of the helper.
const (
	enterPart = "enter"
	relayPart = "relay"
)

// errHelper is the error of calls that do not come from [Sandbox.Command].
var errHelper = errors.New(Helper + " is for the portal itself, in a sandbox")

// Run is the helper in a sandbox without network; args come from [Sandbox.Command]. It starts the relay and
// replaces itself by the command, so it only returns on failure. The relay returns at its end.
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

// enter opens the sockets to which the command connects, passes them to a relay, and becomes the command. The
// sockets exist before, so nothing has to wait for the relay.
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
				continue // no IPv6
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

// behindProxy sets the proxy variables. The sandbox's own loopback is reached directly.
func behindProxy(env []string, address string) []string {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"=http://"+address, strings.ToLower(name)+"=http://"+address)
	}
	const direct = "localhost,127.0.0.1,::1"
	return append(env, "NO_PROXY="+direct, "no_proxy="+direct)
}

// startRelay starts this program again as the relay.
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
			return fmt.Errorf("%s is not a TCP socket", l.Addr())
		}
		file, err := tcp.File()
		if err != nil {
			return err
		}
		command.ExtraFiles = append(command.ExtraFiles, file)
	}
	return command.Start()
}

// firstFile is the first descriptor of a command's ExtraFiles.
const firstFile = 3

// relay forwards connections on its sockets to the gate: to its proxy if the target is "", otherwise through
// the proxy to the target. It also carries the portal's connection to the agent. It ends at the first
// failure.
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
	return <-failed // the process ends, and so do the others
}

// serve forwards connections of a listener to a target through the proxy.
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

// dialGate connects to the proxy of the gate, and through it to the target unless that is "".
func dialGate(proxy, target string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(context.Background(), "unix", proxy)
	if err != nil || target == "" {
		return conn, err
	}
	return connectThrough(conn, target, nil)
}

// relayAgent connects the portal with the port of the agent, which the portal names in the first line.
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
