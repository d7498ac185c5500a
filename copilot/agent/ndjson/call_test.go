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

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/ndjson"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// launched tests the agent of a program that answers greetings, in virtual time.
func launched(t *testing.T, serve func(*cli, frame), do func(*testing.T, *fakes, agent.Agent)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, greeted(serve))
		a := f.launch(t)
		do(t, f, a)
		a.Stop(t.Context())
	})
}

func ignore(int, string) {}

// attempted calls a method of programs, in virtual time.
func attempted(t *testing.T, method string, serve func(*cli, frame), check func(*testing.T, *fakes, error)) {
	t.Helper()
	if method == "chat" {
		launched(t, serve, func(t *testing.T, f *fakes, a agent.Agent) {
			t.Helper()
			_, err := ndjson.Chat(t.Context(), a, "t", "x", ignore)
			check(t, f, err)
		})
		return
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, serve)
		a, err := ndjson.LaunchOf(f.start, silent)(t.Context())
		check(t, f, err)
		if err == nil {
			a.Stop(t.Context())
		}
	})
}

func seconds(s ...float64) (list []time.Duration) {
	for _, n := range s {
		list = append(list, time.Duration(n*float64(time.Second)))
	}
	return list
}

// table is that of spec/contracts/cli-protocol.md, "Timeout & Retry Policy": the times when unanswered requests are
// written and when the last one times out, the times for requests refused with -32004, and the number of programs that die at a request.
var table = map[string]struct {
	silent   []time.Duration
	end      time.Duration
	limited  []time.Duration
	programs int
}{
	"initialize": {seconds(0, 12, 27, 47), 57 * time.Second, seconds(0, 2, 7, 17), 4},
	"chat":       {seconds(0, 18, 39), 54 * time.Second, seconds(0, 3, 9), 1},
}

func TestTimeLimitsAndRetriesFollowTheTable(t *testing.T) {
	for method, want := range table {
		t.Run(method+" that is never answered", func(t *testing.T) {
			attempted(t, method, func(*cli, frame) {}, func(t *testing.T, f *fakes, err error) {
				t.Helper()
				require.ErrorContains(t, err, "did not answer")
				assert.Equal(t, want.end, time.Since(f.begun))
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
			attempted(t, method, serve, func(t *testing.T, f *fakes, err error) {
				t.Helper()
				require.Error(t, err)
				assert.Equal(t, want.silent, f.got(method))
			})
		})
		t.Run(method+" that is rate limited", func(t *testing.T) {
			attempted(t, method, func(c *cli, r frame) { c.fail(r, -32004) }, func(t *testing.T, f *fakes, err error) {
				t.Helper()
				require.ErrorContains(t, err, "refused")
				assert.Equal(t, want.limited, f.got(method))
			})
		})
		t.Run(method+" whose program dies each time", func(t *testing.T) {
			attempted(t, method, func(c *cli, _ frame) { c.die() }, func(t *testing.T, f *fakes, err error) {
				t.Helper()
				assert.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
				assert.Equal(t, want.programs, f.count())
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
			attempted(t, method, serve, func(t *testing.T, f *fakes, err error) {
				t.Helper()
				require.NoError(t, err)
				assert.Equal(t, want.silent[:2], f.got(method))
			})
		})
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	launched(t, func(*cli, frame) {}, func(t *testing.T, f *fakes, a agent.Agent) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := ndjson.Chat(ctx, a, "t", "x", ignore)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Len(t, f.got("chat"), 1)
	})
}

func TestProgramErrorsHaveKindsAndOnlyRateLimitIsRetried(t *testing.T) {
	for code, kind := range map[int]fault.Kind{
		-32700: fault.Internal, -32600: fault.Internal, -32601: fault.Internal, -32602: fault.Invalid, -32603: fault.Internal,
		-32000: fault.Internal, -32001: fault.Invalid, -32002: fault.Invalid, -32003: fault.Invalid, 7: fault.Internal,
	} {
		for method := range table {
			t.Run(fmt.Sprintf("%d of %s", code, method), func(t *testing.T) {
				attempted(t, method, func(c *cli, r frame) { c.fail(r, code) }, func(t *testing.T, f *fakes, err error) {
					t.Helper()
					require.ErrorContains(t, err, fmt.Sprint(code))
					assert.Len(t, f.got(method), 1)
					if method == "chat" {
						assert.Equal(t, kind, fault.KindOf(err))
					}
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
			attempted(t, "chat", func(c *cli, r frame) { c.result(r, answer) }, func(t *testing.T, f *fakes, err error) {
				t.Helper()
				assert.Equal(t, fault.Internal, fault.KindOf(err), "%v", err)
				assert.Len(t, f.got("chat"), 1)
			})
		})
	}
}

func TestLateAnswersAndChunksAreIgnored(t *testing.T) {
	serve := func(c *cli, r frame) {
		if string(r.ID) != "2" {
			c.chunk(r, 0, "second")
			c.say(r, "second")
			return
		}
		c.chunk(r, 0, "first")
		time.Sleep(16 * time.Second) // the limit is 15 s
		c.chunk(r, 1, " late")
		c.say(r, "first late")
	}
	launched(t, serve, func(t *testing.T, _ *fakes, a agent.Agent) {
		t.Helper()
		var chunks []string
		answer, err := ndjson.Chat(t.Context(), a, "t", "x", func(attempt int, text string) { chunks = append(chunks, fmt.Sprint(attempt, " ", text)) })
		require.NoError(t, err)
		assert.Equal(t, "second", answer)
		assert.Equal(t, []string{"1 first", "2 second"}, chunks)
	})
}

func TestRepeatedChunksAreSentOnce(t *testing.T) {
	serve := func(c *cli, r frame) {
		for _, i := range []int{0, 1, 1, 0, 2} {
			c.chunk(r, i, fmt.Sprint(i))
		}
		c.print(`{"jsonrpc":"2.0","method":"stream/chunk","params":{"requestId":99,"chunk":"of another","index":0}}` + "\n")
		c.print(`{"jsonrpc":"2.0","method":"stream/chunk","params":{"requestId":%s,"chunk":7}}`+"\n", r.ID)
		c.print(`{"jsonrpc":"2.0","method":"stream/chunk","params":{"requestId":%s,"chunk":"end","done":true}}`+"\n", r.ID)
		c.say(r, "012")
	}
	launched(t, serve, func(t *testing.T, _ *fakes, a agent.Agent) {
		t.Helper()
		said := ""
		_, err := ndjson.Chat(t.Context(), a, "t", "x", func(_ int, text string) { said += text })
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
	launched(t, serve, func(t *testing.T, f *fakes, a agent.Agent) {
		t.Helper()
		answer, err := ndjson.Chat(t.Context(), a, "t", "x", ignore)
		require.NoError(t, err)
		assert.Equal(t, "größer 日本 😀", answer)
		assert.Len(t, f.got("chat"), 1)
	})
}

// chats sends n messages of different tabs at once and returns their errors.
func chats(ctx context.Context, a agent.Agent, n int) (wait func(), errs []error) {
	errs = make([]error, n)
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() { _, errs[i] = ndjson.Chat(ctx, a, fmt.Sprint(i), "x", ignore) })
	}
	return work.Wait, errs
}

func TestHundredRequestsWaitAndTheNextIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, greeted(func(*cli, frame) {}))
		f.listen = make(chan struct{})
		a := f.launch(t)
		ctx, cancel := context.WithCancel(t.Context())
		wait, errs := chats(ctx, a, 101) // one is being written
		synctest.Wait()
		_, err := ndjson.Chat(ctx, a, "t", "x", ignore)
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
		a.Stop(t.Context())
	})
}

func TestRequestTimeStartsWhenWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, greeted(func(c *cli, r frame) {
			time.Sleep(14 * time.Second)
			c.say(r, "hello")
		}))
		f.listen = make(chan struct{})
		a := f.launch(t)
		wait, errs := chats(t.Context(), a, 20)
		time.Sleep(time.Minute)
		close(f.listen)
		wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		assert.Len(t, f.got("chat"), 20)
		a.Stop(t.Context())
	})
}

func TestRequestIDsIncrease(t *testing.T) {
	launched(t, func(c *cli, r frame) { c.say(r, "hello") }, func(t *testing.T, f *fakes, a agent.Agent) {
		t.Helper()
		wait, _ := chats(t.Context(), a, 50)
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
				if message, _ := r.chat(); message == "first" {
					select {
					case <-time.After(tc.answer):
					case <-c.gone:
					}
				}
				c.say(r, "hello")
			}
			launched(t, serve, func(t *testing.T, f *fakes, a agent.Agent) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := ndjson.Chat(ctx, a, "t", "first", ignore)
				if tc.answer > time.Second {
					require.Error(t, err)
				}
				<-ctx.Done()
				_, err = ndjson.Chat(t.Context(), a, tc.tab, "second", ignore)
				require.NoError(t, err)
				assert.Equal(t, []time.Duration{0, tc.want}, f.got("chat"))
			})
		})
	}
}

func TestProgramReceivesExit(t *testing.T) {
	launched(t, func(c *cli, r frame) {
		if r.Method != "exit" {
			c.result(r, "{}")
		}
	}, func(t *testing.T, f *fakes, a agent.Agent) {
		t.Helper()
		a.Stop(t.Context())
		synctest.Wait()
		assert.Len(t, f.got("exit"), 1)
		_, err := ndjson.Chat(t.Context(), a, "t", "x", ignore)
		assert.Equal(t, fault.Unavailable, fault.KindOf(err))
	})
}
