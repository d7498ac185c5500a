package sdk_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sandbox"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
)

// fakeVariable makes the test binary a CLI with a sign-in state and a list of models, which the real one has only with
// an account.
const fakeVariable = "PORTAL_TEST_FAKE_CLI"

// scriptedCLI defines the behavior of such a CLI.
type scriptedCLI struct {
	Version  string
	SignedIn bool
	Account  string            // further JSON members of the sign-in state
	Quota    string            // JSON of the response; "" means an error
	Models   string            // JSON of the list; "" means an error
	Silent   string            // method that it never answers
	Misses   string            // method that it answers only when it is called again
	Dies     string            // method at which it exits
	HangsUp  string            // method at which it closes the connection
	Computes string            // method at which it computes for ever
	Waits    string            // method at which it waits for a child, as node does with execFileSync
	SignsIn  string            // file that makes it signed in while it exists
	Asked    string            // file to which it appends the called methods
	Results  map[string]string // JSON of the responses to other methods
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Helper {
		fmt.Fprintln(os.Stderr, sandbox.Run(os.Args[2:]))
		os.Exit(1)
	}
	if text := os.Getenv(fakeVariable); text != "" {
		fakeCLI(text)
		return
	}
	if os.Getenv(formserver.Variable) != "" {
		formserver.Serve(os.Stdin, os.Stdout, os.Getenv(formserver.Mark))
		return
	}
	if home := os.Getenv(ownerVariable); home != "" {
		own(home)
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// atOnce is the number of concurrent tests per processor without -parallel: they mostly wait.
const atOnce = 2

// driver returns a driver of the scripted CLI.
func (f scriptedCLI) driver(tb testing.TB, change func(*sdk.Options)) *sdk.Driver {
	tb.Helper()
	self, err := os.Executable()
	require.NoError(tb, err)
	text, err := json.Marshal(f)
	require.NoError(tb, err)
	o := sdk.Options{
		Locate: sdk.Locate{Configured: self},
		Env:    append(os.Environ(), fakeVariable+"="+string(text)),
		Demo:   demoModel(tb),
		Log:    slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	return sdk.New(o)
}

func fakeCLI(text string) {
	var f scriptedCLI
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	fmt.Fprintf(os.Stdout, "CLI server listening on port %s\n", port)
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go f.serve(conn)
	}
}

func (f scriptedCLI) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	for missed := false; ; {
		var size int
		if _, err := fmt.Fscanf(in, "Content-Length: %d\r\n\r\n", &size); err != nil {
			return
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(body, &call); err != nil {
			panic(err)
		}
		if f.Asked != "" {
			note(f.Asked, call.Method)
		}
		if call.Method == f.Misses && !missed {
			missed = true
			continue
		}
		switch call.Method {
		case f.Silent:
			continue
		case f.Dies:
			os.Exit(3)
		case f.HangsUp:
			_ = conn.Close()
			return
		case f.Computes:
			for i := uint32(1); i != 0; i |= 1 { // never 0
				i += 2
			}
		case f.Waits:
			_ = exec.Command("sleep", "600").Run()
		}
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, call.ID, f.answer(call.Method))
		_, _ = fmt.Fprintf(conn, "Content-Length: %d\r\n\r\n%s", len(answer), answer)
	}
}

func (f scriptedCLI) answer(method string) string {
	switch method {
	case "connect":
		return `"result":{"ok":true,"protocolVersion":3,"version":""}`
	case "status.get":
		return fmt.Sprintf(`"result":{"version":%q,"protocolVersion":3}`, f.Version)
	case "auth.getStatus":
		_, err := os.Stat(f.SignsIn)
		return fmt.Sprintf(`"result":{"isAuthenticated":%v%s}`, f.SignedIn || err == nil, f.Account)
	case "account.getQuota":
		if f.Quota != "" {
			return `"result":` + f.Quota
		}
		return `"error":{"code":-32603,"message":"the network is down"}`
	case "models.list":
		if f.Models != "" {
			return `"result":{"models":` + f.Models + `}`
		}
		return `"error":{"code":-32603,"message":"the network is down"}`
	}
	if result, ok := f.Results[method]; ok {
		return `"result":` + result
	}
	return `"error":{"code":-32601,"message":"Method not found"}`
}

func note(file, line string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	_, _ = f.WriteString(line + "\n")
}

// asked returns the number of calls of a method.
func asked(tb testing.TB, file, method string) int {
	tb.Helper()
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(tb, err)
	n := 0
	for line := range strings.Lines(string(b)) {
		if line == method+"\n" {
			n++
		}
	}
	return n
}
