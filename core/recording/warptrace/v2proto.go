package warptrace

import (
	"errors"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/recording/site"
)

// The messages of docs/formats/prlx-v2.proto, written and read by hand: fields in ascending order, defaults left out.

type message []byte

func (m message) uint(num protowire.Number, v uint64) message {
	if v == 0 {
		return m
	}
	return protowire.AppendVarint(protowire.AppendTag(m, num, protowire.VarintType), v)
}

func (m message) flag(num protowire.Number, v bool) message {
	if v {
		return m.uint(num, 1)
	}
	return m
}

func (m message) fixed(num protowire.Number, v uint64) message {
	if v == 0 {
		return m
	}
	return protowire.AppendFixed64(protowire.AppendTag(m, num, protowire.Fixed64Type), v)
}

func (m message) fixed32(num protowire.Number, v uint32) message {
	if v == 0 {
		return m
	}
	return protowire.AppendFixed32(protowire.AppendTag(m, num, protowire.Fixed32Type), v)
}

func (m message) text(num protowire.Number, s string) message {
	if s == "" {
		return m
	}
	return protowire.AppendString(protowire.AppendTag(m, num, protowire.BytesType), strings.ToValidUTF8(s, "\uFFFD"))
}

func (m message) sub(num protowire.Number, b message) message {
	return protowire.AppendBytes(protowire.AppendTag(m, num, protowire.BytesType), b)
}

func (m message) three(num protowire.Number, v [3]uint32) message {
	if v == [3]uint32{} {
		return m
	}
	var b message
	for _, n := range v {
		b = protowire.AppendVarint(b, uint64(n))
	}
	return m.sub(num, b)
}

func encodeV2Header(h *Header) []byte {
	var m message
	m = m.text(1, h.Kernel)
	if h.KernelHash != Hash64(h.Kernel) {
		m = m.fixed(2, h.KernelHash)
	}
	m = m.text(3, h.ModuleHash).three(4, h.Grid).three(5, h.Cluster).three(6, h.Block)
	m = m.uint(7, uint64(h.WaveSize)).uint(8, uint64(h.WarpsPerBlock)).uint(9, h.WarpSlots).uint(10, uint64(h.EventsPerWarp))
	m = m.text(11, h.Arch).uint(12, uint64(h.ArchNumber)).uint(13, h.Launch).fixed(14, h.ArgumentDigest)
	for _, a := range h.Arguments {
		m = m.sub(15, encodeArgument(&a))
	}
	m = m.uint(16, uint64(h.Mode)).uint(17, uint64(h.Means)).uint(18, uint64(h.Keep)).uint(19, uint64(h.SampleRate))
	m = m.uint(20, uint64(h.TimestampNS))
	if h.Taken {
		m = m.uint(21, 1)
	}
	m = m.uint(22, uint64(h.HistoryDepth)).uint(23, uint64(h.SnapshotDepth)).text(24, h.Producer)
	if h.Origin != nil {
		m = m.sub(25, encodeOrigin(h.Origin))
	}
	return m
}

func encodeArgument(a *Argument) message {
	m := message(nil).text(1, a.Name).text(2, a.Type).text(3, a.Value).fixed(4, a.Digest)
	var shape, strides message
	for _, n := range a.Shape[:min(len(a.Shape), v2MaxDimensions)] {
		shape = protowire.AppendVarint(shape, n)
	}
	for _, n := range a.Strides[:min(len(a.Strides), v2MaxDimensions)] {
		strides = protowire.AppendVarint(strides, uint64(n))
	}
	if len(shape) > 0 {
		m = m.sub(5, shape).sub(6, strides)
	}
	return m.uint(7, a.Offset).uint(8, a.Aligned).text(9, a.Special).uint(10, a.Points).fixed(11, a.Before)
}

func encodeSites(sites []site.Site) []byte {
	var m, one message
	for i := range sites {
		one = appendSite(one[:0], &sites[i])
		m = m.sub(1, one)
	}
	return m
}

func appendSite(m message, s *site.Site) message {
	m = m.uint(1, uint64(s.ID)).fixed(2, uint64(s.Key)).uint(3, uint64(s.Kind))
	for i := range s.Chain {
		m = m.sub(4, appendFrame(nil, &s.Chain[i]))
	}
	m = m.uint(5, uint64(s.Occurrence)).uint(6, uint64(s.Ordinal+1))
	if s.Compare != site.NoCompare {
		m = m.uint(7, uint64(s.Compare)+1)
	}
	for i := range s.Operands {
		m = m.sub(8, appendOperand(nil, &s.Operands[i]))
	}
	return m.text(9, s.Text).fixed32(10, s.Shape).fixed32(11, s.Code)
}

func appendFrame(m message, f *site.Frame) message {
	return m.text(1, f.Function).text(2, f.File).uint(3, uint64(f.Line)).uint(4, uint64(f.Column))
}

func appendOperand(m message, o *site.Operand) message {
	m = m.text(1, o.Role).text(2, o.Type).uint(3, uint64(o.Origin)).text(4, o.Name).fixed(5, uint64(o.Site))
	if o.Where != (site.Frame{}) {
		m = m.sub(6, appendFrame(nil, &o.Where))
	}
	for i := range o.Inputs {
		m = m.sub(7, appendOperand(nil, &o.Inputs[i]))
	}
	return m
}

// v2Totals are the totals and notes of an end block.
type v2Totals struct {
	warps, events, dropped, dropping uint64
	notes                            []string
	extras                           []v2Block // to write
	offsets                          []uint64  // as read
	texts                            uint64    // offset of the texts block, 0: there is none
}

func (t *v2Totals) encode() []byte {
	m := message(nil).uint(1, t.warps).uint(2, t.events).uint(3, t.dropped).uint(4, t.dropping)
	for _, n := range t.notes {
		m = m.text(5, n)
	}
	var list message
	var before int64
	for i := range t.extras {
		list = protowire.AppendVarint(list, uint64(t.extras[i].offset-before))
		before = t.extras[i].offset
	}
	if len(list) > 0 {
		m = m.sub(6, list)
	}
	return m.uint(7, t.texts)
}

// field is one field of a message: v for numbers, b for everything with a length.
type field struct {
	num protowire.Number
	typ protowire.Type
	v   uint64
	b   []byte
}

func (f *field) text() string { return strings.ToValidUTF8(string(f.b), "\uFFFD") }

var errProto = errors.New("it is not a protobuf message")

// eachField calls visit for every field of a message. Fields of a type that visit does not expect have v and b at zero.
func eachField(b []byte, visit func(f *field) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errProto
		}
		b = b[n:]
		f := field{num: num, typ: typ}
		switch typ {
		case protowire.VarintType:
			f.v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.v, n = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			f.v = uint64(v)
		case protowire.BytesType:
			f.b, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return errProto
		}
		b = b[n:]
		if err := visit(&f); err != nil {
			return err
		}
	}
	return nil
}

// threeOf reads up to three numbers of a repeated field, packed or not, behind those that are there.
func threeOf(f *field, into *[3]uint32, have *int) error {
	put := func(v uint64) {
		if *have < len(into) {
			into[*have] = uint32(v)
			*have++
		}
	}
	if f.typ != protowire.BytesType {
		put(f.v)
		return nil
	}
	for b := f.b; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return errProto
		}
		put(v)
		b = b[n:]
	}
	return nil
}

func decodeV2Header(b []byte) (*Header, error) {
	h := &Header{Version: v2Major, Compressed: true}
	var grid, cluster, block int
	hashed := false
	err := eachField(b, func(f *field) (err error) {
		switch f.num {
		case 1:
			h.Kernel = f.text()
		case 2:
			h.KernelHash, hashed = f.v, true
		case 3:
			h.ModuleHash = f.text()
		case 4:
			err = threeOf(f, &h.Grid, &grid)
		case 5:
			err = threeOf(f, &h.Cluster, &cluster)
		case 6:
			err = threeOf(f, &h.Block, &block)
		case 11:
			h.Arch = f.text()
		case 15:
			var a Argument
			a, err = decodeArgument(f.b)
			h.Arguments = append(h.Arguments, a)
		case 24:
			h.Producer = f.text()
		case 25:
			h.Origin, err = decodeOrigin(f.b)
		default:
			h.number(f)
		}
		return err
	})
	if !hashed {
		h.KernelHash = Hash64(h.Kernel)
	}
	h.SampleRate = max(1, h.SampleRate)
	return h, err
}

// number sets what a numeric field of the header stands for.
func (h *Header) number(f *field) {
	switch f.num {
	case 7:
		h.WaveSize = int(uint32(f.v))
	case 8:
		h.WarpsPerBlock = uint32(f.v)
	case 9:
		h.WarpSlots = f.v
	case 10:
		h.EventsPerWarp = uint32(f.v)
	case 12:
		h.ArchNumber = uint32(f.v)
	case 13:
		h.Launch = f.v
	case 14:
		h.ArgumentDigest = f.v
	case 16:
		h.Mode = Mode(f.v)
	case 17:
		h.Means = Means(f.v)
	case 18:
		h.Keep = Keep(f.v)
	case 19:
		h.SampleRate = uint32(f.v)
	case 20:
		h.TimestampNS = int64(f.v)
	case 21:
		h.Taken = f.v != 0
	case 22:
		h.HistoryDepth = uint32(f.v)
	case 23:
		h.SnapshotDepth = uint32(f.v)
	}
}

func decodeArgument(b []byte) (a Argument, err error) {
	err = eachField(b, func(f *field) error {
		switch f.num {
		case 1:
			a.Name = f.text()
		case 2:
			a.Type = f.text()
		case 3:
			a.Value = f.text()
		case 4:
			a.Digest = f.v
		case 5:
			return eachDimension(f.b, func(n uint64) { a.Shape = append(a.Shape, n) })
		case 6:
			return eachDimension(f.b, func(n uint64) { a.Strides = append(a.Strides, int64(n)) })
		case 7:
			a.Offset = f.v
		case 8:
			a.Aligned = f.v
		case 9:
			a.Special = f.text()
		case 10:
			a.Points = f.v
		case 11:
			a.Before = f.v
		}
		return nil
	})
	return a, err
}

// v2MaxDimensions is how many dimensions of an array are kept.
const v2MaxDimensions = 32

// eachDimension reads packed numbers, of which no more are given to take than arrays have dimensions.
func eachDimension(b []byte, take func(n uint64)) error {
	for left := v2MaxDimensions; len(b) > 0 && left > 0; left-- {
		n, size := protowire.ConsumeVarint(b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		take(n)
		b = b[size:]
	}
	return nil
}

var errManyFrames = errors.New("its sites have more frames and operands than are read")

// siteDecoder reads sites. Names repeat a lot, so each is kept once.
type siteDecoder struct {
	names map[string]string
	left  int // frames and operands that may still come
}

func newSiteDecoder() *siteDecoder {
	return &siteDecoder{names: map[string]string{}, left: v2MaxFrames}
}

func (d *siteDecoder) text(b []byte) string {
	if s, ok := d.names[string(b)]; ok {
		return s
	}
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	if len(d.names) < v2MaxNames {
		d.names[string(b)] = s
	}
	return s
}

func (d *siteDecoder) count() error {
	if d.left--; d.left < 0 {
		return errManyFrames
	}
	return nil
}

func (d *siteDecoder) sites(b []byte, into []site.Site, most int) ([]site.Site, error) {
	err := eachField(b, func(f *field) error {
		if f.num != 1 {
			return nil
		}
		if most--; most < 0 {
			return errors.New("it holds more sites than it says")
		}
		s, err := d.site(f.b)
		into = append(into, s)
		return err
	})
	if err == nil && most > 0 {
		err = errors.New("it holds fewer sites than it says")
	}
	return into, err
}

func (d *siteDecoder) site(b []byte) (site.Site, error) {
	s := site.Site{Ordinal: -1, Compare: site.NoCompare}
	err := eachField(b, func(f *field) error {
		switch f.num {
		case 1:
			s.ID = uint32(f.v)
		case 2:
			s.Key = site.Key(f.v)
		case 3:
			s.Kind = site.Kind(f.v)
		case 4:
			frame, err := d.frame(f.b)
			s.Chain = append(s.Chain, frame)
			return err
		case 5:
			s.Occurrence = uint32(f.v)
		case 6:
			s.Ordinal = int32(uint32(f.v) - 1)
		case 7:
			s.Compare = site.Compare(f.v - 1)
		case 8:
			o, err := d.operand(f.b, v2MaxNesting)
			s.Operands = append(s.Operands, o)
			return err
		case 9:
			s.Text = d.text(f.b)
		case 10:
			s.Shape = uint32(f.v)
		case 11:
			s.Code = uint32(f.v)
		}
		return nil
	})
	return s, err
}

func (d *siteDecoder) frame(b []byte) (at site.Frame, err error) {
	if err = d.count(); err != nil {
		return at, err
	}
	err = eachField(b, func(f *field) error {
		switch f.num {
		case 1:
			at.Function = d.text(f.b)
		case 2:
			at.File = d.text(f.b)
		case 3:
			at.Line = uint32(f.v)
		case 4:
			at.Column = uint32(f.v)
		}
		return nil
	})
	return at, err
}

func (d *siteDecoder) operand(b []byte, depth int) (o site.Operand, err error) {
	if err = d.count(); err != nil {
		return o, err
	}
	if depth == 0 {
		return o, errors.New("its operands are nested too deep")
	}
	err = eachField(b, func(f *field) (err error) {
		switch f.num {
		case 1:
			o.Role = d.text(f.b)
		case 2:
			o.Type = d.text(f.b)
		case 3:
			o.Origin = site.Origin(f.v)
		case 4:
			o.Name = d.text(f.b)
		case 5:
			o.Site = site.Key(f.v)
		case 6:
			o.Where, err = d.frame(f.b)
		case 7:
			var in site.Operand
			in, err = d.operand(f.b, depth-1)
			o.Inputs = append(o.Inputs, in)
		}
		return err
	})
	return o, err
}

func decodeTotals(b []byte) (t v2Totals, err error) {
	err = eachField(b, func(f *field) error {
		switch f.num {
		case 1:
			t.warps = f.v
		case 2:
			t.events = f.v
		case 3:
			t.dropped = f.v
		case 4:
			t.dropping = f.v
		case 5:
			t.notes = append(t.notes, f.text())
		case 6:
			return t.readOffsets(f)
		case 7:
			t.texts = f.v
		}
		return nil
	})
	return t, err
}

// readOffsets reads a list of differences, packed or not.
func (t *v2Totals) readOffsets(f *field) error {
	put := func(d uint64) error {
		if n := len(t.offsets); n > 0 {
			d += t.offsets[n-1]
		}
		if t.offsets = append(t.offsets, d); len(t.offsets) > v2MaxExtras {
			return errors.New("it lists more blocks than are read")
		}
		return nil
	}
	if f.typ != protowire.BytesType {
		return put(f.v)
	}
	for b := f.b; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return errProto
		}
		if err := put(v); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
