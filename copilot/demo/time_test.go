package demo_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/demo"
)

// A clock records when each event of a stream was written.
type clock struct {
	*httptest.ResponseRecorder

	start time.Time
	times []time.Duration
}

func (c *clock) Write(b []byte) (int, error) {
	c.times = append(c.times, time.Since(c.start))
	return c.ResponseRecorder.Write(b)
}

func timed(ctx context.Context, t *testing.T, b body) *clock {
	t.Helper()
	c := &clock{ResponseRecorder: httptest.NewRecorder(), start: time.Now()}
	demo.NewHandler(key).ServeHTTP(c, b.http(ctx, t))
	return c
}

func TestTokensArePacedEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := timed(t.Context(), t, request(user("4 tokens in 2 s")))

		var times []int64
		for _, at := range c.times {
			times = append(times, at.Milliseconds())
		}
		assert.Equal(t, []int64{500, 1000, 1500, 2000, 2000, 2000, 2000}, times, "four words, the end, the usage, [DONE]")
		assert.Equal(t, []string{"w1 ", "w2 ", "w3 ", "w4"}, readReply(t, c.Body.String()).words)
	})
}

func TestTokensAreCountable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := timed(t.Context(), t, request(user("5,000 tokens")))
		r := readReply(t, c.Body.String())

		assert.Len(t, r.words, 5000)
		for i, word := range strings.Fields(r.content) {
			assert.Equal(t, fmt.Sprintf("w%d", i+1), word)
		}
		assert.Zero(t, c.times[len(c.times)-1], "there is no wait without a duration")
	})
}

func TestWaitKeepsTheAnswerOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := timed(t.Context(), t, request(user("wait 30 s")))
		r := readReply(t, c.Body.String())

		assert.Equal(t, "waiting ", r.reasoning)
		assert.Equal(t, "The script is done.", r.content)
		assert.Zero(t, c.times[0], "the client sees at once that the script waits")
		assert.Equal(t, 30*time.Second, c.times[1])
	})
}

func TestAnswerEndsWithItsClient(t *testing.T) {
	for _, prompt := range []string{"wait 1 hour", "wait 1 minute", "60 tokens in 60 s"} {
		t.Run(prompt, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
				defer cancel()
				start := time.Now()

				assert.PanicsWithValue(t, http.ErrAbortHandler, func() { timed(ctx, t, request(user(prompt))) })
				assert.Equal(t, 3500*time.Millisecond, time.Since(start))
			})
		})
	}
}

func TestUnstreamedAnswerEndsWithItsClient(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
		timed(ctx, t, request(user("1000000 tokens")).with("stream", false))
	})
}
