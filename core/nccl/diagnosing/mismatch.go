package diagnosing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// passed is one of the things that all members of an operation must pass alike.
type passed struct {
	what string
	of   func(r *operation.Recording, op *operation.Op) string
	only func(m *operation.Match) bool // nil: of all operations
}

// rooted are the functions that have a root.
var rooted = []string{"Broadcast", "Reduce", "Gather", "Scatter"}

var alike = []passed{
	{"count", func(r *operation.Recording, op *operation.Op) string { return count(r, op) }, nil},
	{"datatype", func(r *operation.Recording, op *operation.Op) string { return r.Name(op.Datatype) }, nil},
	{"root", func(_ *operation.Recording, op *operation.Op) string { return fmt.Sprint(op.Peer) }, func(m *operation.Match) bool { return slices.Contains(rooted, m.Func) }},
	{"algorithm", func(r *operation.Recording, op *operation.Op) string { return r.Name(op.Algorithm) }, nil},
	{"protocol", func(r *operation.Recording, op *operation.Op) string { return r.Name(op.Protocol) }, nil},
}

// count is what the program passed where that is known: what NCCL schedules may be in bytes.
func count(r *operation.Recording, op *operation.Op) string {
	if op.API >= 0 && op.Kind == operation.Collective && r.APIs[op.API].Func == op.Func {
		return fmt.Sprint(r.APIs[op.API].Count)
	}
	return fmt.Sprint(op.Count)
}

// mismatches are operations to which members passed different things.
type mismatches struct {
	found
	looked string // whether anything was compared
}

// lookForMismatches compares what members passed to one operation.
func lookForMismatches(d *dossier) (out mismatches) {
	looked := 0
	for mi := range d.job.Matches {
		m := &d.job.Matches[mi]
		parts := d.sound(m)
		if len(parts) < 2 {
			continue
		}
		looked++
		for k := range alike {
			if a := &alike[k]; (a.only == nil || a.only(m)) && d.differs(parts, a) {
				out.add(d.different(int32(mi), parts, a))
				break
			}
		}
	}
	out.looked = lookedNone
	if looked == 0 {
		out.looked = lookedUnknown
	}
	return out
}

// differs is the quick look at what nearly always is alike.
func (d *dossier) differs(parts []operation.Part, a *passed) bool {
	p := &parts[0]
	r, op := d.job.Recordings[p.Recording], d.job.Op(p)
	for i := range parts[1:] {
		q := &parts[1+i]
		s, other := d.job.Recordings[q.Recording], d.job.Op(q)
		switch a.what {
		case "count":
			if op.Count == other.Count && (op.API < 0 || other.API < 0 || r.APIs[op.API].Count == s.APIs[other.API].Count) {
				continue
			}
		case "root":
			if op.Peer == other.Peer {
				continue
			}
		case "datatype":
			if r.Name(op.Datatype) == s.Name(other.Datatype) {
				continue
			}
		case "algorithm":
			if r.Name(op.Algorithm) == s.Name(other.Algorithm) {
				continue
			}
		case "protocol":
			if r.Name(op.Protocol) == s.Name(other.Protocol) {
				continue
			}
		}
		if x, y := a.of(r, op), a.of(s, other); x != y && x != "" && y != "" {
			return true
		}
	}
	return false
}

// different is an operation to which members passed different things: those who are fewer are named.
func (d *dossier) different(mi int32, parts []operation.Part, a *passed) *Finding {
	by := map[string][]int32{}
	var values []string
	for i := range parts {
		p := &parts[i]
		v := a.of(d.job.Recordings[p.Recording], d.job.Op(p))
		if by[v] == nil {
			values = append(values, v)
		}
		by[v] = append(by[v], p.Rank)
	}
	slices.SortStableFunc(values, func(x, y string) int { return cmp.Or(cmp.Compare(len(by[y]), len(by[x])), cmp.Compare(x, y)) })
	var odd []int32
	for _, v := range values[1:] {
		odd = append(odd, by[v]...)
	}
	f := d.finding(classMismatch, mi, odd)
	f.Certain = len(odd)+d.unsure(&d.job.Matches[mi]) <= len(by[values[0]]) || d.unsure(&d.job.Matches[mi]) == 0 // else others may make them the most
	f.Sentence = fmt.Sprintf("%s passed %s %s to %s, where %s passed %s", d.namesOf(odd), a.what, values[1], d.operation(mi), d.namesOf(by[values[0]]), values[0])
	if len(by[values[0]]) == len(odd) {
		f.Detail = append(f.Detail, "as many ranks passed the one as the other: which of them is wrong is not known")
	}
	return f
}
