//go:build screenshots

package assets_test

// play is a session: its prompts, and the event to wait for.
type play struct {
	name, directory, permissions string
	prompts                      []string
	until                        string
}

const (
	hello   = "Which Go version does this need, and why?"
	failing = "Summarise the open issues, please."
	review  = "Review the handlers: does every one of them check its input?"
	expire  = "Unpaid orders should expire after a day. Add that, with a test."
	push    = "Looks good. Commit it and push the branch."
	inspect = "Look at every handler in http/ and list those that use a value before they check it."
)

var plays = []play{
	{"old", "shop-web", "allow", []string{"The cart shows the old price after a reload. Why?"}, "onIdle"},
	{"hello", "orders-api", "allow", []string{hello}, "onIdle"},
	{"failed", "orders-api", "allow", []string{failing}, "onIdle"},
	{"review", "orders-api", "allow", []string{review}, "onIdle"},
	{"expire", "orders-api", "allow", []string{expire}, "onIdle"},
	{"push", "orders-api", "ask", []string{push}, "onPermissionRequest"},
}

// scripts map prompts to instructions for the demo model.
var scripts = map[string]string{
	"The cart shows the old price after a reload. Why?": "think, then say `The price is read from the session storage, which the reload keeps. Reading it from the cart's own answer instead mends it.`",
	hello:   "read `go.mod`, then say ``Go 1.24, because `go.mod` asks for it: the tests use `testing/synctest`.``",
	failing: "fail 401",
	review: "think about which handlers there are, then call `task` `{\"agent_type\":\"explore\",\"name\":\"handlers\",\"description\":\"Look at the handlers\",\"prompt\":\"" + inspect + "\"}` and say ```" +
		"Two of seven handlers use a value before they check it:\n\n| handler | value | what happens |\n|:--|:--|:--|\n| `createOrder` | `quantity` | a negative one makes a credit |\n| `listOrders` | `limit` | 0 gives all of them |\n\nThe others are fine. Shall I mend both?\n```",
	inspect: "read `http/orders.go`, read `store/orders.go`, say `createOrder and listOrders use a value before they check it.`",
	expire: "think about where orders are kept and who looks at their age. plan `Find where orders are kept` `Let unpaid ones expire` `Test it` . " +
		"read `go.mod`, read `store/orders.go`, read `http/orders.go`. " +
		"edit `store/orders.go` `" + oldSweep + "` `" + newSweep + "` . write `store/orders_test.go` `" + sweepTest + "` . run `go test -v ./store` . say ````" + summary + "````",
	push: "run `git add -A && git commit -m \"Unpaid orders expire after a day\" && git push origin expire-orders`",
}

const oldSweep = "// Sweep removes what is not needed any more.\nfunc (s *Store) Sweep() {\n}\n"

const newSweep = "// Lifetime is how long an order waits to be paid.\nconst Lifetime = 24 * time.Hour\n\n" +
	"// Sweep removes orders that nobody has paid in time.\nfunc (s *Store) Sweep(now time.Time) (removed int) {\n" +
	"\tfor id, o := range s.orders {\n\t\tif !o.Paid && now.Sub(o.Made) > Lifetime {\n\t\t\tdelete(s.orders, id)\n\t\t\tremoved++\n\t\t}\n\t}\n\treturn removed\n}\n"

const sweepTest = "package store\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestUnpaidOrdersExpire(t *testing.T) {\n\tnow := time.Now()\n\ts := New()\n" +
	"\ts.Add(Order{ID: \"new\", Made: now})\n\ts.Add(Order{ID: \"old\", Made: now.Add(-25 * time.Hour)})\n\ts.Add(Order{ID: \"paid\", Made: now.Add(-25 * time.Hour), Paid: true})\n" +
	"\tif n := s.Sweep(now); n != 1 {\n\t\tt.Fatalf(\"%d orders were removed\", n)\n\t}\n}\n"

const summary = "\nUnpaid orders **expire after 24 hours** now:\n\n- `Sweep` takes the time and removes what is older than `Lifetime`\n- paid orders stay, however old they are\n- the test has one order of each kind\n\n" +
	"Call it from the ticker that is there already:\n\n```go\nfor now := range ticker.C {\n\tlog.Info(\"swept\", \"orders\", store.Sweep(now))\n}\n```\n\nAll tests pass.\n"

// project is the content of the repository.
var project = map[string]string{
	"go.mod":    "module example.com/orders\n\ngo 1.24\n",
	"README.md": "# Orders\n\nKeeps orders until they are paid.\n",
	"store/orders.go": "// Package store keeps orders.\npackage store\n\nimport \"time\"\n\n// Order is what somebody wants to buy.\ntype Order struct {\n\tID   string\n\tMade time.Time\n\tPaid bool\n}\n\n" +
		"// Store holds orders by their id.\ntype Store struct{ orders map[string]Order }\n\n// New makes an empty store.\nfunc New() *Store { return &Store{map[string]Order{}} }\n\n" +
		"// Add keeps an order.\nfunc (s *Store) Add(o Order) { s.orders[o.ID] = o }\n\n" + oldSweep,
	"http/orders.go": "// Package http serves orders.\npackage http\n\n// createOrder and listOrders come here.\n",
}
