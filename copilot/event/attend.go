package event

import (
	"github.com/copilot-portal/portal/copilot/permission"
)

// Headless is the answer in place of a client that cannot ask anybody: [permission.Allow] approves permissions and plans, and
// everything else is refused. What refuses needs a reason besides.
func (q Question) Headless(d permission.Decision) Answer {
	return Answer{Approved: d == permission.Allow && (q.Kind == AskPermission || q.Kind == AskPlan), Failed: q.Kind == AskTool}
}
