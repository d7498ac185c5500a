package assets_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
	"github.com/copilot-portal/portal/server/portaltest"
)

// page is what a test of the page needs: the browser, and a portal that it shares
// with others.
type page struct {
	*testing.T
	chromium *portaltest.Chromium
	portal   *portaltest.Portal
}

func (t page) open(url string) *portaltest.Browser {
	t.Helper()
	return t.chromium.Open(t.T, url)
}

// session opens a new session in a directory.
func (t page) session(dir, query string) (*portaltest.Browser, string) {
	t.Helper()
	id := t.portal.StartSession(dir, query)
	return t.visit(id), id
}

// visit opens a session in a new tab, and waits until it is there.
func (t page) visit(id string) *portaltest.Browser {
	t.Helper()
	b := t.open(t.portal.URL + "/#/s/" + id)
	b.Wait(there)
	return b
}

// there says that a session is shown, with all of its past.
const there = `document.querySelector('[data-testid="conversation"]') !== null && document.querySelector('[data-testid="model"]') === null`

// id selects by data-testid, and what is given within.
func id(name string, within ...string) string {
	selector := portaltest.ID(name)
	for _, w := range within {
		selector += " " + w
	}
	return selector
}

// idle waits until so many runs are over.
func idle(b *portaltest.Browser, runs int) {
	b.WaitCount(id("end"), runs)
	b.Wait(`document.querySelector('[data-testid="status"]').textContent === ""`)
}

// send writes a prompt and sends it.
func send(b *portaltest.Browser, prompt string) {
	b.Type(id("prompt"), prompt)
	b.Press("\r")
}

// shown is what can be read of the conversation, folded parts included.
const shown = `(() => {
	for (const fold of document.querySelectorAll('[data-testid="conversation"] details')) fold.open = true;
	return document.querySelector('[data-testid="conversation"]').innerText;
})()`

// reload loads the page again and checks that it says what it said before. Folds
// draw what is in them when they are opened, which takes a moment.
func (t page) reload(b *portaltest.Browser) {
	t.Helper()
	b.Text(shown)
	b.Wait(`[...document.querySelectorAll('[data-testid="conversation"] details[open]')].every((fold) => fold.innerText.includes("\n"))`)
	before := b.Text(shown)
	b.Do(chromedp.Reload())
	b.Wait(there)
	b.WaitValue(shown, func(now string) bool { return now == before }, "the page differs behind the reload; it was:\n"+before)
}

// git makes a directory with a repository, on a branch, of which one file has
// changed since.
func (t page) git() string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "heronry")
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.file(dir, "notes.txt", "one\n")
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=wetland"},
		{"add", "."},
		{"-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=x"},
	} {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	t.file(dir, "notes.txt", "two\n")
	return dir
}

func (t page) file(dir, name, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
}

// second is a provider with a model to switch to, which nobody asks.
const second = "providers: [{name: mine, base_url: 'http://127.0.0.1:1/v1', models: [small]}]\n"

func TestPage(t *testing.T) {
	t.Parallel()
	chromium, portal := portaltest.StartChromium(t), portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}, Config: second})
	formserver.Configure(t, portal.Home, nil)
	for name, look := range map[string]func(page){
		"starts a session from what is on its first screen":       startsASession,
		"answers a prompt and asks before a command":              answersAPrompt,
		"says what keeps sessions from being stored":              saysWhyNothingIsStored,
		"works behind a proxy below a path":                       worksBehindAProxy,
		"shows what was thought and said":                         showsWhatWasThoughtAndSaid,
		"shows tools at work":                                     showsToolsAtWork,
		"shows changes, and folds reads":                          showsChangesAndReads,
		"shows what a sub-agent does":                             showsAHelper,
		"shows what is to do":                                     showsWhatIsToDo,
		"answers questions by keys":                               answersByKeys,
		"remembers a permission in a wider scope":                 remembersWiderScopes,
		"revokes what is remembered":                              revokesWhatIsRemembered,
		"answers questions with words":                            answersWithWords,
		"shows a session in two tabs, where either answers":       inTwoTabs,
		"shows a plan and sends it back or carries it out":        showsAPlan,
		"fills in a form and shows where to sign in":              fillsInAForm,
		"writes while it works":                                   writesWhileItWorks,
		"keeps sessions to be found, renamed, copied and deleted": keepsSessions,
		"is used by keys alone":                                   isUsedByKeys,
		"fits a phone":                                            fitsAPhone,
		"tells its status":                                        tellsItsStatus,
		"is reloaded in the middle of a stream":                   isReloadedInAStream,
		"is reloaded and joined far into a text":                  isJoinedFarIntoAText,
		"shows the text that a stop cut off from its beginning":   showsWhatAStopCutOff,
		"shows the text that a crash cut off from its beginning":  showsWhatACrashCutOff,
		"shows where a prompt was added":                          showsWhereAPromptWasAdded,
		"shows what was attached":                                 showsWhatWasAttached,
		"streams over a wire that is cut":                         streamsOverAWireThatIsCut,
		"loads what was before":                                   loadsWhatWasBefore,
		"works on a document":                                     worksOnADocument,
		"watches an operation over a wire that is cut":            watchesAnOperationOverAWireThatIsCut,
		"cancels an operation":                                    cancelsAnOperation,
		"says that it is offline":                                 saysThatItIsOffline,
		"goes on with a session whose portal was killed":          goesOnAfterAKill,
		"goes on when its portal is started again":                goesOnAfterAStop,
		"attaches files":                                          attachesFiles,
		"changes how it works":                                    changesHowItWorks,
		"shows errors, and tries again":                           showsErrors,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look(page{t, chromium, portal.For(t)})
		})
	}
}

// literal is a text as JavaScript writes it.
func literal(text string) string {
	b, _ := json.Marshal(text) // a text always can be
	return string(b)
}
