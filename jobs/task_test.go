package jobs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
)

// oneTask returns a book with a job of one task.
func oneTask(task string) string {
	return `
models: {driving: model-a, coding: model-b}
drivingSessionRetries: [{modelId: model-a, retries: 1}, {modelId: model-b, retries: 0}]
tasks:
  t: ` + task + `
jobs:
  j: {work: {kind: Ref, taskId: t}}
`
}

const (
	plainTask = `{prompt: [work], model: {category: coding}}`
	needsTool = `{prompt: [work], criteria: {toolExecuted: [job_prepare_document], failureAction: {retryTimes: 2, additionalPrompt: [more $reported-document]}}}`
	sameCheck = `{prompt: [work], model: {category: coding}, criteria: {condition: [check], failureAction: {retryTimes: 1, additionalPrompt: [because $reported-false-reason]}}}`
	ownCheck  = `{prompt: [work], model: {category: coding}, availability: {condition: [available]}, criteria: {condition: [check $reported-document],
    runConditionInSameSession: false, failureAction: {retryTimes: 1, additionalPrompt: [because $reported-false-reason]}}}`
)

func TestTask(t *testing.T) {
	for _, tt := range []struct {
		name  string
		task  string
		agent script
		story []string
		sent  []string
	}{
		{
			"without criteria succeeds after an answer", plainTask, nil,
			[]string{"opens A", "closes A", "taskSucceeded"},
			[]string{"model-b: work"},
		},
		{
			"that calls the tool succeeds", needsTool,
			script{"work": reactions(ready)},
			[]string{"opens A", "closes A", "taskSucceeded"},
			[]string{"model-a: work"},
		},
		{
			"that misses a tool gets a retry prompt", needsTool,
			script{"more": reactions(ready)},
			[]string{
				"opens A", "The agent did not call job_prepare_document. The prompt is sent again, retry 1 of 2.", "closes A", "taskSucceeded",
			},
			[]string{"model-a: work", "model-a: work\n\nYou were asked this before and did not call job_prepare_document. You must call it.\n\nmore <MISSING>"},
		},
		{
			"fails after the last retry", needsTool,
			script{"work": reactions(nothing)},
			[]string{
				"opens A", "The agent did not call job_prepare_document. The prompt is sent again, retry 1 of 2.",
				"The agent did not call job_prepare_document. The prompt is sent again, retry 2 of 2.",
				"The agent did not call job_prepare_document.", "closes A", "taskFailed",
			},
			nil,
		},
		{
			"checks its condition in the same session", sameCheck,
			script{"check": reactions(no, yes)},
			[]string{
				"opens A", "The condition does not hold: it is bad. The prompt is sent again, retry 1 of 1.", "The condition holds: it is good.",
				"closes A", "taskSucceeded",
			},
			[]string{"model-b: work", "model-b: check", "model-b: work\n\nbecause it is bad", "model-b: check"},
		},
		{
			"fails when the condition does not hold after the last retry", sameCheck,
			script{"check": reactions(no)},
			[]string{
				"opens A", "The condition does not hold: it is bad. The prompt is sent again, retry 1 of 1.", "The condition does not hold: it is bad.",
				"closes A", "taskFailed",
			},
			nil,
		},
		{
			"has a condition that holds when the last answer is yes", sameCheck,
			script{"check": reactions(inOrder(no, yes))},
			[]string{"opens A", "The condition holds: it is good.", "closes A", "taskSucceeded"},
			nil,
		},
		{
			"has a condition that does not hold when the last answer is no", sameCheck,
			script{"check": reactions(inOrder(yes, no), yes)},
			[]string{
				"opens A", "The condition does not hold: it is bad. The prompt is sent again, retry 1 of 1.", "The condition holds: it is good.",
				"closes A", "taskSucceeded",
			},
			nil,
		},
		{
			"does not take an answer to the prompt for the condition", sameCheck,
			script{"work": reactions(yes), "check": reactions(nothing, yes), "because": reactions(nothing)},
			[]string{
				"opens A", "The condition does not hold: the agent called neither job_boolean_true nor job_boolean_false. The prompt is sent again, retry 1 of 1.",
				"The condition holds: it is good.", "closes A", "taskSucceeded",
			},
			nil,
		},
		{
			"has a session for each check and attempt", ownCheck,
			script{"available": reactions(yes), "work": reactions(ready), "check": reactions(no, yes)},
			[]string{
				"drives A", "closes A", "opens B", "closes B", "drives C", "closes C",
				"The condition does not hold: it is bad. The prompt is sent again, retry 1 of 1.",
				"opens D", "closes D", "drives E", "closes E", "The condition holds: it is good.", "taskSucceeded",
			},
			[]string{"model-a: available", "model-b: work", "model-a: check notes.md", "model-b: work\n\nbecause it is bad", "model-a: check notes.md"},
		},
		{
			"fails when it is not available", ownCheck,
			script{"available": reactions(no)},
			[]string{"drives A", "closes A", "The task is not available: it is bad.", "taskFailed"},
			nil,
		},
		{
			"ends at once when a prerequisite is missing", sameCheck,
			script{"work": reactions(inOrder(never, hang))},
			[]string{"opens A", "A prerequisite is missing: there is no compiler.", "closes A", "taskFailed"},
			[]string{"model-b: work"},
		},
		{
			"ends at once when a check misses a prerequisite", ownCheck,
			script{"available": reactions(yes), "check": reactions(never)},
			[]string{
				"drives A", "closes A", "opens B", "closes B", "drives C", "closes C", "A prerequisite is missing: there is no compiler.", "taskFailed",
			},
			nil,
		},
		{
			"sends its prompt again when the session fails", plainTask,
			script{"work": reactions(crash, nothing)},
			[]string{
				"opens A", "A session failed: the model is gone. The request is sent again, attempt 2 of 5.", "closes A", "taskSucceeded",
			},
			[]string{
				"model-b: work",
				"model-b: This request was sent before, but the session failed before it was done (the model is gone); check what is already done.\nwork",
			},
		},
		{
			"gives up after five attempts on its own model", plainTask,
			script{"work": reactions(crash)},
			[]string{
				"opens A", "A session failed: the model is gone. The request is sent again, attempt 2 of 5.",
				"A session failed: the model is gone. The request is sent again, attempt 3 of 5.",
				"A session failed: the model is gone. The request is sent again, attempt 4 of 5.",
				"A session failed: the model is gone. The request is sent again, attempt 5 of 5.",
				"breaks A", "error: gave up after 5 attempts: the model is gone", "taskFailed",
			},
			nil,
		},
		{
			"tries the models of driving sessions in turn", ownCheck,
			script{"available": reactions(crash, crash, yes), "check": reactions(yes)},
			[]string{
				"drives A", "breaks A", "A session failed: the model is gone. The request is sent again, attempt 2 of 3.",
				"drives B", "breaks B", "A session failed: the model is gone. The request is sent again, attempt 3 of 3.",
				"drives C", "closes C", "opens D", "closes D", "drives E", "closes E", "The condition holds: it is good.", "taskSucceeded",
			},
			nil,
		},
		{
			"without such a model fails at once", `{prompt: [work], model: {id: model-x}}`, nil,
			[]string{"error: no such model: \"model-x\"", "taskFailed"},
			nil,
		},
		{
			"expands its model and the input", `{prompt: [$task-model $user-input]}`, nil,
			[]string{"opens A", "closes A", "taskSucceeded"},
			[]string{"model-a: model-a the input"},
		},
	} {
		for _, keeps := range []bool{false, true} {
			onMachine(t, fmt.Sprintf("%s (stored: %v)", tt.name, keeps), func(m *machine) {
				p := m.either(keeps, oneTask(tt.task), tt.agent)
				defer p.stop()
				j, events := p.do("j")
				task, err := p.host.Task(context.Background(), j.Info().Works[0].Task)
				require.NoError(m.t, err)
				list := rest(m.t, task, 0)
				assert.Equal(m.t, tt.story, story(list))
				var wrapped []jobs.Event
				for _, e := range events {
					if w, ok := e.Body.(jobs.WorkEvent); ok {
						wrapped = append(wrapped, jobs.Event{Body: w.Body})
					}
				}
				assert.Equal(m.t, tt.story, story(wrapped), "the job has the same events")
				if tt.sent != nil {
					assert.Equal(m.t, tt.sent, m.sent())
				}
				assert.Zero(m.t, p.openSessions())
				info := task.Info()
				assert.True(m.t, info.Status.Ended())
				assert.EqualValues(m.t, len(list), info.Events)
				assert.Equal(m.t, j.ID(), info.Job)
				assert.Len(m.t, info.Sessions, j.Info().Sessions)
			})
		}
	}
}

func (m *machine) either(keeps bool, text string, s script, with ...func(*jobs.Options)) *portal {
	m.t.Helper()
	if keeps {
		return m.open(text, s, with...)
	}
	return m.portal(nil, text, s, with...)
}

func TestSessionOfTask(t *testing.T) {
	inMemory(t, "has its own title and needs no permission", oneTask(ownCheck), script{"work": reactions(inOrder(ready, waits(time.Minute)))}, func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		list, _, err := p.sessions.Sessions(context.Background(), "", 0)
		require.NoError(p.t, err)
		require.Len(p.t, list, 1)
		assert.Equal(p.t, "job", list[0].Origin)
		assert.Equal(p.t, "j · t · check", list[0].Title)
		s, err := p.sessions.Session(context.Background(), list[0].ID)
		require.NoError(p.t, err)
		for _, tool := range []string{book.PrepareDocument, book.BooleanTrue, book.BooleanFalse, book.PrerequisiteFailed} {
			assert.Equal(p.t, permission.Allow, s.Rules()[tool])
		}
		for _, c := range p.agents.Calls(fake.Open) {
			assert.False(p.t, c.Opening.AskUser)
			assert.Len(p.t, c.Opening.Tools, 4)
		}
		all(p.t, j)
	})
	inMemory(t, "that a user closes ends the task", oneTask(plainTask), script{"work": reactions(hang)}, func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		list, _, _ := p.sessions.Sessions(context.Background(), "", 0)
		s, _ := p.sessions.Session(context.Background(), list[0].ID)
		require.NoError(p.t, s.Close())
		assert.Contains(p.t, story(all(p.t, j)), "job error: t (work 1): someone cancelled its run in the session")
	})
}

func TestUnattendedQuestionsInJobs(t *testing.T) {
	asks := func(t *fake.Turn) {
		for _, q := range []event.Question{{Names: []string{permission.Exec}}, {Kind: event.AskInput, Text: "Which?"}} {
			if a, ok := t.AskAlways(q); ok {
				t.Say(fmt.Sprintf("%v %s", a.Approved, a.Reason))
			}
		}
	}
	onMachine(t, "are declined, and the job continues", func(m *machine) {
		p := m.portal(nil, oneTask(plainTask), script{"work": reactions(asks)}, func(o *jobs.Options) {
			o.Unattended, o.Policy = true, permission.Everywhere(permission.Ask)
		})
		defer p.stop()
		j := p.start("j")
		wait(time.Hour)
		assert.Equal(m.t, jobs.Succeeded, j.Info().Status)
	})
	inMemory(t, "wait otherwise, until someone may answer", oneTask(plainTask), script{"work": reactions(asks)}, func(p *portal) {
		j := p.start("j")
		wait(time.Hour)
		assert.Equal(p.t, jobs.Running, j.Info().Status)
		require.NoError(p.t, j.Cancel(context.Background()))
	})
}

func (p *portal) session(tools ...event.Tool) *copilot.Session {
	p.t.Helper()
	s, err := p.sessions.Start(context.Background(), copilot.Start{Origin: "test", Directory: p.project, Tools: tools})
	require.NoError(p.t, err)
	return s
}

func (p *portal) borrow(s *copilot.Session) *jobs.Task {
	p.t.Helper()
	t, err := p.host.StartTask(context.Background(), jobs.TaskRequest{Name: "t", Session: s.ID(), Input: "the input"})
	require.NoError(p.t, err)
	return t
}

func TestBorrowedSession(t *testing.T) {
	own := event.Tool{Name: "mine", Schema: []byte(`{"type":"object"}`)}
	agent := script{"available": reactions(yes), "work": reactions(ready), "check": reactions(no, yes)}
	for _, keeps := range []bool{false, true} {
		onMachine(t, fmt.Sprintf("runs a whole task and is restored afterwards (stored: %v)", keeps), func(m *machine) {
			p := m.either(keeps, oneTask(ownCheck), agent)
			defer p.stop()
			s := p.session(own)
			task := p.borrow(s)
			assert.Equal(m.t, []string{
				"opens A", "The condition does not hold: it is bad. The prompt is sent again, retry 1 of 1.", "The condition holds: it is good.",
				"closes A", "taskSucceeded",
			}, story(rest(m.t, task, 0)))
			assert.Equal(m.t, copilot.StateIdle, s.Info().State)
			assert.Equal(m.t, []event.Tool{own}, s.Tools())
			assert.Equal(m.t, s.ID(), task.Info().Sessions[0].ID)
			require.ErrorIs(m.t, task.Cancel(context.Background()), jobs.ErrTaskClosed)
			p.borrow(s)
		})
	}
	inMemory(t, "stays open when the task is cancelled", oneTask(plainTask), script{"work": reactions(hang)}, func(p *portal) {
		s := p.session()
		task := p.borrow(s)
		wait(time.Second)
		_, err := p.host.StartTask(context.Background(), jobs.TaskRequest{Name: "t", Session: s.ID()})
		assert.Equal(p.t, fault.Busy, fault.KindOf(err))
		require.NoError(p.t, task.Cancel(context.Background()))
		assert.Equal(p.t, jobs.Canceled, task.Info().Status)
		assert.Equal(p.t, []string{"opens A", "breaks A", "The task was canceled.", "taskFailed"}, story(rest(p.t, task, 0)))
		assert.Equal(p.t, copilot.StateIdle, s.Info().State)
		assert.Empty(p.t, s.Tools())
	})
	inMemory(t, "does not get the tools of a task that was cancelled before it began", oneTask(plainTask), script{"busy": reactions(waits(time.Minute))}, func(p *portal) {
		s := p.session()
		_, err := s.Prompt(event.Prompt{Text: "busy"})
		require.NoError(p.t, err)
		task := p.borrow(s)
		wait(time.Second)
		require.NoError(p.t, task.Cancel(context.Background()))
		wait(2 * time.Minute)
		assert.Equal(p.t, copilot.StateIdle, s.Info().State)
		assert.Empty(p.t, s.Tools())
	})
	inMemory(t, "that is closed and reopened ends a waiting task", oneTask(plainTask), script{"busy": reactions(hang)}, func(p *portal) {
		s := p.session()
		_, err := s.Prompt(event.Prompt{Text: "busy"})
		require.NoError(p.t, err)
		task := p.borrow(s)
		wait(time.Second)
		require.NoError(p.t, s.Close())
		require.NoError(p.t, s.Reopen(context.Background()))
		wait(time.Minute)
		assert.Equal(p.t, jobs.Failed, task.Info().Status)
	})
	inMemory(t, "that is closed cannot be borrowed", oneTask(plainTask), nil, func(p *portal) {
		s := p.session()
		require.NoError(p.t, s.Close())
		_, err := p.host.StartTask(context.Background(), jobs.TaskRequest{Name: "t", Session: s.ID()})
		require.ErrorIs(p.t, err, fault.ErrSessionClosed)
		_, err = p.host.StartTask(context.Background(), jobs.TaskRequest{Name: "t", Session: "nobody"})
		require.ErrorIs(p.t, err, fault.ErrSessionNotFound)
		_, err = p.host.StartTask(context.Background(), jobs.TaskRequest{Name: "x", Session: s.ID()})
		require.ErrorIs(p.t, err, jobs.ErrNotInBook)
	})
}

// Sockets need real time.
func TestOneTaskOfAllPortalsWorksInSession(t *testing.T) {
	m := &machine{t: t, agents: fake.New(), data: t.TempDir(), project: t.TempDir()}
	m.sockets = filepath.Join(m.data, "sockets")
	defer m.agents.Close()
	agent := script{"work": reactions(hang)}
	open := func() *portal {
		st, err := store.Open(t.Context(), store.Options{Directory: m.data}) // in real time, the other portal may take long to write
		require.NoError(t, err)
		return m.portal(st, oneTask(plainTask), agent)
	}
	first, second := open(), open()
	defer first.stop()
	defer second.stop()
	s := first.session()
	task := first.borrow(s)
	works := func() bool { return len(first.task(task.ID()).Info().Sessions) > 0 }
	require.Eventually(t, works, time.Minute, 5*time.Millisecond)
	_, err := second.host.StartTask(context.Background(), jobs.TaskRequest{Name: "t", Session: s.ID()})
	assert.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
	require.NoError(t, task.Cancel(context.Background()))
	second.borrow(s)
}

func TestDecisionPrecedesEveryEndOfTask(t *testing.T) {
	for name, test := range map[string]struct {
		task   string
		agent  script
		reason string
	}{
		"answered":           {plainTask, nil, "The agent has answered the prompt."},
		"tool called":        {needsTool, script{"work": reactions(ready)}, "The agent has called job_prepare_document."},
		"no such model":      {`{prompt: [work], model: {id: model-x}}`, nil, `The task has failed: no such model: "model-x".`},
		"tool never called":  {needsTool, nil, "The agent did not call job_prepare_document."},
		"condition not held": {sameCheck, nil, "The condition does not hold: the agent called neither job_boolean_true nor job_boolean_false."},
	} {
		onMachine(t, name, func(m *machine) {
			p := m.portal(nil, oneTask(test.task), test.agent)
			defer p.stop()
			j, _ := p.do("j")
			info := j.Info()
			assert.Equal(m.t, test.reason, info.Reason)
			assert.Equal(m.t, test.reason, info.Works[0].Reason)
			task := p.task(info.Works[0].Task)
			assert.Equal(m.t, test.reason, task.Info().Reason)
		})
	}
}

func TestOnlySessionOfTaskDrives(t *testing.T) {
	for task, want := range map[string][]jobs.TaskSession{
		plainTask: {{Driving: true}},
		sameCheck: {{Driving: true}},
		ownCheck:  {{Driving: true, Checks: true}, {}, {Driving: true, Checks: true}},
	} {
		onMachine(t, task, func(m *machine) {
			p := m.portal(nil, oneTask(task), script{"available": reactions(yes), "check": reactions(yes), "work": reactions(ready)})
			defer p.stop()
			j, _ := p.do("j")
			var got []jobs.TaskSession
			for _, s := range p.task(j.Info().Works[0].Task).Info().Sessions {
				got = append(got, jobs.TaskSession{Driving: s.Driving, Checks: s.Checks})
			}
			assert.Equal(m.t, want, got[:min(len(want), len(got))])
		})
	}
}

func TestUnknownSessionIsReportedBeforeUnknownTask(t *testing.T) {
	inMemory(t, "both are unknown", oneTask(plainTask), nil, func(p *portal) {
		_, err := p.host.StartTask(context.Background(), jobs.TaskRequest{Name: "nothing", Session: "nowhere"})
		assert.ErrorIs(p.t, err, fault.ErrSessionNotFound)
	})
}

func TestFirstPromptNamesAnsweringModel(t *testing.T) {
	for name, task := range map[string]string{
		"of a task in one session":      `{prompt: [$task-model]}`,
		"of a task with its own checks": `{prompt: [$task-model], criteria: {condition: [check], runConditionInSameSession: false, failureAction: {retryTimes: 0}}}`,
	} {
		text := "models: {driving: ''}\ntasks: {t: " + task + "}\njobs: {j: {work: {kind: Ref, taskId: t}}}\n"
		inMemory(t, name, text, script{"check": reactions(yes)}, func(p *portal) {
			p.do("j")
			require.NotEmpty(p.t, p.sent())
			assert.Contains(p.t, p.sent()[0], ": model-a", "the default of the agent")
		})
	}
	inMemory(t, "of a task in a borrowed session", oneTask(`{prompt: [$task-model]}`), nil, func(p *portal) {
		rest(p.t, p.borrow(p.session()), 0)
		require.NotEmpty(p.t, p.sent())
		assert.Contains(p.t, p.sent()[0], ": model-a")
	})
}
