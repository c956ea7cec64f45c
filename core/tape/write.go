package tape

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// flushAt is how many bytes wait at most before they are handed to the system, where the end of the process cannot reach them.
const flushAt = 64 << 10

// Writer writes one tape while the run goes on. Unlike other outputs it has its name from the beginning: a run that is killed leaves it.
// Several goroutines may use it.
type Writer struct {
	mu      sync.Mutex
	path    string
	f       *os.File
	size    int64 // written and waiting
	waiting []byte
	scratch []byte
	head    []byte // frames that a file begins with: magic, run, places
	places  []*Place
	ring    int64
	limit   int64           // bytes of the file; 0: none
	steps   []int64         // where the steps that are in the file begin
	held    []Value         // of the record that comes next
	seen    map[uint64]seen // what tensors of this step hold, by their address; nil unless the tape is of modules
	end     End
	failed  error
	closed  bool
}

// Options say how a tape is kept small.
type Options struct {
	Overwrite bool
	Limit     int64 // bytes; records beyond it are dropped and counted. 0: none
}

// Create begins a tape.
func Create(path string, run *Run, opt Options) (*Writer, error) {
	if run.Ring < 0 || opt.Limit < 0 {
		return nil, fault.Usagef("a ring of %d steps and a limit of %d bytes: expected 0 or more", run.Ring, opt.Limit)
	}
	said, err := json.Marshal(run)
	if err != nil {
		return nil, err
	}
	if len(said) > maxFrame {
		return nil, fault.New(fault.Limit, "the facts of the run take %d bytes, at most %d are kept", len(said), maxFrame)
	}
	first, err := file.Create(path, opt.Overwrite)
	if err != nil {
		return nil, err
	}
	defer first.Abort()
	w := &Writer{path: path, ring: run.Ring, limit: opt.Limit, head: frame([]byte(magic+"\x01\x00\x00\x00"), frameRun, said)}
	if _, err := first.Write(w.head); err != nil {
		return nil, err
	}
	if err := w.place(first); err != nil {
		return nil, err
	}
	if run.Level == LevelModules {
		w.seen = map[uint64]seen{}
	}
	return w, nil
}

// seen is what a tensor at some address held when it was looked at.
type seen struct {
	elementType string
	bytes       uint64
	written     bool
	value       Value
}

// See keeps what the tensor at an address holds, for whoever gets it later in this step.
func (w *Writer) See(address uint64, elementType string, bytes uint64, written bool, v *Value) {
	if w.seen == nil || bytes < worthSeeing {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[address] = seen{elementType, bytes, written, *v}
}

// worthSeeing is how many bytes a tensor has at least for which it is quicker to look it up than to look at it.
const worthSeeing = 4096

// Seen is what the tensor at an address held when it was looked at last. ok is false where it was not, or was not looked at as it is now.
func (w *Writer) Seen(address uint64, elementType string, bytes uint64, written bool) (v Value, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.seen[address]
	if !ok || s.elementType != elementType || s.bytes != bytes || written && !s.written {
		return Value{}, false
	}
	if !written {
		s.value.Sum, s.value.Sample = 0, nil
	}
	return s.value, true
}

// place gives a file that is written its name and goes on behind its end.
func (w *Writer) place(out *file.Output) error {
	if err := out.Commit(); err != nil {
		return err
	}
	f, err := os.OpenFile(w.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return fault.FromIO(w.path, err)
	}
	if w.f != nil {
		w.f.Close()
	}
	w.f, w.size = f, out.Appended()
	return nil
}

// Define describes a place and returns its number.
func (w *Writer) Define(p *Place) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return 0, err
	}
	if len(w.places) >= maxPlaces {
		return 0, fault.New(fault.Limit, "operators ran in more than %d ways", maxPlaces).WithPath(w.path)
	}
	payload := appendPlace(nil, uint64(len(w.places)), p)
	if len(payload) > maxFrame {
		return 0, fault.New(fault.Limit, "an operator with %d tensors does not fit a record", len(p.Slots)).WithPath(w.path)
	}
	from := len(w.head)
	w.head = frame(w.head, framePlace, payload)
	w.places = append(w.places, p)
	return len(w.places) - 1, w.add(w.head[from:])
}

// Slots are the tensors of a place that was defined.
func (w *Writer) Slots(place int) ([]Slot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if place < 0 || place >= len(w.places) {
		return nil, fault.Usagef("place %d was not defined", place)
	}
	return w.places[place].Slots, nil
}

// Hold keeps what the tensors of the next record held before its operator ran.
func (w *Writer) Hold(values []Value) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = values
}

// Held takes what was kept.
func (w *Writer) Held() []Value {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.held
	w.held = nil
	return held
}

// Step begins a step.
func (w *Writer) Step(number int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if w.ring > 0 && int64(len(w.steps)) >= 2*w.ring {
		if err := w.keep(w.ring); err != nil {
			return err
		}
	}
	clear(w.seen)
	w.steps = append(w.steps, w.size)
	w.end.Steps++
	w.scratch = binary.AppendVarint(w.scratch[:0], number)
	if err := w.add(frame(nil, frameStep, w.scratch)); err != nil {
		return err
	}
	return w.flush()
}

// Add adds the record of an operator that ran at a place that was defined.
func (w *Writer) Add(place int, o *Operator) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch err := w.usable(); {
	case err != nil:
		return err
	case place < 0 || place >= len(w.places):
		return fault.Usagef("place %d was not defined", place)
	case len(o.Values) != len(w.places[place].Slots):
		return fault.Usagef("place %d has %d tensors, got %d", place, len(w.places[place].Slots), len(o.Values))
	case len(w.steps) == 0:
		return fault.Usagef("no step has begun")
	}
	o.Place = w.places[place]
	w.end.Operators++
	w.scratch = appendOperator(w.scratch[:0], uint64(place), o)
	if len(w.scratch) > maxFrame || w.limit > 0 && w.size+int64(len(w.scratch)+frameHead) > w.limit {
		w.end.Dropped++
		return nil
	}
	return w.add(frame(nil, frameOperator, w.scratch))
}

// Close ends the tape. What was skipped, by why, and why taking stopped early, are in its last frame.
func (w *Writer) Close(skipped map[string]int64, failed string) (End, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.end, nil
	}
	defer func() {
		w.closed = true
		w.f.Close()
	}()
	if w.failed != nil {
		return w.end, w.failed
	}
	if w.ring > 0 && int64(len(w.steps)) > w.ring {
		if err := w.keep(w.ring); err != nil {
			return w.end, err
		}
	}
	w.end.Skipped, w.end.Failed = skipped, failed
	if w.end.Skipped == nil {
		w.end.Skipped = map[string]int64{}
	}
	said, err := json.Marshal(w.end)
	if err != nil {
		return w.end, err
	}
	if err := w.add(frame(nil, frameEnd, said)); err != nil {
		return w.end, err
	}
	return w.end, w.flush()
}

// Save writes the steps that are in the tape, as a tape of its own; this one goes on. A ring gives at most its own number of them.
func (w *Writer) Save(path string, overwrite bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	first, kept := w.size, len(w.steps)
	if w.ring > 0 {
		kept = min(kept, int(w.ring))
	}
	if kept > 0 {
		first = w.steps[len(w.steps)-kept]
	}
	said, err := json.Marshal(End{Steps: w.end.Steps, Operators: w.end.Operators, Dropped: w.end.Dropped, Skipped: map[string]int64{}})
	if err != nil {
		return err
	}
	out, err := file.Create(path, overwrite)
	if err != nil {
		return err
	}
	defer out.Abort()
	if _, err := out.Write(w.head); err != nil {
		return err
	}
	if _, err := io.Copy(out, io.NewSectionReader(w.f, first, w.size-first)); err != nil {
		return fault.FromIO(path, err)
	}
	if _, err := out.Write(frame(nil, frameEnd, said)); err != nil {
		return err
	}
	return out.Commit()
}

// Size is how many bytes the tape has.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size
}

func (w *Writer) usable() error {
	if w.closed {
		return fault.New(fault.Usage, "the tape was closed").WithPath(w.path)
	}
	return w.failed
}

// add writes a frame, which may wait.
func (w *Writer) add(b []byte) error {
	w.waiting = append(w.waiting, b...)
	w.size += int64(len(b))
	if len(w.waiting) >= flushAt {
		return w.flush()
	}
	return nil
}

func (w *Writer) flush() error {
	if _, err := w.f.Write(w.waiting); err != nil {
		w.failed = fault.FromIO(w.path, err)
		return w.failed
	}
	w.waiting = w.waiting[:0]
	return nil
}

// keep replaces the file by one with the last n steps only. Whoever reads meanwhile sees the one or the other, whole.
func (w *Writer) keep(n int64) error {
	if err := w.flush(); err != nil {
		return err
	}
	first := w.steps[int64(len(w.steps))-n]
	out, err := file.Create(w.path, true)
	if err != nil {
		return err
	}
	defer out.Abort()
	if _, err := out.Write(w.head); err != nil {
		return err
	}
	if _, err := io.Copy(out, io.NewSectionReader(w.f, first, w.size-first)); err != nil {
		return fault.FromIO(w.path, err)
	}
	moved := int64(len(w.head)) - first
	if err := w.place(out); err != nil {
		w.failed = err
		return err
	}
	w.steps = append([]int64{}, w.steps[int64(len(w.steps))-n:]...)
	for i := range w.steps {
		w.steps[i] += moved
	}
	return nil
}
