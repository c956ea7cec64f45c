package api

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/simulator/device"
	"github.com/prlx-go/prlx/core/tape"
)

// tapes are those that are being written, by number.
type tapes struct {
	mu   sync.Mutex
	last int64
	open map[int64]*tape.Writer
}

func (t *tapes) add(w *tape.Writer) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[int64]*tape.Writer{}
	}
	t.last++
	t.open[t.last] = w
	return t.last
}

func (t *tapes) find(id int64) (*tape.Writer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.open[id]; w != nil {
		return w, nil
	}
	return nil, fault.Usagef("tape %d is not open", id)
}

func (t *tapes) remove(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, id)
}

type tapeOpenRequest struct {
	requestLimits
	Path      string   `json:"path"`
	Run       tape.Run `json:"run"`
	Limit     int64    `json:"limit"` // bytes; 0: none
	Overwrite bool     `json:"overwrite"`
}

// tapeReply never leaves the boundary.
type tapeReply struct {
	Tape  int64 `json:"tape,omitempty"`
	Place int   `json:"place,omitempty"`
}

// openTape begins a tape.
func (c *Core) openTape(_ *job.Job, r *tapeOpenRequest) (*tapeReply, error) {
	r.Run.Producer = "prlx " + Version
	w, err := tape.Create(r.Path, &r.Run, tape.Options{Overwrite: r.Overwrite, Limit: r.Limit})
	if err != nil {
		return nil, err
	}
	return &tapeReply{Tape: c.tapes.add(w)}, nil
}

type tapePlaceRequest struct {
	requestLimits
	Tape     int64      `json:"tape"`
	Module   string     `json:"module"`
	Class    string     `json:"class"`
	Operator string     `json:"operator"`
	Phase    tape.Phase `json:"phase"`
	Line     string     `json:"line"`
	Slots    []tapeSlot `json:"slots"`
}

type tapeSlot struct {
	Role   tape.Role `json:"role"`
	Name   string    `json:"name"`
	Type   string    `json:"type"`
	Shape  []int64   `json:"shape"`
	Stride []int64   `json:"stride"`
}

// defineTapePlace describes where operators run, once; records name it by the number that comes back.
func (c *Core) defineTapePlace(_ *job.Job, r *tapePlaceRequest) (*tapeReply, error) {
	w, err := c.tapes.find(r.Tape)
	if err != nil {
		return nil, err
	}
	p := &tape.Place{Module: r.Module, Class: r.Class, Operator: r.Operator, Phase: r.Phase, Line: r.Line}
	for _, s := range r.Slots {
		p.Slots = append(p.Slots, tape.Slot(s))
	}
	id, err := w.Define(p)
	return &tapeReply{Place: id}, err
}

type tapeStepRequest struct {
	requestLimits
	Tape   int64 `json:"tape"`
	Number int64 `json:"number"`
}

// beginTapeStep begins a step.
func (c *Core) beginTapeStep(_ *job.Job, r *tapeStepRequest) (*tapeReply, error) {
	w, err := c.tapes.find(r.Tape)
	if err != nil {
		return nil, err
	}
	return &tapeReply{}, w.Step(r.Number)
}

// Records cross as words of 64 bits and a text behind them, not as JSON: there is one an operator, and a training waits for it.
//
//	tape_look: the tape, and tensors; the types of their elements, with commas
//	tape_add: the tape, the place, 1 where the first values are those that were looked at last, the other tensors, and 0, or 5 and what is
//	known of a generator: its seed, address and bytes of its state before, and after; the arguments
//
// Tensors are their number, the address of each, and the bytes of each. Their elements lie one after the other. In place of an address stands a
// tape.State where they are not to be looked at. The bit unchanged is set in that of a tensor that was looked at in this step and that torch did
// not change since.
type packed struct {
	rest  []byte
	short bool // it ended too early
}

func (p *packed) word() uint64 {
	if len(p.rest) < 8 {
		p.rest, p.short = nil, true
		return 0
	}
	w := binary.LittleEndian.Uint64(p.rest)
	p.rest = p.rest[8:]
	return w
}

func (p *packed) words(n uint64) []uint64 {
	if n > uint64(len(p.rest)/8) {
		p.rest, p.short = nil, true
		return nil
	}
	list := make([]uint64, 0, n)
	for range n {
		list = append(list, p.word())
	}
	return list
}

func (p *packed) tensors() tensors {
	n := p.word()
	if n > uint64(len(p.rest)/16) {
		p.rest, p.short = nil, true
		return tensors{}
	}
	both := p.words(2 * n)
	return tensors{both[:n], both[n:]}
}

// tensors are where the elements of tensors lie, and how many bytes they have.
type tensors struct{ addresses, sizes []uint64 }

// callPacked runs an operation whose request is words. ok is false where the operation has another kind of request.
func (c *Core) callPacked(op string, request []byte) (doc []byte, ok bool, err error) {
	p := &packed{rest: request}
	switch op {
	case "tape_look":
		err = c.lookAtTensors(p)
	case "tape_add":
		err = c.addToTape(p)
	default:
		return nil, false, nil
	}
	return []byte("{}"), true, err
}

var errShort = fault.New(fault.Internal, "a record of a tape ends too early")

// lookAtTensors keeps what tensors hold for the record that comes next.
func (c *Core) lookAtTensors(p *packed) error {
	w, err := c.tapes.find(int64(p.word()))
	if err != nil {
		return err
	}
	given := p.tensors()
	types := strings.Split(string(p.rest), ",")
	if p.short || len(types) != len(given.sizes) {
		return errShort
	}
	held := make([]tape.Value, len(types))
	for i := range held {
		if held[i], err = c.valueOf(types[i], given.addresses[i], given.sizes[i], false); err != nil {
			return err
		}
	}
	w.Hold(held)
	return nil
}

// addToTape looks at what an operator got and made, and adds its record.
func (c *Core) addToTape(p *packed) error {
	w, err := c.tapes.find(int64(p.word()))
	if err != nil {
		return err
	}
	place, held, given := int(p.word()), p.word(), p.tensors()
	generator := p.words(p.word())
	if p.short {
		return errShort
	}
	slots, err := w.Slots(place)
	if err != nil {
		return err
	}
	o := &tape.Operator{Scalars: string(p.rest), Values: make([]tape.Value, 0, len(slots))}
	if held == 1 {
		o.Values = append(o.Values, w.Held()...)
	}
	if len(o.Values)+len(given.sizes) != len(slots) {
		return fault.New(fault.Internal, "place %d has %d tensors, got %d and %d", place, len(slots), len(o.Values), len(given.sizes))
	}
	for i, address := range given.addresses {
		s := &slots[len(o.Values)]
		v, err := c.seenValueOf(w, s, address, given.sizes[i])
		if err != nil {
			return err
		}
		o.Values = append(o.Values, v)
	}
	if o.Generator, err = c.generatorOf(generator); err != nil {
		return err
	}
	return w.Add(place, o)
}

// unchanged is the bit of an address that no address has.
const unchanged = 1 << 62

// seenValueOf looks at a tensor, unless it was looked at before and is said to be unchanged.
func (c *Core) seenValueOf(w *tape.Writer, s *tape.Slot, address, bytes uint64) (tape.Value, error) {
	written := s.Role != tape.Input
	if address&unchanged != 0 {
		address &^= unchanged
		if v, ok := w.Seen(address, s.Type, bytes, written); ok {
			return v, nil
		}
	}
	v, err := c.valueOf(s.Type, address, bytes, written)
	if err == nil && v.State == tape.Taken {
		w.See(address, s.Type, bytes, written, &v)
	}
	return v, err
}

// valueOf looks at a tensor.
func (c *Core) valueOf(elementType string, address, bytes uint64, sampled bool) (tape.Value, error) {
	switch {
	case address == uint64(tape.Uninitialized):
		return tape.Value{State: tape.Uninitialized}, nil
	case address == uint64(tape.Unreadable), address == 0 && bytes > 0: // its memory was given back
		return tape.Value{State: tape.Unreadable}, nil
	}
	b, err := c.memory(address, bytes)
	if err != nil {
		return tape.Value{}, err
	}
	return tape.Of(elementType, b, sampled), nil
}

// generatorOf digests the states of a generator.
func (c *Core) generatorOf(given []uint64) (*tape.Generator, error) {
	if len(given) == 0 {
		return nil, nil
	}
	if len(given) != 5 {
		return nil, fault.Usagef("a generator is said in %d numbers, expected 5", len(given))
	}
	g := &tape.Generator{Seed: given[0]}
	for i, into := range []*uint64{&g.Before, &g.After} {
		b, err := c.memory(given[1+2*i], given[2+2*i])
		if err != nil {
			return nil, err
		}
		*into = tape.Of("uint8", b, false).Digest
	}
	return g, nil
}

// memory is a piece of the caller's memory.
func (c *Core) memory(address, bytes uint64) ([]byte, error) {
	if bytes > 1<<62 {
		return nil, fault.Usagef("a tensor of %d bytes", bytes)
	}
	held, err := c.device.Pieces([]device.Memory{{Name: "a tensor", Address: address, Bytes: int(bytes)}})
	if err != nil {
		return nil, err
	}
	return held[0].Bytes, nil
}

type tapeSaveRequest struct {
	requestLimits
	Tape      int64  `json:"tape"`
	Path      string `json:"path"`
	Overwrite bool   `json:"overwrite"`
}

// saveTape writes the steps that a tape has as a tape of its own.
func (c *Core) saveTape(_ *job.Job, r *tapeSaveRequest) (*tapeReply, error) {
	w, err := c.tapes.find(r.Tape)
	if err != nil {
		return nil, err
	}
	return &tapeReply{}, w.Save(r.Path, r.Overwrite)
}

type tapeCloseRequest struct {
	requestLimits
	Tape    int64            `json:"tape"`
	Skipped map[string]int64 `json:"skipped"`
	Failed  string           `json:"failed"`
}

// tapeClosed never leaves the boundary.
type tapeClosed struct {
	tape.End
	Bytes int64 `json:"bytes"`
}

// closeTape ends a tape.
func (c *Core) closeTape(_ *job.Job, r *tapeCloseRequest) (*tapeClosed, error) {
	w, err := c.tapes.find(r.Tape)
	if err != nil {
		return nil, err
	}
	c.tapes.remove(r.Tape)
	end, err := w.Close(r.Skipped, r.Failed)
	return &tapeClosed{End: end, Bytes: w.Size()}, err
}
