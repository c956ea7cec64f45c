package warptrace

import (
	"cmp"
	"encoding/binary"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
)

// V2Options shape a file of format v2. The zero value is what most want.
type V2Options struct {
	Level    int  // zstd level, 1 (fast) to 19 (small); 0: 3
	Sections bool // events in warps blocks, as versions of prlx read them that do not know paths blocks
}

// V2Writer writes a recording of format v2 warp by warp, in any order. It holds one block of events in memory, and what the index will
// say of each warp: about 24 bytes.
type V2Writer struct {
	out   io.Writer
	off   int64
	slots uint64 // warps of the launch
	enc   *zstd.Encoder
	codec v2Codec
	facts v2SiteFacts
	keys  map[site.Key]struct{}
	seen  warpSet

	plain   bool        // sections, not paths
	columns bool        // operands of snapshots by column
	paths   pathWriter  // of the block that is being filled, unless plain
	tracks  trackWriter // likewise, where operands are kept by column
	body    []byte      // of the block that is being filled: sections, or histories and snapshots
	warps   []WarpInfo
	entries []v2Entry
	events  int

	list   v2List // directories hold copies for the index
	totals v2Totals
	buf    []byte
	err    error // the first that writing gave: nothing can follow it
	closed bool
	behind checkpoint // what stands behind the end

	sitesBytes, frames, noted int // how much of their limits is used

	rows     Stores     // of the stores block that is being filled
	written  int        // rows in the file and in rows
	contents []Contents // of the contents block that is being filled
	kept     int        // bytes of those
	chunks   int        // whose contents were added
	finished bool       // the outputs are set: no warp and no site follows
}

// CreateV2 starts a file of format v2. The header's Version, Compressed, Truncated and Warnings do not count. sites may be nil; see
// addSites.
func CreateV2(out io.Writer, h Header, sites *site.Table, opt V2Options) (*V2Writer, error) {
	w, err := newV2Writer(out, &h, opt)
	if err != nil {
		return nil, err
	}
	header := encodeV2Header(&h)
	if len(header) > v2MaxSmall {
		return nil, fault.New(fault.Limit, "the header takes %d bytes; at most %d are written", len(header), v2MaxSmall)
	}
	w.write(appendV2Preamble(nil, w.major()))
	w.block(v2Head{kind: v2Header, count: 1}, nil, header)
	if sites.Len() > 0 {
		all := make([]site.Site, sites.Len())
		for i := range all {
			all[i] = *sites.At(i)
		}
		if err := w.addSites(all); err != nil {
			return nil, err
		}
	}
	return w, w.err
}

// encoders are what compresses, by level: one takes as long to make as a small recording to write. EncodeAll may be called by several at once.
var encoders sync.Map

func encoderOf(level zstd.EncoderLevel) (*zstd.Encoder, error) {
	if enc, ok := encoders.Load(level); ok {
		return enc.(*zstd.Encoder), nil
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	kept, _ := encoders.LoadOrStore(level, enc)
	return kept.(*zstd.Encoder), nil
}

func newV2Writer(out io.Writer, h *Header, opt V2Options) (*V2Writer, error) {
	if h.WaveSize != 32 && h.WaveSize != 64 {
		return nil, fault.Usagef("a warp has %d lanes, expected 32 or 64", h.WaveSize)
	}
	level := opt.Level
	if level == 0 {
		level = 3
	}
	enc, err := encoderOf(zstd.EncoderLevelFromZstd(level))
	if err != nil {
		return nil, err
	}
	w := &V2Writer{out: out, slots: h.WarpSlots, enc: enc, plain: opt.Sections, keys: map[site.Key]struct{}{}}
	w.columns = h.Mode == ModeValues && !opt.Sections
	w.tracks.group = max(1, uint64(h.WarpsPerBlock))
	w.codec = v2Codec{facts: &w.facts, wave: h.WaveSize, taken: h.Taken}
	return w, nil
}

// addSites adds sites; they get the next local numbers. A site without a key gets one: its id of format v1 where nothing but that is
// known of it, else site.KeyOf. Two sites with one key are an error.
func (w *V2Writer) addSites(sites []site.Site) error {
	if err := w.open(); err != nil || len(sites) == 0 {
		return err
	}
	named := make([]site.Site, len(sites))
	fresh := make(map[site.Key]struct{}, len(sites))
	for i := range sites {
		named[i] = sites[i]
		s := &named[i]
		if s.Key == 0 {
			s.Key = fallbackKey(s)
		}
		_, old := w.keys[s.Key]
		_, twice := fresh[s.Key]
		if old || twice {
			return fault.Usagef("two sites have the key %#x", uint64(s.Key)).WithHint("give them different occurrences, as site.AssignKeys does")
		}
		fresh[s.Key] = struct{}{}
	}
	body := encodeSites(named)
	frames := w.frames
	for i := range named {
		frames += len(named[i].Chain)
		for k := range named[i].Operands {
			n, depth := weigh(&named[i].Operands[k])
			if frames += n; depth > v2MaxNesting {
				return fault.New(fault.Limit, "the operands of a site are nested %d deep; at most %d are written", depth, v2MaxNesting)
			}
		}
	}
	if len(w.facts.keys)+len(named) > v2MaxSites || w.sitesBytes+len(body) > v2MaxSitesBody || frames > v2MaxFrames {
		return fault.New(fault.Limit, "a recording holds at most %d sites, which have %d frames and operands and take %d bytes", v2MaxSites, v2MaxFrames, v2MaxSitesBody)
	}
	w.sitesBytes, w.frames = w.sitesBytes+len(body), frames
	for i := range named {
		w.keys[named[i].Key] = struct{}{}
		w.facts.add(&named[i])
	}
	w.listed(v2Head{kind: v2Sites, count: uint32(len(named))}, nil, body)
	return w.err
}

// v1ZeroKey is the key of the site that format v1 calls 0, when nothing else is known of it.
const v1ZeroKey site.Key = 1 << 32

// weigh counts the operands and frames of an operand, and how deep they are nested.
func weigh(o *site.Operand) (count, depth int) {
	count, depth = 1, 1
	if o.Where != (site.Frame{}) {
		count++
	}
	for i := range o.Inputs {
		n, d := weigh(&o.Inputs[i])
		count, depth = count+n, max(depth, d+1)
	}
	return count, depth
}

func fallbackKey(s *site.Site) site.Key {
	if s.ID != 0 && len(s.Chain) == 0 {
		return site.Key(s.ID)
	}
	return site.KeyOf(s)
}

// Note leaves a remark about what was lost, for the reader's Losses. Of very many only the first are kept.
func (w *V2Writer) Note(text string) {
	if w.noted += len(text) + 8; w.noted <= v2MaxSmall/2 {
		w.totals.notes = append(w.totals.notes, text)
	}
}

// Append adds a warp. Of its WarpInfo, Warp, Total, Dropped, Before, Stored and the rolling hash count; the rest follows from its events.
// A warp that left nothing takes no room. A warp that is not as it should be is an error and leaves the file as it was.
func (w *V2Writer) Append(warp *Warp) error {
	if err := w.open(); err != nil {
		return err
	}
	if err := w.check(warp); err != nil {
		return err
	}
	w.seen.add(warp.Warp)
	w.addStores(warp)
	info := warp.WarpInfo
	n := warp.Len()
	info.Events = uint32(n)
	info.Total = max(info.Total, uint64(n)+info.Dropped)
	if info.Total == 0 && !info.HasRolling && len(warp.History) == 0 && len(warp.Snapshots) == 0 {
		return nil
	}
	if !info.HasRolling {
		info.Rolling = 0
	}
	info.Digest, info.Control = digestOf(warp, w.facts.keys)
	start := len(w.body)
	lanes := 0
	switch {
	case w.plain:
		w.body = w.codec.encode(w.body, warp)
	case w.columns:
		lanes = operandLanes(warp.Snapshots, w.codec.wave)
		w.body = w.codec.encodeRings(w.body, warp.History, nil)
	default:
		w.body = w.codec.encodeRings(w.body, warp.History, warp.Snapshots)
	}
	if len(w.warps) > 0 && (w.events+n > v2BlockEvents || len(w.body) > v2BlockBytes || len(w.tracks.lanes)+lanes > v2BlockLanes || len(w.warps) == v2MaxBlockWarps) {
		section := w.body[start:]
		w.body = w.body[:start]
		if err := w.flushWarps(); err != nil {
			return err
		}
		w.body = append(w.body, section...)
		start = 0
	}
	switch {
	case w.columns:
		w.paths.add(warp, &info, len(w.facts.keys), hashedSnapshots(warp.Snapshots, w.codec.wave))
		w.tracks.add(warp.Warp, warp.Snapshots, w.codec.wave)
	case !w.plain:
		w.paths.add(warp, &info, len(w.facts.keys), nil)
	}
	w.warps = append(w.warps, info)
	w.entries = append(w.entries, v2Entry{uint32(len(warp.History)), uint32(len(warp.Snapshots)), uint32(len(w.body) - start)})
	w.events += n
	w.totals.warps++
	w.totals.events += uint64(n)
	w.totals.dropped += info.Dropped
	if info.Dropped > 0 {
		w.totals.dropping++
	}
	return nil
}

// flush writes the events and stores that are held, so that a crash does not lose them.
func (w *V2Writer) flush() error {
	if err := w.usable(); err != nil {
		return err
	}
	if err := w.flushWarps(); err != nil {
		return err
	}
	w.flushStores()
	return w.err
}

func (w *V2Writer) flushWarps() error {
	if len(w.warps) == 0 {
		return nil
	}
	if len(w.list.blocks) >= v2MaxBlocks {
		return fault.New(fault.Limit, "a recording holds at most %d blocks", v2MaxBlocks)
	}
	head, directory, body := w.warpsBlock(&w.paths)
	w.listed(head, directory, body)
	w.paths.reset()
	w.tracks.reset()
	w.body, w.warps, w.entries, w.events = w.body[:0], w.warps[:0], w.entries[:0], 0
	return w.err
}

// warpsBlock encodes the warps that are held. The paths are put in another order.
func (w *V2Writer) warpsBlock(paths *pathWriter) (head v2Head, directory, body []byte) {
	head = v2Head{kind: v2Warps, count: uint32(len(w.warps))}
	if w.plain {
		directory, body = appendDirectory(nil, w.warps, w.entries), w.body
	} else {
		head.kind = v2PathsKind
		directory, body = paths.directory(w.enc, w.warps, w.entries), paths.encode(&w.codec, w.body, w.entries)
	}
	if w.columns {
		head.kind, body = v2OperandsKind, w.tracks.encode(body, &w.codec)
	}
	head.directory = uint32(len(directory))
	return head, directory, body
}

// Close writes what is held, the index and the end. It does not close what it writes to.
func (w *V2Writer) Close() error {
	if w.closed {
		return w.err
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.flushContents()
	w.closed = true
	indexAt := w.off
	var payload []byte
	var directories uint32
	for _, b := range w.list.blocks {
		payload = b.head.append(binary.LittleEndian.AppendUint64(payload, uint64(b.offset)))
	}
	for _, d := range w.list.directories {
		payload = append(payload, d...)
		directories += uint32(len(d))
	}
	head := v2Head{kind: v2Index, count: uint32(len(w.list.blocks)), directory: directories, stored: uint32(len(payload))}
	head.inflated, head.payCRC = head.stored, checksum(payload)
	w.write(head.append(nil))
	w.write(payload)
	endAt := w.off
	w.totals.extras = w.list.extras
	if w.list.texts != nil {
		w.totals.texts = uint64(w.list.texts.offset)
	}
	w.block(v2Head{kind: v2End, count: 1}, nil, w.totals.encode())
	w.write(appendV2Trailer(nil, indexAt, endAt))
	return w.err
}

// major is the version in the preamble.
func (w *V2Writer) major() uint16 {
	switch {
	case w.plain:
		return v2Major
	case w.columns:
		return v2MajorOperands
	}
	return v2MajorPaths
}

// open reports whether warps and sites can follow.
func (w *V2Writer) open() error {
	if err := w.usable(); err != nil || !w.finished {
		return err
	}
	return fault.Usagef("warps and sites come in front of what the launch wrote")
}

func (w *V2Writer) usable() error {
	if w.closed && w.err == nil {
		return fault.Usagef("the recording is closed")
	}
	return w.err
}

// listed writes a block that the index lists.
func (w *V2Writer) listed(head v2Head, directory, body []byte) {
	at := w.off
	w.list.add(v2Block{at, w.block(head, directory, body)}, directory)
}

// block writes a block, its body compressed where that helps.
func (w *V2Writer) block(head v2Head, directory, body []byte) v2Head {
	if w.err != nil {
		return head
	}
	w.buf, head = w.appendBlock(w.buf[:0], head, directory, body)
	w.write(w.buf)
	return head
}

func (w *V2Writer) appendBlock(dst []byte, head v2Head, directory, body []byte) ([]byte, v2Head) {
	start := len(dst)
	dst = append(dst, make([]byte, v2HeadBytes)...)
	dst = append(dst, directory...)
	front := len(dst)
	dst = w.enc.EncodeAll(body, dst)
	head.inflated = uint32(len(body))
	head.flags = v2Zstd
	if len(dst)-front >= len(body) {
		head.flags = 0
		dst = append(dst[:front], body...)
	}
	payload := dst[start+v2HeadBytes:]
	head.stored, head.payCRC = uint32(len(payload)), checksum(payload)
	head.append(dst[start:start])
	return dst, head
}

func (w *V2Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.out.Write(b)
	w.off += int64(n)
	if err != nil && fault.Of(err).Kind == fault.Internal {
		err = fault.FromIO("", err)
	}
	w.err = err
}

// check says what is wrong with a warp.
func (w *V2Writer) check(warp *Warp) error {
	n := warp.Len()
	for _, l := range [...]int{len(warp.Kind), len(warp.Dir), len(warp.Aux), len(warp.Active), len(warp.Taken), len(warp.Value), len(warp.Type)} {
		if l != n {
			return fault.Usagef("warp %d has columns of %d and of %d events", warp.Warp, n, l)
		}
	}
	switch {
	case warp.Warp >= w.slots:
		return fault.Usagef("warp %d does not exist: the launch has %d", warp.Warp, w.slots)
	case w.seen.has(warp.Warp):
		return fault.Usagef("warp %d was written before", warp.Warp)
	case n > v2MaxEvents || len(warp.History) > v2MaxHistory || len(warp.Snapshots) > v2MaxSnapshots:
		return fault.New(fault.Limit, "warp %d has %d events, %d history entries and %d snapshots; at most %d, %d and %d are written",
			warp.Warp, n, len(warp.History), len(warp.Snapshots), v2MaxEvents, v2MaxHistory, v2MaxSnapshots)
	case w.totals.warps >= maxWarps:
		return fault.New(fault.Limit, "a recording holds at most %d warps", maxWarps)
	case !w.codec.known(warp.Site):
		return w.unknownSite(warp)
	}
	for i := range warp.Stores {
		s := &warp.Stores[i]
		if s.Site != NoSite && int64(s.Site) >= int64(len(w.facts.keys)) {
			return w.unknownSite(warp)
		}
		if i > 0 && cmp.Or(cmp.Compare(warp.Stores[i-1].Site, s.Site), cmp.Compare(warp.Stores[i-1].Array, s.Array)) >= 0 {
			return fault.Usagef("warp %d: its sums of stores are not ascending by site and array", warp.Warp)
		}
	}
	for i := range warp.History {
		if err := w.checkEntry(warp, warp.History[i].Site, warp.History[i].Event); err != nil {
			return err
		}
	}
	for i := range warp.Snapshots {
		s := &warp.Snapshots[i]
		if err := w.checkEntry(warp, s.Site, s.Event); err != nil {
			return err
		}
		if len(s.Lhs) > w.codec.wave || len(s.Rhs) > w.codec.wave {
			return fault.Usagef("warp %d: a snapshot has %d lanes, a warp %d", warp.Warp, max(len(s.Lhs), len(s.Rhs)), w.codec.wave)
		}
	}
	return nil
}

func (w *V2Writer) unknownSite(warp *Warp) error {
	return fault.Usagef("warp %d has an event at a site that was not added: there are %d", warp.Warp, len(w.facts.keys))
}

// checkEntry checks what a history entry or snapshot belongs to.
func (w *V2Writer) checkEntry(warp *Warp, local uint32, event int32) error {
	if int64(local) >= int64(len(w.facts.keys)) {
		return w.unknownSite(warp)
	}
	if event < -1 || int(event) >= warp.Len() {
		return fault.Usagef("warp %d: something belongs to event %d of %d", warp.Warp, event, warp.Len())
	}
	return nil
}

// warpSet is a set of warp numbers, in pages.
type warpSet struct {
	pages map[uint64]*[warpPage / 64]uint64
}

const warpPage = 4096

func (s *warpSet) has(warp uint64) bool {
	p := s.pages[warp/warpPage]
	return p != nil && p[warp%warpPage/64]>>(warp%64)&1 == 1
}

func (s *warpSet) add(warp uint64) {
	if s.pages == nil {
		s.pages = map[uint64]*[warpPage / 64]uint64{}
	}
	p := s.pages[warp/warpPage]
	if p == nil {
		p = new([warpPage / 64]uint64)
		s.pages[warp/warpPage] = p
	}
	p[warp%warpPage/64] |= 1 << (warp % 64)
}
