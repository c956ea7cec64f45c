package diff

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/diff/slice"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// explainRules look at the clues, each for itself: what one finds does not depend on the others, so their order means nothing.
// docs/concepts/explain.md has a line for each finding.
var explainRules = []rule{
	{ruleSameOperands, true},
	{ruleOtherCompare, false},
	{ruleLoop, true},
	{ruleChosenByIndex, true},
	{ruleAddress, true},
	{ruleWritten, true},
	{ruleAtomic, false},
	{ruleFoundByOthers, true},
	{ruleReduction, true},
	{ruleRounding, true},
	{ruleShifted, true},
	{ruleUninitialised, true},
	{ruleSameRun, false},
	{ruleArguments, false},
	{ruleNoise, false},
	{ruleSpread, false},
	{ruleKind, false},
}

// codeRules look at the code of both builds, and need no divergence of a warp.
var codeRules = []rule{
	{ruleCode, true},
	{ruleGiven, true},
	{ruleOtherArguments, true},
	{ruleTested, true},
	{ruleFound, true},
	{ruleReruns, true},
}

// rule looks at the clues. One that tests looks at what could have refuted its class besides what supports it, and gives earnedPoints or
// more only where it did not: without such a finding no class is strong, however many points it has.
type rule struct {
	look  func(*clues) []finding
	tests bool
}

// earnedPoints is what a test gives at least to the class that it could have refuted.
const earnedPoints = 5

// gather asks every rule. earned are the classes that passed a test.
func (c *clues) gather() (findings []finding, earned [classes]bool) {
	rules := codeRules
	if c.row != nil {
		rules = slices.Concat(explainRules, codeRules)
	}
	for _, rule := range rules {
		found := rule.look(c)
		for _, f := range found {
			earned[f.class] = earned[f.class] || rule.tests && f.points >= earnedPoints
		}
		findings = append(findings, found...)
	}
	return findings, earned
}

// ruleSameOperands: the operands of the compare are the same and the decision is not, so the compare itself is another one.
func ruleSameOperands(c *clues) []finding {
	lhs, rhs := c.at.side("lhs"), c.at.side("rhs")
	if !isCompare(c.at.kind) || lhs == nil || rhs == nil || !lhs.whole || lhs.lanes == 0 || lhs.differ|rhs.differ != 0 || c.row.Kind == RowActiveMask {
		return nil
	}
	text := fmt.Sprintf("both operands at %s are the same in every lane, and the decision is not: it compares differently", c.at.place())
	if c.at.siteA != nil && c.at.siteB != nil && c.at.siteA.Text != c.at.siteB.Text {
		text += fmt.Sprintf(" (%s, %s)", clippedWord(c.at.siteA.Text), clippedWord(c.at.siteB.Text))
	}
	to := indexOrMask
	if c.loopTest() {
		to = loopBound
	}
	against := "the operands of the compare are the same"
	return []finding{{to, 9, text}, {race, -6, against}, {staleData, -6, against}, {precision, -6, against}}
}

// loopTest reports whether the divergence is the test of a loop: it compares what is carried around a loop with what is not read
// from memory at that place.
func (c *warpClues) loopTest() bool {
	if !isCompare(c.at.kind) {
		return false
	}
	carry, bound := c.loopOperands()
	return carry != nil && (bound == nil || bound.Origin != site.FromLoad && bound.Origin != site.FromAtomic && bound.Origin != site.FromShuffle)
}

// loopOperands are the operand of the compare that is carried around a loop, and the other one; nil where there is none.
func (c *warpClues) loopOperands() (carry, bound *site.Operand) {
	for _, roles := range [][2]string{{"lhs", "rhs"}, {"rhs", "lhs"}} {
		if op := c.at.operand(roles[0]); op != nil && op.Origin == site.FromCarried {
			return op, c.at.operand(roles[1])
		}
	}
	return nil, nil
}

// ruleLoop: the divergence is the test of a loop, and its bound differs, or one side goes round more often.
func ruleLoop(c *clues) []finding {
	if !c.loopTest() {
		if isCompare(c.at.kind) && c.at.operand("lhs") != nil && c.row.Kind == RowBranch {
			return []finding{{loopBound, -3, fmt.Sprintf("%s is not the test of a loop", c.at.place())}}
		}
		return nil
	}
	found := []finding{{loopBound, 3, fmt.Sprintf("%s is the test of a loop", c.at.place())}}
	carry, bound := c.loopOperands()
	if bound != nil {
		if s := c.at.side(bound.Role); s != nil && s.differ != 0 {
			found = append(found, finding{loopBound, c.boundPoints(carry), fmt.Sprintf("the bound differs: %s", s.text())})
		}
	}
	if s := c.at.side(carry.Role); s != nil && s.whole && s.differ == 0 {
		found = append(found, finding{loopBound, 1, "what is counted is the same on both sides"})
	}
	if a, b := c.passes(); a != b {
		found = append(found, finding{loopBound, 2, fmt.Sprintf("the warp passes it %d times in A and %d times in B", a, b)})
	}
	return found
}

// boundPoints is what another bound counts for: what is counted could differ, too, and then the bound is not all.
func (c *warpClues) boundPoints(carry *site.Operand) int {
	if s := c.at.side(carry.Role); s != nil && s.differ != 0 {
		return earnedPoints - 1
	}
	return 6
}

// passes counts how often the warp passes the site of the divergence.
func (c *warpClues) passes() (a, b int) {
	ref := &c.sites[siteOfRow(c.row)]
	for _, s := range c.wa.Site {
		if int64(s) == ref.LocalA {
			a++
		}
	}
	for _, s := range c.wb.Site {
		if int64(s) == ref.LocalB {
			b++
		}
	}
	return a, b
}

// ruleOtherCompare: the site tables of the two builds have another compare at the site.
func ruleOtherCompare(c *clues) []finding {
	x, y := c.at.siteA, c.at.siteB
	if !isCompare(c.at.kind) || x == nil || y == nil || x.Compare == site.NoCompare || y.Compare == site.NoCompare || x.Compare == y.Compare {
		return nil
	}
	to := indexOrMask
	if c.loopTest() {
		to = loopBound
	}
	return []finding{{to, 5, fmt.Sprintf("the builds compare at %s in a different way (%s, %s)", c.at.place(), clippedWord(x.Text), clippedWord(y.Text))}}
}

// ruleChosenByIndex: an operand that is computed from indices, arguments and constants alone differs.
func ruleChosenByIndex(c *clues) []finding {
	if !isCompare(c.at.kind) || c.loopTest() || !c.isRoot() {
		return nil
	}
	var found []finding
	for _, role := range []string{"lhs", "rhs"} {
		op, s := c.at.operand(role), c.at.side(role)
		if op == nil || s == nil || s.differ == 0 {
			continue
		}
		set := origins(op)
		if op.Origin == site.FromConstant && s.garbage() != "" {
			continue // a constant that is another one in every lane was not chosen
		}
		if _, _, isFloat := warptrace.Floats(0, 0, s.typ); isFloat {
			continue // no index, and where it comes from is known for a few steps only
		}
		known := comesFrom(set, site.FromProgramID, site.FromArgument, site.FromConstant)
		if known && !comesFrom(set, site.FromLoad, site.FromAtomic, site.FromShuffle, site.FromCall, site.FromCarried, site.FromUnknown) {
			text, points := fmt.Sprintf("an operand computed from indices and arguments alone differs: %s", s.text()), 8
			if !c.sameOrigins(role) {
				text, points = text+"; the two builds compute it from other things, so it may be another operand", earnedPoints-2
			}
			found = append(found, finding{indexOrMask, points, text})
		}
	}
	return found
}

// sameOrigins reports whether both builds compute an operand from the same kinds of things: else two compares were taken for one.
func (c *warpClues) sameOrigins(role string) bool {
	of := func(s *site.Site) uint32 {
		for i := range s.Operands {
			if s.Operands[i].Role == role {
				return origins(&s.Operands[i])
			}
		}
		return 0
	}
	return c.at.siteA == nil || c.at.siteB == nil || of(c.at.siteA) == of(c.at.siteB)
}

// isRoot reports whether no difference of data was recorded before the divergence in its warp.
func (c *warpClues) isRoot() bool { return !c.from.ok || c.from.ia == c.at.ia && c.from.ib == c.at.ib }

// ruleAddress: other addresses are accessed.
func ruleAddress(c *clues) []finding {
	if !c.from.ok {
		return nil
	}
	s := c.from.side("address")
	if s == nil || s.lanes == 0 {
		return nil
	}
	if s.differ == 0 {
		if c.code.change.Kind == slice.Choice && c.code.sure() {
			return nil // it is the mask that was changed
		}
		text := fmt.Sprintf("the addresses at %s are the same in every lane", c.from.place())
		return []finding{{indexOrMask, -4, text}}
	}
	text := fmt.Sprintf("other addresses are accessed at %s: %s", c.from.place(), s.text())
	if c.twoBuilds() && c.inSharedMemory() {
		return []finding{{indexOrMask, 2, text + "; it is shared memory, which the compiler lays out for each build"}}
	}
	return []finding{{indexOrMask, 8, text}, {race, -4, text}, {precision, -4, text}}
}

// twoBuilds reports whether the recordings are known to be of two builds.
func (c *launchClues) twoBuilds() bool {
	x, y := c.headers[0].ModuleHash, c.headers[1].ModuleHash
	return x != "" && y != "" && x != y
}

// inSharedMemory reports whether the first data that differs is that of an access to shared memory.
func (c *warpClues) inSharedMemory() bool {
	s := c.from.site()
	return c.from.kind == site.SharedStore || s != nil && strings.Contains(s.Text, ".shared")
}

// otherLayout reports whether the first data that differs is in shared memory which two builds lay out in two ways.
func (c *clues) otherLayout() bool {
	s := c.from.side("address")
	return s != nil && s.differ != 0 && c.twoBuilds() && c.inSharedMemory()
}

// ruleWritten: on one side the lanes read what they had written just before, on the other a place of the same memory that they had not.
func ruleWritten(c *clues) []finding {
	s := c.from.side("address")
	if !c.from.ok || c.from.kind != site.Load || s == nil || !s.whole || s.differ == 0 {
		return nil
	}
	wrote, snap := c.lastStore()
	if snap == nil {
		return nil
	}
	for _, one := range []struct {
		side         string
		right, wrong []uint64
	}{{"B", s.a, s.b}, {"A", s.b, s.a}} {
		hits, strays := 0, 0
		for lanes := s.differ & snap.Active; lanes != 0; lanes &= lanes - 1 {
			k := bits.TrailingZeros64(lanes)
			if k < len(snap.Lhs) && one.right[k] == snap.Lhs[k] {
				hits++
			}
			if k < len(snap.Lhs) && !wrote[one.wrong[k]] {
				strays++
			}
		}
		if n := bits.OnesCount64(s.differ); hits == n && strays == n {
			text := fmt.Sprintf("%s reads at %s a place that was not written just before, where the other side reads what it wrote: %s", one.side, c.from.place(), s.text())
			return []finding{{staleData, 10, text}, {indexOrMask, -6, text}}
		}
	}
	return nil
}

// lastStore is the last store before the first data that differs, which both sides made to the same addresses, and these addresses.
func (c *warpClues) lastStore() (map[uint64]bool, *warptrace.Snapshot) {
	for _, pair := range c.back {
		if pair[0] >= c.from.ia || c.wa.Kind[pair[0]] != site.SharedStore && c.wa.Kind[pair[0]] != site.GlobalStore {
			continue
		}
		x, y := snapshotOf(&c.wa, pair[0]), snapshotOf(&c.wb, pair[1])
		if x == nil || y == nil || x.Role != warptrace.RoleStore || x.Active != y.Active || !equalLanes(x.Lhs, y.Lhs) {
			return nil, nil
		}
		wrote := make(map[uint64]bool)
		for lanes := x.Active; lanes != 0; lanes &= lanes - 1 {
			if k := bits.TrailingZeros64(lanes); k < len(x.Lhs) {
				wrote[x.Lhs[k]] = true
			}
		}
		return wrote, x
	}
	return nil, nil
}

// ruleAtomic: what an atomic found is another value, although what it did is the same.
func ruleAtomic(c *clues) []finding {
	if !c.from.ok || c.from.kind != site.Atomic {
		return nil
	}
	operand, old := c.from.side("operand"), c.from.side("old value")
	switch {
	case operand != nil && operand.differ != 0:
		return []finding{{race, -2, fmt.Sprintf("the operand of the atomic at %s differs already: %s", c.from.place(), operand.text())}}
	case old == nil || old.differ == 0:
		return nil
	case operand == nil:
		return []finding{{race, 6, fmt.Sprintf("the atomic at %s found another value: %s", c.from.place(), old.text())}}
	}
	found := []finding{{race, 8, fmt.Sprintf("the atomic at %s did the same and found another value: %s", c.from.place(), old.text())}}
	return append(found, c.foundBefore()...)
}

// foundBefore: the same build ran on arguments with other contents, so an atomic can have found what stood there before the launch.
func (c *clues) foundBefore() []finding {
	x, y := c.a.Header(), c.b.Header()
	if x.ModuleHash == "" || x.ModuleHash != y.ModuleHash || x.ArgumentDigest == 0 || y.ArgumentDigest == 0 || x.ArgumentDigest == y.ArgumentDigest {
		return nil
	}
	if len(ruleFoundByOthers(c)) > 0 {
		return nil
	}
	text := "the same build was given arguments with other contents, and an atomic finds what stood there before"
	return []finding{{staleData, 5, text}, {race, -8, text}}
}

// ruleFoundByOthers: where only the order is another one, the warps that differ find the same values, each that of another warp.
func ruleFoundByOthers(c *clues) []finding {
	old := c.from.side("old value")
	if !c.from.ok || c.from.kind != site.Atomic || old == nil || old.differ == 0 {
		return nil
	}
	if operand := c.from.side("operand"); operand != nil && operand.differ != 0 {
		return nil
	}
	if a, b, n := c.multisets(); n > 1 && a == b {
		return []finding{{race, 5, fmt.Sprintf("over the %d warps that differ there, the same values were found, by others", n)}}
	}
	if n := bits.OnesCount64(old.differ); old.whole && n > 1 && sameValues(old) {
		return []finding{{race, 5, fmt.Sprintf("the %d lanes that differ there found the same values, each that of another", n)}}
	}
	return nil
}

// sameValues reports whether the lanes that differ hold the same values on both sides, in whatever order.
func sameValues(s *sides) bool {
	left := make(map[uint64]int)
	for lanes := s.differ; lanes != 0; lanes &= lanes - 1 {
		k := bits.TrailingZeros64(lanes)
		left[s.a[k]]++
		left[s.b[k]]--
	}
	for _, n := range left {
		if n != 0 {
			return false
		}
	}
	return true
}

// multisets sums up the values of all rows at the site where data first differs, in a way that does not depend on their order.
func (c *warpClues) multisets() (a, b uint64, rows int) {
	at := SiteRef{}
	if c.from.ia < c.wa.Len() {
		at.ID = c.a.SiteID(c.wa.Site[c.from.ia])
	}
	for i := range c.rows {
		row := &c.rows[i]
		if row.Kind == RowValue && row.SiteA != None && c.sites[row.SiteA].ID == at.ID {
			a += scramble(row.ValueA)
			b += scramble(row.ValueB)
			rows++
		}
	}
	return a, b, rows
}

func scramble(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// ruleReduction: what lanes add up together differs, although what each lane gives is the same.
func ruleReduction(c *clues) []finding {
	var found []finding
	if given, made := c.from.side("value"), c.from.side("result"); c.from.ok && given != nil && made != nil && given.whole && given.differ == 0 && made.near() {
		text := fmt.Sprintf("every lane gives the same at %s, and what they make of it together differs by rounding: %s", c.from.place(), made.text())
		found = append(found, finding{race, 9, text})
	}
	if isCompare(c.at.kind) {
		for _, role := range []string{"lhs", "rhs"} {
			op, s := c.at.operand(role), c.at.side(role)
			if op == nil || s == nil || s.differ == 0 {
				continue
			}
			set := origins(op)
			switch {
			case comesFrom(set, site.FromAtomic):
				found = append(found, finding{race, 2, fmt.Sprintf("the %s of %s comes out of an atomic", role, c.at.place())})
			case comesFrom(set, site.FromShuffle) && s.near():
				found = append(found, finding{race, 4, fmt.Sprintf("the %s of %s comes out of a reduction over lanes, and differs by rounding only", role, c.at.place())})
			}
		}
	}
	return found
}

// ruleSameRun: the same program on the same arguments cannot choose otherwise by itself.
func ruleSameRun(c *clues) []finding {
	x, y := c.a.Header(), c.b.Header()
	if x.ModuleHash == "" || y.ModuleHash == "" {
		return nil
	}
	if x.ModuleHash != y.ModuleHash {
		text := "the recordings are of two builds"
		return []finding{{race, -1, text}}
	}
	if x.ArgumentDigest == 0 || x.ArgumentDigest != y.ArgumentDigest {
		return nil
	}
	text := "the same build ran on the same arguments"
	return []finding{{race, 3, text}, {staleData, 2, text}, {precision, -8, text}, {loopBound, -8, text}, {indexOrMask, -8, text}}
}

// ruleArguments: an argument differs that the divergence depends on.
func ruleArguments(c *clues) []finding {
	var found []finding
	for _, d := range c.arguments() {
		for _, role := range []string{"lhs", "rhs", "address", "value"} {
			op := c.at.operand(role)
			if op == nil || !names(op, d.name) {
				continue
			}
			to := indexOrMask
			if c.loopTest() {
				to = loopBound
			}
			text := fmt.Sprintf("the argument %s, which the %s depends on, is %s in A and %s in B", clippedWord(d.name), role, clippedWord(d.a), clippedWord(d.b))
			found = append(found, finding{to, 3, text}, finding{race, -3, text}, finding{staleData, -3, text})
		}
	}
	return found
}

// argument is a scalar argument that differs.
type argument struct{ name, a, b string }

func (c *launchClues) arguments() []argument {
	var differ []argument
	y := c.headers[1].Arguments
	for _, x := range c.headers[0].Arguments {
		for _, z := range y {
			if x.Name == z.Name && x.Name != "" && x.Value != "" && z.Value != "" && x.Value != z.Value {
				differ = append(differ, argument{x.Name, x.Value, z.Value})
			}
		}
	}
	return differ
}

// names reports whether the tree of an operand names an argument.
func names(op *site.Operand, argument string) bool {
	left := maxProvenance
	var visit func(op *site.Operand) bool
	visit = func(op *site.Operand) bool {
		if left--; left < 0 {
			return false
		}
		if op.Origin == site.FromArgument && op.Name == argument {
			return true
		}
		for i := range op.Inputs {
			if visit(&op.Inputs[i]) {
				return true
			}
		}
		return false
	}
	return visit(op)
}

// ruleNoise: equal runs differ at this site too.
func ruleNoise(c *clues) []finding {
	if c.r.Baseline == nil || c.r.Baseline.sites == nil {
		return nil
	}
	n := c.r.Baseline.sites[siteOfRow(c.row)]
	if n.warps == 0 {
		return []finding{{race, -2, fmt.Sprintf("equal runs never differ at %s", c.at.place())}}
	}
	return []finding{{race, 3, fmt.Sprintf("equal runs differ at %s too, in %d of %d warps", c.at.place(), n.warps, n.compared)}}
}

// ruleSpread: what every warp does in the same way does not depend on who comes first.
func ruleSpread(c *clues) []finding {
	if c.row.Cluster < 0 || int(c.row.Cluster) >= len(c.r.Clusters) || c.r.Stats.WarpsCompared < 4 {
		return nil
	}
	warps := int64(len(c.r.Clusters[c.row.Cluster].Warps))
	if warps*10 < c.r.Stats.WarpsCompared*9 {
		return nil
	}
	return []finding{{race, -2, fmt.Sprintf("%d of %d warps differ in the same way", warps, c.r.Stats.WarpsCompared)}}
}

// ruleKind: lanes that are active or not, and predicates, choose elements.
func ruleKind(c *clues) []finding {
	switch {
	case c.row.Kind == RowActiveMask:
		return []finding{{indexOrMask, 3, "other lanes are active"}}
	case c.at.kind == site.Predicate:
		return []finding{{indexOrMask, 1, fmt.Sprintf("%s guards an access to memory", c.at.place())}}
	}
	return nil
}

// text is the first lanes that differ, with both values.
func (s *sides) text() string {
	var shown []string
	for lanes := s.differ; lanes != 0 && len(shown) < 2; lanes &= lanes - 1 {
		k := bits.TrailingZeros64(lanes)
		x, y := warptrace.FormatValue(s.a[k], s.typ), warptrace.FormatValue(s.b[k], s.typ)
		if s.whole {
			shown = append(shown, fmt.Sprintf("lane %d %s in A, %s in B", k, x, y))
		} else {
			shown = append(shown, fmt.Sprintf("%s in A, %s in B", x, y))
		}
	}
	if n := bits.OnesCount64(s.differ); n > len(shown) {
		shown = append(shown, fmt.Sprintf("%d lanes in all", n))
	}
	return strings.Join(shown, "; ")
}

// isCompare reports whether a site of a kind compares and goes one of several ways.
func isCompare(k site.Kind) bool {
	return k == site.Branch || k == site.Predicate || k == site.Switch
}
