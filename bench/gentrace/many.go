package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// manyFile describes one file of many: what is unusual about it, in the words of docs/formats/prlx-v1.md.
type manyFile struct {
	File      string   `json:"file"`
	Features  []string `json:"features"`
	Readable  bool     `json:"readable"` // a reader of v1 must accept it; of files cut inside rings, the events
	Bytes     int      `json:"bytes"`
	WholeSize int      `json:"whole_size"` // before it was cut
	Kernel    string   `json:"kernel"`
	Warps     int      `json:"warps"`
	Events    int64    `json:"events"` // before it was cut
}

// manyPair is a pair of recordings that can be compared.
type manyPair struct {
	A     string               `json:"a"`
	B     string               `json:"b"`
	Map   string               `json:"map"` // the site map of both
	Truth *warptracetest.Truth `json:"truth"`
}

// many writes files/ and pairs/ and index.json, which describes them.
func many(set *flag.FlagSet, args []string) error {
	out := set.String("out", "", "directory to write to")
	seed := set.Uint64("seed", 1, "seed of everything random")
	files, pairs := set.Int("files", 500, "files of format v1 of every flag, a part of them cut short"), set.Int("pairs", 200, "random pairs")
	if err := set.Parse(args); err != nil {
		return err
	}
	name, err := directory(*out)
	if err != nil {
		return err
	}
	for _, d := range []string{"files", "pairs"} {
		if err := os.MkdirAll(name(d), 0o755); err != nil {
			return err
		}
	}
	index := struct {
		Files []manyFile `json:"files"`
		Pairs []manyPair `json:"pairs"`
	}{[]manyFile{}, []manyPair{}}
	for i := range *files {
		described, data := oneFile(*seed, i)
		described.File = fmt.Sprintf("files/%03d.prlx", i)
		if err := os.WriteFile(name(described.File), data, 0o644); err != nil {
			return err
		}
		index.Files = append(index.Files, described)
	}
	for i := range *pairs {
		p, err := onePair(*seed, i, name)
		if err != nil {
			return err
		}
		index.Pairs = append(index.Pairs, p)
	}
	return writeJSON(name("index.json"), index)
}

// oneFile makes file i: its number decides the flags, so that every combination comes up.
func oneFile(seed uint64, i int) (manyFile, []byte) {
	r := warptracetest.NewRandom(seed, uint64(i))
	bit := func(k int) bool { return i>>k&1 == 1 }
	var f warptracetest.V1File
	d := manyFile{Features: []string{}, Readable: true}
	note := func(on bool, name string, do func()) {
		if on {
			d.Features = append(d.Features, name)
			do()
		}
	}
	l := warptracetest.Launch{Warps: r.Between(1, 9), WarpsPerBlock: r.Between(1, 4), Data: r.Next()}
	note(bit(0), "compressed", func() { f.Compress = true })
	note(bit(1), "history", func() { l.History = r.Between(1, 20) })
	note(bit(2), "snapshot", func() { l.Snapshots = r.Between(1, 12) })
	f.SampleRate = 1
	note(bit(3), "sampled", func() { f.SampleRate = uint32(r.Between(2, 9)) })
	note(bit(4), "compact", func() { f.Flags |= 1 })
	note(bit(5), "overflow", func() { l.Events = r.Between(3, 60) })
	note(r.Below(3) == 0, "hash32", func() { f.Hash32 = true })
	note(!bit(3) && r.Below(3) == 0, "old", func() { f.SampleRate = 0 })
	note(bit(5) && r.Below(2) == 0, "unclamped", func() { f.Unclamped = true })
	note(r.Below(4) == 0, "explicit offsets", func() { f.Explicit = true })
	note(r.Below(4) == 0, "microseconds", func() { f.Timestamp = 1_750_000_000_123_456 })
	note(r.Below(4) == 0, "idle warps", func() { l.Share = 0.5 })
	c := warptracetest.Config{Seed: r.Next(), Size: 2, Depth: 2}
	if bit(6) {
		c.Kernel = fmt.Sprintf("_Z%dkernel_with_a_name_that_is_longer_than_the_header_has_room_for_%04dPKiPf", 68, i)
		d.Features = append(d.Features, "long name")
	}
	rec := warptracetest.NewProgram(c).Run(l)
	data := f.Bytes(rec)
	d.WholeSize, d.Kernel, d.Warps, d.Events = len(data), rec.Header.Kernel, len(rec.Warps), rec.Events()
	if i%5 == 4 {
		events := f.EventsEnd(rec)
		cut := r.Between(0, len(data)-1)
		data = data[:cut]
		d.Features = append(d.Features, "truncated")
		d.Readable = !f.Compress && cut >= events
	}
	d.Bytes = len(data)
	return d, data
}

// onePair makes a pair of files of format v1 that can be compared, with their site map.
func onePair(seed uint64, i int, name func(string) string) (manyPair, error) {
	r := warptracetest.NewRandom(seed, 1, uint64(i))
	p := warptracetest.NewProgram(warptracetest.Config{Seed: r.Next(), Size: r.Between(1, 5), Depth: r.Between(1, 3)})
	l := warptracetest.Launch{Warps: r.Between(1, 12), WarpsPerBlock: r.Between(1, 4), Data: r.Next()}
	if i%3 == 1 {
		l.Snapshots, l.History = r.Between(1, 16), r.Between(1, 16)
	}
	a := p.Run(l)
	e := warptracetest.Edits{Seed: r.Next(), Count: r.Between(0, 12), MinRun: 1, MaxRun: r.Between(1, 80)}
	if e.Count == 0 { // an equal pair
		e = warptracetest.Edits{Seed: 1, Rate: 1e-12}
	}
	b, truth := warptracetest.Edit(a, e)
	f := warptracetest.V1File{SampleRate: 1, Compress: i%4 == 2, Capacity: max(1, warptracetest.Longest(a), warptracetest.Longest(b))}
	if i%7 == 3 {
		f.Capacity = max(1, f.Capacity/2) // the rest is dropped
	}
	d := manyPair{A: fmt.Sprintf("pairs/%03d_a.prlx", i), B: fmt.Sprintf("pairs/%03d_b.prlx", i), Map: fmt.Sprintf("pairs/%03d_sites.json", i), Truth: truth}
	if err := os.WriteFile(name(d.A), f.Bytes(a), 0o644); err != nil {
		return d, err
	}
	if err := os.WriteFile(name(d.B), f.Bytes(b), 0o644); err != nil {
		return d, err
	}
	return d, writeMap(name(d.Map), p.Sites())
}
