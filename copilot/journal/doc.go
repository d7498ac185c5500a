// Package journal keeps an append-only, numbered record that is bounded by cost and can be replayed.
//
// [Journal.Next], which returns the entries after a number, is the only way to read it. Past and present are read the
// same way, so nothing can be lost, duplicated or reordered between them. Nothing is pushed, so a slow reader costs the
// writer nothing.
//
// Entries leave the record in two ways, which a reader can always tell apart:
//
//   - An entry that a later one stands for (the parts of a text, once the whole text is recorded) is superseded.
//     When space is needed, or [Journal.Trim] is called, it leaves a silent hole in the numbers.
//   - Any other entry is evicted only when the budget requires it, oldest first. A reader that had not read it yet
//     gets a [GapError].
//
// A store may back a journal. It reads as any reader does. Entries that it has not written yet are pinned
// ([Options.Pinned], [Journal.Unpin]). Evicted entries are loaded from it ([Options.Load]); they are a gap only if the
// store does not have them either. [Restore] continues a stored record.
//
// A number is meaningful only for its journal, so positions on a wire include the epoch ([Position]).
package journal
