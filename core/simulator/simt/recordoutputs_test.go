package simt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// watched is what a launch wrote, as a recording says it.
type watched struct {
	Outputs  warptrace.Outputs
	Sums     map[uint64][]warptrace.StoreSum // by warp
	Contents []warptrace.Contents
}

// watchOutputs runs a launch and returns what it wrote.
func watchOutputs(t *testing.T, p *Program, l *Launch, r Recording) *watched {
	t.Helper()
	w := &watched{Sums: map[uint64][]warptrace.StoreSum{}}
	r.Written = true
	if r.Warp == nil {
		r.Warp = func(*warptrace.Warp) error { return nil }
	}
	visit := r.Warp
	r.Warp = func(warp *warptrace.Warp) error {
		if len(warp.Stores) > 0 {
			w.Sums[warp.Warp] = slices.Clone(warp.Stores)
		}
		return visit(warp)
	}
	r.Outputs = func(o *warptrace.Outputs) error { w.Outputs = *o; return nil }
	r.Contents = func(c *warptrace.Contents) error { w.Contents = append(w.Contents, *c); return nil }
	if _, err := p.Record(nil, l, &r); err != nil {
		t.Fatal(err)
	}
	return w
}

// randomStore is one store of a random program: where and what every thread writes.
type randomStore struct {
	width, count int // bytes of an element, elements
	a, b, c      uint32
	mask         uint32 // of the place, in whole vectors
	modulus      uint32 // threads whose number modulo 4 is below this take part
	atomic       string // "" a store
	generic      bool
	beyond       bool // every fourth thread writes outside of the array
	value        uint64
}

func randomStores(rng *rand.Rand) []randomStore {
	var list []randomStore
	for range 1 + rng.IntN(4) {
		s := randomStore{
			width: 1 << rng.IntN(4), count: 1 << rng.IntN(3), a: 1 + rng.Uint32N(3)*rng.Uint32N(2), b: 64, c: rng.Uint32N(8), mask: 255, modulus: 1 + rng.Uint32N(4),
			generic: rng.IntN(3) == 0, beyond: rng.IntN(8) == 0, value: rng.Uint64(),
		}
		if rng.IntN(2) == 0 {
			s.a, s.c, s.modulus = 1, 0, 4 // whole warps without gaps
		}
		if s.width*s.count > 16 {
			s.count = 16 / s.width
		}
		if rng.IntN(3) == 0 {
			s.atomic, s.count, s.width = []string{"add.u", "max.u", "xor.b", "exch.b"}[rng.IntN(4)], 1, 4<<rng.IntN(2)
		}
		list = append(list, s)
	}
	return list
}

// offset is where a thread writes, in bytes from where the argument points.
func (s *randomStore) offset(block, thread uint32) int64 {
	place := (thread*s.a + block*s.b + s.c) & s.mask
	at := int64(place) * int64(s.width*s.count)
	if s.beyond && thread%4 == 1 {
		at += 1 << 30
	}
	return at
}

func (s *randomStore) element(block, thread uint32, i int) uint64 {
	return (uint64(thread+7*block)*0x9e3779b97f4a7c15 + s.value + uint64(i)) & (1<<(8*s.width) - 1)
}

// operation is what the hash takes of an atomic beside its operand.
func (s *randomStore) operation() uint64 {
	return map[string]uint64{"": 0, "add.u": 1, "max.u": 3, "xor.b": 6, "exch.b": 9}[s.atomic] << 9
}

// text is the store in PTX; every one has a line of its own.
func (s *randomStore) text(line int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\t.loc 1 %d 1\n\tmul.lo.u32 %%r1, %%r31, %d;\n\tmul.lo.u32 %%r2, %%r29, %d;\n\tadd.u32 %%r1, %%r1, %%r2;\n\tadd.u32 %%r1, %%r1, %d;\n", line, s.a, s.b, s.c)
	fmt.Fprintf(&b, "\tand.b32 %%r1, %%r1, %d;\n\tmul.wide.u32 %%rd2, %%r1, %d;\n\tadd.s64 %%rd3, %%rd1, %%rd2;\n", s.mask, s.width*s.count)
	b.WriteString("\tand.b32 %r3, %r31, 3;\n")
	if s.beyond {
		b.WriteString("\tsetp.eq.u32 %p2, %r3, 1;\n\tadd.s64 %rd4, %rd3, 1073741824;\n\tselp.b64 %rd3, %rd4, %rd3, %p2;\n")
	}
	fmt.Fprintf(&b, "\tsetp.lt.u32 %%p1, %%r3, %d;\n\tmul.lo.u32 %%r4, %%r29, 7;\n\tadd.u32 %%r4, %%r4, %%r31;\n\tcvt.u64.u32 %%rd5, %%r4;\n", s.modulus)
	b.WriteString("\tmul.lo.u64 %rd5, %rd5, 0x9e3779b97f4a7c15;\n")
	var registers []string
	for i := range s.count {
		fmt.Fprintf(&b, "\tadd.u64 %%rd%d, %%rd5, 0x%x;\n", 6+i, s.value+uint64(i))
		name := fmt.Sprintf("%%rd%d", 6+i)
		if s.width < 8 {
			fmt.Fprintf(&b, "\tcvt.u32.u64 %%r%d, %s;\n", 6+i, name)
			name = fmt.Sprintf("%%r%d", 6+i)
		}
		registers = append(registers, name)
	}
	space, vector, value := ".global", "", registers[0]
	if s.generic {
		space = ""
	}
	if s.count > 1 {
		vector, value = fmt.Sprintf(".v%d", s.count), "{"+strings.Join(registers, ", ")+"}"
	}
	if s.atomic != "" {
		fmt.Fprintf(&b, "\t@%%p1 red%s.%s%d [%%rd3], %s;\n", space, s.atomic, 8*s.width, value)
		return b.String()
	}
	fmt.Fprintf(&b, "\t@%%p1 st%s%s.u%d [%%rd3], %s;\n", space, vector, 8*s.width, value)
	return b.String()
}

// expectedSums is what a recording must say of a warp, one thread and element at a time.
func expectedSums(stores []randomStore, size int64, block, warp uint32) map[int]warptrace.StoreSum {
	sums := map[int]warptrace.StoreSum{}
	for i := range stores {
		s, sum := &stores[i], warptrace.StoreSum{}
		for thread := warp * 32; thread < warp*32+32; thread++ {
			at := s.offset(block, thread)
			if thread&3 >= s.modulus || at+int64(s.width*s.count) > size {
				continue
			}
			for k := range s.count {
				sum.Count++
				sum.Hash += warptrace.StoredHash(uint64(at+int64(k*s.width)), s.element(block, thread, k), uint64(s.width)+s.operation())
			}
		}
		if sum.Count > 0 {
			sums[i] = sum
		}
	}
	return sums
}

// expectedDigest digests the bytes that any thread wrote, one at a time.
func expectedDigest(stores []randomStore, contents []byte, blocks, threads uint32) (chunks map[int64]warptrace.Chunk) {
	written := make([]bool, len(contents))
	for i := range stores {
		s := &stores[i]
		for block := range blocks {
			for thread := range threads {
				at := s.offset(block, thread)
				for k := range int64(s.width * s.count) {
					if thread&3 < s.modulus && at+int64(s.width*s.count) <= int64(len(contents)) {
						written[at+k] = true
					}
				}
			}
		}
	}
	chunks = map[int64]warptrace.Chunk{}
	for at := 0; at < len(contents); at += 8 {
		var value, shape uint64
		c := chunks[int64(at)/(4*warptrace.ChunkElements)]
		for i := range 8 {
			if written[at+i] {
				value |= uint64(contents[at+i]) << (8 * i)
				shape |= 1 << i
				c.Bytes++
			}
		}
		if shape != 0 {
			c.Index = int64(at) / (4 * warptrace.ChunkElements)
			c.Digest += warptrace.HashAt(warptrace.HashPlace(uint64(at), shape), value)
			chunks[c.Index] = c
		}
	}
	return chunks
}

// storesKernel is a kernel of random stores.
func storesKernel(stores []randomStore) string {
	body := "\tmov.u32 %r29, %ctaid.x;\n"
	for i := range stores {
		body += stores[i].text(i + 1)
	}
	return strings.Replace(entry(body), "}\n", "}\n.file 1 \"k.py\"\n", 1)
}

// TestTheRecordedStoresAreThoseOfEveryThread compares recordings of random stores with what single threads do.
func TestTheRecordedStoresAreThoseOfEveryThread(t *testing.T) {
	const blocks, threads, size = 3, 64, 8192
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 9))
		stores := randomStores(rng)
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(rng.IntN(256))
		}
		l := testLaunch(blocks, threads, data, 0)
		l.Params[0].Type = "*fp32"
		p := mustLoad(t, storesKernel(stores))
		got := watchOutputs(t, p, l, Recording{Mode: warptrace.ModeControlFlow})
		sites, err := p.Sites("k")
		if err != nil {
			t.Fatal(err)
		}
		for warp := range uint32(blocks * threads / 32) {
			want := expectedSums(stores, size, warp/2, warp%2)
			for _, sum := range got.Sums[uint64(warp)] {
				line := int(sites.At(int(sum.Site)).Where().Line) - 1
				if w := want[line]; sum.Count != w.Count || sum.Hash != w.Hash || sum.Array != 0 {
					t.Fatalf("seed %d, warp %d, line %d: got %+v, want %+v\n%s", seed, warp, line+1, sum, w, storesKernel(stores))
				}
				delete(want, line)
			}
			if len(want) > 0 {
				t.Fatalf("seed %d, warp %d: nothing is said of %+v", seed, warp, want)
			}
		}
		chunks := expectedDigest(stores, data, blocks, threads)
		if len(chunks) == 0 {
			if len(got.Outputs.Arrays) > 0 {
				t.Fatalf("seed %d: got %+v, want no array", seed, got.Outputs.Arrays)
			}
			continue
		}
		a := got.Outputs.Arrays[0]
		for _, c := range a.Chunks {
			if chunks[c.Index] != c {
				t.Fatalf("seed %d: got %+v, want %+v", seed, c, chunks[c.Index])
			}
			a.Written, a.Digest = a.Written-uint64(c.Bytes), a.Digest-c.Digest
		}
		if len(a.Chunks) != len(chunks) || a.Written != 0 || a.Digest != 0 || a.ElementBytes != 4 || a.Name != "out" {
			t.Fatalf("seed %d: got %+v, want %d chunks", seed, a, len(chunks))
		}
	}
}

// TestEqualRunsWriteTheSame: other addresses, other garbage in memory that is not written, other workers and another order of blocks.
func TestEqualRunsWriteTheSame(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 10))
		stores := slices.DeleteFunc(randomStores(rng), func(s randomStore) bool { return s.atomic == "exch.b" })
		for i := range stores { // of several writers of one byte all write the same
			stores[i].value, stores[i].width, stores[i].mask = 0, 4, 1<<30-1
			stores[i].count, stores[i].a, stores[i].c, stores[i].b = 1, 1, 0, 64
		}
		p := mustLoad(t, storesKernel(stores))
		var want *watched
		for run := range 5 {
			data := make([]byte, 8192)
			for i := range data {
				if i >= 3*64*4 {
					data[i] = byte(rng.IntN(256))
				}
			}
			l := testLaunch(3, 64, data, 0)
			host := 0x7f0000000000 + uint64(rng.IntN(1<<20))*16
			l.Params[0].Bits, l.Params[0].Type, l.Memory[0].Host = host, "*i32", host
			l.Options.Workers, l.Options.ScheduleSeed = 1+run, uint64(run/2)
			got := watchOutputs(t, p, l, Recording{Mode: warptrace.ModeControlFlow, Keep: 4096})
			for i := range got.Outputs.Findings {
				got.Outputs.Findings[i].Message = ""
			}
			if want == nil {
				want = got
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("seed %d, run %d (-first +this):\n%s", seed, run, d)
			}
		}
	}
}

// TestWhatDiffersShows changes one thing at a time.
func TestWhatDiffersShows(t *testing.T) {
	base := randomStore{width: 4, count: 2, a: 1, b: 64, mask: 255, modulus: 4, value: 5}
	run := func(s randomStore) *watched {
		l := testLaunch(2, 64, make([]byte, 8192), 0)
		l.Params[0].Type = "*fp32"
		return watchOutputs(t, mustLoad(t, storesKernel([]randomStore{s})), l, Recording{Mode: warptrace.ModeDigest})
	}
	want := run(base)
	for name, change := range map[string]func(s *randomStore){
		"value":  func(s *randomStore) { s.value++ },
		"offset": func(s *randomStore) { s.c++ },
		"mask":   func(s *randomStore) { s.modulus = 3 },
		"blocks": func(s *randomStore) { s.b = 63 },
		"beyond": func(s *randomStore) { s.beyond = true },
	} {
		s := base
		change(&s)
		got := run(s)
		if got.Outputs.Stores[0].Hash == want.Outputs.Stores[0].Hash || got.Outputs.Arrays[0].Digest == want.Outputs.Arrays[0].Digest ||
			reflect.DeepEqual(got.Sums, want.Sums) {
			t.Errorf("another %s does not show", name)
		}
	}
	narrow := base
	narrow.count, narrow.a, narrow.b = 1, 1, 64
	if got := run(narrow); got.Outputs.Stores[0].Count*2 != want.Outputs.Stores[0].Count {
		t.Errorf("half as many elements: got %+v, want half of %+v", got.Outputs.Stores, want.Outputs.Stores)
	}
}

// launchOf is a launch of a kernel with arrays as arguments.
func launchOf(threads uint32, arrays ...memory.Allocation) *Launch {
	l := &Launch{Kernel: "k", Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{threads, 1, 1}, Memory: arrays}
	for i, a := range arrays {
		l.Params = append(l.Params, Argument{Name: a.Name, Type: "*i64", Bits: a.Host, Allocation: i})
	}
	return l
}

// TestStoredPointersAreNamed stores the address of one array into another: as the simulator has it, and one of the process out of a table.
func TestStoredPointersAreNamed(t *testing.T) {
	text := preamble + ".visible .entry k(.param .u64 out, .param .u64 x, .param .u64 table)\n{\n" + testRegisters +
		"\tld.param.u64 %rd1, [out];\n\tld.param.u64 %rd2, [x];\n\tld.param.u64 %rd3, [table];\n\tadd.s64 %rd4, %rd2, 24;\n\tst.global.u64 [%rd1], %rd4;\n" +
		"\tld.global.u64 %rd5, [%rd3+8];\n\tst.global.u64 [%rd1+8], %rd5;\n\tst.global.u32 [%rd5+4], 7;\n\tret;\n}\n"
	var want *watched
	for run := range uint64(3) {
		x, row := 0x7f0000001000+run*4112, 0x7e0000000000+run*0x1010
		table := make([]byte, 32)
		binary.LittleEndian.PutUint64(table[8:], row)
		l := launchOf(
			1, memory.Allocation{Name: "out", Host: 0x7d0000000000 + run*64, Bytes: make([]byte, 64)}, memory.Allocation{Name: "x", Host: x, Bytes: make([]byte, 64)},
			memory.Allocation{Name: "table", Host: 0x7c0000000000 + run*48, Bytes: table},
		)
		rows := []memory.Allocation{{Name: "a tensor", Host: row, Bytes: make([]byte, 64)}, {Name: "a tensor", Host: 0x7b0000000000, Bytes: make([]byte, 64)}}
		if run == 1 {
			slices.Reverse(rows) // the process finds what is registered in any order
		}
		l.Memory = append(l.Memory, rows...)
		got := watchOutputs(t, mustLoad(t, text), l, Recording{Mode: warptrace.ModeControlFlow, Keep: 1 << 20})
		if run == 0 {
			want = got
			names := []string{}
			for _, a := range got.Outputs.Arrays {
				names = append(names, fmt.Sprintf("%d %s %d", a.ID, a.Name, a.Written))
			}
			if d := cmp.Diff([]string{"0 out 16", "65536 table[1] 4"}, names); d != "" {
				t.Errorf("arrays (-want +got):\n%s", d)
			}
			c := got.Contents[0]
			for i, to := range []uint64{1<<40 + 24, 65536 << 40} {
				if word := binary.LittleEndian.Uint64(c.Bytes[8*i:]); word != to || c.Pointers[i] != uint32(8*i) {
					t.Errorf("pointer %d is %#x at %v, want %#x", i, word, c.Pointers, to)
				}
			}
			if id, offset := warptrace.PointerName(1<<40 - 8); id != 0 || offset != -8 {
				t.Errorf("a pointer in front of array 1 is array %d, offset %d", id, offset)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("run %d (-first +this):\n%s", run, d)
		}
	}
}

// TestLoadedPointersFindTheirArgument: of two arguments in one storage, an address belongs to the last that does not point beyond it.
func TestLoadedPointersFindTheirArgument(t *testing.T) {
	text := preamble + ".visible .entry k(.param .u64 table, .param .u64 x, .param .u64 y)\n{\n" + testRegisters +
		"\tld.param.u64 %rd1, [table];\n\tmov.u32 %r31, %tid.x;\n\tmul.wide.u32 %rd2, %r31, 8;\n\tadd.s64 %rd3, %rd1, %rd2;\n" +
		"\tld.global.u64 %rd4, [%rd3];\n\tst.global.u32 [%rd4], %r31;\n\tret;\n}\n"
	table := make([]byte, 32)
	for i, at := range []uint64{0, 60, 64, 100} { // y begins at 64
		binary.LittleEndian.PutUint64(table[8*i:], 0x7e0000000000+at)
	}
	l := launchOf(4, memory.Allocation{Name: "table", Host: 0x7d0000000000, Bytes: table}, memory.Allocation{Name: "x/y", Host: 0x7e0000000000, Bytes: make([]byte, 128)})
	l.Params[1].Name = "x"
	l.Params = append(l.Params, Argument{Name: "y", Type: "*fp32", Bits: 0x7e0000000000 + 64, Allocation: 1})
	got := watchOutputs(t, mustLoad(t, text), l, Recording{Mode: warptrace.ModeControlFlow})
	hash := func(offset, value uint64) uint64 { return warptrace.StoredHash(offset, value, 4) }
	want := []warptrace.StoreSum{
		{Site: got.Outputs.Stores[0].Site, Array: 1, Count: 2, Hash: hash(0, 0) + hash(60, 1)},
		{Site: got.Outputs.Stores[0].Site, Array: 2, Count: 2, Hash: hash(0, 2) + hash(36, 3)},
	}
	if d := cmp.Diff(want, got.Sums[0]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestViewsSayTheSameAsArrays: an argument that points into a larger storage, and two arguments of one storage.
func TestViewsSayTheSameAsArrays(t *testing.T) {
	text := preamble + ".visible .entry k(.param .u64 out, .param .u64 x)\n{\n" + testRegisters +
		"\tld.param.u64 %rd1, [out];\n\tld.param.u64 %rd2, [x];\n\tmov.u32 %r31, %tid.x;\n\tmul.wide.u32 %rd3, %r31, 4;\n\tadd.s64 %rd4, %rd1, %rd3;\n" +
		"\tst.global.u32 [%rd4], %r31;\n\tst.global.u32 [%rd2+4], 7;\n\tst.global.u32 [%rd2+-4], 9;\n\tret;\n}\n"
	run := func(l *Launch) *watched {
		l.Params[0].Type, l.Params[1].Type = "*fp32", "*fp32"
		return watchOutputs(t, mustLoad(t, text), l, Recording{Mode: warptrace.ModeControlFlow, Keep: 1 << 20})
	}
	apart := launchOf(40, memory.Allocation{Name: "out", Host: 0x7d0000000000, Bytes: make([]byte, 1024)}, memory.Allocation{Name: "x", Host: 0x7f0000001000, Bytes: make([]byte, 512)})
	apart.Params[1].Bits += 64
	want := run(apart)
	one := launchOf(40, memory.Allocation{Name: "out/x", Host: 0x7d0000000000, Bytes: make([]byte, 8192)})
	one.Params[0].Name, one.Params[0].Bits = "out", 0x7d0000000000+1236
	one.Params = append(one.Params, Argument{Name: "x", Bits: 0x7d0000000000 + 5004, Allocation: 0})
	got := run(one)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("views of one storage (-arrays of their own +views):\n%s", d)
	}
	x := want.Outputs.Arrays[1]
	if len(x.Chunks) != 2 || x.Chunks[0].Index != -1 || x.Chunks[0].Bytes != 4 || x.Written != 8 {
		t.Errorf("bytes on both sides of where x points: got %+v", x)
	}
}

// TestLastWritersAreNamed: two lines write one array, the second only some of it, and two blocks the same element.
func TestLastWritersAreNamed(t *testing.T) {
	stores := []randomStore{
		{width: 4, count: 1, a: 1, b: 64, mask: 255, modulus: 4, value: 5},
		{width: 4, count: 1, a: 1, b: 0, mask: 63, modulus: 2, value: 0},
	}
	p := mustLoad(t, storesKernel(stores))
	sites, err := p.Sites("k")
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []uint64{0, 3} {
		for _, workers := range []int{1, 4} {
			l := testLaunch(3, 64, make([]byte, 8192), 0)
			l.Params[0].Type = "*i32"
			l.Options.ScheduleSeed, l.Options.Workers = seed, workers
			last := uint64(0) // the block that comes last in the schedule, as warps do
			got := watchOutputs(t, p, l, Recording{Mode: warptrace.ModeControlFlow, Keep: 8192, Warp: func(w *warptrace.Warp) error {
				last = w.Warp / 2
				return nil
			}})
			if seed == 0 && last != 2 {
				t.Errorf("block %d came last, want 2", last)
			}
			for i, w := range got.Contents[0].Writers {
				line, block := 1, uint64(i/64)
				switch {
				case i >= 3*64:
					line = 0 // nobody
				case i < 64 && i%4 < 2:
					line, block = 2, last
				}
				written := 0
				if w.Site != warptrace.NoSite {
					written = int(sites.At(int(w.Site)).Where().Line)
				}
				if want := block*2 + uint64(i%64/32); written != line || line > 0 && (w.Warp != want || w.Lane != uint32(i%32)) {
					t.Fatalf("seed %d, %d workers, element %d was written by line %d, %+v; want line %d, warp %d", seed, workers, i, written, w, line, want)
				}
			}
		}
	}
}

// TestContentsKeepToTheirBudget: small arrays are kept whole, of large ones the front, and nobody keeps more than was asked for.
func TestContentsKeepToTheirBudget(t *testing.T) {
	stores := []randomStore{{width: 4, count: 4, a: 1, b: 64, mask: 1023, modulus: 4, value: 5}}
	for budget, want := range map[uint64]int{0: 0, 1023: 0, 1024: 1, 5000: 4, 1 << 20: 16} {
		l := testLaunch(16, 64, make([]byte, 16*64*16), 0)
		l.Params[0].Type = "*fp32"
		got := watchOutputs(t, mustLoad(t, storesKernel(stores)), l, Recording{Mode: warptrace.ModeControlFlow, Keep: budget})
		c := got.Outputs.Coverage
		if len(got.Contents) != want || c.ContentBudget != budget || c.ContentBytes != uint64(1024*want) || c.Writers != (budget > 0) {
			t.Errorf("%d bytes: got %d chunks and %+v, want %d chunks", budget, len(got.Contents), c, want)
		}
		for i := range got.Contents {
			if got.Contents[i].Chunk != int64(i) || got.Contents[i].Writers == nil {
				t.Errorf("%d bytes: chunk %d is %d, with %d writers", budget, i, got.Contents[i].Chunk, len(got.Contents[i].Writers))
			}
		}
	}
}

// TestWhatAnAtomicDoesIsInItsHash: the same operand added, exchanged or compared is another result.
func TestWhatAnAtomicDoesIsInItsHash(t *testing.T) {
	hashes := map[uint64]string{}
	for _, access := range []string{
		"st.global.u32", "red.global.add.u32", "red.global.add.f32", "red.global.max.u32", "red.global.max.s32", "red.global.min.u32",
		"red.global.and.b32", "red.global.or.b32", "red.global.xor.b32", "red.global.inc.u32", "red.global.dec.u32",
	} {
		got := watchOutputs(t, mustLoad(t, entry("\t"+access+" [%rd1], %r31;")), testLaunch(1, 32, make([]byte, 64), 0), Recording{Mode: warptrace.ModeControlFlow})
		if other, ok := hashes[got.Outputs.Stores[0].Hash]; ok {
			t.Errorf("%s and %s: got one hash, want two", access, other)
		}
		hashes[got.Outputs.Stores[0].Hash] = access
	}
	for _, access := range []string{"red.global.add.s32 [%rd1], %r31;", "atom.global.add.u32 %r1, [%rd1], %r31;"} {
		got := watchOutputs(t, mustLoad(t, entry("\t"+access)), testLaunch(1, 32, make([]byte, 64), 0), Recording{Mode: warptrace.ModeControlFlow})
		if as := hashes[got.Outputs.Stores[0].Hash]; as != "red.global.add.u32" {
			t.Errorf("%s: got the hash of %q, want that of red.global.add.u32", access, as)
		}
	}
}

// TestWhatAtomicsFindIsKept: it depends neither on the order nor on how the elements are packed, and what is replaced whole does not count.
func TestWhatAtomicsFindIsKept(t *testing.T) {
	began := func(body string, fill byte, seed uint64) uint64 {
		l := testLaunch(4, 64, bytes.Repeat([]byte{fill}, 512), 0)
		l.Options.ScheduleSeed = seed
		got := watchOutputs(t, mustLoad(t, entry("\tand.b32 %r1, %r31, 31;\n\tmul.wide.u32 %rd2, %r1, 8;\n\tadd.s64 %rd1, %rd1, %rd2;\n"+body)), l, Recording{Mode: warptrace.ModeControlFlow})
		if len(got.Outputs.Arrays) == 0 {
			return 0
		}
		return got.Outputs.Arrays[0].Began
	}
	wide := "\tcvt.u64.u32 %rd3, %r31;\n\tred.global.add.u64 [%rd1], %rd3;"
	narrow := "\tred.global.add.u32 [%rd1], %r31;\n\tred.global.add.u32 [%rd1+4], %r31;"
	for name, body := range map[string]string{"one wide": wide, "two narrow": narrow} {
		if got := began(body, 1, 0); got == 0 || got != began(body, 1, 7) || got == began(body, 2, 0) || got != began(narrow, 1, 0) {
			t.Errorf("%s: %x of ones, %x in another order, %x of twos, %x in two halves", name, got, began(body, 1, 7), began(body, 2, 0), began(narrow, 1, 0))
		}
	}
	for name, body := range map[string]string{
		"an exchange":   "\tatom.global.exch.b32 %r1, [%rd1], %r31;",
		"a store":       "\tst.global.u32 [%rd1], %r31;",
		"stored before": "\tst.global.u32 [%rd1], 5;\n\tred.global.add.u32 [%rd1], %r31;",
	} {
		if got := began(body, 1, 0); got != 0 {
			t.Errorf("%s: got %x, want 0", name, got)
		}
	}
	cas := "\tatom.global.cas.b32 %r1, [%rd1], 0x01010101, %r31;"
	if got := began(cas, 1, 0); got == 0 || began(cas, 2, 0) != 0 {
		t.Errorf("compare-and-swap: %x where it swaps, %x where it does not", got, began(cas, 2, 0))
	}
}

// TestCompareAndSwapCountsSwaps: of 40 threads that try to take a lock one does, and what is tried does not count.
func TestCompareAndSwapCountsSwaps(t *testing.T) {
	for name, body := range map[string]string{
		"with a result":                       "\tatom.global.cas.b32 %r1, [%rd1], 0, 1;",
		"whose result overwrites the operand": "\tmov.u32 %r1, 0;\n\tatom.global.cas.b32 %r1, [%rd1], %r1, 1;",
	} {
		l := testLaunch(1, 40, make([]byte, 64), 0)
		got := watchOutputs(t, mustLoad(t, entry(body)), l, Recording{Mode: warptrace.ModeControlFlow})
		want := warptrace.StoreTotal{StoreSum: warptrace.StoreSum{Site: got.Outputs.Stores[0].Site, Count: 1, Hash: warptrace.StoredHash(0, 0, 4+10<<9)}, Warps: 1, Swaps: true, Values: &warptrace.ValueSums{}}
		if d := cmp.Diff([]warptrace.StoreTotal{want}, got.Outputs.Stores); d != "" || got.Outputs.Arrays[0].Written != 4 {
			t.Errorf("%s (-want +got):\n%s%+v", name, d, got.Outputs.Arrays)
		}
	}
}

// TestAtomicsOnAPartOfAWordWriteThatPart: what a loop of compare-and-swap writes back of its neighbours was not written.
func TestAtomicsOnAPartOfAWordWriteThatPart(t *testing.T) {
	p := mustLoad(t, addHalf(roundDown, loadWord, ""))
	var want *watched
	for _, garbage := range []byte{0, 7} {
		l, _ := halves(5, 0, 1)
		l.Params[0].Type, l.Memory[0].Bytes[2], l.Memory[0].Bytes[3] = "*fp16", garbage, garbage
		got := watchOutputs(t, p, l, Recording{Mode: warptrace.ModeControlFlow, Keep: 1 << 10})
		if want == nil {
			want = got
		}
		sum := warptrace.StoreSum{Count: 1, Hash: warptrace.StoredHash(0, 0, 2+10<<9), Site: got.Outputs.Stores[0].Site}
		if a := got.Outputs.Arrays[0]; a.Written != 2 || !cmp.Equal(want, got) || got.Outputs.Stores[0].StoreSum != sum {
			t.Errorf("neighbours of %d: got %+v and %+v", garbage, a, got.Outputs.Stores)
		}
	}
}

// TestFindingsBelongToARecording: what the checks found is there with its site and warp; lanes that fail do not count as stores.
func TestFindingsBelongToARecording(t *testing.T) {
	l := testLaunch(2, 64, make([]byte, 64*4), 0)
	body := "\t.loc 1 7 3\n" + wordOfThread + "\tmov.u32 %r1, %ctaid.x;\n\tmul.wide.u32 %rd4, %r1, 192;\n\tadd.s64 %rd3, %rd3, %rd4;\n\tst.global.u32 [%rd3], %r31;"
	p := mustLoad(t, strings.Replace(entry(body), "}\n", "}\n.file 1 \"k.py\"\n", 1))
	got := watchOutputs(t, p, l, Recording{Mode: warptrace.ModeControlFlow})
	want := []warptrace.Finding{{
		Check: "out-of-bounds", Function: "k", File: "k.py", Line: 7, Column: 3, Instruction: "st.global.u32 [%rd3], %r31", Block: [3]uint32{1, 0, 0}, Warp: 2,
		Lane: 16, Lanes: 0xffff0000, Count: 2, Array: "out", Distance: 4,
	}}
	if d := cmp.Diff(want, got.Outputs.Findings, cmpopts.IgnoreFields(warptrace.Finding{}, "Message")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if s := got.Outputs.Stores[0]; s.Count != 64+16 || s.Warps != 3 || s.Site != 0 {
		t.Errorf("got %+v, want 80 elements of 3 warps", s)
	}
	c := got.Outputs.Coverage
	if !c.Checks || !c.Races || c.NaN || c.GlobalRaces || !c.ControlFlow || c.StoreSites != 1 || c.Stopped {
		t.Errorf("the coverage is %+v", c)
	}
}
