// Package journal keeps an append-only, numbered, cost-bounded, replayable record.
//
// One reads it only by asking for what stands after a number, with [Journal.Next]. The past and the present are read
// the same way, so nothing can be lost, doubled or reordered where one turns into the other; and because nothing is
// pushed, a slow reader costs the writer nothing.
//
// Two things may leave the record, and a reader can always tell them apart:
//
//   - An entry that a later one stands for (the parts of a text, once the whole text is recorded) is superseded. When
//     room is needed, or [Journal.Trim] is called, it leaves a silent hole in the numbers.
//   - Any other entry leaves only when the budget forces it, oldest first. A reader that had not read it yet gets a
//     [GapError].
//
// A store can stand under a journal. It reads like everybody else, and what it has not written yet is pinned
// ([Options.Pinned], [Journal.Unpin]). What left memory by eviction is then fetched from it ([Options.Load]), and it is a
// gap only if the store does not have it either. [Restore] continues what it has.
//
// A number alone means nothing to another journal: whoever hands numbers out over a wire adds the epoch ([Position]).
package journal
