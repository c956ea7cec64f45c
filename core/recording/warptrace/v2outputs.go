package warptrace

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/fault"
)

// The outputs block of format v2, and how the blocks that belong to it are written and found.

// SetOutputs adds what the launch wrote. It comes after the last warp and site, once. Arrays and their chunks must be ascending.
func (w *V2Writer) SetOutputs(o *Outputs) error {
	if err := w.usable(); err != nil {
		return err
	}
	if w.finished {
		return fault.Usagef("what the launch wrote was set before")
	}
	if err := w.checkOutputs(o); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	body := encodeOutputs(o)
	if len(body) > v2MaxOutputs {
		return fault.New(fault.Limit, "what is known of the launch's outputs takes %d bytes; at most %d are written", len(body), v2MaxOutputs)
	}
	w.finished = true
	w.extra(v2Head{kind: v2Outputs, count: 1}, body)
	var rows []chunkRow
	for i := range o.Arrays {
		for _, c := range o.Arrays[i].Chunks {
			if rows = append(rows, chunkRow{o.Arrays[i].ID, c}); len(rows) == v2BlockRows {
				w.extra(v2Head{kind: v2Chunks, count: uint32(len(rows))}, encodeChunks(rows))
				rows = rows[:0]
			}
		}
	}
	if len(rows) > 0 {
		w.extra(v2Head{kind: v2Chunks, count: uint32(len(rows))}, encodeChunks(rows))
	}
	return w.err
}

func (w *V2Writer) checkOutputs(o *Outputs) error {
	chunks := 0
	for i := range o.Arrays {
		a := &o.Arrays[i]
		if i > 0 && a.ID <= o.Arrays[i-1].ID || a.ElementBytes == 0 || a.ElementBytes > 8 {
			return fault.Usagef("array %q is not behind the one before, or has elements of %d bytes", a.Name, a.ElementBytes)
		}
		if !slices.IsSortedFunc(a.Chunks, func(a, b Chunk) int { return cmp.Compare(a.Index, b.Index) }) {
			return fault.Usagef("the chunks of array %q are in no order", a.Name)
		}
		chunks += len(a.Chunks)
	}
	for i := 1; i < len(o.Held); i++ {
		if o.Held[i].ID <= o.Held[i-1].ID {
			return fault.Usagef("what the memory of %q held is not behind the one before", o.Held[i].Name)
		}
	}
	if chunks > MaxChunks || len(o.Arrays) > MaxArrays || len(o.Held) > MaxArrays || len(o.Findings) > MaxFindings || len(o.Stores) > MaxStoreTotals {
		return fault.New(fault.Limit, "a recording holds at most %d arrays, %d chunks, %d sums of stores and %d findings", MaxArrays, MaxChunks, MaxStoreTotals, MaxFindings)
	}
	for i := range o.Stores {
		if s := o.Stores[i].Site; s != NoSite && int64(s) >= int64(len(w.facts.keys)) {
			return fault.Usagef("a sum of stores names a site that was not added: there are %d", len(w.facts.keys))
		}
	}
	return nil
}

// What Outputs holds at most. Writers count what is beyond in Coverage.
const (
	MaxArrays      = 1 << 16
	MaxChunks      = 1 << 22
	MaxStoreTotals = 1 << 18
	MaxFindings    = 1 << 12
)

// AddContents adds the contents of a chunk. It comes after SetOutputs; arrays and their chunks must be ascending.
func (w *V2Writer) AddContents(c *Contents) error {
	if err := w.usable(); err != nil {
		return err
	}
	if !w.finished || c.Element == 0 || c.Element > 8 || len(c.Bytes) != int(ChunkElements*c.Element) || len(c.Written) != len(c.Bytes)/8 ||
		c.Writers != nil && len(c.Writers) != ChunkElements {
		return fault.Usagef("chunk %d of array %d is not whole, or the outputs were not set", c.Chunk, c.Array)
	}
	if w.chunks++; w.chunks > MaxChunks {
		return fault.New(fault.Limit, "a recording holds the contents of at most %d chunks", MaxChunks)
	}
	w.contents = append(w.contents, Contents{
		c.Array, c.Chunk, c.Element, slices.Clone(c.Bytes), slices.Clone(c.Written), slices.Clone(c.Pointers), slices.Clone(c.Writers),
	})
	if w.kept += len(c.Bytes); w.kept >= v2BlockContents {
		w.flushContents()
	}
	return w.err
}

func (w *V2Writer) flushContents() {
	if len(w.contents) > 0 {
		w.extra(v2Head{kind: v2Contents, count: uint32(len(w.contents))}, encodeContents(w.contents))
		w.contents, w.kept = w.contents[:0], 0
	}
}

// addStores takes the rows of a warp. Those that no longer fit are counted by whoever recorded, see StoreRoom.
func (w *V2Writer) addStores(warp *Warp) {
	for i := range warp.Stores {
		if w.StoreRoom() == 0 {
			return
		}
		w.rows.add(warp.Warp, &warp.Stores[i])
		if w.written++; w.rows.Len() == v2BlockRows {
			w.flushStores()
		}
	}
}

// StoreRoom is how many more rows of stores the recording can hold. Rows beyond are left out.
func (w *V2Writer) StoreRoom() int { return v2MaxRows - w.written }

func (w *V2Writer) flushStores() {
	if w.rows.Len() == 0 {
		return
	}
	w.extra(v2Head{kind: v2Stores, count: uint32(w.rows.Len())}, encodeStores(&w.rows))
	w.rows.reset()
}

// extra writes a block that the end lists.
func (w *V2Writer) extra(head v2Head, body []byte) {
	if w.err == nil && len(w.list.extras) >= v2MaxExtras {
		w.err = fault.New(fault.Limit, "a recording holds at most %d blocks of what was written", v2MaxExtras)
	}
	at := w.off
	w.list.addExtra(v2Block{at, w.block(head, nil, body)})
}

// outputs reads what the launch wrote.
func (v *v2) outputs(ctx context.Context) (*Outputs, error) {
	var o *Outputs
	at, chunks := 0, 0
	for i, b := range v.extras {
		if b.head.kind != v2Outputs && b.head.kind != v2Chunks {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		_, body, err := v.payload(b, &v2Memory{})
		if err != nil {
			return nil, err
		}
		v.extra[i].Store(true)
		if b.head.kind == v2Outputs {
			if o != nil {
				return nil, v.corrupt(b.offset, "the outputs of the launch are there twice")
			}
			if o, err = decodeOutputs(body, len(v.sites)); err != nil {
				return nil, v.corrupt(b.offset, "the outputs of the launch are corrupt: %v", err)
			}
			continue
		}
		if chunks += int(b.head.count); chunks > MaxChunks {
			return nil, fault.New(fault.Limit, "the recording has digests of more than %d chunks", MaxChunks).WithPath(v.in.Path())
		}
		if o == nil {
			return nil, v.corrupt(b.offset, "the digests of arrays are in front of what they belong to")
		}
		if err := decodeChunks(body, int(b.head.count), o, &at); err != nil {
			return nil, v.corrupt(b.offset, "the digests of arrays are corrupt: %v", err)
		}
	}
	return o, nil
}

// contents hands out the contents that were kept, a block at a time.
func (v *v2) contents(ctx context.Context, visit func(*Contents) error) error {
	var before *Contents
	for i, b := range v.extras {
		if b.head.kind != v2Contents {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		_, body, err := v.payload(b, &v2Memory{})
		if err != nil {
			return err
		}
		v.extra[i].Store(true)
		all, err := decodeContents(body, int(b.head.count), len(v.sites), v.header.WarpSlots, v.header.WaveSize)
		if err != nil {
			return v.corrupt(b.offset, "the contents of arrays are corrupt: %v", err)
		}
		for i := range all {
			if c := &all[i]; before != nil && cmp.Or(cmp.Compare(before.Array, c.Array), cmp.Compare(before.Chunk, c.Chunk)) >= 0 {
				return v.corrupt(b.offset, "the contents of arrays are corrupt: their chunks are in no order")
			}
			before = &all[i]
			if err := visit(before); err != nil {
				return err
			}
		}
	}
	return nil
}

// encodeOutputs makes the Outputs message.
func encodeOutputs(o *Outputs) []byte {
	m := message(nil).sub(1, encodeCoverage(&o.Coverage))
	for i := range o.Arrays {
		a := &o.Arrays[i]
		m = m.sub(2, message(nil).uint(1, uint64(a.ID)).uint(2, uint64(a.Kind)).text(3, a.Name).text(4, a.Type).uint(5, uint64(a.ElementBytes)).
			uint(6, a.Written).fixed(7, a.Digest).fixed(8, a.Began).values(9, a.Values))
	}
	for i := range o.Stores {
		s := &o.Stores[i]
		m = m.sub(3, message(nil).uint(1, uint64(s.Site+1)).uint(2, uint64(s.Array+1)).uint(3, s.Count).fixed(4, s.Hash).uint(5, s.Warps).flag(6, s.Swaps).values(7, s.Values))
	}
	for i := range o.Findings {
		f := &o.Findings[i]
		m = m.sub(4, message(nil).text(1, f.Check).uint(2, uint64(f.Site+1)).text(3, f.Function).text(4, f.File).uint(5, uint64(f.Line)).
			uint(6, uint64(f.Column)).text(7, f.Instruction).three(8, f.Block).uint(9, f.Warp).uint(10, uint64(f.Lane)).fixed(11, f.Lanes).
			uint(12, f.Count).text(13, f.Array).uint(14, zigzag(uint64(f.Distance))).text(15, f.Message))
	}
	for i := range o.Held {
		h := &o.Held[i]
		m = m.sub(5, message(nil).uint(1, uint64(h.ID)).text(2, h.Name).text(3, h.Type).uint(4, h.Bytes).fixed(5, h.Digest).uint(6, h.Addresses))
	}
	return m
}

// flags are the booleans of the coverage, by the number of their field.
func (c *Coverage) flags() []*bool {
	return []*bool{
		&c.ControlFlow, &c.Predicates, &c.StoreEvents, &c.AtomicEvents, &c.LoadEvents, &c.BarrierEvents, &c.Rolling, &c.Values, &c.Stores,
		&c.Arrays, &c.Checks, &c.Races, &c.GlobalRaces, &c.NaN, &c.Stopped, &c.Writers, &c.ContentsAfter,
	}
}

// numbers are its numbers, by the number of their field minus coverageNumbers.
func (c *Coverage) numbers() []*uint64 {
	return []*uint64{&c.StoreSites, &c.MoreFindings, &c.RowsDropped, &c.ChunksDropped, &c.ContentBudget, &c.ContentBytes, &c.InNoSum}
}

const coverageNumbers = 20

func encodeCoverage(c *Coverage) message {
	var m message
	for i, flag := range c.flags() {
		if *flag {
			m = m.uint(protowire.Number(i+1), 1)
		}
	}
	for i, n := range c.numbers() {
		m = m.uint(protowire.Number(coverageNumbers+i), *n)
	}
	return m
}

var (
	errManyOutputs = errors.New("it has more arrays, sums or findings than are read")
	errArrayOrder  = errors.New("its arrays are in no order, or have elements of 0 or more than 8 bytes")
	errHeldOrder   = errors.New("what the memory of arguments held is in no order")
	errTotalSite   = errors.New("a sum of stores names a site that the file does not have")
)

// decodeOutputs reads an Outputs message.
func decodeOutputs(b []byte, sites int) (*Outputs, error) {
	o := &Outputs{}
	err := eachField(b, func(f *field) (err error) {
		switch f.num {
		case 1:
			err = o.Coverage.decode(f.b)
		case 2:
			var a Array
			a, err = decodeArray(f.b)
			o.Arrays = append(o.Arrays, a)
			if n := len(o.Arrays); err == nil && (n > 1 && o.Arrays[n-2].ID >= a.ID || a.ElementBytes == 0 || a.ElementBytes > 8) {
				err = errArrayOrder
			}
		case 3:
			var s StoreTotal
			s, err = decodeStoreTotal(f.b)
			o.Stores = append(o.Stores, s)
			if err == nil && s.Site != NoSite && int64(s.Site) >= int64(sites) {
				err = errTotalSite
			}
		case 4:
			var found Finding
			found, err = decodeFinding(f.b)
			if int64(found.Site) >= int64(sites) {
				found.Site = NoSite
			}
			o.Findings = append(o.Findings, found)
		case 5:
			var h Held
			h, err = decodeHeld(f.b)
			o.Held = append(o.Held, h)
			if n := len(o.Held); err == nil && n > 1 && o.Held[n-2].ID >= h.ID {
				err = errHeldOrder
			}
		}
		if len(o.Arrays) > MaxArrays || len(o.Held) > MaxArrays || len(o.Stores) > MaxStoreTotals || len(o.Findings) > MaxFindings {
			return errManyOutputs
		}
		return err
	})
	return o, err
}

func (c *Coverage) decode(b []byte) error {
	flags, numbers := c.flags(), c.numbers()
	return eachField(b, func(f *field) error {
		if i := int(f.num) - 1; i < len(flags) {
			*flags[i] = f.v != 0
		}
		if i := int(f.num) - coverageNumbers; i >= 0 && i < len(numbers) {
			*numbers[i] = f.v
		}
		return nil
	})
}

func decodeArray(b []byte) (a Array, err error) {
	err = eachField(b, func(f *field) (err error) {
		switch f.num {
		case 1:
			a.ID = uint32(f.v)
		case 2:
			a.Kind = ArrayKind(f.v)
		case 3:
			a.Name = f.text()
		case 4:
			a.Type = f.text()
		case 5:
			a.ElementBytes = uint32(f.v)
		case 6:
			a.Written = f.v
		case 7:
			a.Digest = f.v
		case 8:
			a.Began = f.v
		case 9:
			a.Values, err = decodeValueSums(f.b)
		}
		return err
	})
	return a, err
}

func decodeHeld(b []byte) (h Held, err error) {
	err = eachField(b, func(f *field) error {
		switch f.num {
		case 1:
			h.ID = uint32(f.v)
		case 2:
			h.Name = f.text()
		case 3:
			h.Type = f.text()
		case 4:
			h.Bytes = f.v
		case 5:
			h.Digest = f.v
		case 6:
			h.Addresses = f.v
		}
		return nil
	})
	return h, err
}

func decodeStoreTotal(b []byte) (StoreTotal, error) {
	s := StoreTotal{StoreSum: StoreSum{Site: NoSite, Array: NoArray}}
	err := eachField(b, func(f *field) (err error) {
		switch f.num {
		case 1:
			s.Site = uint32(f.v) - 1
		case 2:
			s.Array = uint32(f.v) - 1
		case 3:
			s.Count = f.v
		case 4:
			s.Hash = f.v
		case 5:
			s.Warps = f.v
		case 6:
			s.Swaps = f.v != 0
		case 7:
			s.Values, err = decodeValueSums(f.b)
		}
		return err
	})
	return s, err
}

func decodeFinding(b []byte) (Finding, error) {
	found, block := Finding{Site: NoSite}, 0
	err := eachField(b, func(f *field) (err error) {
		switch f.num {
		case 1:
			found.Check = f.text()
		case 2:
			found.Site = uint32(f.v) - 1
		case 3:
			found.Function = f.text()
		case 4:
			found.File = f.text()
		case 5:
			found.Line = uint32(f.v)
		case 6:
			found.Column = uint32(f.v)
		case 7:
			found.Instruction = f.text()
		case 8:
			err = threeOf(f, &found.Block, &block)
		case 9:
			found.Warp = f.v
		case 10:
			found.Lane = uint32(f.v)
		case 11:
			found.Lanes = f.v
		case 12:
			found.Count = f.v
		case 13:
			found.Array = f.text()
		case 14:
			found.Distance = int64(unzigzag(f.v))
		case 15:
			found.Message = f.text()
		}
		return err
	})
	return found, err
}
