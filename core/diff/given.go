package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/diff/slice"
	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Given is one thing that the two launches were given and that differs: an argument, a constant or an option that the kernel was compiled for.
// Addresses are no such thing, they change from run to run.
type Given struct {
	Name string `json:"name"`           // of the argument, constant or option
	What string `json:"what"`           // which of its properties
	A    string `json:"a"`              // "" where A was not given it
	B    string `json:"b"`              // likewise of B
	Note string `json:"note,omitempty"` // what the compiler makes of it

	at [2]int // the argument's place on either side, -1 none
}

// What can differ of what was given, in the order in which documents list it: first what the kernel is compiled for and computes with, last
// what it merely reads.
const (
	givenType      = "type"
	givenValue     = "value"
	givenConstant  = "constant"
	givenPlace     = "place" // where in its memory a view begins
	givenAlignment = "alignment"
	givenSpecial   = "specialisation"
	givenStrides   = "strides"
	givenShape     = "shape"
	givenGrid      = "grid"
	givenPointees  = "points at"
	givenContents  = "contents"
)

var givenOrder = []string{
	givenType, givenValue, givenConstant, givenPlace, givenAlignment, givenSpecial, givenStrides, givenGrid, givenPointees, givenShape, givenContents,
}

// isData reports whether it is what the kernel reads and not what it is launched with.
func (g *Given) isData() bool {
	return g.What == givenContents || g.What == givenPointees || g.What == givenShape
}

// Text is it in words: "x is *fp32 in A and *fp16 in B".
func (g *Given) Text() string {
	name := clippedWord(g.Name)
	switch g.What {
	case givenContents:
		return name + " held something else when the kernel was launched"
	case givenPointees:
		return name + " is a table of pointers, and what they point at differs"
	case givenType, givenValue, givenConstant:
		return fmt.Sprintf("%s is %s in A and %s in B", name, orNothing(g.A), orNothing(g.B))
	case givenPlace:
		return fmt.Sprintf("%s begins %s into its memory in A and %s in B", name, g.A, g.B)
	}
	return fmt.Sprintf("the %s of %s: %s in A and %s in B", g.What, name, orNothing(g.A), orNothing(g.B))
}

func orNothing(s string) string { return clippedWord(cmp.Or(s, "not given")) }

// GivenOf compares what two launches were given, as far as the headers of their recordings say; nil where one is not known.
func GivenOf(a, b *warptrace.Header) []Given {
	if a == nil || b == nil {
		return nil
	}
	return givenOf(&Result{}, a, b)
}

// givenOf compares what two launches were given. What a recording does not say is no difference.
func givenOf(r *Result, a, b *warptrace.Header) []Given {
	g := givens{r: r, a: a, b: b}
	known := len(a.Arguments) > 0 && len(b.Arguments) > 0
	for i := range a.Arguments {
		x := &a.Arguments[i]
		if k := argumentOf(b, x.Name); k >= 0 {
			g.argument(x, &b.Arguments[k], [2]int{i, k})
		} else if known {
			g.add(x.Name, givenValue, cmp.Or(x.Value, x.Type), g.constant(1, x.Name), [2]int{i, -1})
		}
	}
	for k := range b.Arguments {
		if y := &b.Arguments[k]; known && argumentOf(a, y.Name) < 0 {
			g.add(y.Name, givenValue, g.constant(0, y.Name), cmp.Or(y.Value, y.Type), [2]int{-1, k})
		}
	}
	g.constants()
	if a.Grid != b.Grid {
		g.add("the launch", givenGrid, sizeText(a.Grid), sizeText(b.Grid), [2]int{-1, -1})
	}
	slices.SortStableFunc(g.found, func(x, y Given) int {
		return cmp.Compare(slices.Index(givenOrder, x.What), slices.Index(givenOrder, y.What))
	})
	return g.found
}

func sizeText(n [3]uint32) string { return fmt.Sprintf("%d x %d x %d", n[0], n[1], n[2]) }

func argumentOf(h *warptrace.Header, name string) int {
	return slices.IndexFunc(h.Arguments, func(a warptrace.Argument) bool { return a.Name == name })
}

// givens gathers what differs.
type givens struct {
	r     *Result
	a, b  *warptrace.Header
	found []Given
}

func (g *givens) add(name, what, a, b string, at [2]int) {
	g.found = append(g.found, Given{Name: name, What: what, A: a, B: b, at: at})
}

// argument compares one that both were given.
func (g *givens) argument(x, y *warptrace.Argument, at [2]int) {
	switch {
	case x.Type != y.Type:
		g.add(x.Name, givenType, typed(x), typed(y), at)
	case x.Value != y.Value:
		g.add(x.Name, givenValue, x.Value, y.Value, at)
	}
	n := len(g.found)
	if x.Aligned > 0 && y.Aligned > 0 && x.Offset != y.Offset {
		g.add(x.Name, givenPlace, counted(int64(x.Offset), "byte"), counted(int64(y.Offset), "byte"), at)
	}
	if x.Aligned > 0 && y.Aligned > 0 && x.Aligned != y.Aligned {
		g.add(x.Name, givenAlignment, counted(int64(x.Aligned), "byte"), counted(int64(y.Aligned), "byte"), at)
	}
	if x.Special != y.Special && len(g.found) == n && x.Value == y.Value && x.Type == y.Type {
		g.add(x.Name, givenSpecial, x.Special, y.Special, at)
	}
	for i := range g.found {
		if f := &g.found[i]; f.at == at && x.Special != y.Special {
			f.Note = fmt.Sprintf("compiled as %s in A, as %s in B", special(x), special(y))
		}
	}
	if len(x.Shape) > 0 && len(y.Shape) > 0 && !slices.Equal(x.Shape, y.Shape) {
		g.add(x.Name, givenShape, extents(x.Shape), extents(y.Shape), at)
	} else if len(x.Shape) > 0 && len(y.Shape) > 0 && !slices.Equal(x.Strides, y.Strides) {
		g.add(x.Name, givenStrides, extents(x.Strides), extents(y.Strides), at)
	}
	if x.Type == y.Type && x.Before != 0 && y.Before != 0 && x.Before != y.Before {
		g.add(x.Name, givenContents, fmt.Sprintf("0x%016x", x.Before), fmt.Sprintf("0x%016x", y.Before), at)
	}
	switch {
	case x.Type != y.Type || x.Digest == 0 || y.Digest == 0 || x.Digest == y.Digest:
	case x.Points > 0 && y.Points > 0:
		g.add(x.Name, givenPointees, counted(int64(x.Points), "pointer"), counted(int64(y.Points), "pointer"), at)
	default:
		g.add(x.Name, givenContents, fmt.Sprintf("0x%016x", x.Digest), fmt.Sprintf("0x%016x", y.Digest), at)
	}
}

func typed(a *warptrace.Argument) string {
	if a.Value != "" {
		return a.Value + " (" + a.Type + ")"
	}
	return a.Type
}

func special(a *warptrace.Argument) string { return cmp.Or(a.Special, "any value") }

func extents[N uint64 | int64](of []N) string {
	parts := make([]string, len(of))
	for i, n := range of {
		parts[i] = fmt.Sprint(n)
	}
	return strings.Join(parts, " x ")
}

// constant is what a side was compiled for, "" where it says nothing. A number that is 1 is compiled in.
func (g *givens) constant(side int, name string) string {
	texts := []*warptrace.Texts{g.r.TextsA, g.r.TextsB}[side]
	if texts == nil {
		return ""
	}
	for _, c := range texts.Constants {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// constants adds what the kernel was compiled for, where that was no argument of the other side.
func (g *givens) constants() {
	if g.r.Changes == nil {
		return
	}
	for _, c := range g.r.Changes.Constants {
		at := slices.IndexFunc(g.found, func(f Given) bool { return f.Name == c.Name && f.What == givenValue })
		if at < 0 {
			g.add(c.Name, givenConstant, c.A, c.B, [2]int{-1, -1})
			continue
		}
		f := &g.found[at]
		switch {
		case f.at[0] < 0 && c.A != "":
			f.Note = "compiled in as a constant in A: Triton does that with a number that is 1, and with None"
		case f.at[1] < 0 && c.B != "":
			f.Note = "compiled in as a constant in B: Triton does that with a number that is 1, and with None"
		}
	}
}

// sameText reports whether both texts are known, and nobody edited the kernel or what it calls.
func sameText(c *edits.Changes) bool { return c != nil && len(c.Functions) == 0 }

// otherLaunch reports whether all that two runs have different is what they were given: the text is the same, else the build.
func (c *launchClues) otherLaunch() bool {
	if len(c.given) == 0 {
		return false
	}
	x, y := c.headers[0].ModuleHash, c.headers[1].ModuleHash
	return sameText(c.changes) || c.changes == nil && x != "" && x == y
}

// causeBy is what was given differently and comes first as a cause, nil none: what the launch is made with, of that what is used on the way
// to what differs, as the code says; else an array that the kernel only reads. One that it writes, too, is stale data.
func (c *launchClues) causeBy(code *slice.Comparison) *Given {
	if !c.otherLaunch() {
		return nil
	}
	var best *Given
	first := 0
	for i := range c.given {
		g := &c.given[i]
		if g.isData() && (g.What == givenShape || c.writes(g.Name)) {
			continue
		}
		if best != nil && g.isData() != best.isData() {
			break
		}
		at := g.firstUse(code)
		if best == nil || at >= 0 && (first < 0 || at < first) {
			best, first = g, at
		}
	}
	return best
}

// cause is what was given differently and comes first as a cause, nil none.
func (c *clues) cause() *Given { return c.causeBy(c.code.compared) }

// firstUse is where in the code of a side what was given is used first on the way to what differs, -1 not known. code is nil where it was not recorded.
func (g *Given) firstUse(code *slice.Comparison) int {
	if code == nil {
		return -1
	}
	for side, p := range g.at {
		if _, at, ok := code.Uses(side, p); ok {
			return at
		}
	}
	return -1
}

// ruleOtherArguments: the text is the same, and what the launches were given is not: that is the cause, whatever it brings about.
func ruleOtherArguments(c *clues) []finding {
	g := c.cause()
	if g == nil {
		return nil
	}
	text := c.whatIsSame() + " is the same, and " + g.Text()
	points := 10
	if g.isData() || g.What == givenValue || g.What == givenGrid {
		points = 7 // runs of other numbers need not agree, and what else is wrong can hide behind that
	}
	found := []finding{{given, points, text}}
	for other := range class(classes) {
		switch {
		case other == given:
		case other == race || other == staleData:
			found = append(found, finding{other, -6, text})
		default:
			found = append(found, finding{other, -12, text})
		}
	}
	return found
}

func (c *launchClues) whatIsSame() string {
	if sameText(c.changes) {
		return "the text of the kernel"
	}
	return "the build"
}

// givenLinks is what was given differently, as evidence: it stands before what was seen in the code.
func (c *launchClues) givenLinks() []Link {
	var links []Link
	for i := range c.given {
		what := "argument"
		if c.given[i].What == givenConstant {
			what = "constant"
		}
		links = append(links, Link{What: what, Text: c.given[i].Text(), Recorded: true})
	}
	return links[:min(len(links), maxLinks/2)]
}

// otherwiseGiven says what else differs of what was given, for a cause in the code; "" nothing.
func (c *launchClues) otherwiseGiven() string {
	for i := range c.given {
		if g := &c.given[i]; !g.isData() && g.What != givenGrid {
			return g.Text()
		}
	}
	return ""
}
