package rest_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot"
)

func TestWaitingLiveEndsWhenThePortalStops(t *testing.T) {
	for form, want := range map[string]string{"/live": "SessionNotFound", "/live/token": "SessionClosed"} {
		t.Run(form, func(t *testing.T) {
			stored(t, copilot.Options{}, func(d *durable) {
				s := d.start("")
				answer := make(chan document)
				go func() { answer <- d.call("GET", s+form, "") }()
				synctest.Wait()
				d.end()
				assert.Equal(d, document{"error": want}, <-answer)
				assert.Equal(d, document{"error": "SessionNotFound"}, d.call("GET", s+form, ""), "and from then on")
				d.open()
				assert.Equal(d, document{"error": "HttpRequestTimeout"}, d.call("GET", s+form, ""), "the next portal continues")
			})
		})
	}
}
