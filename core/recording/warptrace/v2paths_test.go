package warptrace

import (
	"bytes"
	"context"
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
)

// sameAsCoded compares a warp that was decoded with its symbols and values.
func sameAsCoded(c *Coded, w *Warp) bool {
	if len(c.IDs) != w.Len() {
		return false
	}
	met := map[uint32]uint32{}
	for i, id := range c.IDs {
		want := Symbol{w.Active[i], w.Taken[i], w.Site[i], w.Aux[i], w.Kind[i], w.Dir[i], w.Type[i]}
		if c.Symbols[id] != want || c.Value(i) != w.Value[i] || c.Rank(i) != met[w.Site[i]] {
			return false
		}
		met[w.Site[i]]++
	}
	return true
}

// manyWarps are warps that share paths and values as those of real kernels do, and others that do not.
func manyWarps(rng *rand.Rand, n int) []*Warp {
	var warps []*Warp
	for i := range uint64(n) {
		w := randomWarp(rng, 2*i, rng.IntN(40), 4, 32)
		switch rng.IntN(4) {
		case 0: // what another one did, with values a step apart
			if len(warps) > 0 {
				w = cloned(warps[rng.IntN(len(warps))], 2*i)
				step := rng.Uint64() >> rng.UintN(64)
				for k := range w.Value {
					w.Value[k] += step
				}
			}
		case 1: // exactly the same
			if len(warps) > 0 {
				w = cloned(warps[rng.IntN(len(warps))], 2*i)
			}
		case 2:
			w = &Warp{}
			structuredWarp(w, 2*i, 1+rng.IntN(300))
			for k := range w.Site { // of four sites only
				w.Site[k] &= 3
			}
		}
		warps = append(warps, w)
	}
	return warps
}

func cloned(from *Warp, number uint64) *Warp {
	w := *from
	w.Warp = number
	for _, col := range []*[]uint64{&w.Active, &w.Taken, &w.Value} {
		*col = slices.Clone(*col)
	}
	w.Site, w.Kind, w.Dir, w.Aux, w.Type = slices.Clone(w.Site), slices.Clone(w.Kind), slices.Clone(w.Dir), slices.Clone(w.Aux), slices.Clone(w.Type)
	return &w
}

func TestPathsHoldWhatSectionsHold(t *testing.T) {
	for seed := range uint64(30) {
		header := v2TestHeader(200)
		header.Mode = []Mode{ModeControlFlow, ModeValues}[seed%2]
		rng := rand.New(rand.NewPCG(seed, 1))
		warps := manyWarps(rng, 60)
		flushAt := rng.IntN(60)
		flush := func(i int) bool { return i == flushAt }
		var got, want Warp
		paths := openV2Bytes(t, writeV2(t, header, someSites(8), warps, flush))
		sections := openV2Bytes(t, writeV2As(t, v2TestHeader(200), someSites(8), warps, flush, V2Options{Sections: true}))
		for _, w := range warps {
			if err := errors.Join(paths.ReadWarp(t.Context(), w.Warp, &got), sections.ReadWarp(t.Context(), w.Warp, &want)); err != nil {
				t.Fatal(seed, err)
			}
			if d := warpDiff(&want, &got); d != "" {
				t.Fatalf("seed %d, warp %d (-sections +paths):\n%s", seed, w.Warp, d)
			}
			var c Coded
			ok, err := paths.ReadCoded(t.Context(), w.Warp, &c)
			if err != nil || ok && !sameAsCoded(&c, &want) {
				t.Fatalf("seed %d, warp %d: as symbols it is another one, %v", seed, w.Warp, err)
			}
			c.release()
		}
	}
}

// TestEqualDigestsNeverHideADifference compares pairs of recordings with the twin that decodes everything.
func TestEqualDigestsNeverHideADifference(t *testing.T) {
	var equal, unequal, shared int
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		warps := manyWarps(rng, 50)
		others := make([]*Warp, len(warps))
		for i, w := range warps {
			if others[i] = cloned(w, w.Warp); w.Len() == 0 || rng.IntN(20) > 0 {
				continue
			}
			switch k := rng.IntN(w.Len()); rng.IntN(4) {
			case 0:
				others[i].Value[k] ^= 1 << rng.UintN(64)
			case 1:
				others[i].Active[k] ^= 1 << rng.UintN(32)
			case 2:
				others[i].Dir[k] ^= 1
			case 3:
				others[i].Site[k] = (others[i].Site[k] + 1) % 4
			}
		}
		a := openV2Bytes(t, writeV2(t, v2TestHeader(200), someSites(8), warps, never))
		b := openV2Bytes(t, writeV2(t, v2TestHeader(200), someSites(8), others, never))
		for _, values := range []bool{false, true} {
			var x, y Warp
			_, err := Walk(t.Context(), a, b, WalkOptions{Values: values, All: true}, func(p *Pair) error {
				if err := p.Decode(&x, &y); err != nil {
					return err
				}
				same := slices.Equal(x.Site, y.Site) && slices.Equal(x.Kind, y.Kind) && slices.Equal(x.Dir, y.Dir) &&
					slices.Equal(x.Active, y.Active) && slices.Equal(x.Taken, y.Taken) &&
					(!values || slices.Equal(x.Value, y.Value) && slices.Equal(x.Type, y.Type) && slices.Equal(x.Aux, y.Aux))
				switch {
				case p.Equal && !same:
					t.Errorf("seed %d, warp %d, values %v: it differs, and its digests hide that", seed, p.Warp, values)
				case p.Equal:
					equal++
				case same:
					shared++ // of a group of which another warp differs
				default:
					unequal++
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if equal == 0 || unequal == 0 || shared == 0 {
		t.Errorf("%d equal, %d unequal, %d with one that is: the test shows nothing", equal, unequal, shared)
	}
}

func TestWarpsOfManyEventsHaveDigestsOfTheirOwn(t *testing.T) {
	var w Warp
	structuredWarp(&w, 3, groupEvents)
	short := &Warp{}
	structuredWarp(short, 4, 5)
	trace := openV2Bytes(t, writeV2(t, v2TestHeader(9), structuredSitesOf(), []*Warp{&w, short}, never))
	index, _ := trace.Index(t.Context())
	keys := trace.rec.(*v2).facts.keys
	for i, warp := range []*Warp{&w, short} {
		if digest, control := digestOf(warp, keys); index[i].Digest != digest || index[i].Control != control {
			t.Errorf("warp %d does not have its own digests", warp.Warp)
		}
	}
}

func structuredSitesOf() (sites []site.Site) {
	for i := range structuredSites().Len() {
		sites = append(sites, *structuredSites().At(i))
	}
	return sites
}

// TestPathsThatLie changes every byte of a block with its checksum: what is read is an error, or what was written.
func TestPathsThatLie(t *testing.T) {
	forms, warps := smallForms(t)
	byNumber := map[uint64]*Warp{}
	for _, w := range warps {
		byNumber[w.Warp] = w
	}
	for _, raw := range forms[:2] { // those with paths
		liesAnywhere(t, raw, byNumber)
	}
}

func liesAnywhere(t *testing.T, raw []byte, byNumber map[uint64]*Warp) {
	t.Helper()
	refused := 0
	for _, off := range blocksOf(raw) {
		head, _ := parseV2Head(raw[off:])
		if !hasPaths(head.kind) {
			continue
		}
		for at := off + v2HeadBytes; at < off+v2HeadBytes+int(head.stored); at++ {
			for _, flip := range []byte{1, 0x80, 0xff} {
				bad := slices.Clone(raw[:len(raw)-v2Trailer]) // without its end, so that the index is not what is believed
				bad[at] ^= flip
				resealBlock(bad[off : off+v2HeadBytes+int(head.stored)])
				err := readV2Whole(bad)
				if err != nil && !errors.Is(err, errTruncated) {
					if !expected(err) {
						t.Fatalf("byte %d of a block: %v", at-off, err)
					}
					refused++
					continue
				}
				sameEventsAs(t, bad, byNumber)
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

func sameEventsAs(t *testing.T, raw []byte, warps map[uint64]*Warp) {
	t.Helper()
	trace, err := openAny(raw)
	if err != nil {
		t.Fatal(err)
	}
	index, _ := trace.Index(t.Context())
	var got Warp
	for _, info := range index {
		if err := trace.ReadWarp(context.Background(), info.Warp, &got); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, w := range warps { // a number of a warp can be changed; its events cannot
			found = found || slices.Equal(w.Site, got.Site) && slices.Equal(w.Value, got.Value) && slices.Equal(w.Active, got.Active) && slices.Equal(w.Kind, got.Kind)
		}
		if !found {
			t.Fatalf("warp %d has events that nobody wrote", info.Warp)
		}
	}
}

func TestOlderReadersRefusePathsClearly(t *testing.T) {
	forms, _ := smallForms(t)
	for i, want := range []byte{v2MajorOperands, v2MajorPaths, v2Major} {
		if forms[i][8] != want {
			t.Errorf("the version is %d, want %d", forms[i][8], want)
		}
	}
	newer := slices.Concat(appendV2Preamble(nil, v2MajorOperands+1), forms[0][v2Preamble:])
	if _, err := openAny(newer); !fault.Is(err, fault.Format) || !bytes.Contains([]byte(err.Error()), []byte("format version is 5, expected 2 to 4")) {
		t.Errorf("got %v", err)
	}
}

// TestEveryFormOfValuesIsRead stores rows in every mode and width, and holds what is read against them.
func TestEveryFormOfValuesIsRead(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		rows, n, width := 1+rng.IntN(4), 1+rng.IntN(9), uint(1)<<rng.IntN(4)
		values := make([]uint64, rows*n)
		for i := range values {
			values[i] = rng.Uint64() >> rng.UintN(64) >> (64 - 8*width)
		}
		for mode := range uint8(valuesModes) {
			stored, got := make([]uint64, len(values)), make([]uint64, len(values))
			inMode(stored, values, n, mode, width)
			c := v2ValueColumn{form: mode | uint8(bits.Len(width)-1)<<4}
			planes := c.append(nil, stored)
			if err := c.check(); err != nil || len(planes) != c.bytes(len(values)) {
				t.Fatalf("mode %d, %d bytes: %v, %d bytes of planes, want %d", mode, width, err, len(planes), c.bytes(len(values)))
			}
			for i, want := range stored {
				if v := c.at64(planes, len(values), i); v != want {
					t.Fatalf("mode %d, %d bytes: number %d is %d, want %d", mode, width, i, v, want)
				}
			}
			c.read(planes, got)
			if restore(got, n, mode, width); !slices.Equal(got, values) {
				t.Fatalf("mode %d, %d bytes, rows of %d: got %d, want %d", mode, width, n, got, values)
			}
		}
	}
}
