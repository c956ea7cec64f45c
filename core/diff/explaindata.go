package diff

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// near reports whether all lanes that differ hold floats that are close to each other.
func (s *sides) near() bool {
	if s.differ == 0 {
		return false
	}
	for lanes := s.differ; lanes != 0; lanes &= lanes - 1 {
		k := bits.TrailingZeros64(lanes)
		x, y, ok := warptrace.Floats(s.a[k], s.b[k], s.typ)
		if !ok || !(math.Abs(x-y) <= math.Max(math.Abs(x), math.Abs(y))/128) {
			return false
		}
	}
	return true
}

// ruleRounding: floats differ a little, and on one side they have fewer digits than on the other.
func ruleRounding(c *clues) []finding {
	if !c.from.ok {
		return nil
	}
	if c.otherLayout() {
		return nil // lanes hold other elements there: their values are not to be compared
	}
	var found []finding
	for i := range c.from.sides {
		s := &c.from.sides[i]
		if s.differ == 0 || s.what == "address" {
			continue
		}
		switch x, _, isFloat := warptrace.Floats(0, 0, s.typ); {
		case !isFloat && s.typ != warptrace.TypeHash:
			_ = x
			if c.code.change.Whole {
				continue // it is how they are rounded that was changed
			}
			found = append(found, finding{precision, -5, fmt.Sprintf("whole numbers differ: %s", s.text())})
		case isFloat && !s.near():
			found = append(found, finding{precision, -4, fmt.Sprintf("floats differ by more than rounding: %s", s.text())})
		case isFloat:
			found = append(found, s.rounded(c)...)
		}
	}
	return found
}

// rounded tells a narrower format on one side from another order of the same sum.
func (s *sides) rounded(c *clues) []finding {
	digitsA, digitsB := s.digits(s.a), s.digits(s.b)
	n := bits.OnesCount64(s.differ)
	text := s.text()
	if digitsA != digitsB && min(digitsA, digitsB) <= narrow(s.typ) && max(digitsA, digitsB) > narrow(s.typ) && n > 1 {
		side := "A"
		if digitsB < digitsA {
			side = "B"
		}
		said := fmt.Sprintf("in %s all %d values that differ at %s have at most %d digits of mantissa, on the other side more: %s",
			side, n, c.from.place(), min(digitsA, digitsB), text)
		return []finding{{precision, 9, said}, {race, -3, said}}
	}
	said := fmt.Sprintf("floats at %s differ by rounding only, with as many digits on both sides: %s", c.from.place(), text)
	return []finding{{precision, 2, said}, {race, 2, said}}
}

// narrow is the number of digits of the mantissa at which a float could have been of a narrower format.
func narrow(t warptrace.ValueType) int {
	switch t {
	case warptrace.TypeF64:
		return 23
	case warptrace.TypeF32:
		return 10 // f16, tf32; bf16 has 7
	}
	return 7
}

// digits is how many binary digits of mantissa the values that differ use at most.
func (s *sides) digits(values []uint64) int {
	mantissa := map[warptrace.ValueType]int{
		warptrace.TypeF64: 52, warptrace.TypeF32: 23, warptrace.TypeF16: 10, warptrace.TypeBF16: 7, warptrace.TypeF8E4: 3, warptrace.TypeF8E5: 2,
	}[s.typ]
	most := 0
	for lanes := s.differ; lanes != 0; lanes &= lanes - 1 {
		v := values[bits.TrailingZeros64(lanes)] & (1<<mantissa - 1)
		if v != 0 {
			most = max(most, mantissa-bits.TrailingZeros64(v))
		}
	}
	return most
}

// ruleShifted: one side reads, pass after pass, what the other had read the pass before.
func ruleShifted(c *clues) []finding {
	if !c.from.ok || c.from.kind != site.Load && c.from.kind != site.Value && !isCompare(c.from.kind) {
		return nil
	}
	va, vb := columns(&c.wa, c.from.ia), columns(&c.wb, c.from.ib)
	for _, way := range []struct {
		late, early [][]uint64
		side, other string
	}{{vb, va, "B", "A"}, {va, vb, "A", "B"}} {
		hits, tries := 0, 0
		for p := 1; p < min(len(way.late), len(way.early)); p++ {
			if equalLanes(way.early[p], way.early[p-1]) {
				continue // does not change, so it says nothing
			}
			tries++
			if equalLanes(way.late[p], way.early[p-1]) {
				hits++
			}
		}
		if tries >= 2 && hits*4 >= tries*3 {
			text := fmt.Sprintf("%s reads at %s what %s had read one pass before, in %d of %d passes", way.side, c.from.place(), way.other, hits, tries)
			return []finding{{staleData, 14, text}, {race, -3, text}}
		}
	}
	return nil
}

// columns is what each pass of a site read, in order.
func columns(w *warptrace.Warp, event int) [][]uint64 {
	if event < 0 || event >= w.Len() {
		return nil
	}
	var passes [][]uint64
	for i, s := range w.Site {
		if s != w.Site[event] {
			continue
		}
		if snap := snapshotOf(w, i); snap != nil {
			if v := readValues(snap); v != nil {
				passes = append(passes, v)
				continue
			}
		}
		if w.Type[i] != warptrace.TypeNone {
			passes = append(passes, w.Value[i:i+1])
		}
		if len(passes) >= 1024 {
			break
		}
	}
	return passes
}

func readValues(s *warptrace.Snapshot) []uint64 {
	if s.Role == warptrace.RoleLoad {
		return s.Rhs
	}
	return s.Lhs
}

func equalLanes(x, y []uint64) bool {
	if len(x) != len(y) || len(x) == 0 {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

// ruleUninitialised: one side holds a pattern that memory has before anybody wrote it, or something else in every lane where the other
// side begins with a constant.
func ruleUninitialised(c *clues) []finding {
	if !c.from.ok {
		return nil
	}
	var found []finding
	for i := range c.from.sides {
		s := &c.from.sides[i]
		n := bits.OnesCount64(s.differ)
		if n == 0 || s.what == "address" || !s.whole {
			continue
		}
		if side, pattern := s.pattern(); side != "" {
			text := fmt.Sprintf("%s holds %s in every lane that differs at %s", side, pattern, c.from.place())
			found = append(found, finding{staleData, 7, text})
			continue
		}
		op := c.from.operand(s.what)
		if op == nil || op.Origin != site.FromConstant && (op.Origin != site.FromCarried || !c.firstPass()) {
			continue
		}
		if side := s.garbage(); side != "" {
			text := fmt.Sprintf("the %s of %s is one constant on one side and something else in every lane in %s: %s", s.what, c.from.place(), side, s.text())
			found = append(found, finding{staleData, 9, text})
		}
	}
	return found
}

// firstPass reports whether data differs when the warp passes its site for the first time.
func (c *warpClues) firstPass() bool {
	for i := range c.from.ia {
		if i < c.wa.Len() && c.wa.Site[i] == c.wa.Site[c.from.ia] {
			return false
		}
	}
	return true
}

// pattern recognises memory that nobody wrote.
func (s *sides) pattern() (side, name string) {
	for _, one := range []struct {
		side          string
		values, other []uint64
	}{{"A", s.a, s.b}, {"B", s.b, s.a}} {
		value, same, otherSame, first := uint64(0), true, true, -1
		for lanes := s.differ; lanes != 0; lanes &= lanes - 1 {
			k := bits.TrailingZeros64(lanes)
			if first < 0 {
				first, value = k, one.values[k]
				continue
			}
			same = same && one.values[k] == value
			otherSame = otherSame && one.other[k] == one.other[first]
		}
		if first < 0 || !same || otherSame {
			continue
		}
		switch low := value & (1<<min(32, max(8, s.typ.Bits())) - 1); low {
		case 0xcdcdcdcd, 0xcccccccc, 0xdeadbeef, 0xbaadf00d, 0xfeeefeee, 0xabababab, 0xaaaaaaaa, 0xffffffff, 0xcdcd, 0xffff:
			return one.side, fmt.Sprintf("0x%x, as memory that nobody wrote does,", low)
		}
	}
	return "", ""
}

// garbage is the side on which all lanes differ from a constant that the other side has everywhere, each in its own way.
func (s *sides) garbage() string {
	if bits.OnesCount64(s.differ) < 4 {
		return ""
	}
	for _, one := range []struct {
		side             string
		garbage, regular []uint64
	}{{"A", s.a, s.b}, {"B", s.b, s.a}} {
		seen := make(map[uint64]bool)
		constant := true
		first := bits.TrailingZeros64(s.lanes)
		for lanes := s.lanes; lanes != 0; lanes &= lanes - 1 {
			k := bits.TrailingZeros64(lanes)
			constant = constant && one.regular[k] == one.regular[first]
			if s.differ>>k&1 == 1 {
				seen[one.garbage[k]] = true
			}
		}
		if constant && len(seen)*2 > bits.OnesCount64(s.differ) {
			return one.side
		}
	}
	return ""
}
