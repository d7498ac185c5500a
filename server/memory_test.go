package server_test

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server"
)

func TestGarbageOfManyConnectionsIsCollectedMoreOften(t *testing.T) {
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	before := percent()
	defer debug.SetGCPercent(before)
	for was, crowded := range map[int]int{100: 40, 30: 30, -1: -1} {
		debug.SetGCPercent(was)
		opened, closed := server.CountConnections()
		for range 499 {
			opened()
		}
		assert.Equal(t, was, percent())
		opened()
		assert.Equal(t, crowded, percent())
		for range 250 {
			closed()
		}
		assert.Equal(t, crowded, percent(), "a few more or less change nothing")
		closed()
		assert.Equal(t, was, percent())
	}
}
