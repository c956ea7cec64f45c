// Package flightrecorder reads what PyTorch's Flight Recorder dumps when a collective times out, and says who was missing where.
//
// A dump holds the last operations that one rank gave to torch.distributed: group, number, kind, sizes, types, state, and where in the program. It is
// pickled (read by package unpickle, which executes nothing) or JSON. Operations of a group are matched over ranks by their number, as
// PyTorch's own `fr_trace` does; what the recorder does not know, everything below torch.distributed, is not guessed. docs/formats/flight-recorder.md
// describes the fields.
package flightrecorder

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/lazyregexp"
	"github.com/prlx-go/prlx/core/nccl/unpickle"
)

// dump is what one rank had recorded.
type dump struct {
	Path    string
	Rank    int // by the name of the file, as PyTorch tells it
	Version string
	Groups  map[string]processGroup // by name
	Entries []entry                 // by record
	Skipped int                     // entries without a group or a name
}

// processGroup is a process group as the rank knows it.
type processGroup struct {
	Name, Description string
	Ranks             []int // ascending
}

// entry is one operation.
type entry struct {
	Record, Sequence, P2PSequence, Op int64
	Group, Description                string
	Name                              string // all_reduce
	Backend                           string // nccl
	P2P                               bool
	Source, Target                    int // of a send or recv, ranks in the group; -1 unknown
	InputSizes, OutputSizes           [][]int64
	InputTypes, OutputTypes           []string
	State                             state
	CreatedNS, StartedNS, EndedNS     int64 // 0: not seen
	TimeoutMS                         int64
	Frames                            []frame // innermost first
}

// frame is a place in the program.
type frame struct {
	Function, File string
	Line           int64
}

// state is how far an operation was.
type state uint8

// The states.
const (
	scheduled state = iota // given to the backend
	started                // seen running on the GPU
	completed
)

// String is the state as PyTorch writes it.
func (s state) String() string { return [...]string{"scheduled", "started", "completed"}[s] }

// looks reports whether a file may be a dump: a pickle, or JSON with the fields of one.
func looks(head []byte) bool { return unpickle.Looks(head) || jsonDump.MatchString(string(head)) }

var (
	jsonDump = lazyregexp.New(`^\s*\{\s*"(comm_lib_version|entries|pg_config|pg_status|version|nccl_version|rank|nccl_comm_state)"`)
	lastRank = lazyregexp.New(`(\d+)(\.json|\.pickle|\.pkl)?(\.gz|\.zst)?$`)
)

// rankOf is the rank that the name of a file ends with.
func rankOf(path string) (int, bool) {
	m := lastRank.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 32)
	return int(n), err == nil
}

// read reads one dump. Who wrote it is told by its file's name.
func read(ctx context.Context, path string) (*dump, error) {
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if src.Size() > unpickle.MaxBytes {
		return nil, fault.Formatf(path, 0, "a dump of %d bytes, at most %d are read", src.Size(), unpickle.MaxBytes)
	}
	b := make([]byte, src.Size())
	if n, err := src.ReadAt(b, 0); n < len(b) {
		return nil, fault.FromIO(path, err)
	}
	rank, ok := rankOf(path)
	if !ok {
		return nil, fault.Formatf(path, fault.Unknown, "the name of a dump ends with its rank, as in trace_3: this one does not")
	}
	return parse(path, rank, b)
}

// parse reads a dump from memory.
func parse(path string, rank int, b []byte) (*dump, error) {
	var v any
	var err error
	if unpickle.Looks(b) {
		v, err = unpickle.Load(path, b)
	} else {
		v, err = fromJSON(path, b)
	}
	if err != nil {
		return nil, err
	}
	top, ok := v.(*unpickle.Dict)
	if !ok {
		return nil, fault.Formatf(path, 0, "a dump is a dictionary, this is not one")
	}
	r := reader{path: path, left: mostItems, frames: map[*unpickle.List][]frame{}}
	d := &dump{Path: path, Rank: rank, Version: text(top, "version"), Groups: r.groups(top)}
	entries, ok := get[*unpickle.List](top, "entries")
	if !ok {
		return nil, fault.Formatf(path, 0, "the dump has no entries: it is no Flight Recorder's, or was written with a buffer of size 0").
			WithHint("set TORCH_FR_BUFFER_SIZE (TORCH_NCCL_TRACE_BUFFER_SIZE before PyTorch 2.9) in the job")
	}
	for _, item := range entries.Items {
		e, ok := r.entry(item)
		if err := r.err(); err != nil {
			return nil, err
		}
		if !ok {
			d.Skipped++
			continue
		}
		d.Entries = append(d.Entries, e)
	}
	slices.SortStableFunc(d.Entries, func(a, b entry) int { return cmp.Compare(a.Record, b.Record) })
	return d, nil
}
