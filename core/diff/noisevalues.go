package diff

import (
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Equal runs store at other places (tickets, compaction) or sums that were rounded otherwise (locks, atomics). That they differ says
// nothing of the values: those are held against the values of equal runs, without their places.

// evidence is what equal runs say of the values of a statement or an array that differs among them, too.
type evidence uint8

const (
	valuesUnknown evidence = iota // not recorded
	valuesCoarse                  // equal runs are so far apart that twice the value would not be noticed
	valuesNear                    // as near to those of equal runs as these are to each other
	valuesSame                    // the same values, at other places
	valuesDiffer                  // others, or further away
)

// fit reports whether the values are those of one more equal run.
func (e evidence) fit() bool { return e == valuesNear || e == valuesSame }

// moments are the sums over the values of statements or of an array in one run.
type moments struct {
	known bool
	count uint64 // elements
	warptrace.ValueSums
}

// add adds what one statement stored. What a compare-and-swap brings is in no sum.
func (m *moments) add(x *warptrace.StoreTotal) {
	m.count += x.Count
	if x.Values == nil || x.Swaps {
		m.known = false
		return
	}
	m.Plus(x.Values)
}

func storedBy(list []*warptrace.StoreTotal) moments {
	m := moments{known: len(list) > 0}
	for _, x := range list {
		m.add(x)
	}
	return m
}

func momentsOfArray(x *warptrace.Array) moments {
	if x == nil || x.Values == nil {
		return moments{}
	}
	return moments{known: true, count: x.Written / uint64(max(x.ElementBytes, 1)), ValueSums: *x.Values}
}

// runValues are the values of one run: by statement and array, as the recording calls them, and by array.
type runValues struct {
	known  bool // the recording says what was written
	stores map[noisyStore]*warptrace.StoreTotal
	arrays map[string]*warptrace.Array
}

func valuesOf(t *warptrace.Trace, o *warptrace.Outputs) runValues {
	v := runValues{stores: make(map[noisyStore]*warptrace.StoreTotal), arrays: make(map[string]*warptrace.Array)}
	if v.known = o != nil; !v.known {
		return v
	}
	names := make(map[uint32]string)
	for i := range o.Arrays {
		x := &o.Arrays[i]
		names[x.ID] = arrayName(x)
		v.arrays[arrayName(x)] = x
	}
	for i := range o.Stores {
		x := &o.Stores[i]
		v.stores[noisyStore{t.SiteID(x.Site), names[x.Array]}] = x
	}
	return v
}

// statements are the values of the same statements as of another run of the same build.
func (v *runValues) statements(t *warptrace.Trace, list []*warptrace.StoreTotal, array string) moments {
	m := moments{known: v.known && len(list) > 0}
	for _, x := range list {
		if same := v.stores[noisyStore{t.SiteID(x.Site), array}]; same != nil {
			m.add(same)
		}
	}
	return m
}

// held holds values against those of equal runs, of which there are two at least. doubled is by how much the sum of their bits grows
// where all values are twice as large.
func held(equal []moments, x moments, doubled float64) evidence {
	constant := true
	for i := range equal {
		if !equal[i].known {
			return valuesUnknown
		}
		constant = constant && equal[i].Hash == equal[0].Hash && equal[i].count == equal[0].count
	}
	switch {
	case !x.known || len(equal) < 2:
		return valuesUnknown
	case constant && x.Hash == equal[0].Hash && x.count == equal[0].count:
		return valuesSame
	case constant:
		return valuesDiffer
	}
	n, among := float64(len(equal)), spreadOf(equal, x)
	reach := studentQuantile(len(equal)-1, noiseAlpha/noiseWhere) * math.Sqrt(1+1/n)
	switch {
	case among.count.off != 0 && among.count.deviation == 0, among.specials.off != 0 && among.specials.deviation == 0:
		return valuesDiffer // equal runs never do
	case among.tops.deviation == 0 && among.tops.off != 0 && math.Pow(n, -math.Abs(among.tops.off)) < noiseAlpha/noiseWhere:
		return valuesDiffer // sums about 0 change their sign now and then
	}
	for _, f := range []feature{among.tops, among.specials, among.bits, among.placed} {
		if math.Abs(f.off) > reach*max(f.deviation, 1) {
			return valuesDiffer
		}
	}
	if math.Abs(among.count.off) > reach*among.count.deviation || reach*max(among.bits.deviation, 1) >= doubled {
		return valuesCoarse
	}
	return valuesNear
}

// feature is how far a number is from the mean of equal runs, and their standard deviation.
type feature struct{ off, deviation float64 }

type spread struct{ count, tops, specials, bits, placed feature }

// spreadOf are the features of a run. Where the number of elements differs among equal runs, as of statements that wait, the others are
// taken for as many elements as the run has.
func spreadOf(equal []moments, x moments) (s spread) {
	of := func(number func(m *moments) uint64, perElement bool) feature {
		base := number(&equal[0])
		value := func(m *moments) float64 {
			v := float64(int64(number(m) - base))
			if perElement && m.count != equal[0].count && m.count > 0 && x.count > 0 {
				return (v+float64(base))*float64(x.count)/float64(m.count) - float64(base)
			}
			return v
		}
		var sum, squares float64
		for i := range equal {
			sum += value(&equal[i])
		}
		mean := sum / float64(len(equal))
		for i := range equal {
			d := value(&equal[i]) - mean
			squares += d * d
		}
		return feature{off: value(&x) - mean, deviation: math.Sqrt(squares / float64(len(equal)-1))}
	}
	s.count = of(func(m *moments) uint64 { return m.count }, false)
	s.tops = of(func(m *moments) uint64 { return m.Tops }, true)
	s.specials = of(func(m *moments) uint64 { return m.Specials }, true)
	s.bits = of(func(m *moments) uint64 { return m.Bits }, true)
	s.placed = of(func(m *moments) uint64 { return uint64(m.Placed) }, true)
	return s
}

// doubledBits is by how much the sum of bits grows where count elements of a type are doubled: floats by one in their exponent, other
// numbers by what they are.
func doubledBits(t warptrace.ValueType, count, bits uint64) float64 {
	mantissa, float := map[warptrace.ValueType]float64{
		warptrace.TypeF16: 10, warptrace.TypeBF16: 7, warptrace.TypeF32: 23, warptrace.TypeF64: 52 - 32, warptrace.TypeF8E4: 3, warptrace.TypeF8E5: 2,
	}[t]
	if !float {
		return float64(bits)
	}
	return float64(count) * math.Exp2(mantissa)
}

// studentQuantile is how many standard deviations a value of Student's distribution is away from 0 at most, but for a chance of alpha.
func studentQuantile(freedom int, alpha float64) float64 {
	low, high := 0.0, 1.0
	for studentTail(high, freedom) > alpha && high < 1e12 {
		high *= 2
	}
	for range 60 {
		if middle := (low + high) / 2; studentTail(middle, freedom) > alpha {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// studentTail is the chance of a value of Student's distribution that is further away from 0 than t: Abramowitz and Stegun, 26.7.3 and
// 26.7.4.
func studentTail(t float64, freedom int) float64 {
	angle := math.Atan(t / math.Sqrt(float64(freedom)))
	cos2 := math.Cos(angle) * math.Cos(angle)
	if freedom%2 == 0 {
		sum, term := 1.0, 1.0
		for k := 2; k < freedom; k += 2 {
			term *= cos2 * float64(k-1) / float64(k)
			sum += term
		}
		return 1 - math.Sin(angle)*sum
	}
	sum, term := 0.0, math.Cos(angle)
	for k := 1; k < freedom; k += 2 {
		sum += term
		term *= cos2 * float64(k+1) / float64(k+2)
	}
	return 1 - 2/math.Pi*(angle+math.Sin(angle)*sum)
}

// judgeValues holds what an array holds, where nothing but noise differs in it, against what it holds in equal runs. Of runs of both
// sides those of A decide.
func (p *arrayPair) judgeValues(sides []*outputNoise) {
	if all, genuine := p.counts(); all == 0 || genuine > 0 || len(sides) == 0 {
		return
	}
	n := sides[0]
	x := momentsOfArray(p.b)
	if n.ofB {
		x = momentsOfArray(p.a)
	}
	var equal []moments
	for _, v := range n.values {
		equal = append(equal, momentsOfArray(v.arrays[p.name()]))
	}
	if most, known := n.apart[p.name()]; known && noiseSize*most < 0.5 {
		p.values = valuesNear // element by element: tooFar has looked
	}
	if found := held(equal, x, doubledBits(elementType(p.array()), x.count, x.Bits)); found > valuesCoarse {
		p.values = found
	} else {
		p.values = max(p.values, found)
	}
	if p.values == valuesDiffer {
		clear(p.noise)
		p.noisy = false
	}
}

// judgeChange says whether what a statement stored is noise: equal runs store something else there, too, and the values are theirs.
// Where their values do not decide, it is noise in as many warps as among them, and what became of the array decides.
func (o *outputs) judgeChange(c *storeChange, a, b *warptrace.Trace, sides []*outputNoise) {
	for i, n := range sides {
		of, local, mine := a, c.siteA, 0
		if n.ofB {
			of, local, mine = b, c.siteB, 1
		}
		if local == warptrace.NoSite {
			continue
		}
		name := o.storeName(c, of.SiteID(local))
		most, known := n.stores[name]
		if !known {
			continue
		}
		found := n.holds(of, c.all[mine], storedBy(c.all[1-mine]), name.array, o.typeOf(c))
		if i == 0 {
			c.values = found
		}
		switch {
		case c.values == valuesDiffer, c.array >= 0 && o.arrays[c.array].values == valuesDiffer:
			return
		case found.fit():
			c.noise = true
		default:
			c.noise = c.noise || poissonUpper(int64(len(c.warps)), most) >= noiseAlpha
		}
	}
}

// holds holds what statements stored in another run against equal runs.
func (n *outputNoise) holds(t *warptrace.Trace, list []*warptrace.StoreTotal, x moments, array string, of warptrace.ValueType) evidence {
	var equal []moments
	for i := range n.values {
		equal = append(equal, n.values[i].statements(t, list, array))
	}
	return held(equal, x, doubledBits(of, x.count, x.Bits))
}

// typeOf is the type of the elements of the array that a statement stores to.
func (o *outputs) typeOf(c *storeChange) warptrace.ValueType {
	if c.array < 0 {
		return warptrace.TypeNone
	}
	return elementType(o.arrays[c.array].array())
}

// editedIn reports whether the text of a statement differs between A and B by more than names.
func (c *storeChange) editedIn(changes *edits.Changes, sites []SiteRef) bool {
	s := sites[c.site].Site
	if changes == nil || s == nil {
		return false
	}
	at := s.Shown()
	line := edits.Line{Side: edits.SideA, File: at.File, Line: int(at.Line)}
	if c.siteA == warptrace.NoSite {
		line.Side = edits.SideB
	}
	changed, known := changes.Changed(line)
	return known && changed && !changes.Renamed(line)
}

// untold says of what differs as among equal runs, and of nothing else, why that does not tell that it is the same: what was stored is not
// known, or not well enough.
func (o *outputs) untold() (why []string) {
	reasons := make(map[string][]string)
	var order []string
	add := func(name, reason string) {
		if reasons[reason] == nil {
			order = append(order, reason)
		}
		reasons[reason] = append(reasons[reason], name)
	}
	for i := range o.arrays {
		p := &o.arrays[i]
		if all, genuine := p.counts(); all == 0 || genuine > 0 {
			continue
		}
		if reason := o.untoldOf(int32(i)); reason != "" {
			add(p.name(), reason)
		}
	}
	for i := range o.changes {
		if c := &o.changes[i]; c.noise && !o.arrayTold(c.array) {
			name := "what is stored"
			if c.array >= 0 {
				name = o.arrays[c.array].name()
			}
			if reason := c.untold(); reason != "" {
				add(name, reason)
			}
		}
	}
	for _, reason := range order {
		why = append(why, inWords(reasons[reason])+" differs as among equal runs, "+reason)
	}
	return why
}

// untoldOf says why what was stored to an array does not tell whether it is the same; "" when it does.
func (o *outputs) untoldOf(array int32) string {
	p := &o.arrays[array]
	edited := slices.ContainsFunc(o.changes, func(c storeChange) bool { return c.array == array && c.edited })
	switch {
	case edited:
		return editedStatement
	case p.values.fit():
		return ""
	case p.swaps:
		return "and the values of compare-and-swaps are not recorded; floats are compared where contents are recorded (--outputs)"
	}
	for i := range o.changes {
		if c := &o.changes[i]; c.array == array && c.noise {
			if reason := c.untold(); reason != "" {
				return reason
			}
		}
	}
	return ""
}

// editedStatement is why a store that is noise but for its statement, which is another one, tells nothing: an edit is no chance.
const editedStatement = "and the statement that stores there was edited: whether it stores the right values to the right places is not known"

func (c *storeChange) untold() string {
	switch {
	case c.values == valuesUnknown:
		return "and which values were stored is not recorded: record again with this version"
	case c.values == valuesCoarse:
		return "by so much that twice the value would not be noticed: more equal runs tell, or contents (--outputs)"
	case c.edited:
		return editedStatement
	}
	return ""
}
