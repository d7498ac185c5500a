package jsonrpc_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// x is an endless line.
type x struct{}

var exes = strings.Repeat("x", 1<<16)

func (x) Read(b []byte) (int, error) { return copy(b, exes), nil }

func TestReadingLines(t *testing.T) {
	long := strings.Repeat("a", 100_000) // longer than the buffer
	tests := []struct {
		name, in string
		max      int
		want     []string
	}{
		{"lines are returned without line breaks", "a\nb\n", 0, []string{"a", "b"}},
		{"the last may lack a line break", "a\nb", 0, []string{"a", "b"}},
		{"an empty stream has no lines", "", 0, nil},
		{"empty lines are lines", "\n\r\n", 0, []string{"", ""}},
		{"a line longer than the buffer is complete", long + "\nb\n", 0, []string{long, "b"}},
		{"so is the last", "a\n" + long, 0, []string{"a", long}},
		{"a line may have the maximum length", "abcd\r\nabcd\nabcd", 4, []string{"abcd", "abcd", "abcd"}},
		{"a longer line is skipped", "abcde\r\nabcde\nb\n", 4, []string{"too long", "too long", "b"}},
		{"so is the last", "b\nabcde", 4, []string{"b", "too long"}},
		{"a long line may have the maximum length", long + "\r\n" + long, 100_000, []string{long, long}},
		{"a longer one is skipped", long + "b\r\n" + long + "b\nb\n" + long + "b", 100_000, []string{"too long", "too long", "b", "too long"}},
	}
	for _, tt := range tests {
		for name, reader := range map[string]func(io.Reader) io.Reader{"at once": same, "in halves": iotest.HalfReader, "byte by byte": iotest.OneByteReader} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				l := jsonrpc.NewLines(io.NopCloser(reader(strings.NewReader(tt.in))), &output{}, jsonrpc.LineOptions{Max: tt.max})
				var got []string
				for {
					line, err := l.Read()
					if errors.Is(err, io.EOF) {
						break
					}
					if errors.Is(err, jsonrpc.ErrTooLong) {
						line = []byte("too long")
					} else {
						require.NoError(t, err)
					}
					got = append(got, strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"))
				}
				assert.Equal(t, tt.want, got)
			})
		}
	}
}

func same(r io.Reader) io.Reader { return r }

func TestOverlongLineIsRefusedAndTheNextIsAnswered(t *testing.T) {
	const size = 100 << 20
	line := io.LimitReader(x{}, size)
	next := "\n" + `{"jsonrpc":"2.0","id":1,"method":"echo"}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := converse(t, jsonrpc.Methods{"echo": handle(echo)}, jsonrpc.Options{}, jsonrpc.LineOptions{Max: 1 << 20}, io.MultiReader(line, strings.NewReader(next)))
	runtime.ReadMemStats(&after)
	assert.Equal(t, []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"the message is too long: a line may have 1048576 bytes"}}`,
		`{"jsonrpc":"2.0","id":1,"result":null}`,
	}, got)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/8), "the line was not kept")
}

func TestLineOf64MegabytesIsAnswered(t *testing.T) {
	head, tail := `{"jsonrpc":"2.0","id":1,"method":"length","params":["`, `"]}`
	size := 64<<20 - len(head) - len(tail)
	in := io.MultiReader(strings.NewReader(head), io.LimitReader(x{}, int64(size)), strings.NewReader(tail+"\n"))
	methods := jsonrpc.Methods{"length": handle(func(r *jsonrpc.Request) (any, error) { return len(r.Params) - len(`[""]`), nil })}
	got := converse(t, methods, jsonrpc.Options{}, jsonrpc.LineOptions{}, in)
	assert.Equal(t, []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":%d}`, size)}, got)
}

func TestWritingLines(t *testing.T) {
	long := `"` + strings.Repeat("é", 50_000) + `"`
	tests := []struct {
		name  string
		ascii bool
		in    []string
		want  string
	}{
		{"each message is a line", false, []string{"1", `"é"`, "{}"}, "1\n\"é\"\n{}\n"},
		{"long and short ones stay in order", false, []string{"1", long, "2", long, long, "3"}, "1\n" + long + "\n2\n" + long + "\n" + long + "\n3\n"},
		{"non-ASCII characters can be escaped", true, []string{`"aé日😀"`, `"b"`}, `"a\u00e9\u65e5\ud83d\ude00"` + "\n\"b\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := &output{}
			l := jsonrpc.NewLines(io.NopCloser(strings.NewReader("")), out, jsonrpc.LineOptions{ASCII: tt.ascii})
			messages := make([][]byte, len(tt.in))
			for i, m := range tt.in {
				messages[i] = []byte(m)
			}
			for range 2 {
				out.Reset()
				require.NoError(t, l.Write(messages))
				assert.Equal(t, tt.want, out.String())
			}
		})
	}
}

// full is a stream that rejects all writes.
type full struct{ output }

var errFull = errors.New("no space left")

func (*full) Write([]byte) (int, error) { return 0, errFull }

func TestFailedWriteIsReported(t *testing.T) {
	short, long := []byte("1"), []byte(strings.Repeat("x", 1<<17))
	for _, messages := range [][][]byte{{short}, {long}, {short, long}, {long, short}} {
		l := jsonrpc.NewLines(io.NopCloser(strings.NewReader("")), &full{}, jsonrpc.LineOptions{})
		require.ErrorIs(t, l.Write(messages), errFull)
	}
}

func TestFailedWriteEndsThePeer(t *testing.T) {
	for _, params := range []string{"[1]", `["` + strings.Repeat("x", 1<<17) + `"]`} {
		in, send := io.Pipe()
		peer := jsonrpc.New(jsonrpc.NewLines(in, &full{}, jsonrpc.LineOptions{}), jsonrpc.Methods{"echo": handle(echo)}, jsonrpc.Options{})
		go func() { _, _ = io.WriteString(send, `{"jsonrpc":"2.0","id":1,"method":"echo","params":`+params+"}\n") }()
		require.ErrorIs(t, peer.Run(t.Context()), errFull)
		_, err := io.WriteString(send, "{}\n")
		require.ErrorIs(t, err, io.ErrClosedPipe, "both streams are closed")
	}
}

func TestFramesCarryOneMessageEach(t *testing.T) {
	in, out := make(chan string, 9), make(chan string, 9)
	in <- `{"jsonrpc":"2.0","id":1,"method":"echo","params":["a"]}`
	in <- "[\n" + `{"jsonrpc":"2.0","id":2,"method":"echo"}` + "\n]"
	in <- "too long"
	in <- ""
	in <- `{"jsonrpc":"2.0","id":3,"method":"echo"}`
	close(in)
	frames := jsonrpc.Frames{
		Receive: func() ([]byte, error) {
			frame, ok := <-in
			switch {
			case !ok:
				return nil, io.EOF
			case frame == "too long":
				return nil, fmt.Errorf("%w: a frame may have 9 bytes", jsonrpc.ErrTooLong)
			}
			return []byte(frame), nil
		},
		Send: func(messages ...[]byte) error {
			for _, m := range messages {
				out <- string(m)
			}
			return nil
		},
		Hangup: func() error { close(out); return nil },
	}
	require.NoError(t, jsonrpc.New(frames, jsonrpc.Methods{"echo": withReadLoop(handle(echo))}, jsonrpc.Options{}).Run(t.Context()))
	var got []string
	for frame := range out {
		got = append(got, frame)
	}
	assert.Equal(t, []string{
		`{"jsonrpc":"2.0","id":1,"result":["a"]}`,
		`[{"jsonrpc":"2.0","id":2,"result":null}]`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"the message is too long: a frame may have 9 bytes"}}`,
		`{"jsonrpc":"2.0","id":3,"result":null}`,
	}, got)
}

func TestFailedFrameEndsThePeer(t *testing.T) {
	in := make(chan string)
	frames := jsonrpc.Frames{
		Receive: func() ([]byte, error) { <-in; return nil, errReset },
		Send:    func(...[]byte) error { return errFull },
		Hangup:  func() error { close(in); return nil },
	}
	peer := jsonrpc.New(frames, nil, jsonrpc.Options{})
	require.NoError(t, peer.Notify(t.Context(), "m", nil))
	require.ErrorIs(t, peer.Run(t.Context()), errFull)
}

var errReset = errors.New("the connection was reset")

func TestLostConnectionEndsThePeer(t *testing.T) {
	in := io.MultiReader(strings.NewReader("{}\n"), iotest.ErrReader(errReset))
	peer := jsonrpc.New(jsonrpc.NewLines(io.NopCloser(in), &output{}, jsonrpc.LineOptions{}), nil, jsonrpc.Options{})
	require.ErrorIs(t, peer.Run(t.Context()), errReset)
}
