package book

import "errors"

// Limits of a file. They stop a malformed or hostile file from exhausting memory: in YAML, a few lines of
// aliases can stand for billions of values.
const (
	maxBytes  = 1 << 20
	maxValues = 200_000
	maxNested = 256
)

// valueKind is the type of a value in the file.
type valueKind string

const (
	object valueKind = "a map"
	list   valueKind = "a list"
	text   valueKind = "text"
	number valueKind = "a number"
	flag   valueKind = "true or false"
	null   valueKind = "nothing"
	broken valueKind = "broken" // the text is the error
)

// value is a value of the file, the same for YAML and JSON.
type value struct {
	shape valueKind
	text  string
	line  int
	parts []part
}

// part is an entry of a map, or of a list, where it has no key.
type part struct {
	key  string
	line int
	*value
}

// limitCounter enforces the limits while a file is read.
type limitCounter struct{ values, nested int }

func (c *limitCounter) enter() error {
	c.values++
	c.nested++
	if c.nested > maxNested {
		return errors.New("is nested too deeply")
	}
	if c.values > maxValues {
		return errors.New("has too many values, or aliases that expand to too many")
	}
	return nil
}

func (c *limitCounter) leave() { c.nested-- }
