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

// page is the environment of a test of the page: a browser, and a portal shared with
// other tests.
type page struct {
	*testing.T
	chromium *portaltest.Chromium
	portal   *portaltest.Portal
}

func (t page) open(url string) *portaltest.Browser {
	t.Helper()
	return t.chromium.Open(t.T, url)
}

// subpage returns the environment for a subtest.
func subpage(t *testing.T, of page) page {
	t.Helper()
	return page{t, of.chromium, of.portal.For(t)}
}

// session starts a session in a directory, and opens it.
func (t page) session(dir, query string) (*portaltest.Browser, string) {
	t.Helper()
	id := t.portal.StartSession(dir, query)
	return t.visit(id), id
}

// visit opens a session in a new tab, and waits until it is shown.
func (t page) visit(id string) *portaltest.Browser {
	t.Helper()
	b := t.open(t.portal.URL + "/#/s/" + id)
	b.Wait(there)
	return b
}

// there is true once a session is shown with its past.
const there = `document.querySelector('[data-testid="conversation"]') !== null && document.querySelector('[data-testid="model"]') === null`

// id selects by data-testid, and descendants of that.
func id(name string, within ...string) string {
	selector := portaltest.ID(name)
	for _, w := range within {
		selector += " " + w
	}
	return selector
}

// idle waits until a number of runs has ended.
func idle(b *portaltest.Browser, runs int) {
	b.WaitCount(id("end"), runs)
	b.Wait(`document.querySelector('[data-testid="status"]').textContent === ""`)
}

// send writes a prompt and sends it.
func send(b *portaltest.Browser, prompt string) {
	b.Type(id("prompt"), prompt)
	b.Press("\r")
}

// shown is the text of the conversation, folded parts included. Links to the changes of runs are left out: they appear when
// the checkpoint of the run's end is taken.
const shown = `(() => {
	for (const fold of document.querySelectorAll('[data-testid="conversation"] details')) fold.open = true;
	return document.querySelector('[data-testid="conversation"]').innerText.replace(/\s*Review \d+ files?/g, "");
})()`

// reload reloads the page and checks that its text is unchanged. Folded parts are drawn
// when they are opened, which takes a moment.
func (t page) reload(b *portaltest.Browser) {
	t.Helper()
	b.Wait(`(() => {
		const folds = [...document.querySelectorAll('[data-testid="conversation"] details')];
		const closed = folds.filter((fold) => !fold.open); // also those that an opened one has just drawn
		for (const fold of closed) fold.open = true;
		return closed.length === 0 && folds.every((fold) => fold.innerText.includes("\n"));
	})()`)
	before := b.Text(shown)
	b.Do(chromedp.Reload())
	b.Wait(there)
	b.WaitValue(shown, func(now string) bool { return now == before }, "the page differs after the reload; it was:\n"+before)
}

// git creates a repository on a branch, with one changed file.
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

// second is a provider with a model to switch to, which is never called.
const second = "providers: [{name: mine, base_url: 'http://127.0.0.1:1/v1', models: [small]}]\n"

func TestPage(t *testing.T) {
	t.Parallel()
	shared := page{t, portaltest.StartChromium(t), startPortal(t, portaltest.Options{Args: []string{"--demo"}, Config: second, Env: []string{portaltest.WithAccount}})}
	formserver.Configure(t, shared.portal.Home, nil)
	t.Run("uses a quiet list of sessions", func(t *testing.T) { // first, because it takes longest
		t.Parallel()
		usesQuietList(subpage(t, shared))
	})
	for name, look := range map[string]func(page){
		"starts a session":                                 startsSession,
		"keeps its place while models arrive":              keepsItsPlace,
		"leaves the user where they are":                   leavesUserWhereTheyAre,
		"keeps the model over a lost connection":           keepsModelOverLostConnection,
		"attaches files before a session starts":           attachesBeforeStart,
		"chooses directories":                              choosesDirectories,
		"composes on a phone":                              composesOnAPhone,
		"changes the queue in two tabs":                    changesQueue,
		"answers a prompt and asks before a command":       answersPrompt,
		"warns if sessions cannot be stored":               warnsAboutStorage,
		"works behind a proxy with a base path":            worksBehindProxy,
		"shows reasoning and text":                         showsReasoningAndText,
		"shows running tools":                              showsRunningTools,
		"shows changes and groups reads":                   showsChangesAndReads,
		"shows the work of a sub-agent":                    showsSubAgent,
		"shows the to-do list":                             showsTodos,
		"answers questions with the keyboard":              answersByKeys,
		"remembers a permission in a wider scope":          remembersWiderScope,
		"revokes remembered permissions":                   revokesRemembered,
		"answers questions with text":                      answersWithText,
		"names the sub-agent that asks":                    namesSubAgentThatAsks,
		"keeps what is in a form that is rejected":         keepsRejectedForm,
		"starts lines on a phone":                          startsLinesOnAPhone,
		"opens nothing late over another session":          opensNothingLate,
		"stops a run from its own view only":               stopsFromOwnViewOnly,
		"copies without the clipboard API":                 copiesWithoutClipboard,
		"leaves no dead entries in the history":            leavesNoDeadEntries,
		"loads again what it has dropped":                  loadsDropped,
		"shows a clean diff":                               showsCleanDiff,
		"shows actions without moving anything":            showsActions,
		"forks from a run and names the origin":            forksFromRun,
		"sends an edited prompt again":                     editsPrompt,
		"retries with the same and another model":          retriesAnswer,
		"renames a session in its header":                  renamesInHeader,
		"offers the actions of a session in its header":    offersActionsInHeader,
		"shows the title that the model gives":             titlesByModel,
		"shows thumbnails of images":                       showsThumbnails,
		"offers actions on a phone":                        offersActionsOnPhone,
		"shares a session between two tabs":                sharesSession,
		"rejects and approves a plan":                      approvesPlan,
		"fills in a form and shows a sign-in link":         fillsInForm,
		"queues and steers prompts during a run":           queuesAndSteers,
		"works with the keyboard alone":                    usesKeyboard,
		"leaves keys alone that type characters":           leavesTypedKeysAlone,
		"shows the status":                                 showsStatus,
		"reloads during a stream":                          reloadsDuringStream,
		"joins and reloads late in a long text":            joinsLate,
		"shows the whole text of a stopped run":            showsStoppedText,
		"shows the whole text of a crashed run":            showsCrashedText,
		"shows a steering prompt in its place":             showsSteeringPrompt,
		"shows attachments":                                showsAttachments,
		"streams over an unstable connection":              streamsOverUnstableConnection,
		"loads earlier items":                              loadsEarlierItems,
		"runs an operation on a document":                  runsOperation,
		"watches an operation over an unstable connection": watchesOperationOverUnstableConnection,
		"cancels an operation":                             cancelsOperation,
		"shows that it is offline":                         showsOffline,
		"recovers a session after the portal was killed":   recoversAfterKill,
		"reconnects after a restart of the portal":         reconnectsAfterRestart,
		"attaches files":                                   attachesFiles,
		"changes model, mode and permissions":              changesSettings,
		"shows errors and retries":                         showsErrors,
		"shows files":                                      showsFiles,
		"reviews and reverts changes in two tabs":          reviewsChanges,
		"refreshes an unfolded file":                       refreshesUnfoldedFile,
		"undoes while the changes refresh":                 undoesWhileRefreshing,
		"offers nothing before the changes are loaded":     offersNothingBeforeChangesAreLoaded,
		"notices a run between two frames":                 noticesBriefRun,
		"announces a run between two frames":               announcesBriefRun,
		"keeps the run when Escape is pressed twice":       keepsRunAfterRefusal,
		"restores a run and continues in a fork":           restoresRun,
		"resizes the changes and shows them side by side":  resizesChanges,
		"colours the lines of changes":                     colorsDiffs,
		"says that there are no changes":                   saysWithoutChanges,
		"commits changes and creates a pull request":       commitsChanges,
		"tries requests of the reference":                  triesRequests,
		"continues the session of an editor":               continuesAnEditorsSession,
		"closes a menu with its button":                    closesMenuWithButton,
		"shows old errors once":                            showsOldErrorsOnce,
		"shows the output of a failed command":             showsFailedOutput,
		"keeps the focus after a click on an answer":       keepsFocusAfterClick,
		"keeps the prompt in view below a long queue":      keepsPromptInView,
		"stays at its place when a panel closes":           keepsPlaceOnBack,
		"sends a failed prompt again with its attachments": retriesWithAttachments,
		"waits for attachments that are being read":        waitsForAttachments,
		"returns an unsent prompt to the box in view":      returnsUnsentPrompt,
		"sends a prompt once if its response is lost":      sendsPromptOnce,
		"keeps the choices of an unsent prompt":            keepsChoicesOfDraft,
		"keeps what is written outside the box":            keepsWhatIsWritten,
		"keeps the mode of a session":                      keepsModeOfSession,
		"adds an example to what is written":               addsExamples,
		"closes completions with their text":               closesCompletion,
		"continues a closed session":                       continuesClosedSession,
		"follows a session that was opened again":          followsReopenedSession,
		"does everyday tasks in few actions":               takesFewActions,
		"is accessible":                                    isAccessible,
		"uses other agents":                                usesOtherAgents,
		"stops an interface that hangs":                    stopsHangingInterface,
		"creates and changes interfaces":                   changesInterfaces,
		"makes an interface of every description":          makesInterfaceOfEveryDescription,
		"says that the portal is gone":                     saysThatThePortalIsGone,
		"watches a job":                                    watchesJob,
		"opens the card of a session that changes":         opensCardThatChanges,
		"shares a session by links":                        sharesByLinks,
		"uses a session of another portal":                 usesSessionOfAnotherPortal,
		"explains a slow first start":                      explainsSlowFirstStart,
		"has a terminal":                                   hasTerminal,
		"has no terminal by default":                       hasNoTerminalByDefault,
		"changes every setting":                            changesEverySetting,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look(subpage(t, shared))
		})
	}
}

// startPortal starts a portal that serves the bundled page.
func startPortal(tb testing.TB, o portaltest.Options) *portaltest.Portal {
	tb.Helper()
	return portaltest.Start(tb, bundled(o))
}

// bundled changes options so that the page is one bundle, as for users. In modules, as with --debug, it takes a hundred requests.
func bundled(o portaltest.Options) portaltest.Options {
	o.Args = append([]string{"--debug=false"}, o.Args...)
	return o
}

// literal quotes a text as a JavaScript string.
func literal(text string) string {
	b, _ := json.Marshal(text) // a string can always be encoded
	return string(b)
}
