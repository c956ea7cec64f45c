package edits

import "path"

// Line asks about one line of a side, as the frame of a site names it.
type Line struct {
	Side Side
	File string
	Line int
}

// find returns the pair in whose text a line is, and its place there; nil where no text holds it that both sides have. Where no text is of
// that file, one of a file of that name counts: code that a compiler kept from before says where it stood then.
func (c *Changes) find(at Line) (p *pair, i int) {
	if c == nil {
		return nil, 0
	}
	named := false
	for _, same := range []func(string, string) bool{exactly, func(a, b string) bool { return !named && byName(a, b) }} {
		for k := range c.pairs {
			t := c.pairs[k].of[at.Side]
			named = named || t.file == at.File
			if i := at.Line - t.first; same(t.file, at.File) && i >= 0 && i < len(t.lines) {
				return &c.pairs[k], i
			}
		}
	}
	return nil, 0
}

func exactly(a, b string) bool { return a == b }

// byName takes files of one name for the same: a compiler that keeps what it made names the directory in which it made it first.
func byName(a, b string) bool { return path.Base(a) == path.Base(b) }

// Other returns the line of the other side that stands for a line: the same code, or the form that it was edited into. ok is false
// where the other side has none, and where the text is not known.
func (c *Changes) Other(at Line) (other Line, ok bool) {
	p, i := c.find(at)
	if p == nil || p.other[at.Side][i] < 0 {
		return Line{}, false
	}
	t := p.of[at.Side.Other()]
	return Line{at.Side.Other(), t.file, t.first + p.other[at.Side][i]}, true
}

// Changed reports whether the statement that a line belongs to is another one on the other side, or is not there. known is false where
// the text of the line is not known.
func (c *Changes) Changed(at Line) (changed, known bool) {
	p, i := c.find(at)
	if p == nil {
		return c.onlyHere(at)
	}
	t := p.of[at.Side]
	begin := t.statement[i]
	for k := begin; k < len(t.lines) && t.statement[k] == begin; k++ {
		if p.new[at.Side][k] {
			return true, true
		}
	}
	return p.lost(at.Side, begin), true
}

// lost reports whether lines of the other side that this one lacks belong to a statement that begins at a line.
func (p *pair) lost(side Side, begin int) bool {
	here, there := p.of[side], p.of[side.Other()]
	for k := begin; k < len(here.lines) && here.statement[k] == begin; k++ {
		at := p.other[side][k]
		if at < 0 {
			continue
		}
		for first, i := there.statement[at], there.statement[at]; i < len(there.lines) && there.statement[i] == first; i++ {
			if p.new[side.Other()][i] {
				return true
			}
		}
	}
	return false
}

// onlyHere answers for a function that the other side lacks: all of it is changed.
func (c *Changes) onlyHere(at Line) (changed, known bool) {
	if c == nil {
		return false, false
	}
	for i := range c.Functions {
		f := &c.Functions[i]
		file, h := f.FileA, &f.Hunks[0]
		first, lines := h.FirstA, h.A
		if at.Side == SideB {
			file, first, lines = f.FileB, h.FirstB, h.B
		}
		if (f.FileA == "" || f.FileB == "") && byName(file, at.File) && at.Line >= first && at.Line < first+len(lines) {
			return true, true
		}
	}
	return false, false
}

// ChangedLines lists the first line of every statement of a side that is another one on the other side, or is not there, in the order of
// the functions and of their lines. The statements of a function that the other side lacks are not listed: a call of it is.
func (c *Changes) ChangedLines(side Side) []Line {
	var out []Line
	if c == nil {
		return nil
	}
	for k := range c.pairs {
		p := &c.pairs[k]
		t := p.of[side]
		for i := range t.lines {
			at := Line{side, t.file, t.first + i}
			if t.statement[i] != i || t.code[i] == "" {
				continue
			}
			if changed, _ := c.Changed(at); changed {
				out = append(out, at)
			}
		}
	}
	return out
}

// Statement is the text of the statement that a line belongs to, as it stands in the file; nil where the text is not known.
func (c *Changes) Statement(at Line) []string {
	p, i := c.find(at)
	if p == nil {
		return nil
	}
	t := p.of[at.Side]
	begin := t.statement[i]
	end := begin
	for end < len(t.lines) && t.statement[end] == begin {
		end++
	}
	return t.lines[begin:end:end]
}
