package api

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/report/kernelreport"
	"github.com/prlx-go/prlx/core/report/tapereport"
	"github.com/prlx-go/prlx/core/tape"
	"github.com/prlx-go/prlx/core/tape/comparing"
	"github.com/prlx-go/prlx/core/tape/debugmode"
)

// tapeReports are what can be written of a comparison of tapes.
var tapeReports = reportKind{tapereport.Formats, tapereport.FormatOf, neverBinary, ".html or .json"}

type tapeDiffRequest struct {
	requestLimits
	A         string            `json:"a"`
	B         string            `json:"b"`
	Baseline  []string          `json:"baseline"` // runs that should be equal to A: what they differ in is noise
	Names     map[string]string `json:"names"`    // how documents call a path; itself where it is not here
	Outputs   []outputArg       `json:"outputs"`
	Overwrite bool              `json:"overwrite"`
	Root      string            `json:"root"`
}

// tapeDiffReply is a document, and what was written.
type tapeDiffReply struct {
	*comparing.Document
	writtenReports
}

// diffTapes compares the tapes of two runs, rank by rank.
func diffTapes(j *job.Job, r *tapeDiffRequest) (*tapeDiffReply, error) {
	out, err := createReports(tapeReports, r.Outputs, r.Overwrite, []string{r.A, r.B}, r.Root)
	if err != nil {
		return nil, err
	}
	defer out.abort()
	a, err := tapesOf(j, r.A)
	if err != nil {
		return nil, err
	}
	b, err := tapesOf(j, r.B)
	if err != nil {
		return nil, err
	}
	if len(a) == 1 && len(b) == 1 { // somebody may compare two ranks of one run
		for rank := range a {
			b = map[int64]string{rank: slices.Collect(maps.Values(b))[0]}
		}
	}
	result := &comparing.Result{}
	among, err := isOneRun(j, r, a)
	if err != nil {
		return nil, err
	}
	if result.Noise, err = noiseOf(j, r, a, among); err != nil {
		return nil, err
	}
	if among {
		if err := compareRanks(j, result, a); err != nil {
			return nil, err
		}
	}
	for _, rank := range ranksOf(a, b) {
		switch {
		case among:
		case a[rank] == "":
			result.Unpaired("A", rank)
		case b[rank] == "":
			result.Unpaired("B", rank)
		default:
			if err := comparePair(j, result, a[rank], b[rank]); err != nil {
				return nil, err
			}
		}
	}
	if !among && isFolder(r.A) && isFolder(r.B) {
		result.Absent(max(result.A.Ranks, result.B.Ranks) - int64(len(ranksOf(a, b))))
	}
	doc := result.Document()
	for i := range doc.Ranks {
		rank := &doc.Ranks[i]
		for _, path := range []*string{&rank.A, &rank.B} {
			if name := r.Names[*path]; name != "" {
				*path = name
			}
		}
	}
	err = out.write(func(format string, w io.Writer, _ kernelreport.Options) error {
		return tapereport.Write(format, w, doc)
	})
	return &tapeDiffReply{doc, out.reply()}, err
}

// noiseOf compares A with the runs that should be equal to it.
func noiseOf(j *job.Job, r *tapeDiffRequest, a map[int64]string, among bool) (*comparing.Noise, error) {
	if len(r.Baseline) == 0 {
		return nil, nil
	}
	if among {
		return nil, fault.Usagef("the ranks of one run are compared with each other: no other run says what is noise")
	}
	noise := &comparing.Noise{}
	for _, path := range r.Baseline {
		equal, err := tapesOf(j, path)
		if err != nil {
			return nil, err
		}
		for rank, mine := range a {
			other := equal[rank]
			if len(a) == 1 && len(equal) == 1 {
				other = slices.Collect(maps.Values(equal))[0]
			}
			if other == "" {
				return nil, fault.New(fault.Incompatible, "has no tape of rank %d, and A has one", rank).WithPath(path)
			}
			if filepath.Clean(other) == filepath.Clean(mine) {
				return nil, fault.New(fault.Usage, "is A itself: a run tells nothing of noise when it is compared with itself").WithPath(path)
			}
			if err := withBoth(j, mine, other, noise.Baseline); err != nil {
				return nil, err
			}
		}
	}
	return noise, nil
}

// isFolder reports whether a side is a whole run and not one tape of it.
func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// comparePair compares the tapes of one rank.
func comparePair(j *job.Job, result *comparing.Result, a, b string) error {
	return withBoth(j, a, b, result.Pair)
}

// withBoth opens two tapes for a function.
func withBoth(j *job.Job, a, b string, do func(ctx context.Context, a, b comparing.Side) error) error {
	x, closeA, err := openSide(j, a)
	if err != nil {
		return err
	}
	defer closeA()
	y, closeB, err := openSide(j, b)
	if err != nil {
		return err
	}
	defer closeB()
	return do(j.Context(), x, y)
}

// isOneRun reports whether both sides are the tapes of one run of several ranks.
func isOneRun(j *job.Job, r *tapeDiffRequest, paths map[int64]string) (bool, error) {
	if filepath.Clean(r.A) != filepath.Clean(r.B) || len(paths) > 1 {
		return filepath.Clean(r.A) == filepath.Clean(r.B), nil
	}
	for _, path := range paths {
		if path == r.A { // a file, not a directory
			return false, nil
		}
		side, closeIt, err := openSide(j, path)
		if err != nil {
			return false, err
		}
		defer closeIt()
		return side.About().Ranks > 1, nil
	}
	return false, nil
}

// compareRanks compares the ranks of one run with each other.
func compareRanks(j *job.Job, result *comparing.Result, paths map[int64]string) error {
	var sides []comparing.Side
	for _, rank := range slices.Sorted(maps.Keys(paths)) {
		side, closeIt, err := openSide(j, paths[rank])
		if err != nil {
			return err
		}
		defer closeIt()
		sides = append(sides, side)
	}
	return result.Replicas(j.Context(), sides)
}

// openSide opens a tape, or what another tool wrote.
func openSide(j *job.Job, path string) (comparing.Side, func(), error) {
	head, _, err := file.Head(j.Context(), path, format.HeadBytes)
	if err != nil {
		return nil, nil, err
	}
	if debugmode.IsLog(head) {
		l, err := debugmode.Open(j.Context(), path)
		return l, func() {}, err
	}
	t, err := tape.Open(j.Context(), path)
	if err != nil {
		return nil, nil, err
	}
	return t, func() { t.Close() }, nil
}

// tapesOf finds the tapes of a side, by rank.
func tapesOf(j *job.Job, path string) (map[int64]string, error) {
	found, err := tape.Find(path)
	if err != nil {
		return nil, err
	}
	ranks := map[int64]string{}
	for _, each := range found {
		t, closeIt, err := openSide(j, each)
		if err != nil {
			return nil, err
		}
		rank := t.About().Rank
		closeIt()
		if other := ranks[rank]; other != "" {
			return nil, fault.New(fault.Incompatible, "is of rank %d, and so is %s", rank, other).WithPath(each).
				WithHint("a directory is one run: put the tapes of another run into a directory of its own")
		}
		ranks[rank] = each
	}
	if len(ranks) == 0 {
		return nil, fault.New(fault.Format, "has no tapes").WithPath(path).WithHint("tapes in a directory end in %s", tape.Ending)
	}
	return ranks, nil
}

// ranksOf lists the ranks of both sides in order.
func ranksOf(a, b map[int64]string) (list []int64) {
	for rank := range a {
		list = append(list, rank)
	}
	for rank := range b {
		if a[rank] == "" {
			list = append(list, rank)
		}
	}
	slices.Sort(list)
	return list
}
