package comparing

import (
	"context"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/measuring"
	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/job"
)

// What a run is cut into depends on where its recording starts and ends: on borders, on what repeats often enough, on the level that is
// taken for the steps. Two runs are therefore compared by one origin: the kernels of every class, from its border in the one run on, are looked
// for in both runs in the same way, and what is found there is compared.

// Compared is a class as it is compared.
type Compared struct {
	*structure.Class
	Shown  *structure.Class // as its own run has it; a class that is found in the other run only is shown as found
	each   float64          // repetitions a step, 0: as the run says
	placed bool             // found by its kernels, without regard to classes beside it
}

// origin finds the classes that are compared.
type origin struct {
	ctx     context.Context
	job     *job.Job
	left    int
	symbols map[*structure.Track][]uint32
	// tracks that are none of a run's yet, of streams that were not searched
	unsearched map[*structure.Run][]*structure.Track
}

func (o *origin) pair(a, b *structure.Run) (as, bs []Compared, err error) {
	as, bs = ownClasses(a), ownClasses(b)
	if a.Opt.Compat != nil || b.Opt.Compat != nil { // uplifter's patterns are compared as it found them
		return as, bs, nil
	}
	if as, bs, err = o.place(a, b, as, bs); err != nil {
		return nil, nil, err
	}
	bs, as, err = o.place(b, a, bs, as)
	return as, bs, err
}

func ownClasses(r *structure.Run) []Compared {
	out := make([]Compared, len(r.Classes))
	for i, c := range r.Classes {
		out[i] = Compared{Class: c, Shown: c}
	}
	return out
}

// place looks for the classes of r in both runs. Those of the same kernels as another class, which marks tell apart, are left as they are.
func (o *origin) place(r, other *structure.Run, list, others []Compared) (mine, theirs []Compared, err error) {
	at := map[uint64]int{}
	for i := range others {
		at[others[i].ID] = i
	}
	twins := twinsOf(r, list)
	for id := range twinsOf(other, others) {
		twins[id] = true
	}
	for i := range list {
		x := &list[i]
		if x.placed || twins[wordID(r, x.Word)] {
			continue
		}
		found, err := o.find(other, r, x.Class)
		if err != nil {
			return nil, nil, err
		}
		if found == nil || partOfLonger(found, others) {
			continue
		}
		again, err := o.find(r, r, x.Class)
		if err != nil {
			return nil, nil, err
		}
		if again == nil { // no repetition is without edits
			continue
		}
		each := perStep(r, x.Class)
		n := Compared{Class: found, Shown: found, each: each, placed: true}
		if k, known := at[x.ID]; known {
			n.Shown, n.each = others[k].Shown, perStep(other, others[k].Class)
			others[k] = n
		} else {
			at[n.ID] = len(others)
			others = append(others, n)
		}
		list[i] = Compared{Class: again, Shown: x.Shown, each: each, placed: true}
	}
	return list, others, nil
}

// partOfLonger reports whether what was found of a class in a run is there the part of a longer class of its own on that level: its kernels and some
// more, beside the border. The two are then compared as they are, else what the longer one has more would be compared with nothing.
func partOfLonger(found *structure.Class, own []Compared) bool {
	apart, all := map[int]int{}, 0
	for pi := range found.Parts {
		reps := found.Parts[pi].Reps
		for i := 1; i < len(reps); i++ {
			apart[int(reps[i].Start-reps[i-1].Start)]++
			all++
		}
	}
	return slices.ContainsFunc(own, func(y Compared) bool {
		return !y.placed && y.Depth == found.Depth && y.Period() > found.Period() && float64(apart[y.Period()]) >= longerShare*float64(max(1, all))
	})
}

// twinsOf are the words that several classes of a run have.
func twinsOf(r *structure.Run, list []Compared) map[uint64]bool {
	count := map[uint64]int{}
	for i := range list {
		count[wordID(r, list[i].Word)]++
	}
	out := map[uint64]bool{}
	for id, n := range count {
		if n > 1 {
			out[id] = true
		}
	}
	return out
}

// wordID is a number of a word in any rotation, in every run the same.
func wordID(r *structure.Run, word []uint32) uint64 {
	_, id := repeat.Canonical(word, r.Words.Key(r.Keys))
	return id
}

// find makes a class of the places of r where the kernels of a class of another run stand, from its border on; nil where there are none. Where
// no stream that was searched has any, the others are looked at, and become tracks of r.
func (o *origin) find(r, of *structure.Run, c *structure.Class) (*structure.Class, error) {
	word, ok := translated(r, of, c.Word)
	if !ok {
		return nil, nil
	}
	out := &structure.Class{ID: c.ID, Depth: c.Depth, Source: c.Source, Word: word, Rotation: c.Rotation, Name: c.Name, Labelled: c.Labelled}
	o.occurrencesIn(out, r.Tracks, r)
	if len(out.Parts) == 0 {
		beside, known := o.unsearched[r]
		if !known {
			beside = unsearched(r)
		}
		if o.occurrencesIn(out, beside, r); len(out.Parts) > 0 {
			r.Tracks, beside = append(slices.Clip(r.Tracks), beside...), nil
		}
		o.unsearched[r] = beside
	}
	if len(out.Parts) == 0 {
		return nil, nil
	}
	out.Tally()
	if err := measuring.Class(o.ctx, o.job, r, out); err != nil {
		return nil, err
	}
	return out, nil
}

// occurrencesIn adds the places of a class in some tracks of a run.
func (o *origin) occurrencesIn(out *structure.Class, tracks []*structure.Track, r *structure.Run) {
	for _, t := range tracks {
		if o.left -= t.N; o.left < 0 {
			break
		}
		text, seen := o.symbols[t]
		if !seen {
			text = r.Symbols(t, 0, t.N)
			o.symbols[t] = text
		}
		if reps := occurrences(text, out.Word); len(reps) > 0 {
			out.Parts = append(out.Parts, structure.Part{Track: t.Number, Reps: reps})
		}
	}
}

// unsearched are tracks of the streams that were not searched for what repeats. A stream with few of all kernels is none of those, and has a
// greater share in a recording that ends earlier.
func unsearched(r *structure.Run) []*structure.Track {
	var out []*structure.Track
	for seq := range r.Trace.Sequences {
		s := &r.Trace.Sequences[seq]
		for st := range s.Streams {
			seen := func(t *structure.Track) bool { return t.Seq == seq && t.Has(uint16(st)) }
			if s.Streams[st].Kernels == 0 || slices.ContainsFunc(r.Tracks, seen) {
				continue
			}
			t := structure.NewTrack(s, seq, []uint16{uint16(st)}, false)
			t.Number = len(r.Tracks) + len(out)
			out = append(out, t)
		}
	}
	return out
}

// translated is a word of another run in the symbols of this one; false where it has a kernel that this run has not.
func translated(r, of *structure.Run, word []uint32) ([]uint32, bool) {
	if r == of {
		return word, true
	}
	numbers := map[string]uint32{}
	for i, k := range r.Words.KeysOf(r.Keys) {
		numbers[k] = uint32(i)
	}
	keys := of.Words.KeysOf(of.Keys)
	out := make([]uint32, len(word))
	for i, s := range word {
		n, ok := numbers[keys[s]]
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// occurrences are the places of a word in a text, without overlap, from the left, by the method of Knuth, Morris and Pratt.
func occurrences(text, word []uint32) []repeat.Span {
	fallback := make([]int32, len(word))
	for i, k := 1, int32(0); i < len(word); i++ {
		for k > 0 && word[i] != word[k] {
			k = fallback[k-1]
		}
		if word[i] == word[k] {
			k++
		}
		fallback[i] = k
	}
	var out []repeat.Span
	k := 0
	for i, s := range text {
		for k > 0 && word[k] != s {
			k = int(fallback[k-1])
		}
		if word[k] == s {
			k++
		}
		if k == len(word) {
			out = append(out, repeat.Span{Start: int32(i + 1 - k), End: int32(i + 1)})
			k = 0
		}
	}
	return out
}
