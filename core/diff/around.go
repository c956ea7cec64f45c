package diff

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/recording/script"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// eventSeen is one event, taken out of its warp.
type eventSeen struct {
	site   int32 // local number; later, position in Result.Sites
	kind   site.Kind
	dir    uint8
	typ    warptrace.ValueType
	taken  bool // the mask is known
	active uint64
	lanes  uint64 // taken
	value  uint64
}

// pairSeen is an aligned row: an event of A, of B, or of both. An absent one has the index -1.
type pairSeen struct {
	eventA, eventB int32
	a, b           eventSeen
	mark           byte // as Context.Mark
}

func seen(s *stream, i int) eventSeen {
	e := eventSeen{site: int32(s.site(i)), kind: s.kind(i), dir: s.dir(i), active: s.active(i), lanes: s.takenOf(i), taken: s.taken}
	e.value, e.typ = s.value(i)
	return e
}

// around takes the events around the first row of a warp out of it: n before and about n after. Of longer runs that one side
// lacks only the first n are taken.
func around(p *streams, al alignment, r *Row, n int) []pairSeen {
	i, j := int(r.EventA), int(r.EventB)
	back := min(n, i-al.startA, j-al.startB)
	rows := make([]pairSeen, 0, back+2*n+2)
	for k := -back; k < 0; k++ {
		rows = append(rows, p.seenPair(i+k, j+k))
	}
	edits := al.edits
	for len(edits) > 0 && int(edits[0].A) < i {
		edits = edits[1:]
	}
	for after := 0; after <= n; {
		if len(edits) > 0 && int(edits[0].A) == i && int(edits[0].B) == j {
			rows = p.seenGap(rows, &edits[0], n)
			i, j = i+int(edits[0].Del), j+int(edits[0].Ins)
			edits = edits[1:]
			after++
			continue
		}
		if i >= p.a.n || j >= p.b.n {
			break
		}
		rows = append(rows, p.seenPair(i, j))
		i, j, after = i+1, j+1, after+1
	}
	return rows
}

func (p *streams) seenPair(i, j int) pairSeen {
	mark := byte('=')
	if p.differ(i, j) != 0 {
		mark = '!'
	}
	return pairSeen{int32(i), int32(j), seen(&p.a, i), seen(&p.b, j), mark}
}

func (p *streams) seenGap(rows []pairSeen, e *script.Edit, n int) []pairSeen {
	for k := range min(int(e.Del), n) {
		rows = append(rows, pairSeen{eventA: e.A + int32(k), eventB: -1, a: seen(&p.a, int(e.A)+k), mark: '-'})
	}
	for k := range min(int(e.Ins), n) {
		rows = append(rows, pairSeen{eventA: -1, eventB: e.B + int32(k), b: seen(&p.b, int(e.B)+k), mark: '+'})
	}
	return rows
}

// text says in words what an event was.
func (e *eventSeen) text(wave int) string {
	digits := max(wave, 4) / 4
	var b strings.Builder
	switch {
	case e.taken && decides(e.kind):
		fmt.Fprintf(&b, "taken 0x%0*x of 0x%0*x", digits, e.lanes&e.active, digits, e.active)
	case decides(e.kind):
		fmt.Fprintf(&b, "direction %d, lanes 0x%0*x", e.dir, digits, e.active)
	default:
		fmt.Fprintf(&b, "lanes 0x%0*x", digits, e.active)
	}
	if e.typ != warptrace.TypeNone {
		b.WriteString(", value " + warptrace.FormatValue(e.value, e.typ))
	}
	return b.String()
}

// context spells the rows around a divergence for a document.
func (r *Result) context(rows []pairSeen) []Context {
	wave := max(r.A.WaveSize, r.B.WaveSize)
	all := make([]Context, 0, len(rows))
	for k := range rows {
		row := &rows[k]
		e := &row.a
		if row.eventA < 0 {
			e = &row.b
		}
		c := Context{EventA: int64(row.eventA), EventB: int64(row.eventB), SiteKind: e.kind.String(), Mark: string(row.mark)}
		if e.site != None {
			c.SiteID, c.Location = r.Sites[e.site].Name(), r.Sites[e.site].Location()
		}
		if row.eventA >= 0 {
			c.TextA = row.a.text(wave)
		}
		if row.eventB >= 0 {
			c.TextB = row.b.text(wave)
		}
		all = append(all, c)
	}
	return all
}
