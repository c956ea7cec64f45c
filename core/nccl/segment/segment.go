// Package segment reads the files that the recorder of NCCL's events writes: while it writes, when the process has ended, and when
// something has ended the process. docs/formats/nccl-segments.md describes them byte by byte.
//
// It says what was recorded, in the order of each thread, and what was lost. It joins nothing and judges nothing. No length in a file is
// believed: tables and segments must lie inside of it, and a record inside of what its segment says is whole.
package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Magic is how a file begins.
const Magic = "PRLXNCCL"

const (
	formatVersion = 2 // version 1 was in no release
	headerBytes   = 4096
	segmentHead   = 128
	slotBytes     = 32
	segmentMagic  = 0x314c5850
	mostSegments  = 1 << 20
	mostTable     = 1 << 26 // bytes of one table
	mostText      = 1024
)

// Codes beyond the bits of event types (0 to 15): what a record or a loss is of.
const (
	CodeUnknown   = 16 // a type that the recorder did not know
	CodeProxyDiag = 17 // RCCL's
	CodeNetIB     = 18
	CodeNetSocket = 19
	CodeForeign   = 20 // stop or state of a handle that this process did not make
	codeControl   = 21 // init and finalize
	codeContext   = 22
	Codes         = 32
)

// State is how a file was left.
type State uint32

// The states of a file.
const (
	Making    State = iota // the process ended, or goes on, before the file was ready
	Recording              // the process records, or it ended without saying so: killed, or by _exit
	Ended                  // the process ended by exit or by returning from main
)

// clock is what the ticks of a file are.
type clock uint32

// The clocks of records.
const (
	TSC       clock = iota + 1 // of x86-64
	CNTVCT                     // of aarch64
	Monotonic                  // CLOCK_MONOTONIC, ns
)

// Chain is how a second plug-in fared, which PRLX_NCCL_CHAIN names.
type Chain uint32

// The states of a chain.
const (
	NoChain    Chain = iota
	ChainOn          // calls are passed on
	ChainNever       // it could not be opened
	ChainOff         // its init failed, and it was turned off
)

// GPU is one of the machine's.
type GPU struct {
	Minor     int32 // of /dev/nvidia<minor>, -1: not known
	Open      bool  // the process had that device open
	Bus, UUID string
}

// File is an open file. Its facts are those of the moment at which it was opened.
type File struct {
	State State
	Clock clock
	Cookie,
	// Level is what the environment asked for, 0 to 3.
	Level, PID uint32
	TicksPerSecond    uint64 // 0: only the anchors tell it
	PIDStart          uint64 // when the process began, in ticks of the kernel since the boot
	PIDNamespace      uint64 // inode of its namespace of process ids
	StartedRealtimeNS int64
	HeartbeatTicks    uint64 // of the last anchor
	EndedTicks        uint64 // 0: not by exit
	MaxBytes          int64
	Host, BootID      string
	RCCL              bool // the library was loaded under RCCL's name
	NoKeeper          bool // there was no thread that prepares segments
	StorageErrno      uint32
	Environment       []string
	NCCLVersion       uint32 // as ncclGetVersion says it, such as 22807; 0: not known
	Library           string // that called the recorder, or the end of a long path: NCCL, or what holds it
	GPUs              []GPU  // of the machine, as the process saw it when it began to record

	Chain          Chain
	ChainWithheld  uint64 // calls that could not be passed on to the second plug-in
	ChainForgotten uint64 // open events of which the recorder had forgotten what the second plug-in calls them

	Threads []Thread
	Comms   []Comm
	Anchors []Anchor // by time
	Masks   []Mask   // by time

	Overwritten         [Codes]uint64 // records that made room for newer ones, by code
	OverwrittenSegments uint64
	Opened              uint64        // segments that were opened, those that made room included; 0: the recorder does not say it
	Checked             bool          // it has checksums of all that it holds
	Harm                []string      // what of the tables is damaged, in sentences; segments are told of by Walk
	LostNowhere         [Codes]uint64 // callbacks of threads that had no entry
	LostTexts           uint64
	CommsBeyond         uint64 // communicators that have no entry; their inits are in the stream

	contents
	texts    *texts
	offset   int64
	size     int64 // of a segment
	segments int
}

// Thread is an entry of the table of threads. Threads that have ended may have left theirs to others.
type Thread struct {
	TID, Generation        uint32
	Name                   string        // of the latest
	Lost                   [Codes]uint64 // callbacks of all of them that are not in the file, by code of the event
	Pending                uint64        // of those, how many no record tells of
	PendingFrom, PendingTo uint64        // ticks of the first and the last of these
}

// Comm is a communicator.
type Comm struct {
	Context, ID           uint64 // the ID is NCCL's, 0 in versions 1 to 3
	Name                  string
	HasName               bool
	Nodes, Ranks, Rank    int32 // -1: NCCL did not say it
	Version               uint32
	Finalized             bool
	InitTicks, FinalTicks uint64
	Hash                  uint64 // versions 1 to 3, of the first operation
}

// Anchor is one reading of all clocks.
type Anchor struct {
	Ticks                               uint64
	MonotonicNS, RealtimeNS, BoottimeNS int64
	BracketTicks                        uint64 // how long the reading took; Ticks is the middle
}

// Mask is what was asked of NCCL, and what was recorded, from an instant on.
type Mask struct {
	Ticks          uint64
	NCCL, Recorded uint32
	Cause          uint32 // 1 init, 2 control, 3 duty cycle, 4 somebody else, 5 the second plug-in
}

type section struct {
	offset  int64
	entry   int
	entries int
}

// Open reads the head and the tables of a file. Of one that is being made only that is known. It fails where the file is another or its tables do not lie inside of it.
func Open(ctx context.Context, path string) (*File, error) {
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	f, err := FromSource(src)
	if err != nil {
		src.Close()
		return nil, err
	}
	return f, nil
}

// FromSource is Open of a source, which the File owns from then on if there is no error. Head and tables of a process that records are read at different
// moments: what seems damaged is read again.
func FromSource(src *file.Source) (f *File, err error) {
	for try := range sameAgain {
		if try > 0 {
			time.Sleep(meanwhile)
		}
		f = &File{contents: contents{src}}
		if err = f.readTables(); err == nil || f.State == Ended || !fault.Is(err, fault.Format) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// readTables reads the head, and the tables that it tells of.
func (f *File) readTables() error {
	f.State = Ended // until it is known to be otherwise
	if making, err := f.isBeingMade(); making || err != nil {
		f.State = Making
		return err
	}
	head, err := f.src.Head(headerBytes)
	if err != nil {
		return err
	}
	if n := min(len(Magic), len(head)); string(head[:n]) != Magic[:n] {
		return fault.Formatf(f.src.Path(), 0, "got %q, expected %q: not a recording of NCCL events", head[:n], Magic)
	}
	if len(head) < headerBytes {
		return fault.Formatf(f.src.Path(), 0, "a recording of NCCL events begins with %d bytes of header, this file has %d bytes", headerBytes, len(head))
	}
	if err := f.readHead(head); err != nil {
		return err
	}
	if f.State != Ended { // the segments of which the head tells may have come after the file was opened
		if err := f.src.Grown(); err != nil {
			return err
		}
	}
	for _, read := range []func([]byte) error{f.checkFacts, f.readEnvironment, f.readThreads, f.readComms, f.readAnchors, f.readMasks, f.readGPUs} {
		if err := read(head); err != nil {
			return err
		}
	}
	return nil
}

// isBeingMade reports whether the process has not finished making the file, or never will: it is empty, holds nothing but zeros, or says so itself and
// has opened no segment. Nothing of it counts then.
func (f *File) isBeingMade() (bool, error) {
	head := make([]byte, min(f.src.Size(), headerBytes))
	if err := f.fill(head, 0); err != nil {
		return false, err
	}
	if len(head) < 48 || !slices.ContainsFunc(head[:48], func(b byte) bool { return b != 0 }) {
		return f.isZero()
	}
	if string(head[:8]) != Magic || State(u32(head, 44)) != Making {
		return false, nil
	}
	if len(head) == headerBytes && u64(head, atOpened) > 0 {
		return false, f.damaged(44, "it is said to be in the making, and has opened %d segments", u64(head, atOpened))
	}
	return true, nil
}

// isZero reports whether a file begins with zeros alone, as far as tables and the first segment go in any that has something.
func (f *contents) isZero() (bool, error) {
	const most = 4 << 20
	buf := make([]byte, 1<<16)
	for at := int64(0); at < min(f.src.Size(), most); at += int64(len(buf)) {
		part := buf[:min(int64(len(buf)), f.src.Size()-at)]
		if err := f.fill(part, at); err != nil {
			return false, err
		}
		if i := slices.IndexFunc(part, func(b byte) bool { return b != 0 }); i >= 0 {
			if at == 0 && i < len(Magic) {
				return false, nil // another file, which is refused as such
			}
			return false, f.damaged(0, "its head is gone")
		}
	}
	return true, nil
}

// Close releases the file.
func (f *File) Close() error { return f.src.Close() }

// Path is the name under which the file was opened.
func (f *File) Path() string { return f.src.Path() }

func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
func i64(b []byte, at int) int64  { return int64(binary.LittleEndian.Uint64(b[at:])) }

func (f *File) readHead(h []byte) error {
	path := f.src.Path()
	if v := u32(h, 8); v != formatVersion {
		return fault.Formatf(path, 8, "version %d of recordings of NCCL events is not %d, the one that this prlx reads", v, formatVersion).WithHint("read it with the prlx that wrote it")
	}
	if u32(h, 12) != headerBytes || u32(h, 20) != slotBytes {
		return fault.Formatf(path, 12, "header of %d bytes and records of %d, expected %d and %d", u32(h, 12), u32(h, 20), headerBytes, slotBytes)
	}
	f.size, f.offset = int64(u32(h, 16)), i64(h, 32)
	if f.size < 4096 || f.size > 1<<26 || f.size%slotBytes != 0 || f.offset < headerBytes || f.offset > 1<<40 {
		return fault.Formatf(path, 16, "segments of %d bytes from byte %d on", f.size, f.offset)
	}
	f.segments = int(min(u32(h, 40), mostSegments))
	f.MaxBytes, f.State = i64(h, 24), State(u32(h, 44))
	f.Cookie, f.Clock, f.TicksPerSecond = u32(h, 144)&0xffff, clock(u32(h, 148)), u64(h, 152)
	f.PID, f.Level, f.PIDStart, f.PIDNamespace = u32(h, 160), u32(h, 164), u64(h, 168), u64(h, 176)
	f.StartedRealtimeNS, f.HeartbeatTicks, f.EndedTicks = i64(h, 184), u64(h, 192), u64(h, 200)
	f.OverwrittenSegments, f.LostTexts, f.CommsBeyond = u64(h, atTaken), u64(h, 256), u64(h, 264)
	flags := u32(h, 272)
	f.RCCL, f.NoKeeper, f.StorageErrno = flags&1 != 0, flags&2 != 0, u32(h, 276)
	f.NCCLVersion, f.Chain, f.ChainWithheld, f.ChainForgotten = u32(h, 280), Chain(u32(h, 284)), u64(h, 312), u64(h, 320)
	f.Host, f.BootID, f.Library = text(h[512:768]), text(h[768:808]), text(h[848:1024])
	for i := range Codes {
		f.Overwritten[i], f.LostNowhere[i] = u64(h, 1024+8*i), u64(h, 1280+8*i)
	}
	f.Opened, f.Checked = u64(h, atOpened), u32(h, atFacts+4) == 1
	strings, err := f.section(h, 112, 8)
	f.texts = &texts{contents: f.contents, at: strings, checked: f.Checked, known: map[uint32]Text{}}
	return err
}

// contents is what a file holds, read as it is asked for.
type contents struct{ src *file.Source }

// fill reads bytes that the facts of the file say are there.
func (f *contents) fill(b []byte, at int64) error {
	if len(b) == 0 {
		return nil
	}
	n, err := f.src.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fault.Formatf(f.src.Path(), at, "the file ends at byte %d, %d bytes were expected from here on", at+int64(n), len(b)).WithHint("the file was cut; copy it again")
	}
	return err
}

// text is what stands before the first zero byte.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// section reads where a table lies: entries of at least so many bytes, all of them inside the file.
func (f *contents) section(h []byte, at, least int) (section, error) {
	offset, entry, entries := i64(h, at), int64(u32(h, at+8)), int64(u32(h, at+12))
	if entry < int64(least) || entry > mostTable || entries > mostTable || entry*entries > mostTable || offset > f.src.Size() || offset < headerBytes || offset > f.src.Size()-entry*entries {
		return section{}, fault.Formatf(f.src.Path(), int64(at), "a table of %d entries of %d bytes at byte %d, in a file of %d bytes", entries, entry, offset, f.src.Size()).
			WithHint("the file was cut; copy it again")
	}
	return section{offset, int(entry), int(entries)}, nil
}

// table reads the first entries of a table.
func (f *contents) table(h []byte, at, least int, used uint64, visit func(e []byte)) error {
	s, err := f.section(h, at, least)
	if err != nil {
		return err
	}
	n := int(min(used, uint64(s.entries)))
	b := make([]byte, n*s.entry)
	if err := f.fill(b, s.offset); err != nil {
		return err
	}
	for i := range n {
		visit(b[i*s.entry : (i+1)*s.entry])
	}
	return nil
}

func (f *File) readEnvironment(h []byte) error {
	var all []byte
	err := f.table(h, 128, 1, uint64(u32(h, 236)), func(e []byte) { all = append(all, e[0]) })
	for _, one := range bytes.Split(all, []byte{0}) {
		if len(one) > 0 {
			f.Environment = append(f.Environment, string(one))
		}
	}
	return err
}

func (f *File) readThreads(h []byte) error {
	return f.table(h, 48, 320, uint64(u32(h, 208)), func(e []byte) {
		t := Thread{TID: u32(e, 0), Generation: u32(e, 4), Pending: u64(e, 8), PendingFrom: u64(e, 16), PendingTo: u64(e, 24), Name: text(e[32:48])}
		for i := range Codes {
			t.Lost[i] = u64(e, 64+8*i)
		}
		f.Threads = append(f.Threads, t)
	})
}

func (f *File) readGPUs(h []byte) error {
	return f.table(h, 288, 128, uint64(u32(h, 304)), func(e []byte) {
		f.GPUs = append(f.GPUs, GPU{Minor: int32(u32(e, 0)), Open: u32(e, 4) != 0, Bus: text(e[8:48]), UUID: text(e[48:128])})
	})
}

// GPU is the one that the process uses. ok is false where that is not known: the machine has several, and the process had none or more
// than one of them open.
func (f *File) GPU() (g GPU, ok bool) {
	open := 0
	for _, one := range f.GPUs {
		if one.Open {
			g, open = one, open+1
		}
	}
	if open == 0 && len(f.GPUs) == 1 {
		return f.GPUs[0], true
	}
	if open != 1 {
		return GPU{}, false
	}
	return g, true
}

func (f *File) readComms(h []byte) error {
	var failed error
	s, err := f.section(h, 64, 64)
	if err != nil {
		return err
	}
	used, number := u32(h, 212), uint32(0)
	if f.Checked {
		entered := uint32(0)
		err = f.table(h, 64, 64, mostTable, func(e []byte) {
			if number++; u32(e, 36) != 0 {
				entered = number
			}
		})
		if err == nil && entered > used {
			err = f.damaged(212, "%d communicators are said to be in use, and number %d is", used, entered-1)
		}
		if err != nil {
			return err
		}
	}
	err = f.table(h, 64, 64, uint64(used), func(e []byte) {
		if err := f.checkComm(e, len(f.Comms), s.offset+int64(len(f.Comms)*s.entry)); err != nil && failed == nil {
			failed = err
		}
		c := Comm{
			Context: u64(e, 0), ID: u64(e, 8), Nodes: int32(u32(e, 20)), Ranks: int32(u32(e, 24)), Rank: int32(u32(e, 28)),
			Version: u32(e, 32), Finalized: u32(e, 36) == 2, InitTicks: u64(e, 40), FinalTicks: u64(e, 48), Hash: u64(e, 56),
		}
		t, err := f.Text(u32(e, 16))
		if err != nil && failed == nil {
			failed = err
		}
		c.Name, c.HasName = t.Text, t.Known
		f.Comms = append(f.Comms, c)
	})
	if err != nil {
		return err
	}
	return failed
}

// Text is a text that NCCL passed.
type Text struct {
	Text  string
	Known bool // NCCL passed one, and there was room for it
	Cut   bool // it was longer than 1024 bytes, of which these are the first
	Lost  bool // there was no room
}

// numbered is a text with its number.
type numbered struct {
	number uint32
	text   Text
}

// texts are the texts of a recording, by number: they never change.
type texts struct {
	contents
	at      section
	checked bool            // the recording has checksums of all that it holds
	known   map[uint32]Text // that were read before
	recent  [32]numbered    // of these, by the last bits of the number
}

// Text is the text of a number in a record. One goroutine at a time may ask.
func (f *File) Text(number uint32) (Text, error) { return f.texts.text(number) }

func (t *texts) text(number uint32) (Text, error) {
	if number == 0 {
		return Text{}, nil
	}
	last := &t.recent[number%uint32(len(t.recent))]
	if last.number == number {
		return last.text, nil
	}
	one, ok := t.known[number]
	if !ok {
		var err error
		if one, err = t.read(number); err != nil {
			return one, err
		}
		t.known[number] = one
	}
	*last = numbered{number, one}
	return one, nil
}

func (t *texts) read(number uint32) (Text, error) {
	if number == 0xffffffff {
		return Text{Lost: true}, nil
	}
	at, end := int64(number)*8, int64(t.at.entry)*int64(t.at.entries)
	if at+16 > end {
		return Text{}, fault.Formatf(t.src.Path(), t.at.offset+at, "text number %d of a table of %d bytes", number, end)
	}
	head := make([]byte, 16+mostText)
	if rest := end - at; rest < int64(len(head)) {
		head = head[:rest]
	}
	if err := t.fill(head, t.at.offset+at); err != nil {
		return Text{}, err
	}
	n := u32(head, 4)
	if n > mostText || int(n) > len(head)-16 {
		return Text{}, fault.Formatf(t.src.Path(), t.at.offset+at, "text number %d has %d bytes, at most %d are possible", number, n, min(mostText, len(head)-16))
	}
	if hash := u32(head, 0); (t.checked || hash != 0) && !checkText(head[16:16+n], hash) {
		return Text{}, t.damaged(t.at.offset+at, "text number %d has the hash of another", number)
	}
	if cut := u32(head, 8); t.checked && (cut > 1 || cut == 0 && n < mostText) {
		return Text{}, t.damaged(t.at.offset+at, "text number %d of %d bytes is said to be the first of more", number, n)
	}
	return Text{Text: string(head[16 : 16+n]), Known: true, Cut: u32(head, 8) == 0}, nil
}

// Size is how many bytes the file has.
func (f *File) Size() int64 { return f.src.Size() }
