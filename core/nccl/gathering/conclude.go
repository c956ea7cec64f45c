package gathering

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/verdict"
)

// census is which ranks of which communicators have a recording.
type census map[uint64]*community

// community is a communicator.
type community struct {
	name  string
	ranks int32 // 0: NCCL did not say it
	seen  map[int32]bool
}

// mostRanks bounds what a file may claim.
const mostRanks = 1 << 20

func (c census) add(f *segment.File) {
	for i := range f.Comms {
		m := &f.Comms[i]
		id := m.ID
		if id == 0 {
			id = m.Hash
		}
		if id == 0 || m.Rank < 0 {
			continue
		}
		if c[id] == nil {
			c[id] = &community{name: m.Name, seen: map[int32]bool{}}
		}
		c[id].seen[m.Rank] = true
		if m.Ranks > 0 && m.Ranks <= mostRanks {
			c[id].ranks = max(c[id].ranks, m.Ranks)
		}
	}
}

// beside adds the recordings that lie in a folder already.
func (c census) beside(ctx context.Context, folder string) {
	all, _ := filepath.Glob(filepath.Join(folder, "*.prlx-nccl"))
	for _, path := range all {
		if f, err := segment.Open(ctx, path); err == nil {
			c.add(f)
			f.Close()
		}
	}
}

// evidence says of how many ranks there are recordings: of the largest communicator that a job has, and of those that lack one.
func (c census) evidence(e *verdict.Evidence) {
	told, most := len(c) > 0, 0
	lacks := false
	for _, id := range slices.Sorted(maps.Keys(c)) {
		m := c[id]
		told, most = told && m.ranks > 0, max(most, len(m.seen))
		name := m.name
		if name == "" {
			name = fmt.Sprintf("%#x", id)
		}
		for r := range m.ranks {
			if !m.seen[r] {
				lacks = true
				e.Missed(fmt.Sprintf("recording of rank %d of %s", r, name), 1, "no file of it")
			}
		}
	}
	switch {
	case told && !lacks:
		e.LookedOf("ranks", int64(most), int64(most))
	case told:
		e.Looked("ranks", int64(most))
	default:
		e.Looked("ranks", int64(most))
		e.Lacks("other ranks", fmt.Sprintf("%d seen, total unknown: not every communicator says how many it has", most))
	}
}

// conclude says whether the recordings of all ranks are whole, and were brought.
func (d *Document) conclude(ranks census) {
	var e verdict.Evidence
	e.Looked("files", int64(len(d.Files)))
	ranks.evidence(&e)
	var wrong []string
	for i := range d.Files {
		row := &d.Files[i]
		switch {
		case row.Outcome == differs || row.Outcome == unreadable:
			wrong = append(wrong, row.Name+": "+row.Problem)
		case len(row.Harm) > 0:
			wrong = append(wrong, row.Name+" is damaged: "+strings.Join(row.Harm, ", "))
		case row.State == states[segment.Making]:
			e.Missed("file", 1, row.Name+" was never finished being made")
		}
	}
	why := fmt.Sprintf("%d recordings of %d hosts are whole", len(d.Files), d.Hosts)
	if n := len(wrong); n > 0 {
		why = wrong[0]
		if n > 1 {
			why += fmt.Sprintf("; and %d more files", n-1)
		}
	}
	d.Conclusion = e.Check(len(wrong) > 0, why)
}
