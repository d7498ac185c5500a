package jobs_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs"
)

// everyBody returns an event of each type, also as an event of a work.
func everyBody() []jobs.Body {
	list := []jobs.Body{
		jobs.TaskSessionStarted{Session: "s", Driving: true},
		jobs.TaskSessionStopped{Session: "s", Succeeded: true},
		jobs.TaskDecision{Reason: "so"},
		jobs.TaskError{Error: "bad\n\"x\""},
		jobs.WorkStarted{Work: 3, Task: "t"},
		jobs.WorkStopped{Work: 3, Succeeded: true, Status: jobs.Succeeded},
		jobs.JobError{Error: "bad"},
	}
	list = append(list, jobs.Bodies()...)
	for _, b := range list {
		list = append(list, jobs.WorkEvent{Work: 3, Task: "t", Body: b})
	}
	return list
}

func TestStoredEventIsReadBack(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123).UTC()
	for _, b := range everyBody() {
		line, err := jobs.Encode(jobs.Event{Number: 7, Time: at, Body: b})
		require.NoError(t, err)
		e, err := jobs.Decode(7, line)
		require.NoError(t, err)
		assert.Equal(t, jobs.Event{Number: 7, Time: at, Body: b}, e)
	}
}

func TestEventsHaveContractKeys(t *testing.T) {
	for want, b := range map[string]jobs.Body{
		`taskSessionStarted {"sessionId":"s","isDriving":true}`:          jobs.TaskSessionStarted{Session: "s", Driving: true},
		`taskSessionStopped {"sessionId":"s","succeeded":false}`:         jobs.TaskSessionStopped{Session: "s"},
		`taskDecision {"reason":"so"}`:                                   jobs.TaskDecision{Reason: "so"},
		`taskSucceeded {}`:                                               jobs.TaskSucceeded{},
		`taskFailed {}`:                                                  jobs.TaskFailed{},
		`taskError {"taskError":"bad"}`:                                  jobs.TaskError{Error: "bad"},
		`workStarted {"workId":3,"taskId":"t"}`:                          jobs.WorkStarted{Work: 3, Task: "t"},
		`workStopped {"workId":3,"succeeded":true,"status":"Succeeded"}`: jobs.WorkStopped{Work: 3, Succeeded: true, Status: jobs.Succeeded},
		`jobSucceeded {}`:                                                jobs.JobSucceeded{},
		`jobFailed {}`:                                                   jobs.JobFailed{},
		`jobCanceled {}`:                                                 jobs.JobCanceled{},
		`jobError {"jobError":"bad"}`:                                    jobs.JobError{Error: "bad"},
	} {
		text, err := json.Marshal(b)
		require.NoError(t, err)
		assert.Equal(t, want, jobs.Callback(b)+" "+string(text))
	}
}

func FuzzDecode(f *testing.F) {
	for _, b := range everyBody() {
		line, err := jobs.Encode(jobs.Event{Number: 1, Body: b})
		require.NoError(f, err)
		f.Add(line)
	}
	f.Add([]byte(`{"k":"workTold","b":{},"told":{"k":"workTold","told":{}}}`))
	f.Add([]byte(`{"k":"taskError","b":5}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := jobs.Decode(1, line)
		if err != nil {
			return
		}
		written, err := jobs.Encode(e)
		require.NoError(t, err)
		again, err := jobs.Decode(1, written)
		require.NoError(t, err)
		assert.Equal(t, e, again, "decoded events encode again")
	})
}
