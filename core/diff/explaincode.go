package diff

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/diff/slice"
	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// codeClues is what the code of both builds says of what differs: where they begin to compute something else on the way to it, and what.
type codeClues struct {
	compared *slice.Comparison // nil: a recording does not hold its code
	place    slice.Place       // ok says whether there is one
	ok       bool
	textual  bool // the text of both kernels is known
	change   slice.Change
	given    *used // what the two launches were given differs, and nothing else
	changes  *edits.Changes
	tested   *Tested // what came of undoing single statements; nil: nobody tried
}

// suspects are what differs, from where code is followed back.
type suspects struct {
	outputs  *outputs // nil: not looked at
	findings *findings
	site     *SiteRef // of the first divergence; nil: every warp went the same way
	traces   [2]*warptrace.Trace
}

// used is what was given differently, and the first statement that uses it on the way to what differs.
type used struct {
	*Given
	line   slice.Line
	side   int
	filled bool // an array that the kernel writes, too
}

// readCode compares the code of both recordings on the way to what differs. Where it is not held nothing is known; where it is damaged, too, and
// the error says so.
func readCode(ctx context.Context, launch *launchClues, from suspects, texts [2]*warptrace.Texts, tested *Tested) (k codeClues, err error) {
	k = codeClues{changes: launch.changes, tested: tested}
	if texts[0] == nil || texts[1] == nil || texts[0].Code.Text == "" || texts[1].Code.Text == "" {
		return k, nil
	}
	var codes [2]*slice.Code
	for side, t := range texts {
		if codes[side], err = slice.Read(ctx, "the code of "+sideNames[side], []byte(t.Code.Text), t.Code.Function); err != nil {
			return k, fmt.Errorf("the code that %s holds cannot be followed: %w", sideNames[side], err)
		}
	}
	var changed [2][]slice.Line
	for _, roots := range [][2][]int32{from.rootsFound(codes), from.roots(codes)} {
		if len(roots[0])+len(roots[1]) == 0 {
			continue
		}
		k.compared = slice.Compare(codes[0], codes[1], roots[0], roots[1])
		changed = k.changedLines()
		k.place, k.ok = k.compared.Place(changed, k.sameConstants())
		if k.ok && k.place.Why <= slice.ChangedDiffers {
			break // what was found depends on a changed statement
		}
	}
	if k.compared == nil {
		return k, nil
	}
	k.textual = k.changes != nil
	if k.ok && k.textual && k.place.Why > slice.ChangedFeeds {
		if l, found := k.namedBefore(); found {
			k.place = l
		}
	}
	if place, found := k.testedPlace(); found {
		k.place, k.ok, k.textual = place, true, k.changes != nil
		k.change = k.changeAt(place)
		return k, nil
	}
	switch {
	case launch.causeBy(k.compared) != nil:
		k.given, k.ok = launch.firstGiven(k.compared, false), false
	case !k.ok:
		k.given = launch.firstGiven(k.compared, true)
	case k.place.Why <= slice.ChangedDiffers:
		k.change = k.compared.At(changed[0], changed[1])
	default:
		k.change = k.compared.At(nil, nil)
	}
	return k, nil
}

var sideNames = [2]string{"A", "B"}

// sameConstants reports whether both kernels are known to be compiled for the same constants.
func (k *codeClues) sameConstants() bool { return k.changes != nil && len(k.changes.Constants) == 0 }

// roots are the instructions of what differs: of what was stored first, else of the first divergence.
func (s *suspects) roots(codes [2]*slice.Code) (roots [2][]int32) {
	add := func(side int, local int64) {
		if local < 0 || local == int64(warptrace.NoSite) {
			return
		}
		if at, ok := s.traces[side].SiteOf(uint32(local)); ok {
			roots[side] = append(roots[side], codes[side].Root(at)...)
		}
	}
	if o := s.outputs; o != nil && o.first != nil {
		for i := range o.changes {
			if ch := &o.changes[i]; !ch.noise && (o.first.Array == "" || ch.array >= 0 && o.arrays[ch.array].name() == o.first.Array) {
				add(0, int64(ch.siteA))
				add(1, int64(ch.siteB))
			}
		}
		if len(roots[0])+len(roots[1]) == 0 {
			at := slices.IndexFunc(s.traces[0].Header().Arguments, func(a warptrace.Argument) bool { return a.Name == o.first.Array })
			for side := range 2 {
				roots[side] = codes[side].Writers(at)
			}
		}
	}
	if len(roots[0])+len(roots[1]) == 0 && s.site != nil {
		add(0, s.site.LocalA)
		add(1, s.site.LocalB)
	}
	return roots
}

// changedLines are the lines with code that belong to a statement that was changed, by side.
func (k *codeClues) changedLines() (changed [2][]slice.Line) {
	if k.changes == nil {
		return changed
	}
	for side := range changed {
		for _, l := range k.compared.Sides[side].Every() {
			at := edits.Line{Side: edits.Side(side), File: l.File, Line: int(l.Number)}
			if is, _ := k.changes.Changed(at); is && !k.changes.Renamed(at) {
				changed[side] = append(changed[side], l)
			}
		}
	}
	return changed
}

// namedBefore is the changed statement whose names reach the code that begins to differ: the compiler can leave a statement without code
// of its own. It is asked only where nothing but the text can be why code differs.
func (k *codeClues) namedBefore() (p slice.Place, ok bool) {
	if !k.sameConstants() {
		return p, false
	}
	for _, side := range []edits.Side{edits.SideB, edits.SideA} {
		s := &k.compared.Sides[side]
		var targets []edits.Line
		for _, l := range s.Lines() {
			targets = append(targets, edits.Line{Side: side, File: l.File, Line: int(l.Number)})
		}
		if at, found := k.changes.NamedBefore(side, targets); found {
			return slice.Place{Side: int(side), Line: slice.Line{File: at.File, Number: uint32(at.Line)}, Why: slice.ChangedFeeds}, true
		}
	}
	return p, false
}

// firstGiven is what was given differently and is used first on the way to what differs, nil none. Where the code itself is the same,
// arrays that the kernel writes count, too.
func (c *launchClues) firstGiven(code *slice.Comparison, all bool) *used {
	var best *used
	first := 0
	for i := range c.given {
		g := &c.given[i]
		filled := g.isData() && c.writes(g.Name)
		if filled && !all {
			continue
		}
		for side, p := range g.at {
			line, at, ok := code.Uses(side, p)
			if ok && (best == nil || at < first && best.isData() == g.isData() || best.isData() && !g.isData()) {
				best, first = &used{g, line, side, filled}, at
			}
			if ok {
				break
			}
		}
	}
	return best
}

// writes reports whether the kernel wrote an array, on either side.
func (c *launchClues) writes(name string) bool {
	for _, out := range c.written {
		if out != nil && slices.ContainsFunc(out.Arrays, func(a warptrace.Array) bool { return a.Name == name }) {
			return true
		}
	}
	return false
}

// ruleCode: both builds compute something else on the way, and what that is tells the kind of mistake.
func ruleCode(c *clues) []finding {
	k := &c.code
	if k.compared == nil || !k.ok {
		return nil
	}
	text := "on the way to what differs the builds begin to compute something else at " + lineText(k.place.Line, k.place.Side)
	if len(k.change.Texts) > 0 {
		text += ": " + strings.Join(k.change.Texts, "; ")
	}
	to, ok := c.classOf(k.change.Kind)
	if !ok {
		return nil
	}
	points := 6
	if !k.sure() {
		points = 4
	}
	found := []finding{{to, points, text}}
	for other := range class(classes) {
		if other != to {
			found = append(found, finding{other, -points + 1, "the builds differ otherwise on the way to what differs"})
		}
	}
	return append(found, c.observed(to)...)
}

// sure reports whether it is known that the place was changed: which of several lines with other code is the cause, code alone does not say.
func (k *codeClues) sure() bool { return k.ok && k.textual && k.place.Why <= slice.ChangedFeeds }

// classOf is the class of a change, where what was recorded does not rule it out.
func (c *clues) classOf(kind slice.Kind) (to class, ok bool) {
	switch kind {
	case slice.Barrier, slice.LostAtomic:
		return race, true
	case slice.OtherStep:
		return operation, true
	case slice.Rounding:
		return precision, !c.r.outputs.firstFar()
	case slice.Loop:
		return loopBound, c.otherPasses()
	case slice.Choice:
		return indexOrMask, true
	case slice.Formula:
		return formula, true
	}
	return 0, false
}

// observed is what was recorded besides that a class makes probable.
func (c *clues) observed(to class) []finding {
	switch to {
	case precision:
		if c.r.outputs.firstNear() {
			return []finding{{to, 3, "the first element that differs differs by rounding only"}}
		}
	case indexOrMask:
		if a, b, differ := c.r.outputs.storedCounts(); differ {
			return []finding{{to, 3, fmt.Sprintf("A stores %d elements there, B %d", a, b)}}
		}
	case loopBound:
		return []finding{{to, 3, "warps pass there more often on one side"}}
	}
	return nil
}

// otherPasses reports whether warps went another way, or more often, anywhere: without that no loop had another bound.
func (c *clues) otherPasses() bool {
	s := &c.r.Stats
	return s.ByKind[RowBranch]+s.ByKind[RowExtraEvents]+s.ByKind[RowPath] > 0
}

// storedCounts are the elements that the first statement stored which stored something else.
func (o *outputs) storedCounts() (a, b uint64, differ bool) {
	if o != nil {
		for i := range o.changes {
			if ch := &o.changes[i]; !ch.noise {
				return ch.counts[0], ch.counts[1], ch.counts[0] != ch.counts[1]
			}
		}
	}
	return 0, 0, false
}

// firstValues are the floats of the first element that differs, where contents were kept.
func (o *outputs) firstValues() (x, y float64, ok bool) {
	if o == nil || o.first == nil || o.first.BitsA == "" || o.first.BitsB == "" {
		return 0, 0, false
	}
	i := slices.IndexFunc(o.arrays, func(p arrayPair) bool { return p.name() == o.first.Array })
	if i < 0 {
		return 0, 0, false
	}
	var a, b uint64
	if _, err := fmt.Sscanf(o.first.BitsA+" "+o.first.BitsB, "0x%x 0x%x", &a, &b); err != nil {
		return 0, 0, false
	}
	return warptrace.Floats(a, b, elementType(o.arrays[i].array()))
}

// firstNear reports whether the first element differs by rounding, as far as a narrow format rounds.
func (o *outputs) firstNear() bool {
	x, y, ok := o.firstValues()
	return ok && nearly(x, y)
}

// firstFar reports whether the first element is known and differs by more than rounding does.
func (o *outputs) firstFar() bool {
	x, y, ok := o.firstValues()
	return ok && !nearly(x, y)
}

// nearly is what sums in 16 bits can be off.
func nearly(x, y float64) bool { return max(x-y, y-x) <= max(max(x, -x), max(y, -y))/16 }

// ruleGiven: both builds compute the same, and the memory that they were given held something else.
func ruleGiven(c *clues) []finding {
	g := c.code.given
	if g == nil || g.What != givenContents || !g.filled {
		return nil
	}
	text := fmt.Sprintf("both builds compute the same on the way to what differs, and %s, which the kernel reads and writes, held something else when it was launched", clippedWord(g.Name))
	return []finding{{staleData, 6, text}, {race, -8, text}, {precision, -5, text}, {formula, -5, text}}
}

// lineText is a line as sentences have it: "kernel.py:12 in B".
func lineText(l slice.Line, side int) string {
	return fmt.Sprintf("%s:%d in %s", path.Base(l.File), l.Number, sideNames[side])
}

// statement is where the explanation says that it begins, nil where code says nothing.
func (c *clues) statement() *Statement {
	return c.code.statement(c.headers, c.code.downstream(c.r.findings.alone()))
}

// statement is where the explanation says that it begins, nil where code says nothing. after are the findings of one side alone that depend on it.
func (k *codeClues) statement(of [2]*warptrace.Header, after []found) *Statement {
	switch {
	case k.ok:
		return k.statementAt(of, k.place.Line, k.place.Side, k.reason(after))
	case k.given != nil:
		what := "it is the first to use what was given differently: " + k.given.Text()
		if k.given.isData() {
			what = fmt.Sprintf("it is the first to read %s, which held something else when the kernel was launched; the code is the same", clippedWord(k.given.Name))
		}
		return k.statementAt(of, k.given.line, k.given.side, what)
	}
	return nil
}

func (k *codeClues) reason(after []found) string {
	if best := k.tested.best(); best != nil {
		text := "with this statement as the other version has it B writes what A writes"
		if best.Breaks {
			text += ", and A with it writes something else"
		}
		return fmt.Sprintf("%s: tried in %d runs", text, k.tested.Runs)
	}
	text := map[slice.Why]string{
		slice.ChangedBegins:  "it was changed, and computes something else of the same operands",
		slice.ChangedDiffers: "it was changed, and its code differs",
		slice.ChangedFeeds:   "it was changed, and what is computed differently depends on it",
		slice.CodeBegins:     "its code computes something else of the same operands",
		slice.CodeDiffers:    "its code differs",
	}[k.place.Why]
	if len(after) > 0 {
		text += "; " + after[0].text()
	}
	return text
}

func (k *codeClues) statementAt(of [2]*warptrace.Header, l slice.Line, side int, why string) *Statement {
	s := &Statement{Side: sideNames[side], Why: why, Way: []string{}}
	s.SourceLocation = fmt.Sprintf("%s:%s:%d:0", l.File, of[side].Kernel, l.Number)
	for _, text := range k.changes.Statement(edits.Line{Side: edits.Side(side), File: l.File, Line: int(l.Number)}) {
		s.Text = append(s.Text, clippedLine(text))
	}
	for _, w := range k.compared.Sides[side].Way(l) {
		if len(s.Way) == maxLinks {
			break
		}
		s.Way = append(s.Way, fmt.Sprintf("%s:%d", path.Base(w.File), w.Number))
	}
	return s
}

// longestLine is how much of a line of source a document repeats.
const longestLine = 200

func clippedLine(s string) string {
	if r := []rune(s); len(r) > longestLine {
		return string(r[:longestLine-3]) + "..."
	}
	return s
}

func (k *codeClues) placeOfStatement() string {
	if k.ok {
		return lineText(k.place.Line, k.place.Side)
	}
	return lineText(k.given.line, k.given.side)
}

// codeLinks is what the code of both builds and what they were given say, as evidence.
func (c *clues) codeLinks() []Link {
	var links []Link
	if s := c.statement(); s != nil {
		links = append(links, Link{What: "statement", SourceLocation: s.SourceLocation, Text: s.Why, Recorded: true})
	}
	for _, text := range c.code.change.Texts {
		links = append(links, Link{What: "code", Text: text, Recorded: true})
	}
	return links[:min(len(links), maxLinks)]
}

// missingCode is what of texts and code was not recorded.
func (c *clues) missingCode() []string {
	missing := []string{}
	switch {
	case c.headers[0].Means != warptrace.MeansObserved || c.headers[1].Means != warptrace.MeansObserved: // who else records has no code
	case c.code.compared == nil:
		missing = append(missing, "what the two builds compute differently: recordings that hold the text and the code of their kernel have it")
	case !c.code.textual:
		missing = append(missing, "which lines were changed: recordings that hold the text of their kernel have it")
	}
	return append(missing, c.code.missingTest()...)
}
