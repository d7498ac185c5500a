package journal_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/journal"
)

func TestMeterReportsReaderLag(t *testing.T) {
	for lag, step := range map[int]int{1: 0, 2: 1, 4: 1, 5: 2, 16: 2, 17: 3, 64: 3, 65: 4, 65536: 8, 65537: 9, 300000: 9} {
		m := &journal.Meter{}
		j := journal.New(journal.Options[int]{Meter: m})
		for i := range lag {
			_, err := j.Append(i)
			require.NoError(t, err)
		}
		_, err := j.Next(t.Context(), 0, 1)
		require.NoError(t, err)
		r := m.Readers()
		assert.Equal(t, uint64(1), r.Lags[step], "%d: %v", lag, r.Lags)
		assert.Equal(t, uint64(lag), r.Sum)
	}
}

func TestMeterCountsWaitingReadersAndGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &journal.Meter{}
		one, two := journal.New(journal.Options[int]{Meter: m, Budget: 1}), journal.New(journal.Options[int]{Meter: m})
		ctx, cancel := context.WithCancel(t.Context())
		for _, j := range []*journal.Journal[int]{one, one, two} {
			go func() { _, _ = j.Next(ctx, 0, 0) }()
		}
		synctest.Wait()
		assert.Equal(t, journal.Readers{Waiting: 3}, m.Readers(), "of all journals")

		for range 2 {
			_, err := one.Append(1)
			require.NoError(t, err)
			synctest.Wait()
		}
		assert.Equal(t, 1, m.Readers().Waiting)
		assert.Equal(t, uint64(2), m.Readers().Lags[0])
		_, err := one.Next(ctx, 0, 0)
		require.Error(t, err)
		assert.Equal(t, uint64(1), m.Readers().Gaps)

		cancel()
		synctest.Wait()
		assert.Zero(t, m.Readers().Waiting, "a reader that gives up does not wait any more")
	})
}

func TestNilMeterCountsNothing(t *testing.T) {
	var m *journal.Meter
	assert.Equal(t, journal.Readers{}, m.Readers())
}
