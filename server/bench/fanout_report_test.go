package bench_test

import (
	"fmt"
	"io"
	"time"
)

// fanoutReport is what [BenchmarkFanout] measured, as Markdown.
var fanoutReport fanoutTable

type fanoutTable []fanoutResult

// fanoutResult has the rounds of the portal and of the bare loop.
type fanoutResult struct {
	carrier      string
	readers      int
	ours, theirs []round
}

func burstOf(r round) figures  { return r.burst }
func steadyOf(r round) figures { return r.steady }

// each collects a value of all rounds.
func each[T any](rounds []round, of func(round) T) []T {
	list := make([]T, len(rounds))
	for i, r := range rounds {
		list[i] = of(r)
	}
	return list
}

func cpuOf(rounds []round, of func(round) figures) []float64 {
	return each(rounds, func(r round) float64 { return of(r).cpuPerMillion() })
}

func (r fanoutResult) cpu(of func(round) figures) float64 { return median(cpuOf(r.ours, of)) }

// chunks is how many chunks reach the readers for each message: some carriers merge them.
func (r fanoutResult) chunks(of func(round) figures) float64 {
	return median(each(r.ours, func(o round) float64 { return of(o).chunksPerMessage() }))
}

func (r fanoutResult) ratio(of func(round) figures) float64 {
	return median(ratios(cpuOf(r.ours, of), cpuOf(r.theirs, of)))
}

func (t fanoutTable) print(w io.Writer) {
	if len(t) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s; median of %d alternating rounds\n\n", machine(), len(t[0].ours))
	fmt.Fprintln(w, "| carrier | readers | load | messages per reader | bytes per message | CPU s per million messages | bare loop | ratio | ratio per chunk | p50 | p99 | bare p50 | bare p99 |")
	fmt.Fprintln(w, "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, r := range t {
		r.printLoad(w, "burst", burstOf)
		r.printLoad(w, "100/s", steadyOf)
	}
	fmt.Fprintln(w, "\n| carrier | readers | RSS peak | at the end | without readers | bare peak | at the end | without readers |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|--:|")
	for _, r := range t {
		fmt.Fprintf(w, "| %s | %d |%s%s\n", r.carrier, r.readers, memoryCells(r.ours), memoryCells(r.theirs))
	}
	fmt.Fprintln(w)
}

func (r fanoutResult) printLoad(w io.Writer, load string, of func(round) figures) {
	messages := median(each(r.ours, func(o round) float64 { return float64(of(o).messages) / float64(r.readers) }))
	bytes := median(each(r.ours, func(o round) float64 { return of(o).messageBytes() }))
	fmt.Fprintf(w, "| %s | %d | %s | %.0f | %.0f | %.2f | %.2f | %.1f | %.1f |", r.carrier, r.readers, load, messages, bytes,
		r.cpu(of), median(cpuOf(r.theirs, of)), r.ratio(of), r.ratio(of)/r.chunks(of))
	if load == "burst" {
		fmt.Fprintln(w, " | | | |")
		return
	}
	for _, rounds := range [][]round{r.ours, r.theirs} {
		fmt.Fprintf(w, " %s | %s |", ms(median(each(rounds, func(o round) time.Duration { return of(o).p50 }))),
			ms(median(each(rounds, func(o round) time.Duration { return of(o).p99 }))))
	}
	fmt.Fprintln(w)
}

func memoryCells(rounds []round) (cells string) {
	for _, of := range []func(round) float64{
		func(r round) float64 { return r.peak },
		func(r round) float64 { return r.resident },
		func(r round) float64 { return r.after },
	} {
		cells += " " + mb(median(each(rounds, of))) + " |"
	}
	return cells
}
