package diff

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/recording/script"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// stream is one side of a pair of warps: the bytes of a v1 file, the symbols of a paths block, or columns.
type stream struct {
	n     int
	raw   warptrace.V1Events
	coded *warptrace.Coded // nil when raw is used
	ids   []uint32         // of coded: equal numbers on both sides are equal in everything but the value
	w     *warptrace.Warp  // nil when raw or coded is used
	taken bool             // taken masks were recorded
	info  warptrace.WarpInfo
}

// symbol is an event of coded.
func (s *stream) symbol(i int) *warptrace.Symbol { return &s.coded.Symbols[s.coded.IDs[i]] }

func (s *stream) site(i int) uint32 {
	if s.w != nil {
		return s.w.Site[i]
	}
	if s.coded != nil {
		return s.symbol(i).Site
	}
	return s.raw.Site(i)
}

func (s *stream) kind(i int) site.Kind {
	if s.w != nil {
		return s.w.Kind[i]
	}
	if s.coded != nil {
		return s.symbol(i).Kind
	}
	return s.raw.Kind(i)
}

func (s *stream) dir(i int) uint8 {
	if s.w != nil {
		return s.w.Dir[i]
	}
	if s.coded != nil {
		return s.symbol(i).Dir
	}
	return s.raw.Dir(i)
}

func (s *stream) active(i int) uint64 {
	if s.w != nil {
		return s.w.Active[i]
	}
	if s.coded != nil {
		return s.symbol(i).Active
	}
	return uint64(s.raw.Active(i))
}

func (s *stream) takenOf(i int) uint64 {
	if s.w != nil {
		return s.w.Taken[i]
	}
	if s.coded != nil {
		return s.symbol(i).Taken
	}
	return 0
}

func (s *stream) value(i int) (uint64, warptrace.ValueType) {
	if s.w != nil {
		return s.w.Value[i], s.w.Type[i]
	}
	if s.coded != nil {
		return s.coded.Value(i), s.symbol(i).Type
	}
	return uint64(s.raw.Value(i)), warptrace.TypeBits
}

// appendSites appends the local site numbers of events from <= i < to.
func (s *stream) appendSites(dst []uint32, from, to int) []uint32 {
	if s.w != nil {
		return append(dst, s.w.Site[from:to]...)
	}
	if s.coded != nil {
		return s.appendCodedSites(dst, from, to)
	}
	if need := len(dst) + to - from; cap(dst) < need {
		dst = append(make([]uint32, 0, need), dst...)
	}
	out := dst[len(dst) : len(dst)+to-from]
	b := s.raw[from*warptrace.V1EventBytes : to*warptrace.V1EventBytes]
	const size = warptrace.V1EventBytes
	i := 0
	for ; i+4 <= len(out); i += 4 { // bounds are checked once for four
		e, four := (*[4 * size]byte)(b), (*[4]uint32)(out[i:])
		four[0] = binary.LittleEndian.Uint32(e[0:])
		four[1] = binary.LittleEndian.Uint32(e[size:])
		four[2] = binary.LittleEndian.Uint32(e[2*size:])
		four[3] = binary.LittleEndian.Uint32(e[3*size:])
		b = b[4*size:]
	}
	for ; i < len(out); i++ {
		out[i] = binary.LittleEndian.Uint32(b)
		b = b[size:]
	}
	return dst[:len(dst)+to-from]
}

// appendCodedSites is appendSites of coded.
func (s *stream) appendCodedSites(dst []uint32, from, to int) []uint32 {
	at := len(dst)
	dst = slices.Grow(dst, to-from)[:at+to-from]
	out, symbols := dst[at:], s.coded.Symbols
	for i, id := range s.coded.IDs[from:to] {
		out[i] = symbols[id].Site
	}
	return dst
}

// The ways in which two events of one site can differ, as bits.
const (
	differBranch = 1 << RowBranch
	differMask   = 1 << RowActiveMask
	differValue  = 1 << RowValue
)

// decides reports whether the direction of an event of this kind is a decision.
func decides(k site.Kind) bool { return k == site.Branch || k == site.Switch || k == site.Predicate }

// streams are both sides of a pair, with what counts as a difference.
type streams struct {
	a, b   stream
	values bool
	limit  *Options
}

// differ says how event i of a and event j of b, which are of one site, differ. Where both sides recorded which lanes took the
// branch, a decision is another one when a lane that is active on both sides decided otherwise; else the leader's direction tells.
func (p *streams) differ(i, j int) uint8 {
	var d uint8
	activeA, activeB := p.a.active(i), p.b.active(j)
	if activeA != activeB {
		d |= differMask
	}
	if p.a.taken && p.b.taken {
		if (p.a.takenOf(i)^p.b.takenOf(j))&activeA&activeB != 0 {
			d |= differBranch
		}
	} else if p.a.dir(i) != p.b.dir(j) && decides(p.a.kind(i)) {
		d |= differBranch
	}
	if p.values && p.otherValue(i, j, d&differMask != 0) {
		d |= differValue
	}
	return d
}

// otherValue reports whether the values differ by more than is tolerated. A hash over lanes says nothing when the lanes differ.
func (p *streams) otherValue(i, j int, otherLanes bool) bool {
	va, ta := p.a.value(i)
	vb, tb := p.b.value(j)
	if ta == warptrace.TypeNone || tb == warptrace.TypeNone {
		return false
	}
	if ta != tb {
		return true
	}
	if va == vb && p.limit.NaN != naNNever || ta == warptrace.TypeHash && otherLanes {
		return false
	}
	return !p.limit.Tolerance.same(ta, va, vb, p.limit.NaN)
}

// rawBlock is how many bytes of v1 events are compared at once.
const rawBlock = 16 * warptrace.V1EventBytes

// next returns how many of n pairs of events from i and j on, which are of equal sites, do not differ.
func (p *streams) next(i, j, n int) int {
	k := 0
	switch {
	case p.coded():
		k = script.CommonPrefix(p.a.ids[i:i+n], p.b.ids[j:j+n])
	case p.raw() && (!p.values || p.limit.NaN != naNNever):
		k = p.nextRaw(i, j, n)
	}
	for k < n && p.differ(i+k, j+k) == 0 {
		k++
	}
	return k
}

// nextRaw is next by the bytes of v1 files. It may stop early, at a pair that has other bytes.
func (p *streams) nextRaw(i, j, n int) int {
	const size = warptrace.V1EventBytes
	x, y := p.a.raw[i*size:(i+n)*size], p.b.raw[j*size:(j+n)*size]
	k := 0
	for {
		for len(x) >= rawBlock && len(y) >= rawBlock && *(*[rawBlock]byte)(x) == *(*[rawBlock]byte)(y) {
			x, y = x[rawBlock:], y[rawBlock:]
			k += 16
		}
		stop := min(n, k+16) // the block that differs, or the rest
		if p.values {
			for k < stop && *(*[size]byte)(x) == *(*[size]byte)(y) {
				x, y = x[size:], y[size:]
				k++
			}
		} else {
			for k < stop && p.a.raw.SameControl(i+k, p.b.raw, j+k) {
				x, y = x[size:], y[size:]
				k++
			}
		}
		if k < stop || k >= n {
			return k
		}
	}
}

// raw reports whether both sides are bytes of v1.
func (p *streams) raw() bool {
	return p.a.w == nil && p.b.w == nil && p.a.coded == nil && p.b.coded == nil
}

// coded reports whether both sides are symbols.
func (p *streams) coded() bool { return p.a.coded != nil && p.b.coded != nil }

// prefix returns how many events at the beginning are the same in everything that counts, of bytes or symbols on both sides.
func (p *streams) prefix() int {
	if p.coded() {
		return script.CommonPrefix(p.a.ids, p.b.ids)
	}
	return p.nextRaw(0, 0, min(p.a.n, p.b.n))
}

// suffix is prefix from the end, within n events.
func (p *streams) suffix(n int) int {
	if p.coded() {
		return script.CommonSuffix(p.a.ids[p.a.n-n:], p.b.ids[p.b.n-n:])
	}
	const size = warptrace.V1EventBytes
	x, y := p.a.raw, p.b.raw
	k := 0
	for {
		for k+16 <= n && *(*[rawBlock]byte)(x[len(x)-(k+16)*size:]) == *(*[rawBlock]byte)(y[len(y)-(k+16)*size:]) {
			k += 16
		}
		stop := min(n, k+16)
		if p.values {
			for k < stop && *(*[size]byte)(x[len(x)-(k+1)*size:]) == *(*[size]byte)(y[len(y)-(k+1)*size:]) {
				k++
			}
		} else {
			for k < stop && x.SameControl(p.a.n-1-k, y, p.b.n-1-k) {
				k++
			}
		}
		if k < stop || k >= n {
			return k
		}
	}
}

// siteRuns are the sites of both sides, bytes of v1, without so many events at the ends. Nothing is copied: where sites are the same,
// nearly all events are, too, and those are told by whole blocks.
func (p *streams) siteRuns(head, tail int) *script.Runs {
	const size = warptrace.V1EventBytes
	a, b := p.a.raw[head*size:(p.a.n-tail)*size], p.b.raw[head*size:(p.b.n-tail)*size]
	return &script.Runs{
		A: p.a.n - head - tail, B: p.b.n - head - tail,
		Ahead: func(x, y, n int) int {
			u, v := a[x*size:(x+n)*size], b[y*size:(y+n)*size]
			k := 0
			for {
				for len(u) >= rawBlock && len(v) >= rawBlock && *(*[rawBlock]byte)(u) == *(*[rawBlock]byte)(v) {
					u, v = u[rawBlock:], v[rawBlock:]
					k += 16
				}
				stop := min(n, k+16) // the block that differs, or the rest
				for k < stop && a.Site(x+k) == b.Site(y+k) {
					u, v = u[size:], v[size:]
					k++
				}
				if k < stop || k >= n {
					return k
				}
			}
		},
		Back: func(x, y, n int) int {
			u, v := a[:x*size], b[:y*size]
			k := 0
			for {
				for k+16 <= n && *(*[rawBlock]byte)(u[len(u)-(k+16)*size:]) == *(*[rawBlock]byte)(v[len(v)-(k+16)*size:]) {
					k += 16
				}
				stop := min(n, k+16)
				for k < stop && a.Site(x-1-k) == b.Site(y-1-k) {
					k++
				}
				if k < stop || k >= n {
					return k
				}
			}
		},
	}
}

// leader is the lane that decides for a set of active lanes.
func leader(active uint64) int { return bits.TrailingZeros64(active) }
