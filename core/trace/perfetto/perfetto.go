// Package perfetto reads Perfetto's own traces (.pftrace): slices and instants of tracks, and stages of GPUs, as Perfetto's library, rocprofv3
// and PyTorch's Cuspy write them. docs/formats/perfetto.md says which packets.
//
// All times are put on the clock of the trace, by the snapshots of clocks in it; where these read the wall clock too, the trace is dated.
package perfetto

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/trace/rows"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Format is the trace in the table of formats.
var Format = rows.Format(source.Format{
	Name: "perfetto", Title: "Perfetto trace", Kind: format.Perfetto, Endings: []string{".pftrace", ".perfetto-trace"},
	Devices: "with a recorder of GPUs, such as torch.profiler or rocprofv3 --kernel-trace --output-format pftrace",
}, open)

// book is an open trace.
type book struct {
	src   *file.Source
	clock *rows.Clock
	names rows.Names

	// of one pass
	clocks     *clocks
	sequences  map[uint32]*sequence
	tracks     map[uint64]*track
	order      []*track
	threads    map[[2]int64]string // names by pid and tid
	lineNames  map[rows.Lane]string
	texts      map[string]string
	size       int
	generation int
	lost       lost
	unused     map[string]int64
	ask        rows.Ask
	visit      func(r *rows.Row) error
	row        rows.Row
	stages     int
	looking    *looked // instead of visiting rows: what is asked of their times
	looked     *looked // what was found
}

// lost is what was not read as it should be.
type lost struct {
	unopened, unclosed, untimed, dropped, tracks int64
	full                                         bool // more texts than are kept
}

func open(_ context.Context, src *file.Source, clock *rows.Clock) (rows.Book, error) {
	return &book{src: src, clock: clock}, nil
}

// begin forgets what the pass before found.
func (b *book) begin() {
	b.clocks, b.sequences = newClocks(), map[uint32]*sequence{}
	b.tracks, b.order, b.threads = map[uint64]*track{}, nil, map[[2]int64]string{}
	b.lineNames, b.texts, b.size, b.generation = map[rows.Lane]string{}, map[string]string{}, 0, 1
	b.lost, b.unused, b.stages = lost{}, map[string]int64{}, 0
	b.names = rows.Names{Processes: map[int64]string{}, Devices: map[int64]string{}, Line: func(l rows.Lane) string { return b.lineNames[l] }}
}

// datedFrom is an instant from which times that no snapshot relates to the wall clock are taken for the wall clock's: no host has run
// for 31 years.
const datedFrom = 1_000_000_000_000_000_000

// Facts reads all times, and says from when they count.
func (b *book) Facts(ctx context.Context) (*source.Facts, error) {
	if err := b.look(ctx); err != nil {
		return nil, err
	}
	f := &source.Facts{}
	switch offset, ok := b.clocks.wall(); {
	case ok && offset >= source.AbsoluteNS:
		f.StartNS, f.HasStart, f.Dated = offset, true, true
	case ok, b.looked.firstNS >= datedFrom:
		f.Dated = true
	default:
		f.Undated = "snapshot of the wall clock"
	}
	return f, nil
}

// Read visits slices when they end, instants, and stages of GPUs.
func (b *book) Read(ctx context.Context, ask rows.Ask, visit func(r *rows.Row) error) error {
	if b.looked == nil {
		if err := b.look(ctx); err != nil {
			return err
		}
	}
	b.begin()
	b.ask, b.visit = ask, visit
	if err := b.walk(ctx); err != nil {
		return err
	}
	for _, t := range b.order { // what nobody ended
		for i := len(t.open) - 1; i >= 0; i-- {
			b.lost.unclosed++
			if err := b.emit(t, t.open[i], t.open[i].ns); err != nil {
				return err
			}
		}
		t.open = nil
	}
	return nil
}

// walk goes through the packets.
func (b *book) walk(ctx context.Context) error {
	p := &packets{ctx: ctx, path: b.src.Path()}
	var visit func(data []byte) error
	visit = func(data []byte) error {
		if inner := compressed(data); inner != nil {
			return p.inflate(inner, visit)
		}
		return b.packet(data)
	}
	return p.read(bufio.NewReaderSize(io.NewSectionReader(b.src, 0, b.src.Size()), 256<<10), visit)
}

// compressed is the packets within a packet, nil where it has none.
func compressed(data []byte) []byte {
	if len(data) < 2 || data[0] != 50<<3&0x7f|2|0x80 { // the tag of field 50 has two bytes
		return nil
	}
	if f, _, ok := next(data); ok && f.num == 50 {
		return f.b
	}
	return nil
}

// Names are those of processes and tracks, and what was lost and left out.
func (b *book) Names() rows.Names {
	n := b.names
	for _, one := range []struct {
		n    int64
		text string
	}{
		{b.lost.unclosed, "slices that nobody ended, which last 0 here"},
		{b.lost.unopened, "ends of slices that nobody began"},
		{b.lost.untimed, "events whose clock no snapshot relates to that of the trace"},
		{b.lost.dropped, "gaps of which the recorder says that packets are lost in them"},
		{b.lost.tracks, "events of tracks beyond the limit of what is kept"},
	} {
		if one.n > 0 {
			n.Losses = append(n.Losses, fmt.Sprintf("%s: %d", one.text, one.n))
		}
	}
	if b.lost.full {
		n.Losses = append(n.Losses, fmt.Sprintf("names beyond %d bytes are missing", maxTexts))
	}
	if len(b.unused) > 0 {
		var words []string
		for what, count := range b.unused {
			words = append(words, fmt.Sprintf("%s (%d)", what, count))
		}
		slices.Sort(words)
		n.Warnings = []string{"prlx does not use these of the trace: " + strings.Join(words, ", ")}
	}
	return n
}

// text keeps a text once.
func (b *book) text(t []byte) string {
	if known, ok := b.texts[string(t)]; ok {
		return known
	}
	if b.size += len(t) + 64; b.size > maxTexts {
		b.lost.full = true
		return ""
	}
	s := string(t)
	b.texts[s] = s
	return s
}

// count bounds what is kept beside texts.
func (b *book) count(bytes int) { b.size += bytes }

// sequenceOf finds or begins a sequence.
func (b *book) sequenceOf(id uint32) (*sequence, error) {
	s := b.sequences[id]
	if s == nil {
		if len(b.sequences) >= 1<<16 {
			return nil, fault.New(fault.Limit, "more than %d sequences of packets", 1<<16).WithPath(b.src.Path())
		}
		s = &sequence{}
		s.clear()
		b.sequences[id] = s
	}
	return s, nil
}
