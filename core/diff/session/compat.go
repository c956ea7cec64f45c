package session

import (
	"fmt"

	"github.com/prlx-go/prlx/core/diff/compat"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

// CompareCompat compares two sessions as original prlx 0.5 does: launches are the same when kernel and launch index are, so one
// more launch unmatches all behind it. Filters, site maps and --ignore-active-mask do nothing there, and do nothing here.
func CompareCompat(j *job.Job, a, b *Session, opt compat.Options) (*compat.SessionResult, error) {
	out := &compat.SessionResult{Launches: []compat.LaunchResult{}, Threshold: opt.Threshold}
	if opt.Warps != nil || opt.Kinds != nil || opt.Sites != nil || opt.IgnoreActiveMask || opt.RemapA != nil || opt.RemapB != nil {
		out.Warnings = append(out.Warnings,
			"filters, remapping and --ignore-active-mask have no effect on sessions in original prlx 0.5, and none with --compat")
	}
	opt.Warps, opt.Kinds, opt.Sites, opt.Map, opt.RemapA, opt.RemapB, opt.IgnoreActiveMask = nil, nil, nil, nil, nil, nil, false
	pairs, onlyB := byLaunch(a, b, out)
	out.Launches = make([]compat.LaunchResult, len(pairs))
	warnings := make([][]string, len(pairs))
	err := each(j, len(pairs), func(j *job.Job, i int) error {
		l := &a.Launches[pairs[i].A]
		out.Launches[i] = compat.LaunchResult{Kernel: l.Kernel, Launch: l.Number}
		warnings[i] = otherShape(l, &b.Launches[pairs[i].B])
		r, refusal, err := compareLaunch(j, a, b, pairs[i], opt)
		if err != nil {
			return err
		}
		out.Launches[i].Error = refusal
		if refusal == "" {
			out.Launches[i].Divergences = int64(len(r.Divergences))
			for _, w := range r.Warnings {
				warnings[i] = append(warnings[i], l.name()+": "+w)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		out.Warnings = append(out.Warnings, w...)
	}
	for _, i := range onlyB {
		out.UnmatchedB = append(out.UnmatchedB, b.Launches[i].name())
	}
	return out, nil
}

// byLaunch pairs launches by kernel and launch index. A launch of B that is found twice is compared twice; of several in B with one
// name the first is found.
func byLaunch(a, b *Session, out *compat.SessionResult) (pairs []matched, onlyB []int) {
	type name struct {
		kernel string
		number uint64
	}
	first := map[name]int{}
	for i := range b.Launches {
		l := name{b.Launches[i].Kernel, b.Launches[i].Number}
		if _, ok := first[l]; !ok {
			first[l] = i
		}
	}
	used := make([]bool, len(b.Launches))
	for i := range a.Launches {
		l := &a.Launches[i]
		k, ok := first[name{l.Kernel, l.Number}]
		if !ok {
			out.UnmatchedA = append(out.UnmatchedA, l.name())
			continue
		}
		used[k] = true
		pairs = append(pairs, matched{A: i, B: k})
	}
	for i, is := range used {
		if !is {
			onlyB = append(onlyB, i)
		}
	}
	return pairs, onlyB
}

func otherShape(a, b *Launch) []string {
	var out []string
	for _, c := range []struct {
		what string
		a, b [3]uint32
	}{{"Grid", a.Grid, b.Grid}, {"Block", a.Block, b.Block}} {
		if c.a != c.b {
			out = append(out, fmt.Sprintf("%s dim mismatch for %s: [%d, %d, %d] vs [%d, %d, %d]", c.what, a.name(),
				c.a[0], c.a[1], c.a[2], c.b[0], c.b[1], c.b[2]))
		}
	}
	return out
}

// compareLaunch compares one launch. What is wrong with the recordings is the refusal; an error ends everything.
func compareLaunch(j *job.Job, a, b *Session, p matched, opt compat.Options) (r *compat.Result, refusal string, err error) {
	ta, err := a.openTrace(j.Context(), p.A)
	if err != nil {
		refusal, err = a.refusal(j, p.A, err)
		return nil, refusal, err
	}
	defer ta.Close()
	tb, err := b.openTrace(j.Context(), p.B)
	if err != nil {
		refusal, err = b.refusal(j, p.B, err)
		return nil, refusal, err
	}
	defer tb.Close()
	if r, err = compat.Compare(j, ta, tb, opt); err != nil {
		side, launch := a, p.A
		if fault.Of(err).Path == tb.Path() {
			side, launch = b, p.B
		}
		refusal, err = side.refusal(j, launch, err)
	}
	return r, refusal, err
}

// refusal words why a launch could not be compared, where that is about its recording.
func (s *Session) refusal(j *job.Job, launch int, err error) (string, error) {
	if !isAbout(j, err) {
		return "", err
	}
	l := &s.Launches[launch]
	path, outside := s.resolve(l)
	switch {
	case outside == nil:
		return compat.Refusal(path, err), nil
	case fault.Is(outside, fault.IO):
		return "Failed to open trace file: " + fault.Of(outside).Path, nil
	case fault.Of(outside).Path == s.manifestPath():
		return fault.Of(outside).Msg, nil
	}
	return "Failed to mmap trace file: " + fault.Of(outside).Path, nil
}

// isAbout reports whether an error is about a launch's recordings, so that the other launches can go on. What is wrong with the
// request is wrong for all of them.
func isAbout(j *job.Job, err error) bool {
	switch f := fault.Of(err); f.Kind {
	case fault.Cancelled, fault.Internal:
		return false
	case fault.Usage:
		return f.Path != ""
	}
	return j.Context().Err() == nil
}
