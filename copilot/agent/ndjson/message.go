package ndjson

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
)

// message is a prompt as the program takes it: a text, in which attached texts
// stand, too.
func message(p event.Prompt) (string, error) {
	if p.Mode != "" && p.Mode != event.ModeInteractive {
		return "", cannot(fmt.Sprintf("work in the mode %s", p.Mode))
	}
	var texts strings.Builder
	for _, a := range p.Attachments {
		if a.Data != nil || a.Text == "" {
			return "", cannot("be shown files, directories and images")
		}
		fence := fence(a.Text)
		fmt.Fprintf(&texts, "\n\n%s:\n%s\n%s\n%s", a.Place(), fence, a.Text, fence)
	}
	return p.Text + texts.String(), nil
}

var ticks = regexp.MustCompile("`{3,}")

// fence is what a text can stand between.
func fence(text string) string {
	longest := "``"
	for _, t := range ticks.FindAllString(text, -1) {
		if len(t) > len(longest) {
			longest = t
		}
	}
	return longest + "`"
}
