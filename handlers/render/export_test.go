package render

// For tests of rules that hold for all output.
var (
	Safe     = safe
	ColourOf = colourOf
	Palette  = paletteColour
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
)
