package book

import "errors"

// Limits of a file. They keep a broken or hostile file from taking the machine with it: in YAML, a few lines of aliases can
// stand for billions of values.
const (
	maxBytes  = 1 << 20
	maxValues = 200_000
	maxNested = 256
)

// valueKind is what a value is in the file.
type valueKind string

const (
	object valueKind = "a map"
	list   valueKind = "a list"
	text   valueKind = "text"
	number valueKind = "a number"
	flag   valueKind = "true or false"
	null   valueKind = "nothing"
	broken valueKind = "broken" // its text says why
)

// value is a value as it stands in the file, the same for YAML and JSON.
type value struct {
	shape valueKind
	text  string
	line  int
	parts []part
}

// part is an entry of a map, or of a list, which has no keys.
type part struct {
	key  string
	line int
	*value
}

// limitCounter holds a reader of a file to the limits.
type limitCounter struct{ values, nested int }

func (c *limitCounter) enter() error {
	c.values++
	c.nested++
	if c.nested > maxNested {
		return errors.New("is nested too deep")
	}
	if c.values > maxValues {
		return errors.New("has too many values, or aliases that stand for too many")
	}
	return nil
}

func (c *limitCounter) leave() { c.nested-- }
