package render

// For tests of rules that hold for all output.
var (
	Safe    = safe
	ColorOf = colorOf
	Palette = paletteColor
)

// Limits that tests exceed.
const (
	MaxBlock    = maxBlock
	MaxFence    = maxFence
	MaxMarkdown = maxMarkdown
	MaxTerminal = maxTerminal
	MaxScreen   = maxScreen
	MaxHTML     = maxHTML
	MaxText     = maxText
	FenceLines  = fenceLines
	Relation    = relation
	MaxLexing   = maxLexing
)
