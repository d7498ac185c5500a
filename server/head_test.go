package server_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

const chunked = "Transfer-Encoding: chunked\r\n"

func TestRequestWithTwoLengthsIsRefused(t *testing.T) {
	const post, body = "POST /rpc HTTP/1.1\r\nHost: localhost\r\n", "2\r\n{}\r\n0\r\n\r\n"
	quoted := post + "Content-Length: 2\r\n" + chunked + "\r\n"
	for name, tc := range map[string]struct {
		request string
		status  int
	}{
		"length first":        {post + "Content-Length: 2\r\n" + chunked + "\r\n" + body, 400},
		"length last":         {post + chunked + "Content-Length: 12\r\n\r\n" + body, 400},
		"in another case":     {post + "cONTENT-lENGTH: 2\r\ntransfer-ENCODING: chunked\r\n\r\n" + body, 400},
		"with others between": {post + "Content-Length: 2\r\nX-Long: " + strings.Repeat("x", 20_000) + "\r\n" + chunked + "\r\n" + body, 400},
		"only line feeds":     {strings.ReplaceAll(post+"Content-Length: 2\r\n"+chunked+"\r\n", "\r\n", "\n") + body, 400},
		"an older version":    {"POST /rpc HTTP/1.0\r\nHost: localhost\r\nContent-Length: 2\r\n" + chunked + "\r\n{}", 400},
		"a GET":               {"GET /api/test HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n" + chunked + "\r\n0\r\n\r\n", 400},
		"before the token":    {"GET /api/test HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n" + chunked + "\r\n0\r\n\r\n", 400},

		"only chunks":                         {post + chunked + "\r\n" + body, 200},
		"only a length":                       {post + "Content-Length: 2\r\n\r\n{}", 200},
		"both in the body of another request": {"POST /rpc?x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 87\r\n\r\n" + quoted + strings.Repeat(" ", 87-len(quoted)), 200},
		"the words in a header":               {post + chunked + "X-A: Content-Length: 3\r\n\r\n" + body, 200},
		"names with the same prefix":          {post + chunked + "Content-Length-X: 3\r\n\r\n" + body, 200},
	} {
		t.Run(name, func(t *testing.T) {
			onPipes(t, nil, func(t *testing.T, _ *server.Server, p *pipes) {
				t.Helper()
				c := p.dial()
				go func() { _, _ = io.WriteString(c, tc.request) }()
				reader := bufio.NewReader(c)
				resp, err := http.ReadResponse(reader, nil)
				require.NoError(t, err)
				defer resp.Body.Close()
				text, _ := io.ReadAll(resp.Body)
				assert.Equal(t, tc.status, resp.StatusCode, "%s", text)
				if tc.status == 400 {
					assert.Contains(t, string(text), "not both")
					_, err = reader.ReadByte()
					require.ErrorIs(t, err, io.EOF, "the connection cannot be used any more")
				}
				_ = c.Close()
			})
		})
	}
}

// Pipelined requests are checked, too.
func TestPipelinedRequestWithTwoLengthsIsRefused(t *testing.T) {
	const good = "GET /api/test HTTP/1.1\r\nHost: localhost\r\n\r\n"
	const bad = "GET /api/test HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n" + chunked + "\r\n0\r\n\r\n"
	long := "POST /api/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000)
	for name, before := range map[string]string{
		"one": good, "many": strings.Repeat(good, 30), "one with a long body": long,
		"chunks": "POST /rpc HTTP/1.1\r\nHost: localhost\r\n" + chunked + "\r\n2\r\n{}\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			onPipes(t, nil, func(t *testing.T, _ *server.Server, p *pipes) {
				t.Helper()
				c := p.dial()
				go func() { _, _ = io.WriteString(c, before+bad+good) }()
				answers, _ := closedAfter(c)
				assert.Equal(t, 1, strings.Count(answers, "HTTP/1.1 400 "), answers)
				assert.True(t, strings.HasSuffix(strings.TrimSpace(answers), `not both"}`), "nothing after it is answered")
			})
		})
	}
}

func FuzzHead(f *testing.F) {
	f.Add([]byte("POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 7)
	f.Add([]byte("\n\n:\r\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		first := "POST / HTTP/1.1"
		both := server.HasBothLengths([][]byte{text}, first)
		size = max(1, size%100)
		var parts [][]byte
		for rest := text; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			parts = append(parts, rest[:min(size, len(rest))])
		}
		assert.Equal(t, both, server.HasBothLengths(parts, first), "split in any way")
	})
}
