package cycle

import (
	"hash/fnv"
	"regexp"

	"github.com/prlx-go/prlx/core/timeline/cycle/kernels"
	"github.com/prlx-go/prlx/core/timeline/cycle/signature"
)

// track is kernels of one device that are searched as one sequence.
type track struct {
	seq     int
	streams []uint16
	index   []uint32 // places in the sequence; nil: all of it
	n       int
	main    bool // steps of the device come from here
	number  int  // place in Result.tracks
}

func newTrack(s *kernels.Sequence, seq int, streams []uint16, main bool) *track {
	t := &track{seq: seq, streams: streams, main: main}
	in := make([]bool, len(s.Streams))
	for _, st := range streams {
		in[st] = true
		t.n += s.Streams[st].Kernels
	}
	if t.n == s.Len() {
		return t
	}
	t.index = make([]uint32, 0, t.n)
	for i, st := range s.Stream {
		if in[st] {
			t.index = append(t.index, uint32(i))
		}
	}
	t.n = len(t.index)
	return t
}

// at is the place in the sequence of kernel i of the track.
func (t *track) at(i int) int {
	if t.index == nil {
		return i
	}
	return int(t.index[i])
}

func (t *track) has(stream uint16) bool {
	for _, s := range t.streams {
		if s == stream {
			return true
		}
	}
	return false
}

func (r *Result) seq(t *track) *kernels.Sequence { return &r.trace.Sequences[t.seq] }

// idleBefore is the time between kernel i and the one before it.
func (r *Result) idleBefore(t *track, i int) int64 {
	if i == 0 {
		return 0
	}
	s := r.seq(t)
	return max(0, s.StartNS[t.at(i)]-s.EndNS(t.at(i-1)))
}

// words are the signatures of the names of a trace, numbered: two names with one key have one symbol.
type words struct {
	names         []string
	strict, loose []uint32 // by name
	strictKeys    []string // by symbol
	looseKeys     []string
	strictHash    []uint64
	looseHash     []uint64
	collective    []bool // by name
}

func newWords(names []string, rules *signature.Rules) *words {
	w := &words{names: names, collective: make([]bool, len(names))}
	number := func(of func(string) string) (by []uint32, keys []string, hashes []uint64) {
		ids := map[string]uint32{}
		by = make([]uint32, len(names))
		for i, n := range names {
			key := of(n)
			id, ok := ids[key]
			if !ok {
				id = uint32(len(keys))
				ids[key] = id
				keys = append(keys, key)
				h := fnv.New64a()
				h.Write([]byte(key))
				hashes = append(hashes, h.Sum64())
			}
			by[i] = id
		}
		return by, keys, hashes
	}
	w.strict, w.strictKeys, w.strictHash = number(rules.Strict)
	w.loose, w.looseKeys, w.looseHash = number(rules.Loose)
	for i, n := range names {
		w.collective[i] = collectiveName.MatchString(n)
	}
	return w
}

// collectiveName tells kernels that wait for other ranks.
var collectiveName = regexp.MustCompile(`(?i)nccl|rccl|all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|all[-_]?to[-_]?all|collective[-_]?permute|cross_device_reduce|(^|[-_ ])(send|recv)($|[-_ ])`)

// table gives the symbol of a name.
func (w *words) table(keys string) []uint32 {
	if keys == KeysLoose {
		return w.loose
	}
	return w.strict
}

// keysOf are the keys by symbol.
func (w *words) keysOf(keys string) []string {
	if keys == KeysLoose {
		return w.looseKeys
	}
	return w.strictKeys
}

// key gives a value of a symbol that is the same in every run.
func (w *words) key(keys string) func(uint32) uint64 {
	hashes := w.strictHash
	if keys == KeysLoose {
		hashes = w.looseHash
	}
	return func(symbol uint32) uint64 { return hashes[symbol] }
}

// symbols are the symbols of kernels [from, to) of a track.
func (r *Result) symbols(t *track, from, to int) []uint32 {
	out := make([]uint32, to-from)
	s, table := r.seq(t), r.words.table(r.keys)
	for i := range out {
		out[i] = table[s.Name[t.at(from+i)]]
	}
	return out
}
