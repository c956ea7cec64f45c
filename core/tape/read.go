package tape

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// maxOperators is how many operators one step may have: a step is in memory as a whole.
const maxOperators = 1 << 22

// headBytes are the magic and the version.
const headBytes = len(magic) + 4

// Step is one step of a run that was taken.
type Step struct {
	Number    int64
	Operators []*Operator
	Open      bool // the tape ends before the step does
}

// Reader reads a tape step by step. After the last one, End and Broken say how the tape ends.
type Reader struct {
	Run    Run
	End    *End   // nil until the last frame was read, and where it is missing
	Broken string // why the tape ends before its end, "" where it does not

	src     *file.Source
	in      *bufio.Reader
	at      int64
	places  map[uint64]*Place
	next    *Step // begun, its operators still to come
	done    bool
	payload []byte
}

// isTape reports whether a file that begins with head is a tape.
func isTape(head []byte) bool {
	return len(head) >= len(magic) && string(head[:len(magic)]) == magic
}

// Open opens a tape.
func Open(ctx context.Context, path string) (*Reader, error) {
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	r, err := Read(src)
	if err != nil {
		src.Close()
		return nil, err
	}
	return r, nil
}

// Read begins to read a tape, which the reader closes.
func Read(src *file.Source) (*Reader, error) {
	r := &Reader{src: src, places: map[uint64]*Place{}}
	r.in = bufio.NewReaderSize(io.NewSectionReader(src, 0, src.Size()), 256<<10)
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(r.in, head); err != nil || !isTape(head) {
		return nil, fault.Formatf(src.Path(), 0, "is not a tape of a training run").WithHint("prlx.torch.steps writes tapes")
	}
	if version := binary.LittleEndian.Uint32(head[len(magic):]); version != formatVersion {
		return nil, fault.Formatf(src.Path(), int64(len(magic)), "is a tape of version %d, expected %d", version, formatVersion).
			WithHint("a later prlx wrote it: update prlx")
	}
	r.at = int64(headBytes)
	kind, err := r.frame()
	switch {
	case err != nil:
		return nil, err
	case kind != frameRun:
		return nil, fault.Formatf(src.Path(), int64(headBytes), "does not begin with the facts of its run: it is cut or damaged")
	}
	if err := json.Unmarshal(r.payload, &r.Run); err != nil {
		return nil, fault.Formatf(src.Path(), int64(headBytes), "the facts of the run are not JSON: %v", err)
	}
	return r, nil
}

// About says what is known of the run.
func (r *Reader) About() *Run { return &r.Run }

// Exact reports whether equal digests mean equal tensors.
func (r *Reader) Exact() bool { return true }

// Limit is something of a run that a tape does not tell.
type Limit struct {
	What  string
	Count int64 // -1: nobody can count it
	Why   string
}

// Limits are what a tape that was read to its end does not tell.
func (r *Reader) Limits() (list []Limit) {
	if why := early(r); why != "" {
		list = append(list, Limit{"the end", -1, why})
	}
	if r.End == nil {
		return list
	}
	if n := r.End.Dropped; n > 0 {
		list = append(list, Limit{"records", n, "the tape had reached its limit"})
	}
	if n := r.End.Skipped["traced"]; n > 0 {
		list = append(list, Limit{"operators", n, "a compiler traced them, and what it made of them was not seen"})
	}
	return list
}

// Path names the tape.
func (r *Reader) Path() string { return r.src.Path() }

// Bytes is the size of the tape.
func (r *Reader) Bytes() int64 { return r.src.DiskSize() }

// Close closes the tape.
func (r *Reader) Close() error { return r.src.Close() }

// Next returns the next step, nil after the last.
func (r *Reader) Next(ctx context.Context) (*Step, error) {
	for !r.done {
		if err := ctx.Err(); err != nil {
			return nil, fault.FromIO(r.Path(), err)
		}
		at := r.at
		kind, err := r.frame()
		if err != nil {
			return nil, err
		}
		step, err := r.take(kind, at)
		if step != nil || err != nil {
			return step, err
		}
	}
	last := r.next
	r.next = nil
	if last != nil {
		last.Open = r.End == nil || r.End.Dropped > 0 || r.End.Failed != ""
	}
	return last, nil
}

// take adds what a frame says. It returns a step that is complete.
func (r *Reader) take(kind byte, at int64) (*Step, error) {
	p := parser{rest: r.payload}
	var complete *Step
	switch kind {
	case 0: // the end
		r.done = true
		if r.End == nil && r.Broken == "" {
			r.Broken = "it was not closed: the run was killed, or goes on"
		}
		return nil, nil
	case framePlace:
		id, place := p.place()
		if p.wrong == "" && len(r.places) < maxPlaces {
			r.places[id] = place
		}
	case frameStep:
		number := p.varint()
		if p.wrong == "" {
			complete, r.next = r.next, &Step{Number: number}
		}
	case frameOperator:
		switch o := p.operator(r.places); {
		case p.wrong != "":
		case r.next == nil:
			p.fail("it is in no step")
		case len(r.next.Operators) >= maxOperators:
			return nil, fault.New(fault.Limit, "step %d has more than %d operators", r.next.Number, maxOperators).WithPath(r.Path())
		default:
			r.next.Operators = append(r.next.Operators, o)
		}
	case frameEnd:
		var end End
		if err := json.Unmarshal(r.payload, &end); err != nil {
			p.fail("it is not JSON")
		} else {
			r.End, r.done = &end, true
		}
		p.rest = nil
	default:
		p.rest = nil // of a later version
	}
	if p.wrong == "" && len(p.rest) > 0 {
		p.fail("it is too long")
	}
	if p.wrong != "" {
		r.broken(at, p.wrong)
	}
	return complete, nil
}

// broken ends reading where a frame is not what it should be. What came before it stays.
func (r *Reader) broken(at int64, why string) {
	r.Broken, r.done = fmt.Sprintf("the record at byte %d is damaged: %s", at, why), true
}

// frame reads the next frame into payload; kind 0 is the end of what can be read.
func (r *Reader) frame() (kind byte, err error) {
	at := r.at
	var head [frameHead]byte
	n, err := io.ReadFull(r.in, head[:])
	switch {
	case err == io.EOF:
		return 0, nil
	case err == io.ErrUnexpectedEOF:
		r.Broken = fmt.Sprintf("it is cut at byte %d", at+int64(n))
		return 0, nil
	case err != nil:
		return 0, fault.FromIO(r.Path(), err)
	}
	size := binary.LittleEndian.Uint32(head[1:])
	if head[0] == 0 || size > maxFrame {
		r.broken(at, "this is no beginning of a record")
		return 0, nil
	}
	if cap(r.payload) < int(size) {
		r.payload = make([]byte, size)
	}
	r.payload = r.payload[:size]
	n, err = io.ReadFull(r.in, r.payload)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		r.Broken = fmt.Sprintf("it is cut at byte %d", at+frameHead+int64(n))
		return 0, nil
	case err != nil:
		return 0, fault.FromIO(r.Path(), err)
	}
	if checksum(head[0], r.payload) != binary.LittleEndian.Uint32(head[5:]) {
		r.broken(at, "its checksum is wrong")
		return 0, nil
	}
	r.at = at + frameHead + int64(size)
	return head[0], nil
}
