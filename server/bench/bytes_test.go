package bench_test

import (
	"fmt"
	"slices"
	"testing"
)

// deflated are carriers whose readers take compressed messages.
var deflated = []carrier{
	{"rpc-deflate", bareSocket, 2000, `"event":"done"`, beginSession, func(c *crowd, base, id string) {
		c.joinDeflated(base+"/rpc", subscribe(id))
	}},
	{"stream-gzip", bareEvents, 2000, `"status":"completed"`, beginSession, func(c *crowd, base, id string) {
		c.zipped = true
		joinStream(c, base, id)
	}},
	{"ui-deflate", bareSocket, 2000, `"status":"completed"`, beginSession, func(c *crowd, base, id string) {
		c.joinDeflated(base+"/ui", attach(`"supports_deltas":true`, id)...)
	}},
	{"ws-deflate", bareSocket, 800, `"type":"complete"`, beginOperation, func(c *crowd, base, query string) { c.joinDeflated(base + "/ws?" + query) }},
}

// coalesced are carriers whose readers ask for the deltas of a text at most once a frame.
var coalesced = []carrier{
	{"rpc-16ms", bareSocket, 2000, `"event":"done"`, beginSession, func(c *crowd, base, id string) {
		c.joinSocket(base+"/rpc", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session.subscribe","params":{"sessionId":%q,"interval":16}}`, id))
	}},
	{"stream-16ms", bareEvents, 2000, `"status":"completed"`, beginSession, func(c *crowd, base, id string) { joinStream(c, base, id+"?interval=16") }},
	{"ui-16ms", bareSocket, 2000, `"status":"completed"`, beginSession, joinUIWith(`"supports_deltas":true,"supports_coalescing":true`)},
	{"live-16ms", bareEvents, 2000, `"onIdle"`, beginSession, func(c *crowd, base, id string) { c.joinPoll(liveOf(c, base, id) + "?interval=16") }},
	{"live-33ms-gzip", bareEvents, 2000, `"onIdle"`, beginSession, func(c *crowd, base, id string) {
		c.zipped = true
		c.joinPoll(liveOf(c, base, id) + "?interval=33")
	}},
}

const lineBytes = 1 + stampDigits + len(`\n`) // of the text of a chunk, in JSON

// BenchmarkBytes measures what one reader of each carrier receives for a chunk besides its text, at 200 chunks per second.
func BenchmarkBytes(b *testing.B) {
	for _, c := range slices.Concat(carriers, deflated, coalesced) {
		b.Run(c.name, func(b *testing.B) {
			once(b, func() {
				c.ofPortal(b, func(s subject) round {
					f := s.measure(b, 1, load{chunks: min(2000, c.burst), perSecond: 200})
					b.ReportMetric(float64(f.bytes)/float64(f.chunks)-float64(lineBytes), "B/chunk")
					b.ReportMetric(float64(f.messages)/float64(f.chunks), "messages/chunk")
					b.ReportMetric(float64(f.p50.Microseconds())/1000, "p50-ms")
					return round{}
				})
			})
		})
	}
}
