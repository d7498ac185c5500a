package render

import "strconv"

// cursor follows the cursor, to know how far down it may go: movements stop at the lowest
// line that was written, as on a terminal whose window ends there. Otherwise a sequence of
// ten characters would make a hundred empty lines. It knows little of columns, only where
// long lines wrap.
type cursor struct{ x, y, bottom int }

func (p *cursor) advance() {
	if p.x++; p.x > columns {
		p.newLine()
		p.x = 1
	}
}

func (p *cursor) newLine() {
	p.x = 0
	p.y++
	p.bottom = max(p.bottom, p.y)
}

// move returns how far a movement goes.
func (p *cursor) move(final byte, params string) string {
	n, err := strconv.Atoi(params)
	if err != nil || n == 0 {
		n = 1
	}
	switch final {
	case 'A', 'F':
		p.y = max(p.y-n, p.bottom-window+1, 0)
	case 'B', 'E':
		n = min(n, p.bottom-p.y)
		p.y += n
		if n == 0 {
			return "" // 0 would mean 1
		}
	case 'C':
		p.x = min(p.x+n, columns-1)
	case 'D':
		p.x = max(p.x-n, 0)
	case 'G':
		p.x = min(n, columns) - 1
	case 'H':
		p.newLine() // the screen goes on there
		return params + "H"
	}
	if final == 'E' || final == 'F' {
		p.x = 0
	}
	return strconv.Itoa(n) + string(final)
}
