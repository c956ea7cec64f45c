// Package comparing finds out where two trainings first computed something else, by their tapes.
//
// Operators are aligned by phase, module and name with a shortest edit script, step by step, never by number: what one side has in addition is
// told as such. Of operators that stand for each other, what they were given is compared before what they made. So a difference is what it is
// at its first place: another operator, type, shape, argument, random number or input, or another result of the same inputs. What differs
// afterwards because its inputs do is counted as a follower.
package comparing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/script"
	"github.com/prlx-go/prlx/core/tape"
)

// Kind is how operators differ.
type Kind string

// The kinds, in the order in which an operator is looked at.
const (
	kindMissing   Kind = "missing"   // only A has the operator
	kindInserted  Kind = "inserted"  // only B has it
	kindType      Kind = "type"      // of a tensor
	kindShape     Kind = "shape"     // of a tensor, or other tensors
	kindArguments Kind = "arguments" // other than tensors
	kindRandom    Kind = "random"    // the state of the random numbers before
	kindInput     Kind = "input"     // the contents of a tensor that it got
	kindOutput    Kind = "output"    // what it made of the same inputs
)

// maxDifferences is how many differences a document lists; all are counted.
const maxDifferences = 100

// Difference is one way in which an operator of A and its counterpart in B are not the same.
type Difference struct {
	Kind     Kind      `json:"kind"`   // missing | inserted | type | shape | arguments | random | input | output
	A        *tape.At  `json:"a"`      // null: B alone has the operator
	B        *tape.At  `json:"b"`      // null: A alone has it
	LineA    string    `json:"line_a"` // of A's program: "train.py:12"; "" unknown
	LineB    string    `json:"line_b"`
	Follows  bool      `json:"follows"` // an earlier difference can be its cause
	Tensor   string    `json:"tensor"`  // the argument or result that differs first, "" none
	ValueA   string    `json:"value_a"` // what A has there, in words
	ValueB   string    `json:"value_b"`
	Made     *tape.At  `json:"made"`     // of an input: the last operator of A that made it; null: no record says who
	Known    bool      `json:"known"`    // the contents of all inputs were looked at
	Distance *Distance `json:"distance"` // how far apart results are; null: there is nothing to measure
	Ranks    []int64   `json:"ranks"`    // among the ranks of one run: those that deviate at the first difference; else, and where nothing tells which, empty
	Text     string    `json:"text"`     // in a sentence

	what    string    // type and shape of the tensor
	digests [2]uint64 // of an input
}

// comparison is the state of comparing two tapes of one rank.
type comparison struct {
	rank    *Rank
	base    int64     // the rank of A
	names   [2]string // how sentences call the sides
	solver  script.Solver
	keys    map[tape.Key]uint32
	exact   bool               // equal digests mean equal tensors
	gpu     bool               // A ran on one
	modules bool               // of modules: their parameters are not among what they got, and what they got was looked at when it was made
	differs bool               // something did so far
	drawn   bool               // random numbers did
	noisy   bool               // something did as it does between equal runs
	made    map[uint64]tape.At // by the digest of a result of A in this step
	result  *Result
}

// Result is what came of comparing the tapes of all ranks, before it is a document.
type Result struct {
	A, B        tape.Run // of the first pair
	Among       bool     // the ranks of one run were compared with each other
	Ranks       []Rank
	Differences []Difference // the first ones, in order of steps
	Total       int64
	Followers   int64
	Noise       *Noise // nil: nobody said what runs that should be equal differ in
	first       *Difference
	noise       int64          // differences that equal runs have, too
	firstNoise  string         // in a sentence
	collected   map[noisy]bool // nil, or where all differences go
	lacking     []tape.Limit   // of the whole
}

// Rank is what came of one pair of tapes.
type Rank struct {
	Rank       int64        `json:"rank"`
	A          string       `json:"a"`
	B          string       `json:"b"`
	Steps      int64        `json:"steps"`       // that both have
	StepsA     int64        `json:"steps_a"`     // that only A has
	StepsB     int64        `json:"steps_b"`     // that only B has
	Operators  int64        `json:"operators"`   // that stand for each other
	OperatorsA int64        `json:"operators_a"` // in the steps that both have
	OperatorsB int64        `json:"operators_b"`
	Tensors    int64        `json:"tensors"`      // whose contents were compared
	Unwritten  int64        `json:"unwritten"`    // that nobody had written: nothing is to be compared
	Unread     int64        `json:"unread"`       // that could not be looked at
	Differing  int64        `json:"differing"`    // operators that differ, and those that one side lacks
	First      *Difference  `json:"first"`        // null: none
	NotFiniteA *tape.Maker  `json:"not_finite_a"` // the first operator of A that made NaN or infinite elements of finite ones; null: none
	NotFiniteB *tape.Maker  `json:"not_finite_b"`
	Facts      []FactDiffer `json:"facts"` // that differ

	missing []tape.Limit
}

// FactDiffer is a fact of the runs that differs.
type FactDiffer struct {
	Name string `json:"name"`
	A    string `json:"a"` // "" where A does not say it
	B    string `json:"b"`
}

// Side is a run as it is compared: a tape, or what another tool wrote.
type Side interface {
	Path() string
	About() *tape.Run
	Exact() bool // equal digests mean equal tensors
	Next(ctx context.Context) (*tape.Step, error)
	Limits() []tape.Limit // after the last step
}

// Pair compares the tapes of one rank, to their ends, and adds what comes of it.
func (r *Result) Pair(ctx context.Context, a, b Side) error {
	runA, runB := a.About(), b.About()
	if runA.Level != runB.Level {
		return fault.New(fault.Incompatible, "is a tape of %s, and A is one of %s", runB.Level, runA.Level).WithPath(b.Path()).
			WithHint("take both with the same level")
	}
	if len(r.Ranks) == 0 {
		r.A, r.B = *runA, *runB
	}
	rank := Rank{Rank: runA.Rank, A: a.Path(), B: b.Path(), Facts: factsOf(runA, runB)}
	c := &comparison{
		rank: &rank, base: rank.Rank, names: [2]string{"A", "B"}, exact: a.Exact() && b.Exact(), gpu: onGPU(runA), modules: runA.Level == tape.LevelModules, keys: map[tape.Key]uint32{}, result: r,
	}
	if err := c.steps(ctx, a, b); err != nil {
		return err
	}
	c.limits(a, b)
	r.Ranks = append(r.Ranks, rank)
	return nil
}

// limits notes what the tapes do not tell.
func (c *comparison) limits(a, b Side) {
	for i, side := range []Side{a, b} {
		for _, l := range side.Limits() {
			l.What += " of " + c.names[i]
			c.rank.missing = append(c.rank.missing, l)
		}
	}
	slices.SortStableFunc(c.rank.missing, func(x, y tape.Limit) int { return strings.Compare(x.What, y.What) })
}

// steps pairs steps by their number, which both tapes count.
func (c *comparison) steps(ctx context.Context, a, b Side) error {
	x, err := a.Next(ctx)
	if err != nil {
		return err
	}
	y, err := b.Next(ctx)
	if err != nil {
		return err
	}
	for x != nil || y != nil {
		onlyA := y == nil || x != nil && x.Number < y.Number
		onlyB := x == nil || y != nil && y.Number < x.Number
		switch {
		case onlyA:
			c.rank.StepsA++
		case onlyB:
			c.rank.StepsB++
		default:
			c.step(x, y)
		}
		if !onlyB {
			if x, err = a.Next(ctx); err != nil {
				return err
			}
		}
		if !onlyA {
			if y, err = b.Next(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// step compares one step.
func (c *comparison) step(a, b *tape.Step) {
	r := c.rank
	r.Steps++
	r.OperatorsA += int64(len(a.Operators))
	r.OperatorsB += int64(len(b.Operators))
	c.made = map[uint64]tape.At{}
	s := walk{a: a, b: b, placesA: tape.PlacesOf(a, c.base), placesB: tape.PlacesOf(b, r.Rank)}
	edits, _ := c.solver.Open(c.symbols(a), c.symbols(b), script.Open{A: b.Open, B: a.Open}, script.Budget{})
	for _, e := range edits {
		for s.i < int(e.A) {
			c.pair(&s)
		}
		for range e.Del {
			c.oneSided(&s, kindMissing)
		}
		for range e.Ins {
			c.oneSided(&s, kindInserted)
		}
	}
	for s.i < len(a.Operators) && s.j < len(b.Operators) { // what is left then was not recorded on the other side
		c.pair(&s)
	}
}

// walk is where a comparison stands in a step of both sides.
type walk struct {
	a, b             *tape.Step
	placesA, placesB *tape.Places
	i, j             int
}

// symbols are the keys of a step's operators as numbers.
func (c *comparison) symbols(s *tape.Step) []uint32 {
	list := make([]uint32, len(s.Operators))
	for i, o := range s.Operators {
		k := tape.KeyOf(o)
		n, ok := c.keys[k]
		if !ok {
			n = uint32(len(c.keys))
			c.keys[k] = n
		}
		list[i] = n
	}
	return list
}

// oneSided takes an operator that one side lacks.
func (c *comparison) oneSided(s *walk, kind Kind) {
	d := Difference{Kind: kind, Known: true, Follows: c.differs, Ranks: []int64{}}
	if kind == kindMissing {
		at := s.placesA.Next(s.a.Operators[s.i])
		c.finite(&c.rank.NotFiniteA, s.a.Operators[s.i], at)
		d.A, d.LineA, d.Text = &at, s.a.Operators[s.i].Place.Line, fmt.Sprintf("%s: only %s has it", at, c.names[0])
		s.i++
	} else {
		at := s.placesB.Next(s.b.Operators[s.j])
		c.finite(&c.rank.NotFiniteB, s.b.Operators[s.j], at)
		d.B, d.LineB, d.Text = &at, s.b.Operators[s.j].Place.Line, fmt.Sprintf("%s: only %s has it", at, c.names[1])
		s.j++
	}
	c.add(&d)
}

// pair compares two operators that stand for each other.
func (c *comparison) pair(s *walk) {
	a, b := s.a.Operators[s.i], s.b.Operators[s.j]
	s.i++
	s.j++
	c.rank.Operators++
	atA, atB := s.placesA.Next(a), s.placesB.Next(b)
	c.finite(&c.rank.NotFiniteA, a, atA)
	c.finite(&c.rank.NotFiniteB, b, atB)
	if d := c.look(a, b); d != nil {
		d.A, d.B = &atA, &atB
		d.LineA, d.LineB = a.Place.Line, b.Place.Line
		d.say(c.names, c.result.Among)
		if d.Kind == kindOutput && c.gpu && listed(a.Place.Operator) {
			d.Text += "; torch lists the operator among those that may make something else each time on a GPU"
		}
		c.add(d)
	}
	for i := range a.Values {
		if a.Values[i].State == tape.Taken && a.Place.Slots[i].Role != tape.Input {
			c.made[a.Values[i].Digest] = atA
		}
	}
}

// finite remembers the first operator that makes NaN or infinite elements of finite ones.
func (c *comparison) finite(first **tape.Maker, o *tape.Operator, at tape.At) {
	if makes, _ := o.Makes(); *first == nil && makes {
		*first = tape.MakerOf(o, at)
	}
}

// add takes a difference.
func (c *comparison) add(d *Difference) {
	d.called(c.names)
	r := c.result
	if r.collected != nil {
		r.collected[noisyOf(d)] = true
	}
	if c.isNoise(d) {
		c.noisy = true
		if r.noise == 0 {
			r.firstNoise = at(d).String()
		}
		r.noise++
		return
	}
	c.rank.Differing++
	c.differs = true
	c.drawn = c.drawn || d.Kind == kindRandom
	r.Total++
	if d.Follows {
		r.Followers++
	}
	if c.rank.First == nil {
		c.rank.First = d
		if r.first == nil || at(d).Step < at(r.first).Step {
			r.first = d
		}
	}
	if len(r.Differences) < maxDifferences {
		r.Differences = append(r.Differences, *d)
	}
}

// at is where a difference is.
func at(d *Difference) *tape.At {
	if d.A != nil {
		return d.A
	}
	return d.B
}

// factsOf are the facts that differ, in the order of their names.
func factsOf(a, b *tape.Run) []FactDiffer {
	other := map[string]string{}
	for _, f := range b.Facts {
		other[f.Name] = f.Value
	}
	list := []FactDiffer{}
	for _, f := range a.Facts {
		if v := other[f.Name]; v != f.Value {
			list = append(list, FactDiffer{f.Name, f.Value, v})
		}
		delete(other, f.Name)
	}
	for _, f := range b.Facts {
		if v, left := other[f.Name]; left {
			list = append(list, FactDiffer{f.Name, "", v})
		}
	}
	if a.Ranks != b.Ranks {
		list = append(list, FactDiffer{"ranks", fmt.Sprint(a.Ranks), fmt.Sprint(b.Ranks)})
	}
	return list
}
