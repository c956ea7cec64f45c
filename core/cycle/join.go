package cycle

import (
	"fmt"
	"os"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

// ReadOptions says what becomes of traces that cannot be read as they are.
type ReadOptions struct {
	Salvage bool                              // of a file that was cut, what is complete in front of the cut is read
	Owners  bool                              // what kernels belong to is read, too
	Skip    func(path string, err error) bool // whether a trace that cannot be read is left out; nil: none is
}

// Read reads one trace, or those of the ranks of one run, which it joins. That every trace is left out is the first one's error.
func Read(j *job.Job, paths []string, opt ReadOptions) (*kernels.Trace, error) {
	if len(paths) == 0 {
		return nil, fault.Usagef("no trace given")
	}
	var failed error
	traces := make([]*kernels.Trace, len(paths)) // nil in the place of each that is left out
	read := 0
	seen := make([]os.FileInfo, len(paths))
	for i, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			return nil, fault.New(fault.Usage, "is a directory, expected a trace").WithPath(path).WithHint("name its files, one per rank")
		}
		if seen[i] = info; err == nil && slices.ContainsFunc(seen[:i], func(o os.FileInfo) bool { return o != nil && os.SameFile(o, info) }) {
			return nil, fault.New(fault.Usage, "is given twice, and would count as two ranks").WithPath(path).WithHint("name each file once")
		}
		traces[i], err = kernels.Read(j, path, kernels.Options{Salvage: opt.Salvage, Owners: opt.Owners})
		switch {
		case err == nil:
			read++
		case opt.Skip == nil || !opt.Skip(path, err):
			return nil, err
		case failed == nil:
			failed = err
		}
	}
	if read == 0 {
		return nil, failed
	}
	return join(traces), nil
}

// join makes one trace of those of several ranks, in the order given, so that their steps are compared. It takes the traces over: their columns
// are renumbered in place. nil keeps the place of a trace that is not there. A rank that no trace names is the place of its trace in the list; one that two traces name is told in a warning and
// renumbered alike.
func join(traces []*kernels.Trace) *kernels.Trace {
	if len(traces) == 1 {
		return traces[0]
	}
	out := &kernels.Trace{}
	for _, t := range traces {
		if t == nil {
			out.Left++
			continue
		}
		out.Names = append(out.Names, t.Names...)
		out.World = max(out.World, t.World)
	}
	slices.Sort(out.Names)
	out.Names = slices.Compact(out.Names)
	taken := map[int]int{} // rank -> trace
	for i, t := range traces {
		if t == nil {
			continue
		}
		if out.Format == "" {
			out.Path, out.Format, out.BaseNS = t.Path, t.Format, t.BaseNS
		} else if t.Format != out.Format {
			out.Format = "several"
		}
		ranks := joinRanks(t, i, taken, out)
		number := make([]uint32, len(t.Names))
		for k, n := range t.Names {
			at, _ := slices.BinarySearch(out.Names, n)
			number[k] = uint32(at)
		}
		first := len(out.Sequences)
		for k := range t.Sequences {
			s := t.Sequences[k]
			s.Rank = ranks[s.Rank]
			for n, name := range s.Name {
				s.Name[n] = number[name]
			}
			for n := range s.Owner {
				s.Owner[n] += uint32(len(out.Owners))
			}
			out.Sequences = append(out.Sequences, s)
		}
		out.Owners = append(out.Owners, t.Owners...)
		for _, m := range t.Marks {
			if m.Sequence >= 0 {
				m.Sequence += first
			}
			if r, ok := ranks[m.Rank]; ok {
				m.Rank = r
			}
			out.Marks = append(out.Marks, m)
		}
		out.Warnings = append(out.Warnings, t.Warnings...)
		out.Losses = sumLosses(out.Losses, t.Losses)
	}
	// Marks without a sequence come first, as in a trace of one file.
	slices.SortStableFunc(out.Marks, func(a, b kernels.Mark) int { return max(a.Sequence, -1) - max(b.Sequence, -1) })
	return out
}

// joinRanks gives the ranks of a trace numbers that no trace before it has.
func joinRanks(t *kernels.Trace, place int, taken map[int]int, out *kernels.Trace) map[int]int {
	ranks := map[int]int{}
	for k := range t.Sequences {
		was := t.Sequences[k].Rank
		if _, ok := ranks[was]; ok {
			continue
		}
		want := was
		if want < 0 {
			want = place
		}
		if other, ok := taken[want]; ok {
			if was >= 0 {
				out.Warnings = append(out.Warnings, fmt.Sprintf("inputs %d and %d both are of rank %d: the later one is renumbered", other+1, place+1, was))
			}
			for want = place; ; want++ {
				if _, ok := taken[want]; !ok {
					break
				}
			}
		}
		ranks[was], taken[want] = want, place
	}
	return ranks
}

func sumLosses(a, b kernels.Losses) kernels.Losses {
	a.Events += b.Events
	a.Copies += b.Copies
	a.Unusable += b.Unusable
	a.Negative += b.Negative
	a.Unpaired += b.Unpaired
	a.Skipped += b.Skipped
	a.Documents += b.Documents
	a.LostMarks += b.LostMarks
	a.LostLaunches += b.LostLaunches
	if b.Truncated && !a.Truncated {
		a.Truncated, a.TruncatedAt = true, b.TruncatedAt
	}
	return a
}
