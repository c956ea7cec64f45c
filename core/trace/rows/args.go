package rows

import (
	"strconv"

	"github.com/prlx-go/prlx/core/trace/source"
)

// Args are what a row says beside name, place and time. They are used again for the next row.
type Args struct {
	list [24]arg
	n    int
}

type arg struct {
	name, text string
	x          [3]int64
	kind       argKind
}

type argKind uint8

const (
	oneInt argKind = iota
	threeInts
	oneText
)

// Reset forgets all.
func (a *Args) Reset() { a.n = 0 }

// next is a place for one more; those beyond the last are left out.
func (a *Args) next() *arg {
	if a.n == len(a.list) {
		return &arg{}
	}
	a.n++
	return &a.list[a.n-1]
}

// Int adds an integer.
func (a *Args) Int(name string, v int64) { *a.next() = arg{name: name, x: [3]int64{v}} }

// Three adds three integers, such as a grid.
func (a *Args) Three(name string, x, y, z int64) {
	*a.next() = arg{name: name, x: [3]int64{x, y, z}, kind: threeInts}
}

// Text adds a text, unless it is empty.
func (a *Args) Text(name, v string) {
	if v != "" {
		*a.next() = arg{name: name, text: v, kind: oneText}
	}
}

// AppendArgs appends them as members of a JSON object.
func (a *Args) AppendArgs(dst []byte, open int, lost *source.Lost) []byte {
	for i := range a.list[:a.n] {
		one := &a.list[i]
		if one.kind == oneText && len(one.text) > source.MaxArgBytes {
			if lost != nil {
				lost.Oversized.Add(1)
			}
			continue
		}
		dst = source.OpenArg(dst, open, one.name)
		switch one.kind {
		case oneText:
			dst = source.AppendString(dst, one.text)
		case threeInts:
			for k, x := range one.x {
				dst = strconv.AppendInt(append(dst, `[,,`[k]), x, 10)
			}
			dst = append(dst, ']')
		default:
			if v := one.x[0]; v > source.MaxExactInt || v < -source.MaxExactInt { // viewers read numbers as float64
				dst = append(strconv.AppendInt(append(dst, '"'), v, 10), '"')
			} else {
				dst = strconv.AppendInt(dst, v, 10)
			}
		}
	}
	return dst
}
