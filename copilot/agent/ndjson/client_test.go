package ndjson_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/ndjson"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// bubble tests a client of scripted programs in virtual time.
func bubble(t *testing.T, serve func(*cli, frame), do func(*testing.T, *fakes, *ndjson.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, serve)
		c := ndjson.ClientOf(f.start, silent)
		do(t, f, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c.Close(ctx)
	})
}

// methods returns a call of each method, by name.
func methods(ctx context.Context, c *ndjson.Client) map[string]func(func(ndjson.Chunk)) error {
	return map[string]func(func(ndjson.Chunk)) error{
		"initialize": func(func(ndjson.Chunk)) error {
			_, err := c.Initialize(ctx, ndjson.InitializeParams{ClientName: "test"})
			return err
		},
		"generate": func(chunk func(ndjson.Chunk)) error {
			_, err := c.Generate(ctx, ndjson.GenerateParams{Spec: []byte("{}")}, chunk)
			return err
		},
		"customize": func(chunk func(ndjson.Chunk)) error {
			_, err := c.Customize(ctx, ndjson.CustomizeParams{Prompt: "x"}, chunk)
			return err
		},
		"chat": func(chunk func(ndjson.Chunk)) error {
			_, err := c.Chat(ctx, ndjson.ChatParams{Message: "x", Context: ndjson.ChatContext{TabID: "t"}}, chunk)
			return err
		},
	}
}

func seconds(s ...float64) (list []time.Duration) {
	for _, n := range s {
		list = append(list, time.Duration(n*float64(time.Second)))
	}
	return list
}

// table is that of spec/contracts/cli-protocol.md, "Timeout & Retry Policy": the times when unanswered requests are
// written and when the last one times out, and the times for requests refused with -32004.
var table = map[string]struct {
	silent  []time.Duration
	end     time.Duration
	limited []time.Duration
}{
	"initialize": {seconds(0, 12, 27, 47), 57 * time.Second, seconds(0, 2, 7, 17)},
	"generate":   {seconds(0, 60), 2 * time.Minute, seconds(0, 0)},
	"customize":  {seconds(0, 30), time.Minute, seconds(0, 0)},
	"chat":       {seconds(0, 18, 39), 54 * time.Second, seconds(0, 3, 9)},
}

func TestTimeLimitsAndRetriesFollowTheTable(t *testing.T) {
	for method, want := range table {
		t.Run(method+" that is never answered", func(t *testing.T) {
			bubble(t, func(*cli, frame) {}, func(t *testing.T, f *fakes, c *ndjson.Client) {
				t.Helper()
				begun := time.Now()
				err := methods(t.Context(), c)[method](nil)
				assert.Equal(t, fault.Timeout, fault.KindOf(err), "%v", err)
				assert.Equal(t, want.end, time.Since(begun))
				assert.Equal(t, want.silent, f.got(method))
			})
		})
		t.Run(method+" whose progress does not extend its time", func(t *testing.T) {
			serve := func(c *cli, r frame) {
				for i := 0; ; i++ {
					select {
					case <-c.gone:
						return
					case <-time.After(time.Second):
						c.chunk(r, i, "x")
					}
				}
			}
			bubble(t, serve, func(t *testing.T, f *fakes, c *ndjson.Client) {
				t.Helper()
				require.Error(t, methods(t.Context(), c)[method](func(ndjson.Chunk) {}))
				assert.Equal(t, want.silent, f.got(method))
			})
		})
		t.Run(method+" that is rate limited", func(t *testing.T) {
			bubble(t, func(c *cli, r frame) { c.fail(r, -32004) }, func(t *testing.T, f *fakes, c *ndjson.Client) {
				t.Helper()
				err := methods(t.Context(), c)[method](nil)
				assert.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
				assert.Equal(t, want.limited, f.got(method))
			})
		})
		t.Run(method+" whose program dies each time", func(t *testing.T) {
			bubble(t, func(c *cli, _ frame) { c.die() }, func(t *testing.T, f *fakes, c *ndjson.Client) {
				t.Helper()
				err := methods(t.Context(), c)[method](nil)
				assert.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
				assert.Equal(t, len(want.silent), f.count(), "each attempt has its own program")
			})
		})
		t.Run(method+" that succeeds at a retry", func(t *testing.T) {
			var once sync.Once
			serve := func(c *cli, r frame) {
				first := false
				once.Do(func() { first = true })
				if !first {
					c.result(r, "{}")
				}
			}
			bubble(t, serve, func(t *testing.T, f *fakes, c *ndjson.Client) {
				t.Helper()
				require.NoError(t, methods(t.Context(), c)[method](nil))
				assert.Equal(t, want.silent[:2], f.got(method))
			})
		})
		t.Run(method+" whose context ends", func(t *testing.T) {
			bubble(t, func(*cli, frame) {}, func(t *testing.T, f *fakes, c *ndjson.Client) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				require.ErrorIs(t, methods(ctx, c)[method](nil), context.DeadlineExceeded)
				assert.Len(t, f.got(method), 1)
			})
		})
	}
}

func TestProgramErrorsHaveKindsAndOnlyRateLimitIsRetried(t *testing.T) {
	for code, kind := range map[int]fault.Kind{
		-32700: fault.Internal, -32600: fault.Internal, -32601: fault.Internal, -32602: fault.Invalid, -32603: fault.Internal,
		-32000: fault.Internal, -32001: fault.Invalid, -32002: fault.Invalid, -32003: fault.Invalid, 7: fault.Internal,
	} {
		for method, want := range table {
			t.Run(fmt.Sprintf("%d of %s", code, method), func(t *testing.T) {
				bubble(t, func(c *cli, r frame) { c.fail(r, code) }, func(t *testing.T, f *fakes, c *ndjson.Client) {
					t.Helper()
					err := methods(t.Context(), c)[method](nil)
					assert.Equal(t, kind, fault.KindOf(err))
					refusal, ok := errors.AsType[*jsonrpc.Error](err)
					require.True(t, ok)
					assert.Equal(t, code, refusal.Code)
					assert.Equal(t, want.silent[:1], f.got(method))
				})
			})
		}
	}
}

func TestInvalidAnswersAreReportedWithoutRetry(t *testing.T) {
	for name, answer := range map[string]string{
		"null": "null", "a text": `"hello"`, "a list": "[]", "a message that is not a string": `{"message":7}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(c *cli, r frame) { c.result(r, answer) }, func(t *testing.T, f *fakes, c *ndjson.Client) {
				t.Helper()
				err := methods(t.Context(), c)["chat"](nil)
				assert.Equal(t, fault.Internal, fault.KindOf(err), "%v", err)
				assert.Len(t, f.got("chat"), 1)
			})
		})
	}
}

func TestLateAnswersAndChunksAreIgnored(t *testing.T) {
	serve := func(c *cli, r frame) {
		if string(r.ID) != "1" {
			c.chunk(r, 0, "second")
			c.say(r, "second")
			return
		}
		c.chunk(r, 0, "first")
		time.Sleep(16 * time.Second) // the limit is 15 s
		c.chunk(r, 1, " late")
		c.say(r, "first late")
	}
	bubble(t, serve, func(t *testing.T, _ *fakes, c *ndjson.Client) {
		t.Helper()
		var chunks []ndjson.Chunk
		r, err := c.Chat(t.Context(), ndjson.ChatParams{Message: "x"}, func(k ndjson.Chunk) { chunks = append(chunks, k) })
		require.NoError(t, err)
		assert.Equal(t, "second", r.Message)
		assert.Equal(t, []ndjson.Chunk{{Attempt: 1, Text: "first"}, {Attempt: 2, Text: "second"}}, chunks)
	})
}

func TestRepeatedChunksAreSentOnce(t *testing.T) {
	serve := func(c *cli, r frame) {
		for _, i := range []int{0, 1, 1, 0, 2} {
			c.chunk(r, i, fmt.Sprint(i))
		}
		c.print(`{"jsonrpc":"2.0","method":"stream/chunk","params":{"requestId":99,"chunk":"of another","index":0}}` + "\n")
		c.print(`{"jsonrpc":"2.0","method":"stream/chunk","params":{"requestId":1,"chunk":7}}` + "\n")
		c.print(`{"jsonrpc":"2.0","method":"stream/chunk","params":{"requestId":1,"chunk":"end","done":true}}` + "\n")
		c.say(r, "012")
	}
	bubble(t, serve, func(t *testing.T, _ *fakes, c *ndjson.Client) {
		t.Helper()
		said := ""
		_, err := c.Chat(t.Context(), ndjson.ChatParams{Message: "x"}, func(k ndjson.Chunk) { said += k.Text })
		require.NoError(t, err)
		assert.Equal(t, "012end", said)
	})
}

func TestNonMessagesAreSkipped(t *testing.T) {
	serve := func(c *cli, r frame) {
		c.print("Loading…\n\n\xff\xfe\n[]\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":1}\n%s\n", strings.Repeat("x", 65<<20))
		text := `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"message":"größer 日本 😀"}}` + "\r\n"
		for i := range len(text) { // every character is split
			c.print("%s", text[i:i+1])
		}
	}
	bubble(t, serve, func(t *testing.T, f *fakes, c *ndjson.Client) {
		t.Helper()
		r, err := c.Chat(t.Context(), ndjson.ChatParams{Message: "x"}, nil)
		require.NoError(t, err)
		assert.Equal(t, "größer 日本 😀", r.Message)
		assert.Len(t, f.got("chat"), 1)
	})
}

// chats sends n messages at once and returns their errors.
func chats(ctx context.Context, c *ndjson.Client, n int) (wait func(), errs []error) {
	errs = make([]error, n)
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() {
			_, errs[i] = c.Chat(ctx, ndjson.ChatParams{Message: "x", Context: ndjson.ChatContext{TabID: fmt.Sprint(i)}}, nil)
		})
	}
	return work.Wait, errs
}

func TestHundredRequestsWaitAndTheNextIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, func(*cli, frame) {})
		f.listen = make(chan struct{})
		c := ndjson.ClientOf(f.start, silent)
		ctx, cancel := context.WithCancel(t.Context())
		wait, errs := chats(ctx, c, 101) // one is being written
		synctest.Wait()
		_, err := c.Chat(ctx, ndjson.ChatParams{Message: "x"}, nil)
		assert.Equal(t, fault.Busy, fault.KindOf(err))
		refusal, ok := errors.AsType[*jsonrpc.Error](err)
		require.True(t, ok)
		assert.Equal(t, -32004, refusal.Code)

		time.Sleep(time.Hour) // the time limit of unwritten requests has not started
		synctest.Wait()
		cancel()
		wait()
		for _, err := range errs {
			require.ErrorIs(t, err, context.Canceled)
		}
		f.kill()
		c.Close(t.Context())
	})
}

func TestRequestTimeStartsWhenWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, func(c *cli, r frame) {
			time.Sleep(14 * time.Second)
			c.say(r, "hello")
		})
		f.listen = make(chan struct{})
		c := ndjson.ClientOf(f.start, silent)
		wait, errs := chats(t.Context(), c, 20)
		time.Sleep(time.Minute)
		close(f.listen)
		wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		assert.Len(t, f.got("chat"), 20)
		c.Close(t.Context())
	})
}

func TestRequestIDsIncrease(t *testing.T) {
	bubble(t, func(c *cli, r frame) { c.say(r, "hello") }, func(t *testing.T, f *fakes, c *ndjson.Client) {
		t.Helper()
		wait, _ := chats(t.Context(), c, 50)
		wait()
		for i, frame := range f.frames {
			assert.Equal(t, fmt.Sprint(i+1), string(frame.ID))
		}
	})
}

func TestMessageWaitsForAbandonedOneInItsTab(t *testing.T) {
	for name, tc := range map[string]struct {
		tab    string
		answer time.Duration
		want   time.Duration
	}{
		"until it is answered":      {"t", 5 * time.Second, 5 * time.Second},
		"until it times out":        {"t", time.Hour, 15 * time.Second},
		"but not in another tab":    {"other", time.Hour, time.Second},
		"and not if it is answered": {"t", time.Second / 2, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			serve := func(c *cli, r frame) {
				if r.chat().Message == "first" {
					select {
					case <-time.After(tc.answer):
					case <-c.gone:
					}
				}
				c.say(r, "hello")
			}
			bubble(t, serve, func(t *testing.T, f *fakes, c *ndjson.Client) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := c.Chat(ctx, ndjson.ChatParams{Message: "first", Context: ndjson.ChatContext{TabID: "t"}}, nil)
				if tc.answer > time.Second {
					require.Error(t, err)
				}
				<-ctx.Done()
				_, err = c.Chat(t.Context(), ndjson.ChatParams{Message: "second", Context: ndjson.ChatContext{TabID: tc.tab}}, nil)
				require.NoError(t, err)
				assert.Equal(t, []time.Duration{0, tc.want}, f.got("chat"))
			})
		})
	}
}

func TestDyingProgramIsRestartedWithGrowingDelay(t *testing.T) {
	serve := greeted(func(c *cli, r frame) {
		if r.Method == "generate" {
			c.die()
			return
		}
		c.result(r, "{}")
	})
	bubble(t, serve, func(t *testing.T, f *fakes, c *ndjson.Client) {
		t.Helper()
		_, err := c.Initialize(t.Context(), ndjson.InitializeParams{ClientName: "test"})
		require.NoError(t, err)
		for range 3 {
			_, err := c.Generate(t.Context(), ndjson.GenerateParams{}, nil)
			assert.Equal(t, fault.Unavailable, fault.KindOf(err))
		}
		assert.Equal(t, seconds(0, 0, 2, 7, 17, 27), f.got("generate"))
		assert.Equal(t, seconds(0, 0, 2, 7, 17, 27), f.got("initialize"))
		_, err = c.Customize(t.Context(), ndjson.CustomizeParams{}, nil)
		require.NoError(t, err)
		assert.Equal(t, seconds(37), f.got("customize"))
		_, err = c.Generate(t.Context(), ndjson.GenerateParams{}, nil)
		require.Error(t, err)
		assert.Equal(t, seconds(37, 37), f.got("generate")[6:], "a program that has answered is restarted at once")
	})
}

func TestProgramReceivesExit(t *testing.T) {
	bubble(t, func(c *cli, r frame) {
		if r.Method != "exit" {
			c.result(r, "{}")
		}
	}, func(t *testing.T, f *fakes, c *ndjson.Client) {
		t.Helper()
		require.NoError(t, methods(t.Context(), c)["chat"](nil))
		c.Close(t.Context())
		synctest.Wait()
		assert.Len(t, f.got("exit"), 1)
		assert.Equal(t, fault.Unavailable, fault.KindOf(methods(t.Context(), c)["chat"](nil)))
	})
}
