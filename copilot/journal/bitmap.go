package journal

import "math/bits"

// chunkSize is the number of entries that share a chunk, and of bits in a bitmap.
const chunkSize = 256

// bitmap is a set of offsets within a chunk.
type bitmap [chunkSize / 64]uint64

func (b *bitmap) set(offset uint64)   { b[offset/64] |= 1 << (offset % 64) }
func (b *bitmap) clear(offset uint64) { b[offset/64] &^= 1 << (offset % 64) }

// next returns the smallest member not below offset. The offset may lie beyond the end.
func (b *bitmap) next(offset uint64) (member uint64, ok bool) {
	if offset >= chunkSize {
		return 0, false
	}
	rest := b[offset/64] >> (offset % 64) << (offset % 64)
	for word := offset / 64; ; rest = b[word] {
		if rest != 0 {
			return word*64 + uint64(bits.TrailingZeros64(rest)), true //nolint:gosec // a number of zero bits is 0 to 63
		}
		if word++; word == uint64(len(b)) {
			return 0, false
		}
	}
}

// rank returns the number of members below offset.
func (b *bitmap) rank(offset uint64) int {
	rank := bits.OnesCount64(b[offset/64] & (1<<(offset%64) - 1))
	for _, word := range b[:offset/64] {
		rank += bits.OnesCount64(word)
	}
	return rank
}
