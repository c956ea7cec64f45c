package cycle

import (
	"context"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/timeline/cycle/repeat"
)

// What a run is cut into depends on where its recording starts and ends: on borders, on what repeats often enough, on the level that is
// taken for the steps. Two runs are therefore compared by one origin: the kernels of every class, from its border in the one run on, are looked
// for in both runs in the same way, and what is found there is compared.

// maxOriginWork bounds the kernels that are looked at in search of classes of the other run, in all; each class costs the length of the run.
const maxOriginWork = 1 << 30

// compared is a class as it is compared.
type compared struct {
	*class
	shown  *class  // as its own run has it; a class that is found in the other run only is shown as found
	each   float64 // repetitions a step, 0: as the run says
	placed bool    // found by its kernels, without regard to classes beside it
}

// origin finds the classes that are compared.
type origin struct {
	ctx     context.Context
	job     *job.Job
	left    int
	symbols map[*track][]uint32
}

func (o *origin) pair(a, b *Result) (as, bs []compared, err error) {
	as, bs = own(a), own(b)
	if a.opt.Compat != nil || b.opt.Compat != nil { // the described tool's patterns are compared as it found them
		return as, bs, nil
	}
	if as, bs, err = o.place(a, b, as, bs); err != nil {
		return nil, nil, err
	}
	bs, as, err = o.place(b, a, bs, as)
	return as, bs, err
}

func own(r *Result) []compared {
	out := make([]compared, len(r.classes))
	for i, c := range r.classes {
		out[i] = compared{class: c, shown: c}
	}
	return out
}

// place looks for the classes of r in both runs. Those of the same kernels as another class, which marks tell apart, are left as they are.
func (o *origin) place(r, other *Result, list, others []compared) (mine, theirs []compared, err error) {
	at := map[uint64]int{}
	for i := range others {
		at[others[i].id] = i
	}
	twins := r.twins(list)
	for id := range other.twins(others) {
		twins[id] = true
	}
	for i := range list {
		x := &list[i]
		if x.placed || twins[r.wordID(x.word)] {
			continue
		}
		found, err := o.find(other, r, x.class)
		if err != nil {
			return nil, nil, err
		}
		if found == nil {
			continue
		}
		again, err := o.find(r, r, x.class)
		if err != nil {
			return nil, nil, err
		}
		if again == nil { // no repetition is without edits
			continue
		}
		each := r.perStep(x.class)
		n := compared{class: found, shown: found, each: each, placed: true}
		if k, known := at[x.id]; known {
			n.shown, n.each = others[k].shown, other.perStep(others[k].class)
			others[k] = n
		} else {
			at[n.id] = len(others)
			others = append(others, n)
		}
		list[i] = compared{class: again, shown: x.shown, each: each, placed: true}
	}
	return list, others, nil
}

// twins are the words that several classes of a run have.
func (r *Result) twins(list []compared) map[uint64]bool {
	count := map[uint64]int{}
	for i := range list {
		count[r.wordID(list[i].word)]++
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
func (r *Result) wordID(word []uint32) uint64 {
	_, id := repeat.Canonical(word, r.words.key(r.keys))
	return id
}

// find makes a class of the places of r where the kernels of a class of another run stand, from its border on; nil where there are none.
func (o *origin) find(r, of *Result, c *class) (*class, error) {
	word, ok := r.translated(of, c.word)
	if !ok {
		return nil, nil
	}
	out := &class{id: c.id, depth: c.depth, source: c.source, word: word, rotation: c.rotation, name: c.name, labelled: c.labelled}
	for i, t := range r.tracks {
		if o.left -= t.n; o.left < 0 {
			break
		}
		text, seen := o.symbols[t]
		if !seen {
			text = r.symbols(t, 0, t.n)
			o.symbols[t] = text
		}
		if reps := occurrences(text, word); len(reps) > 0 {
			out.parts = append(out.parts, part{track: i, reps: reps})
		}
	}
	if len(out.parts) == 0 {
		return nil, nil
	}
	out.tally()
	f := &finder{ctx: o.ctx, job: o.job, r: r}
	if err := f.slots(out); err != nil {
		return nil, err
	}
	f.times(out, nil)
	return out, nil
}

// translated is a word of another run in the symbols of this one; false where it has a kernel that this run has not.
func (r *Result) translated(of *Result, word []uint32) ([]uint32, bool) {
	if r == of {
		return word, true
	}
	numbers := map[string]uint32{}
	for i, k := range r.words.keysOf(r.keys) {
		numbers[k] = uint32(i)
	}
	keys := of.words.keysOf(of.keys)
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
