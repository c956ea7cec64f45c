package warptracetest

import (
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// EditKind is what one edit does.
type EditKind string

// The kinds of edits.
const (
	Insert     EditKind = "insert"  // events that A has not
	Delete     EditKind = "delete"  // events that B has not
	Replace    EditKind = "replace" // other events in their place
	FlipBranch EditKind = "branch"  // the leader of one event decides otherwise
	ChangeMask EditKind = "mask"    // one lane more or less at one event
	ChangeBits EditKind = "value"   // the value of one event
)

var allEdits = []EditKind{Insert, Delete, Replace, FlipBranch, ChangeMask, ChangeBits}

// Edits says how to change a recording. The zero value of a field takes the default.
type Edits struct {
	Seed   uint64
	Count  int     // edits of each warp at most, default 1
	Rate   float64 // instead of Count: edits for each event
	MinRun int     // events of an insertion, deletion or replacement, default 1
	MaxRun int     // default MinRun
	Share  float64 // of the warps that are edited, 0: all
	Kinds  []EditKind
}

// Applied is one edit as it was made.
type Applied struct {
	Warp   uint64   `json:"warp"`
	Kind   EditKind `json:"kind"`
	At     int      `json:"at"`      // event of A
	AtB    int      `json:"at_b"`    // event of B
	Count  int      `json:"count"`   // events of A that it concerns
	CountB int      `json:"count_b"` // events of B
}

// Truth is what is known about a pair of recordings.
type Truth struct {
	First        *Difference  `json:"first"`         // of the lowest warp that differs, values included; null: equal
	FirstControl *Difference  `json:"first_control"` // likewise when values do not count
	Warps        []Difference `json:"warps"`         // the first difference of every warp that differs, values included
	Edits        []Applied    `json:"edits,omitempty"`
	Cost         int64        `json:"cost"` // events that the edits insert and delete: the shortest script costs at most that
	Bug          *Bug         `json:"bug,omitempty"`
}

// Edit makes a second recording of the first. Positions in rings follow their events; what they hold stays.
func Edit(a *Recording, e Edits) (*Recording, *Truth) {
	b := &Recording{Header: a.Header, Sites: a.Sites, Noise: a.Noise, Program: a.Program, Warps: make([]warptrace.Warp, len(a.Warps))}
	t := &Truth{}
	for i := range a.Warps {
		ed := e.Editor(a.Warps[i].Warp, a.Sites, a.Header.WaveSize)
		ed.Edit(&a.Warps[i], &b.Warps[i])
		t.Edits = append(t.Edits, ed.Applied...)
		t.Cost += ed.Cost
	}
	t.Judge(a, b)
	return b, t
}

// Judge fills in where two recordings first differ.
func (t *Truth) Judge(a, b *Recording) {
	t.Warps = Compare(a, b, WithValues)
	t.decide()
	t.First, t.FirstControl = nil, nil
	if len(t.Warps) > 0 {
		t.First = &t.Warps[0]
	}
	if control := Compare(a, b, WithoutValues); len(control) > 0 {
		t.FirstControl = &control[0]
	}
}

// decide names the kind of a difference where the sites differ and a single edit says what it is.
func (t *Truth) decide() {
	k := 0
	for i := range t.Warps {
		d := &t.Warps[i]
		for k < len(t.Edits) && t.Edits[k].Warp < d.Warp {
			k++
		}
		if len(d.Kinds) == 2 && d.Kinds[0] == "Path" && k < len(t.Edits) && t.Edits[k].Warp == d.Warp && t.Edits[k].At == d.Event {
			lone := k+1 == len(t.Edits) || t.Edits[k+1].Warp != d.Warp
			if lone && t.Edits[k].Kind != Replace {
				d.Kinds = []string{"ExtraEvents"}
			}
		}
	}
}

// Editor changes one warp.
type Editor struct {
	Applied []Applied
	Cost    int64

	r     *Random
	e     Edits
	warp  uint64
	sites *site.Table
	wave  int
	a, b  *warptrace.Warp
	moved []int32 // by event of A: its place in B, -1 deleted
}

// Editor returns what makes the edits of one warp; they depend on the seed and the warp's number only.
func (e Edits) Editor(warp uint64, sites *site.Table, wave int) *Editor {
	e.Count, e.MinRun = max(1, e.Count), max(1, e.MinRun)
	e.MaxRun = max(e.MinRun, e.MaxRun)
	if len(e.Kinds) == 0 {
		e.Kinds = allEdits
	}
	return &Editor{r: NewRandom(e.Seed, 7, warp), e: e, warp: warp, sites: sites, wave: wave}
}

// Edit makes b from a.
func (d *Editor) Edit(a, b *warptrace.Warp) {
	d.a, d.b = a, b
	rings := len(a.Snapshots)+len(a.History) > 0
	if rings {
		d.moved = make([]int32, a.Len())
	}
	*b = warptrace.Warp{WarpInfo: a.WarpInfo}
	grow(b, a.Len()+a.Len()/8)
	at := 0
	for _, next := range d.positions() {
		if next < at {
			continue
		}
		d.keep(at, next)
		at = d.one(next)
	}
	d.keep(at, a.Len())
	b.Events = uint32(b.Len())
	b.Stored, b.Total = b.Events, uint64(b.Events)+b.Dropped
	if rings {
		d.rings()
	}
}

// positions chooses where the edits are, ascending.
func (d *Editor) positions() []int {
	n := d.e.Count
	if d.e.Rate > 0 {
		mean := d.e.Rate * float64(d.a.Len())
		n = int(mean)
		if d.r.share() < mean-float64(n) {
			n++
		}
	}
	if d.e.Share > 0 && d.r.share() >= d.e.Share {
		n = 0
	}
	out := make([]int, n)
	for i := range out {
		out[i] = d.r.Below(d.a.Len() + 1)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// keep copies events of A.
func (d *Editor) keep(from, to int) {
	if d.moved != nil {
		for i := from; i < to; i++ {
			d.moved[i] = int32(d.b.Len() + i - from)
		}
	}
	appendRun(d.b, d.a, from, to)
}

// one makes one edit before event at and returns the next event of A.
func (d *Editor) one(at int) int {
	kind := d.e.Kinds[d.r.Below(len(d.e.Kinds))]
	run := d.r.Between(d.e.MinRun, d.e.MaxRun)
	rest := d.a.Len() - at
	done := Applied{Warp: d.warp, Kind: kind, At: at, AtB: d.b.Len()}
	switch kind {
	case Insert:
		d.insert(at, run)
		done.CountB = run
	case Delete, Replace:
		done.Count = min(run, rest)
		if kind == Replace && rest > 0 {
			done.CountB = d.r.Between(max(1, done.Count/2), done.Count+done.Count/2)
			d.insert(at, done.CountB)
		}
		for i := range done.Count {
			if d.moved != nil {
				d.moved[at+i] = -1
			}
		}
	default:
		if rest == 0 {
			return at
		}
		done.Count, done.CountB = 1, 1
		d.keep(at, at+1)
		done.Kind = d.alter(kind)
		d.Applied = append(d.Applied, done)
		return at + 1
	}
	if done.Count+done.CountB == 0 {
		return at
	}
	d.Cost += int64(done.Count + done.CountB)
	d.Applied = append(d.Applied, done)
	return at + done.Count
}

// insert adds events: another round of what came before, a piece from elsewhere, or anything.
func (d *Editor) insert(at, n int) {
	switch from := d.r.Below(3); {
	case from == 0 && at >= n:
		appendRun(d.b, d.a, at-n, at)
	case from == 1 && d.a.Len() > n:
		start := d.r.Below(d.a.Len() - n + 1)
		appendRun(d.b, d.a, start, start+n)
	default:
		for range n {
			d.anything()
		}
	}
}

// anything adds an event of any site.
func (d *Editor) anything() {
	k := d.r.Below(d.sites.Len())
	kind := d.sites.At(k).Kind
	active := d.r.Next()>>(64-d.wave) | 1<<d.r.Below(d.wave)
	taken, dir := active, uint8(0)
	if decides(kind) {
		taken &= d.r.Next()
		dir = uint8(taken >> bits.TrailingZeros64(active) & 1)
	}
	b := d.b
	b.Site, b.Kind, b.Dir, b.Aux = append(b.Site, uint32(k)), append(b.Kind, kind), append(b.Dir, dir), append(b.Aux, 0)
	b.Active, b.Taken = append(b.Active, active), append(b.Taken, taken)
	b.Value, b.Type = append(b.Value, uint64(d.r.Below(256))), append(b.Type, warptrace.TypeI32)
}

// alter changes the last event of B, and says how: an event without a decision has none to flip.
func (d *Editor) alter(kind EditKind) EditKind {
	b, i := d.b, d.b.Len()-1
	leader := bits.TrailingZeros64(b.Active[i])
	if kind == FlipBranch && b.Kind[i] != site.Branch {
		kind = ChangeMask
	}
	switch kind {
	case FlipBranch:
		b.Dir[i] ^= 1
		b.Taken[i] ^= 1 << leader
	case ChangeMask:
		lane := leader + 1 + d.r.Below(max(1, d.wave-leader-1))
		if lane >= d.wave { // the leader is the last lane: another leads
			lane = d.r.Below(d.wave - 1)
		}
		b.Active[i] ^= 1 << lane
		if b.Taken[i] |= 1 << lane; !decides(b.Kind[i]) {
			b.Taken[i] = b.Active[i]
		}
		b.Taken[i] &= b.Active[i]
		if lane < leader {
			b.Dir[i] = uint8(b.Taken[i] >> lane & 1)
		}
	case ChangeBits:
		b.Value[i] ^= 1 << d.r.Below(8)
		if b.Type[i] == warptrace.TypeNone {
			b.Type[i] = warptrace.TypeI32
		}
	}
	return kind
}

// rings moves the entries of rings along with their events.
func (d *Editor) rings() {
	for _, s := range d.a.Snapshots {
		if s.Event >= 0 {
			if s.Event = d.moved[s.Event]; s.Event < 0 {
				continue
			}
		}
		d.b.Snapshots = append(d.b.Snapshots, s)
	}
	for _, h := range d.a.History {
		if h.Event >= 0 {
			if h.Event = d.moved[h.Event]; h.Event < 0 {
				continue
			}
		}
		d.b.History = append(d.b.History, h)
	}
}

func grow(w *warptrace.Warp, n int) {
	w.Site, w.Kind, w.Dir, w.Aux = slices.Grow(w.Site, n), slices.Grow(w.Kind, n), slices.Grow(w.Dir, n), slices.Grow(w.Aux, n)
	w.Active, w.Taken, w.Value, w.Type = slices.Grow(w.Active, n), slices.Grow(w.Taken, n), slices.Grow(w.Value, n), slices.Grow(w.Type, n)
}

func appendRun(to, from *warptrace.Warp, i, j int) {
	to.Site, to.Kind = append(to.Site, from.Site[i:j]...), append(to.Kind, from.Kind[i:j]...)
	to.Dir, to.Aux = append(to.Dir, from.Dir[i:j]...), append(to.Aux, from.Aux[i:j]...)
	to.Active, to.Taken = append(to.Active, from.Active[i:j]...), append(to.Taken, from.Taken[i:j]...)
	to.Value, to.Type = append(to.Value, from.Value[i:j]...), append(to.Type, from.Type[i:j]...)
}
