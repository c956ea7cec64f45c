package diff

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// keptOfPairs visits the chunks of pairs of arrays whose contents both recordings kept, by array of A, then ascending, until visit returns
// false. What it is given is valid during the call. The recordings are read side by side, a block at a time, and once where arrays of A
// and B are numbered in the same order, else once more for each time that the order turns, at most maxPasses times.
func keptOfPairs(ctx context.Context, a, b *warptrace.Trace, pairs []*arrayPair, visit func(p *arrayPair, x, y *warptrace.Contents) bool) error {
	left := slices.DeleteFunc(slices.Clone(pairs), func(p *arrayPair) bool { return p.a == nil || p.b == nil })
	slices.SortFunc(left, func(p, q *arrayPair) int { return cmp.Compare(p.a.ID, q.a.ID) })
	for pass := 0; len(left) > 0 && pass < maxPasses; pass++ {
		var now, later []*arrayPair
		for _, p := range left {
			if len(now) == 0 || p.b.ID > now[len(now)-1].b.ID {
				now = append(now, p)
			} else {
				later = append(later, p)
			}
		}
		going, err := keptInOrder(ctx, a, b, now, visit)
		if err != nil || !going {
			return err
		}
		left = later
	}
	return nil
}

// maxPasses is how often the contents of two recordings are read at most.
const maxPasses = 64

// keptInOrder is keptOfPairs of pairs that ascend on both sides. going is false where visit had enough.
func keptInOrder(ctx context.Context, a, b *warptrace.Trace, pairs []*arrayPair, visit func(p *arrayPair, x, y *warptrace.Contents) bool) (going bool, err error) {
	var at [2]map[uint32]int // positions in pairs, by the number of the array
	for side := range at {
		at[side] = make(map[uint32]int, len(pairs))
	}
	for i, p := range pairs {
		at[0][p.a.ID], at[1][p.b.ID] = i, i
	}
	nextA, stopA := iter.Pull2(contentsOf(ctx, a, at[0]))
	defer stopA()
	nextB, stopB := iter.Pull2(contentsOf(ctx, b, at[1]))
	defer stopB()
	x, errA, okA := nextA()
	y, errB, okB := nextB()
	for okA && okB && errA == nil && errB == nil {
		i, k := at[0][x.Array], at[1][y.Array]
		order := cmp.Or(cmp.Compare(i, k), cmp.Compare(x.Chunk, y.Chunk))
		if order == 0 && !visit(pairs[i], x, y) {
			return false, nil
		}
		if order <= 0 {
			x, errA, okA = nextA()
		}
		if order >= 0 {
			y, errB, okB = nextB()
		}
	}
	return true, cmp.Or(errA, errB)
}

// errEnough ends the reading of contents of which no more is wanted.
var errEnough = errors.New("enough")

// contentsOf hands out the contents of some arrays that a recording kept; the last is an error where they cannot be read.
func contentsOf(ctx context.Context, t *warptrace.Trace, arrays map[uint32]int) iter.Seq2[*warptrace.Contents, error] {
	return func(yield func(*warptrace.Contents, error) bool) {
		err := t.Contents(ctx, func(c *warptrace.Contents) error {
			if _, wanted := arrays[c.Array]; wanted && !yield(c, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// keptOfBoth visits chunks of one array whose contents both recordings kept, ascending, until visit returns false.
func keptOfBoth(ctx context.Context, a, b *warptrace.Trace, p *arrayPair, chunks []int64, visit func(x, y *warptrace.Contents) bool) error {
	if len(chunks) == 0 {
		return nil
	}
	last := chunks[len(chunks)-1]
	return keptOfPairs(ctx, a, b, []*arrayPair{p}, func(_ *arrayPair, x, y *warptrace.Contents) bool {
		if _, wanted := slices.BinarySearch(chunks, x.Chunk); wanted && !visit(x, y) {
			return false
		}
		return x.Chunk < last
	})
}
