package edits

import "strings"

// Renamed reports whether nothing was changed at the statement that a line belongs to but names of variables, each of which has its new name
// wherever it stands: no other code.
func (c *Changes) Renamed(at Line) bool {
	p, i := c.find(at)
	if p == nil {
		return false
	}
	t := p.of[at.Side]
	begin := t.statement[i]
	found := false
	for k := begin; k < len(t.lines) && t.statement[k] == begin; k++ {
		if p.new[at.Side][k] && !p.renamed[at.Side][k] {
			return false
		}
		found = found || p.new[at.Side][k]
	}
	return found
}

// findRenamed finds the lines in which names alone are others. Lines stand for each other here that are the same without their names; a name
// stands for the one that takes its place most often, where that one stands for it most often, too.
func (p *pair) findRenamed() {
	var names [2][][]string // by line
	var skeletons [2][]string
	for side, t := range p.of {
		for _, code := range t.code {
			skeleton, found := withoutNames(code)
			skeletons[side], names[side] = append(skeletons[side], skeleton), append(names[side], found)
		}
		p.renamed[side] = make([]bool, len(t.lines))
	}
	var paired [][2]int
	x, y := 0, 0
	same := func(to int) {
		for ; x < to; x, y = x+1, y+1 {
			if p.of[SideA].code[x] != "" && len(names[SideA][x]) == len(names[SideB][y]) { // a text can hold the sign itself
				paired = append(paired, [2]int{x, y})
			}
		}
	}
	for _, e := range scriptOf(skeletons[SideA], skeletons[SideB]) {
		same(int(e.A))
		x, y = x+int(e.Del), y+int(e.Ins)
	}
	same(len(skeletons[SideA]))
	votes := newVotes()
	for _, at := range paired {
		for k, name := range names[SideA][at[0]] {
			votes.add(name, names[SideB][at[1]][k])
		}
	}
	for _, at := range paired {
		all := true
		for k, name := range names[SideA][at[0]] {
			all = all && votes.agree(name, names[SideB][at[1]][k])
		}
		p.renamed[SideA][at[0]], p.renamed[SideB][at[1]] = all, all
	}
}

// votes count which names take each other's place.
type votes struct {
	count map[[2]string]int
	best  [2]map[string]string // by side: the name of the other side
}

func newVotes() *votes {
	return &votes{map[[2]string]int{}, [2]map[string]string{{}, {}}}
}

func (v *votes) add(a, b string) {
	key := [2]string{a, b}
	v.count[key]++
	for side, name := range key {
		other := key[1-side]
		before, known := v.best[side][name]
		rival := [2]string{a, before}
		if side == 1 {
			rival = [2]string{before, b}
		}
		// Of names that do so equally often the same name is meant.
		if n := v.count[key]; !known || n > v.count[rival] || n == v.count[rival] && other == name {
			v.best[side][name] = other
		}
	}
}

func (v *votes) agree(a, b string) bool { return v.best[0][a] == b && v.best[1][b] == a }

// withoutNames is a line of code with a sign in place of each name, and the names. Attributes and the keywords of calls stay.
func withoutNames(code string) (skeleton string, names []string) {
	var b strings.Builder
	for i := 0; i < len(code); {
		if !letter(code[i]) {
			b.WriteByte(code[i])
			i++
			continue
		}
		end := i
		for end < len(code) && (letter(code[end]) || code[end] >= '0' && code[end] <= '9') {
			end++
		}
		if word := code[i:end]; !isName(code, i, end) || keywords[word] {
			b.WriteString(word)
		} else {
			b.WriteByte('\x00')
			names = append(names, word)
		}
		i = end
	}
	return b.String(), names
}

// keywords are words of Python that are never the name of a variable.
var keywords = map[string]bool{
	"and": true, "or": true, "not": true, "in": true, "is": true, "if": true, "elif": true, "else": true, "for": true, "while": true, "def": true,
	"return": true, "pass": true, "break": true, "continue": true, "None": true, "True": true, "False": true, "lambda": true, "assert": true,
}
