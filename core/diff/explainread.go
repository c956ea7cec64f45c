package diff

import (
	"context"
	"math/bits"
	"path"
	"strconv"

	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// clues is what the recordings hold about one divergence, before anything is concluded: three values, each read whole before a rule looks at it.
type clues struct {
	warpClues
	launchClues
	code codeClues
	r    *Result
}

// warpClues is what the warp of the divergence did on both sides. Nothing is known where only what was stored differs: row is nil then.
type warpClues struct {
	row    *Row
	rows   []Row     // of all warps
	sites  []SiteRef // to which rows refer
	a, b   *warptrace.Trace
	wa, wb warptrace.Warp
	back   [][2]int // events of A and B that were the same sites, from just before the divergence back
	at     spot     // the divergence
	from   spot     // the earliest difference of data at or before it in the warp
	carry  *carried // the earliest value of the history that differs
	whole  bool     // a side without a partner has the operands of every lane
}

// launchClues is what the two launches were given, and what is known of their builds.
type launchClues struct {
	given   []Given               // what they were given differently
	written [2]*warptrace.Outputs // nil: not known
	headers [2]*warptrace.Header
	changes *edits.Changes // nil: the texts are not known
}

// spot is one place of the warp on both sides.
type spot struct {
	ok           bool
	ia, ib       int // events; -1: none on that side
	name         string
	siteA, siteB *site.Site // nil unknown
	kind         site.Kind
	sides        []sides
}

// sides is one thing that was recorded on both sides.
type sides struct {
	what   string // "lhs", "rhs", "address", "value", "result", "operand", "old value"
	typ    warptrace.ValueType
	a, b   []uint64 // by lane; one element where only one lane was recorded
	lanes  uint64   // recorded on both sides
	differ uint64   // of these
	whole  bool     // every lane was recorded
}

// carried is a value on its way to a compare (history of v1).
type carried struct {
	site *site.Site
	name string
	a, b uint64
}

// readClues reads what the recordings hold, and what of it cannot be followed.
func readClues(ctx context.Context, r *Result, a, b *warptrace.Trace, row *Row, tested *Tested) (c *clues, warnings []string, err error) {
	c = &clues{r: r}
	if c.launchClues, err = readLaunch(ctx, r.Given, r.Changes, a, b); err != nil {
		return nil, nil, err
	}
	var ref *SiteRef
	if row != nil && siteOfRow(row) != None {
		ref = &r.Sites[siteOfRow(row)]
	}
	if c.code, err = readCode(ctx, &c.launchClues, suspects{outputs: r.outputs, findings: &r.findings, site: ref, traces: [2]*warptrace.Trace{a, b}}, [2]*warptrace.Texts{r.TextsA, r.TextsB}, tested); err != nil {
		warnings, err = append(warnings, err.Error()), nil
	}
	c.warpClues, err = readWarps(ctx, r.Rows, r.Sites, row, a, b)
	return c, warnings, err
}

// readLaunch reads what two launches were given and wrote.
func readLaunch(ctx context.Context, given []Given, changes *edits.Changes, a, b *warptrace.Trace) (c launchClues, err error) {
	c = launchClues{given: given, changes: changes, headers: [2]*warptrace.Header{a.Header(), b.Header()}}
	for side, t := range []*warptrace.Trace{a, b} {
		if c.written[side], err = t.Outputs(ctx); err != nil {
			return c, err
		}
	}
	return c, nil
}

// readWarps reads the warp of a row on both sides.
func readWarps(ctx context.Context, rows []Row, sites []SiteRef, row *Row, a, b *warptrace.Trace) (w warpClues, err error) {
	w = warpClues{row: row, rows: rows, sites: sites, a: a, b: b}
	if row == nil {
		return w, nil // every warp went the same way: what is known is in the code
	}
	if err := a.ReadWarp(ctx, row.Warp, &w.wa); err != nil {
		return w, err
	}
	if err := b.ReadWarp(ctx, row.Warp, &w.wb); err != nil {
		return w, err
	}
	ia, ib := int(row.EventA), int(row.EventB)
	w.at = w.spotAt(ia, ib)
	if row.Kind == RowExtraEvents || row.Kind == RowPath {
		w.at, w.whole = w.lonely(ia, ib)
	}
	w.at.ok = true
	for ia, ib = ia-1, ib-1; ia >= 0 && ib >= 0 && ia < w.wa.Len() && ib < w.wb.Len() && w.sameSite(ia, ib); ia, ib = ia-1, ib-1 {
		w.back = append(w.back, [2]int{ia, ib})
	}
	if lhs, rhs := w.at.side("lhs"), w.at.side("rhs"); lhs == nil || rhs == nil || !lhs.whole || lhs.differ|rhs.differ != 0 {
		w.from, w.carry = w.earliest(), w.history()
	} // else nothing from before came through: both operands are the same
	return w, nil
}

// lonely is the spot of a divergence whose events have no partner: what is on either side stands alone. whole: a side has the operands of every lane.
func (c *warpClues) lonely(ia, ib int) (s spot, whole bool) {
	s = spot{ia: ia, ib: ib, kind: c.sites[siteOfRow(c.row)].Kind, name: c.sites[siteOfRow(c.row)].Name()}
	if c.row.SiteA != None && ia < c.wa.Len() {
		whole = snapshotOf(&c.wa, ia) != nil
	}
	if c.row.SiteB != None && ib < c.wb.Len() {
		whole = whole || snapshotOf(&c.wb, ib) != nil
	}
	ref := &c.sites[siteOfRow(c.row)]
	if ref.LocalA >= 0 {
		s.siteA, _ = c.a.SiteOf(uint32(ref.LocalA))
	}
	if ref.LocalB >= 0 {
		s.siteB, _ = c.b.SiteOf(uint32(ref.LocalB))
	}
	return s, whole
}

func (c *warpClues) spotAt(ia, ib int) spot {
	s := spot{ok: true, ia: ia, ib: ib}
	if ia >= c.wa.Len() || ib >= c.wb.Len() {
		return s
	}
	s.kind = c.wa.Kind[ia]
	s.siteA, _ = c.a.SiteOf(c.wa.Site[ia])
	s.siteB, _ = c.b.SiteOf(c.wb.Site[ib])
	ref := SiteRef{ID: c.a.SiteID(c.wa.Site[ia]), Wide: c.a.Header().Version > 1}
	s.name = ref.Name()
	s.sides = c.sidesAt(ia, ib)
	return s
}

// sameSite reports whether an event of A and one of B passed the same site.
func (c *warpClues) sameSite(ia, ib int) bool {
	if c.wa.Kind[ia] != c.wb.Kind[ib] {
		return false
	}
	if c.a.SiteID(c.wa.Site[ia]) == c.b.SiteID(c.wb.Site[ib]) {
		return true
	}
	sa, okA := c.a.SiteOf(c.wa.Site[ia])
	sb, okB := c.b.SiteOf(c.wb.Site[ib])
	return okA && okB && sa.Where().Line > 0 && sa.Where() == sb.Where() && sa.Occurrence == sb.Occurrence
}

// sidesAt is everything that both sides recorded at an event.
func (c *warpClues) sidesAt(ia, ib int) []sides {
	sa, sb := snapshotOf(&c.wa, ia), snapshotOf(&c.wb, ib)
	var found []sides
	if sa != nil && sb != nil && sa.Role == sb.Role {
		lhs, rhs := roleNames(sa.Role)
		lanes := sa.Active & sb.Active
		found = append(found, laneSides(lhs, typeOf(sa.Role, true, sa.Type), sa.Lhs, sb.Lhs, lanes))
		if sa.Rhs != nil && sb.Rhs != nil {
			found = append(found, laneSides(rhs, typeOf(sa.Role, false, sa.Type), sa.Rhs, sb.Rhs, lanes))
		}
	}
	// The value of an event is that of its leader. It adds to a snapshot where lanes made one value together.
	together := sa != nil && sa.Role == warptrace.RoleValue
	if (len(found) == 0 || together) && c.wa.Type[ia] == c.wb.Type[ib] && c.wa.Type[ia] != warptrace.TypeNone {
		one := sides{what: "value", typ: c.wa.Type[ia], a: c.wa.Value[ia : ia+1], b: c.wb.Value[ib : ib+1], lanes: 1}
		if c.wa.Kind[ia] == site.Atomic {
			one.what = "old value"
		}
		if len(found) > 0 {
			one.what = "result"
		}
		one.differ = differing(&one)
		found = append(found, one)
	}
	return found
}

// typeOf is the type of one of the two columns of a snapshot: addresses are pointers, whatever is stored there.
func typeOf(role warptrace.SnapshotRole, first bool, t warptrace.ValueType) warptrace.ValueType {
	if first && (role == warptrace.RoleStore || role == warptrace.RoleLoad) {
		return warptrace.TypePtr
	}
	return t
}

func roleNames(role warptrace.SnapshotRole) (lhs, rhs string) {
	switch role {
	case warptrace.RoleAtomic:
		return "operand", "old value"
	case warptrace.RoleStore, warptrace.RoleLoad:
		return "address", "value"
	case warptrace.RoleValue:
		return "value", ""
	}
	return "lhs", "rhs"
}

func laneSides(what string, t warptrace.ValueType, a, b []uint64, lanes uint64) sides {
	n := min(len(a), len(b), 64)
	s := sides{what: what, typ: t, a: a[:n], b: b[:n], whole: true}
	if n < 64 {
		lanes &= 1<<n - 1
	}
	s.lanes = lanes
	s.differ = differing(&s)
	return s
}

// differing is the lanes in which two values are not the same number.
func differing(s *sides) uint64 {
	var differ uint64
	for lanes := s.lanes; lanes != 0; lanes &= lanes - 1 {
		k := bits.TrailingZeros64(lanes)
		if s.a[k] == s.b[k] {
			continue
		}
		if x, y, ok := warptrace.Floats(s.a[k], s.b[k], s.typ); ok && (x == y || x != x && y != y) {
			continue
		}
		differ |= 1 << k
	}
	return differ
}

// snapshotOf is the snapshot of an event, nil when there is none.
func snapshotOf(w *warptrace.Warp, event int) *warptrace.Snapshot {
	for i := range w.Snapshots {
		if s := &w.Snapshots[i]; int(s.Event) == event && s.Site == w.Site[event] {
			return s
		}
	}
	return nil
}

// earliest is the first place of the warp where data differs and is no noise, up to the divergence itself.
func (c *warpClues) earliest() spot {
	noise := make(map[int32]bool)
	for i := range c.rows {
		if row := &c.rows[i]; row.Noise && row.Warp == c.row.Warp {
			noise[row.EventA] = true
		}
	}
	for i := len(c.back) - 1; i >= 0; i-- {
		ia, ib := c.back[i][0], c.back[i][1]
		if noise[int32(ia)] {
			continue
		}
		for _, s := range c.sidesAt(ia, ib) {
			if s.differ != 0 {
				return c.spotAt(ia, ib)
			}
		}
	}
	for _, s := range c.at.sides {
		if s.differ != 0 {
			return c.at
		}
	}
	return spot{}
}

// history is the first entry of the history that differs, before the divergence as far as that is known.
func (c *warpClues) history() *carried {
	for i := range min(len(c.wa.History), len(c.wb.History)) {
		x, y := c.wa.History[i], c.wb.History[i]
		if x.Site != y.Site && c.a.SiteID(x.Site) != c.b.SiteID(y.Site) || x.Seq != y.Seq {
			return nil // the rings do not begin at the same place
		}
		if x.Event >= 0 && int(x.Event) > c.at.ia {
			return nil
		}
		if x.Value != y.Value {
			ref := SiteRef{ID: c.a.SiteID(x.Site), Wide: c.a.Header().Version > 1}
			s, _ := c.a.SiteOf(x.Site)
			return &carried{site: s, name: ref.Name(), a: x.Value, b: y.Value}
		}
	}
	return nil
}

// site is the site as A knows it, else as B does; nil unknown.
func (s *spot) site() *site.Site {
	if s.siteA != nil {
		return s.siteA
	}
	return s.siteB
}

// place is the spot in short: "softmax.py:41", else the site's name.
func (s *spot) place() string { return placeOf(s.site(), s.name) }

func placeOf(s *site.Site, name string) string {
	if s == nil {
		return "site " + name
	}
	w := s.Shown()
	switch {
	case w.File != "" && w.Line > 0:
		return path.Base(w.File) + ":" + strconv.FormatUint(uint64(w.Line), 10)
	case w.Function != "":
		return w.Function
	}
	return "site " + name
}

// side finds what was recorded under a name.
func (s *spot) side(what string) *sides {
	for i := range s.sides {
		if s.sides[i].what == what {
			return &s.sides[i]
		}
	}
	return nil
}

// operand finds the provenance of an operand by its role.
func (s *spot) operand(role string) *site.Operand {
	for _, known := range []*site.Site{s.siteA, s.siteB} {
		if known == nil {
			continue
		}
		for i := range known.Operands {
			if known.Operands[i].Role == role {
				return &known.Operands[i]
			}
		}
	}
	return nil
}

const maxProvenance = 256 // operands that are looked at; tables come from files

// origins is the set of origins in the tree of an operand, as bits by Origin.
func origins(op *site.Operand) uint32 {
	var set uint32
	left := maxProvenance
	var visit func(op *site.Operand)
	visit = func(op *site.Operand) {
		if left--; left < 0 {
			return
		}
		if op.Origin < 32 {
			set |= 1 << op.Origin
		}
		for i := range op.Inputs {
			visit(&op.Inputs[i])
		}
	}
	if op != nil {
		visit(op)
	}
	return set
}

func comesFrom(set uint32, any ...site.Origin) bool {
	for _, o := range any {
		if set&(1<<o) != 0 {
			return true
		}
	}
	return false
}
