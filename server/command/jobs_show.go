package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/copilot-portal/portal/jobs"
)

// display returns the display for this output: the screen in a terminal, otherwise lines.
func (p Process) display(asJSON bool) display {
	f, isFile := p.Out.(*os.File)
	var show display
	switch {
	case isFile && !asJSON && term.IsTerminal(int(f.Fd())) && !slices.Contains(p.Environ, "TERM=dumb"):
		noColour := slices.ContainsFunc(p.Environ, func(v string) bool { return strings.HasPrefix(v, "NO_COLOR=") && v != "NO_COLOR=" })
		size := func() (int, int, error) { return term.GetSize(int(f.Fd())) }
		return (&screen{out: p.Out, colour: !noColour, size: size, notes: map[int]string{}}).show
	case asJSON:
		show = p.showJSON
	default:
		show = p.showLine
	}
	return func(u update, i jobs.JobInfo) error {
		if u.cancelled {
			p.Err.Printf("%s\n", cancelling)
		}
		return show(u, i)
	}
}

// showJSON prints each event as a line of JSON.
func (p Process) showJSON(u update, i jobs.JobInfo) error {
	if u.event == nil {
		return nil
	}
	line, err := eventJSON(*u.event, i.ID)
	if err != nil {
		return err
	}
	_, err = p.Out.Write(append(line, '\n'))
	return err
}

// eventJSON encodes an event as one JSON object, with the fields of the record (number, time, job) and, for
// events of a task, its work and task.
func eventJSON(e jobs.Event, job string) ([]byte, error) {
	keys := map[string]any{}
	body := e.Body
	if told, ok := body.(jobs.WorkEvent); ok {
		body = told.Body
		keys["workId"], keys["taskId"] = told.Work, told.Task
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b.Bytes(), &keys); err != nil {
		return nil, err
	}
	keys["number"], keys["time"], keys["jobId"] = e.Number, e.Time.UTC(), job
	if name := cmp.Or(body.Callback(), endNames[body]); name != "" {
		keys["callback"] = name
	}
	b.Reset()
	err := encoder.Encode(keys)
	return bytes.TrimSpace(b.Bytes()), err
}

// endNames are the names of events that have no callback in spec/contracts/jobs.notes.md, "REST".
var endNames = map[jobs.Body]string{jobs.JobInterrupted{}: "jobInterrupted"} //nolint:gochecknoglobals // a constant in all but syntax

// cancelling is shown after Ctrl-C.
const cancelling = "Cancelling the job. Press Ctrl-C again to stop at once."

// showLine prints each event as a line.
func (p Process) showLine(u update, i jobs.JobInfo) error {
	text := ""
	if u.ended {
		text = summary(i) + "\n"
	}
	if e := u.event; e != nil {
		if e.Number == 1 {
			text = fmt.Sprintf("job %s: %s\n", i.ID, plain(i.Name, maxName))
		}
		if what := eventLine(e.Body, i); what != "" {
			text += fmt.Sprintf("%s  %s\n", e.Time.Local().Format(time.TimeOnly), what)
		}
	}
	_, err := io.WriteString(p.Out, text)
	return err
}

// eventLine returns one line for an event, or "" if people do not need to know about it.
func eventLine(b jobs.Body, i jobs.JobInfo) string {
	switch b := b.(type) {
	case jobs.WorkStarted:
		return nameOf(b.Work, i) + " started"
	case jobs.WorkStopped:
		return nameOf(b.Work, i) + " " + outcomes[b.Status]
	case jobs.WorkEvent:
		if text := taskEventLine(b.Body); text != "" {
			return nameOf(b.Work, i) + ": " + text
		}
	case jobs.JobError:
		return plain(b.Error, maxNote)
	}
	return ""
}

// maxNote is the length, in characters, to which texts in a line are cut.
const maxNote = 400

// taskEventLine returns one line for an event of a task, or "".
func taskEventLine(b jobs.Body) string {
	switch b := b.(type) {
	case jobs.TaskSessionStarted:
		if b.Checks {
			return "session " + short(b.Session) + " checks"
		}
		return "session " + short(b.Session)
	case jobs.TaskDecision:
		return plain(b.Reason, maxNote)
	case jobs.TaskError:
		return plain(b.Error, maxNote)
	}
	return ""
}

// outcomes are the names of statuses in texts for people.
var outcomes = map[jobs.Status]string{ //nolint:gochecknoglobals // a constant in all but syntax
	jobs.Pending: "waits", jobs.Running: "is running", jobs.Succeeded: "succeeded", jobs.Failed: "failed",
	jobs.Canceled: "was cancelled", jobs.Interrupted: "was interrupted",
}

// nameOf returns the name of a work for people. It includes the number if several works run the same task.
func nameOf(work int, i jobs.JobInfo) string {
	for _, w := range i.Works {
		if w.Work == work {
			return fmt.Sprintf("%d %s", work, plain(w.Name, maxName))
		}
	}
	return fmt.Sprint(work)
}

// summary says how a job ended and how to continue it.
func summary(i jobs.JobInfo) string {
	text := fmt.Sprintf("%s %s after %v, with %d sessions", plain(i.Name, maxName), outcomes[i.Status], elapsed(i), i.Sessions)
	if i.Error != "" {
		text += ": " + plain(i.Error, maxNote)
	}
	if i.Status == jobs.Succeeded {
		return text + "."
	}
	return text + fmt.Sprintf(".\nportal jobs continue %s continues it.", short(i.ID))
}

func elapsed(i jobs.JobInfo) time.Duration {
	end := i.Ended
	if end.IsZero() {
		end = time.Now()
	}
	return end.Sub(i.Started).Round(time.Second)
}
