package render

import "strconv"

// cursor tracks the cursor position, to bound its movements: they stop at the lowest
// written line, as on a terminal whose window ends there. Otherwise a sequence of ten
// characters could create a hundred empty lines. Columns are tracked only to find where
// long lines wrap.
type cursor struct{ x, y, bottom int }

func (c *cursor) advance() {
	if c.x++; c.x > columns {
		c.newLine()
		c.x = 1
	}
}

func (c *cursor) newLine() {
	c.x = 0
	c.y++
	c.bottom = max(c.bottom, c.y)
}

// move returns the sequence for a bounded movement.
func (c *cursor) move(final byte, params string) string {
	n, err := strconv.Atoi(params)
	if err != nil || n == 0 {
		n = 1
	}
	switch final {
	case 'A', 'F':
		c.y = max(c.y-n, c.bottom-window+1, 0)
	case 'B', 'E':
		n = min(n, c.bottom-c.y)
		c.y += n
		if n == 0 {
			return "" // 0 would mean 1
		}
	case 'C':
		c.x = min(c.x+n, columns-1)
	case 'D':
		c.x = max(c.x-n, 0)
	case 'G':
		c.x = min(n, columns) - 1
	case 'H':
		c.newLine() // the screen continues on a new line
		return params + "H"
	}
	if final == 'E' || final == 'F' {
		c.x = 0
	}
	return strconv.Itoa(n) + string(final)
}
