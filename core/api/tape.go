package api

import (
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
	p := &tape.Place{Module: r.Module, Class: r.Class, Operator: r.Operator, Phase: r.Phase}
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

// tapeTensor is where the elements of a tensor lie, one after the other: address, bytes, and its tape.State.
type tapeTensor [3]uint64

// tapeLookRequest asks for what tensors hold before an operator runs that may write them.
type tapeLookRequest struct {
	requestLimits
	Tape    int64        `json:"tape"`
	Types   []string     `json:"types"`
	Tensors []tapeTensor `json:"tensors"`
}

// tapeAddRequest is the record of an operator that has run.
type tapeAddRequest struct {
	requestLimits
	Tape      int64        `json:"tape"`
	Place     int          `json:"place"`
	Held      bool         `json:"held"`    // the first values are those that were looked at last
	Tensors   []tapeTensor `json:"tensors"` // of the place's slots, without those
	Scalars   string       `json:"scalars"`
	Generator []uint64     `json:"generator"` // seed, and the address and bytes of the state before and after; absent: none
}

// tapeAdded says what is wrong with what an operator got and made. It never leaves the boundary.
type tapeAdded struct {
	BadIn  int64 `json:"bad_in"`  // elements of inputs that are NaN or infinite
	BadOut int64 `json:"bad_out"` // of what it wrote
}

// lookAtTensors keeps what tensors hold for the record that comes next.
func (c *Core) lookAtTensors(_ *job.Job, r *tapeLookRequest) (*tapeReply, error) {
	w, err := c.tapes.find(r.Tape)
	if err != nil {
		return nil, err
	}
	if len(r.Types) != len(r.Tensors) {
		return nil, fault.Usagef("%d types of %d tensors", len(r.Types), len(r.Tensors))
	}
	var held []tape.Value
	for i, at := range r.Tensors {
		v, err := c.valueOf(r.Types[i], at, false)
		if err != nil {
			return nil, err
		}
		held = append(held, v)
	}
	w.Hold(held)
	return &tapeReply{}, nil
}

// addToTape looks at what an operator got and made, and adds its record.
func (c *Core) addToTape(_ *job.Job, r *tapeAddRequest) (*tapeAdded, error) {
	w, err := c.tapes.find(r.Tape)
	if err != nil {
		return nil, err
	}
	slots, err := w.Slots(r.Place)
	if err != nil {
		return nil, err
	}
	o := &tape.Operator{Scalars: r.Scalars}
	if r.Held {
		o.Values = w.Held()
	}
	if len(o.Values)+len(r.Tensors) != len(slots) {
		return nil, fault.Usagef("place %d has %d tensors, got %d and %d", r.Place, len(slots), len(o.Values), len(r.Tensors))
	}
	for _, at := range r.Tensors {
		s := &slots[len(o.Values)]
		v, err := c.valueOf(s.Type, at, s.Role != tape.Input)
		if err != nil {
			return nil, err
		}
		o.Values = append(o.Values, v)
	}
	if o.Generator, err = c.generatorOf(r.Generator); err != nil {
		return nil, err
	}
	said := &tapeAdded{}
	for i := range o.Values {
		bad := o.Values[i].NaN + o.Values[i].Inf
		if slots[i].Role == tape.Input {
			said.BadIn += bad
		} else {
			said.BadOut += bad
		}
	}
	return said, w.Add(r.Place, o)
}

// valueOf looks at a tensor.
func (c *Core) valueOf(elementType string, at tapeTensor, sampled bool) (tape.Value, error) {
	if state := tape.State(at[2]); state != tape.Taken {
		return tape.Value{State: state}, nil
	}
	b, err := c.memory(at[0], at[1])
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
