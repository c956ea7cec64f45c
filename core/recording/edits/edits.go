// Package edits says how the text of a kernel differs between two recordings, function by function and line by line: which lines
// stand for each other, which were changed, and which only one of them has. It knows texts alone; what ran is package diff's.
//
// Two lines are the same where their code is: comments and the room at the end of a line do not count.
package edits

import (
	"path"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/script"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Changes is how the text of B differs from that of A.
type Changes struct {
	Functions []Function // that differ, in the order of the recordings: the kernel first
	Constants []Constant // what the kernel was compiled for, where that differs
	pairs     []pair
}

// Function is a function of which the two texts differ.
type Function struct {
	Name         string // as A calls it, or B where A lacks it
	FileA, FileB string // "" where that side lacks the function
	Hunks        []Hunk // ascending; at least one
}

// Hunk is a run of lines that differ. One of the sides can be empty.
type Hunk struct {
	FirstA, FirstB int // line numbers in the files; of an empty side the line in front of which the other side has its lines
	A, B           []string
}

// Constant is a value that the kernel was compiled for; "" where that side lacks it.
type Constant struct{ Name, A, B string }

// Side is one of the two recordings.
type Side int

// The sides.
const (
	SideA Side = iota
	SideB
)

// Other is the other side.
func (s Side) Other() Side { return 1 - s }

// text is one function with its lines.
type text struct {
	file, name string
	first      int      // number of its first line
	lines      []string // as they are
	code       []string // without comments; "" of a line without code
	statement  []int    // by line: the first line of the statement that it belongs to
}

// pair is a function that both sides have, with the lines that stand for each other.
type pair struct {
	of    [2]*text
	other [2][]int  // by line of a side: the line of the other side that stands for it, -1 none
	new   [2][]bool // by line of a side: its code is not in the other one

	renamed [2][]bool // likewise: it is, but for names that are others throughout
}

// Between compares two texts; nil where one of them is not known. Functions are paired by name and file, then by name, and the two kernels
// with each other whatever they are called.
func Between(a, b *warptrace.Texts) *Changes {
	if !known(a) || !known(b) {
		return nil
	}
	c := &Changes{Constants: constants(a.Constants, b.Constants)}
	fa, fb := texts(a), texts(b)
	partner := partners(fa, fb)
	taken := make([]bool, len(fb))
	for i, f := range fa {
		at := partner[i]
		if at < 0 {
			c.Functions = append(c.Functions, Function{Name: f.name, FileA: f.file, Hunks: []Hunk{{FirstA: f.first, A: f.lines}}})
			continue
		}
		taken[at] = true
		c.compare(f, fb[at])
	}
	for i, f := range fb {
		if !taken[i] {
			c.Functions = append(c.Functions, Function{Name: f.name, FileB: f.file, Hunks: []Hunk{{FirstB: f.first, B: f.lines}}})
		}
	}
	return c
}

// known reports whether the text of every function is there: what lacks one cannot say that nothing was changed.
func known(t *warptrace.Texts) bool {
	return t != nil && len(t.Functions) > 0 && !slices.ContainsFunc(t.Functions, func(f warptrace.Text) bool { return f.Text == "" })
}

func texts(t *warptrace.Texts) []*text {
	out := make([]*text, len(t.Functions))
	for i := range t.Functions {
		f := &t.Functions[i]
		one := &text{file: f.File, name: f.Function, first: int(f.FirstLine), lines: strings.Split(strings.TrimSuffix(f.Text, "\n"), "\n")}
		one.code, one.statement = statements(one.lines)
		out[i] = one
	}
	return out
}

// partners finds for each function of a the one of b, -1 none.
func partners(a, b []*text) []int {
	partner, taken := make([]int, len(a)), make([]bool, len(b))
	for i := range partner {
		partner[i] = -1
	}
	pass := func(same func(i, k int) bool) {
		for i := range a {
			for k := range b {
				if partner[i] < 0 && !taken[k] && same(i, k) {
					partner[i], taken[k] = k, true
				}
			}
		}
	}
	pass(func(i, k int) bool { return i == 0 && k == 0 }) // the kernels
	pass(func(i, k int) bool { return a[i].name == b[k].name && a[i].file == b[k].file })
	pass(func(i, k int) bool { return a[i].name == b[k].name && path.Base(a[i].file) == path.Base(b[k].file) })
	pass(func(i, k int) bool { return a[i].name == b[k].name })
	return partner
}

// compare pairs the lines of one function. Only lines with code are aligned: where there are comments and blank lines says nothing.
func (c *Changes) compare(a, b *text) {
	p := pair{of: [2]*text{a, b}}
	for side, t := range p.of {
		p.other[side], p.new[side] = make([]int, len(t.lines)), make([]bool, len(t.lines))
		for i := range p.other[side] {
			p.other[side][i] = -1
		}
	}
	f := Function{Name: a.name, FileA: a.file, FileB: b.file}
	codeA, codeB := a.withCode(), b.withCode()
	x, y := 0, 0 // in codeA and codeB
	for _, e := range append(scriptOf(a.codeAt(codeA), b.codeAt(codeB)), script.Edit{A: int32(len(codeA)), B: int32(len(codeB))}) {
		for ; x < int(e.A); x, y = x+1, y+1 {
			p.other[SideA][codeA[x]], p.other[SideB][codeB[y]] = codeB[y], codeA[x]
		}
		endA, endB := x+int(e.Del), y+int(e.Ins)
		if endA > x || endB > y {
			f.Hunks = append(f.Hunks, hunkOf(a, b, codeA, codeB, [2]int{x, endA}, [2]int{y, endB}))
			p.replace(codeA[x:endA], codeB[y:endB])
		}
		x, y = endA, endB
	}
	if len(f.Hunks) > 0 {
		c.Functions = append(c.Functions, f)
	}
	p.findRenamed()
	c.pairs = append(c.pairs, p)
}

// withCode lists the lines that have code.
func (t *text) withCode() []int {
	var out []int
	for i, code := range t.code {
		if code != "" {
			out = append(out, i)
		}
	}
	return out
}

func (t *text) codeAt(lines []int) []string {
	out := make([]string, len(lines))
	for i, at := range lines {
		out[i] = t.code[at]
	}
	return out
}

// hunkOf is a run of lines of code that differ, with what stands between them.
func hunkOf(a, b *text, codeA, codeB []int, inA, inB [2]int) Hunk {
	firstA, linesA := a.run(codeA, inA)
	firstB, linesB := b.run(codeB, inB)
	return Hunk{firstA, firstB, linesA, linesB}
}

// run is the lines from the first to the last of some that have code; of none the number of the line in front of which they would be.
func (t *text) run(code []int, of [2]int) (first int, lines []string) {
	switch {
	case of[0] < of[1]:
		from, to := code[of[0]], code[of[1]-1]+1
		return t.first + from, t.lines[from:to:to]
	case of[0] < len(code):
		return t.first + code[of[0]], nil
	}
	return t.first + len(t.lines), nil
}

// scriptOf aligns lines of code.
func scriptOf(a, b []string) script.Script {
	ids := map[string]uint32{}
	number := func(lines []string) []uint32 {
		out := make([]uint32, len(lines))
		for i, line := range lines {
			id, seen := ids[line]
			if !seen {
				id = uint32(len(ids))
				ids[line] = id
			}
			out[i] = id
		}
		return out
	}
	s, _ := script.Shortest(number(a), number(b), script.Budget{})
	return s
}

// replace pairs the lines of a hunk: those that have more words in common than not, in their order, so that an edited line is known in its
// new form.
func (p *pair) replace(linesA, linesB []int) {
	for side, lines := range [][]int{linesA, linesB} {
		for _, i := range lines {
			p.new[side][i] = true
		}
	}
	n, m := len(linesA), len(linesB)
	if n == 0 || m == 0 || n*m > maxCells {
		return
	}
	wordsA, wordsB := wordsOf(p.of[SideA].codeAt(linesA)), wordsOf(p.of[SideB].codeAt(linesB))
	best := make([][]int, n+1)
	for i := range best {
		best[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for k := m - 1; k >= 0; k-- {
			best[i][k] = max(best[i+1][k], best[i][k+1], best[i+1][k+1]+alike(wordsA[i], wordsB[k]))
		}
	}
	for i, k := 0, 0; i < n && k < m; {
		switch score := alike(wordsA[i], wordsB[k]); {
		case score > 0 && best[i][k] == best[i+1][k+1]+score:
			p.other[SideA][linesA[i]], p.other[SideB][linesB[k]] = linesB[k], linesA[i]
			i, k = i+1, k+1
		case best[i][k] == best[i+1][k]:
			i++
		default:
			k++
		}
	}
}

// maxCells bounds the table by which the lines of a hunk are paired.
const maxCells = 1 << 20

func constants(a, b []warptrace.Constant) []Constant {
	var out []Constant
	values := map[string]string{}
	for _, c := range b {
		values[c.Name] = c.Value
	}
	for _, c := range a {
		if other, both := values[c.Name]; !both || other != c.Value {
			out = append(out, Constant{c.Name, c.Value, other})
		}
		delete(values, c.Name)
	}
	for _, c := range b {
		if _, left := values[c.Name]; left {
			out = append(out, Constant{c.Name, "", c.Value})
		}
	}
	return out
}
