package tape

import (
	"context"
	"fmt"
	"sort"
	"strings"
)

// At is where an operator ran.
type At struct {
	Step       int64  `json:"step"`
	Phase      string `json:"phase"`      // "forward", "backward" or "optimizer"
	Module     string `json:"module"`     // path; of an optimizer's operator the parameter; "" outside of all
	Class      string `json:"class"`      // of the module
	Operator   string `json:"operator"`   // "aten.addmm.default"
	Occurrence int64  `json:"occurrence"` // how often the same operator ran before in this phase of this module and step
	Rank       int64  `json:"rank"`
}

// String says where in words.
func (a At) String() string {
	where := "outside of all modules"
	switch {
	case a.Phase == optimizer.String() && a.Module != "":
		where = "of " + a.Module
	case a.Module != "" && a.Class != "":
		where = fmt.Sprintf("in %s (%s)", a.Module, a.Class)
	case a.Module != "":
		where = "in " + a.Module
	}
	nth := ""
	if a.Occurrence > 0 {
		nth = fmt.Sprintf(", no. %d of its kind", a.Occurrence+1)
	}
	phase := ", " + a.Phase
	if a.Phase == phases.String() { // of a log that does not say it
		phase = ""
	}
	return fmt.Sprintf("step %d%s: %s %s%s", a.Step, phase, a.Operator, where, nth)
}

// Key is what operators of two runs must agree in to stand for each other.
type Key struct {
	Phase            Phase
	Module, Operator string
}

// KeyOf is the key of an operator.
func KeyOf(o *Operator) Key { return Key{o.Place.Phase, o.Place.Module, o.Place.Operator} }

// Places numbers operators within a step.
type Places struct {
	step, rank int64
	seen       map[Key]int64
}

// PlacesOf begins to number the operators of a step.
func PlacesOf(step *Step, rank int64) *Places {
	return &Places{step.Number, rank, map[Key]int64{}}
}

// Next is where the next operator of the step ran. It is to be called for each, in order.
func (p *Places) Next(o *Operator) At {
	k := KeyOf(o)
	n := p.seen[k]
	p.seen[k]++
	return At{p.step, k.Phase.String(), k.Module, o.Place.Class, k.Operator, n, p.rank}
}

// Makes reports whether an operator made NaN of inputs that had none, or infinite elements of finite ones. Infinity that it was called with, as masks
// of attention are, it does not make. carries: it made some, of inputs that had them.
func (o *Operator) Makes() (makes, carries bool) {
	var nanIn, infIn, nanOut, infOut int64
	for i := range o.Values {
		v := &o.Values[i]
		if o.Place.Slots[i].Role == Input {
			nanIn, infIn = nanIn+v.NaN, infIn+v.Inf
		} else {
			nanOut, infOut = nanOut+v.NaN, infOut+v.Inf
		}
	}
	makes = nanOut > 0 && nanIn == 0 || infOut > 0 && nanIn+infIn == 0 && !asksForInfinity(o.Scalars)
	return makes, !makes && nanOut+infOut > 0
}

// asksForInfinity reports whether one of the arguments of an operator is infinite.
func asksForInfinity(scalars string) bool {
	for _, each := range strings.Split(scalars, ", ") {
		if _, value, _ := strings.Cut(each, "="); value == "inf" || value == "-inf" {
			return true
		}
	}
	return false
}

// Description says what is in a tape.
type Description struct {
	Run       Run    `json:"run"`
	Steps     int64  `json:"steps"`      // that the file holds
	FirstStep *int64 `json:"first_step"` // null: it holds none
	LastStep  *int64 `json:"last_step"`
	Operators int64  `json:"operators"`
	Tensors   int64  `json:"tensors"`

	Unread int64 `json:"unread"` // tensors whose contents were not looked at
	Random int64 `json:"random"` // operators that drew random numbers

	NotFinite    int64            `json:"not_finite"`    // operators that made NaN or infinite elements
	FirstMaker   *Maker           `json:"first_maker"`   // of NaN, of inputs that had none, or of infinite elements that no argument asked for; null: none
	FirstCarrier *Maker           `json:"first_carrier"` // the first operator that made some of inputs that had some already; null: none
	Skipped      map[string]int64 `json:"skipped"`       // operators that were not taken, by why
	Dropped      int64            `json:"dropped"`       // records that did not fit the tape's limit
	Whole        bool             `json:"whole"`         // the tape was closed, and nothing is missing at its end
	Ends         string           `json:"ends"`          // why it ends early, "" where it does not
	Modules      []ModuleCount    `json:"modules"`
}

// Maker is an operator that made NaN or infinite elements.
type Maker struct {
	At   At     `json:"at"`
	NaN  int64  `json:"nan"`
	Inf  int64  `json:"inf"`
	Line string `json:"line"` // of the program: "train.py:12"; "" unknown
	Text string `json:"text"` // in words
}

// ModuleCount is how many operators ran in a module.
type ModuleCount struct {
	Module    string `json:"module"`
	Class     string `json:"class"`
	Operators int64  `json:"operators"`
}

// maxModules is how many modules a description lists: those with the most operators.
const maxModules = 200

// Describe reads a tape to its end and says what is in it.
func Describe(ctx context.Context, r *Reader) (*Description, error) {
	d := &Description{Run: r.Run, Skipped: map[string]int64{}, Modules: []ModuleCount{}}
	modules := map[[2]string]int64{}
	for {
		s, err := r.Next(ctx)
		if err != nil {
			return nil, err
		}
		if s == nil {
			break
		}
		if d.FirstStep == nil {
			first := s.Number
			d.FirstStep = &first
		}
		last := s.Number
		d.LastStep = &last
		d.Steps++
		places := PlacesOf(s, r.Run.Rank)
		for _, o := range s.Operators {
			d.take(o, places.Next(o))
			modules[[2]string{o.Place.Module, o.Place.Class}]++
		}
	}
	for m, n := range modules {
		d.Modules = append(d.Modules, ModuleCount{m[0], m[1], n})
	}
	sort.Slice(d.Modules, func(i, j int) bool {
		a, b := d.Modules[i], d.Modules[j]
		if a.Operators != b.Operators {
			return a.Operators > b.Operators
		}
		return a.Module+"\x00"+a.Class < b.Module+"\x00"+b.Class
	})
	d.Modules = d.Modules[:min(len(d.Modules), maxModules)]
	d.Ends = early(r)
	if r.End != nil {
		d.Dropped = r.End.Dropped
		if r.End.Skipped != nil {
			d.Skipped = r.End.Skipped
		}
	}
	d.Whole = d.Ends == "" && d.Dropped == 0
	return d, nil
}

// early says why a tape that was read ends before its run did, "" where it does not.
func early(r *Reader) string {
	if r.End != nil && r.End.Failed != "" {
		return "taking stopped: " + r.End.Failed
	}
	return r.Broken
}

// take counts an operator.
func (d *Description) take(o *Operator, at At) {
	d.Operators++
	d.Tensors += int64(len(o.Values))
	if o.Generator != nil {
		d.Random++
	}
	for i := range o.Values {
		if o.Values[i].State != Taken {
			d.Unread++
		}
	}
	makes, carries := o.Makes()
	if !makes && !carries {
		return
	}
	d.NotFinite++
	into := &d.FirstMaker
	if carries {
		into = &d.FirstCarrier
	}
	if *into == nil {
		*into = MakerOf(o, at)
	}
}

// MakerOf describes an operator that made NaN or infinite elements.
func MakerOf(o *Operator, at At) *Maker {
	m := &Maker{At: at, Line: o.Place.Line}
	for i := range o.Values {
		if o.Place.Slots[i].Role != Input {
			m.NaN += o.Values[i].NaN
			m.Inf += o.Values[i].Inf
		}
	}
	m.Text = fmt.Sprintf("%s made %s", at, notFinite(m.NaN, m.Inf))
	if m.Line != "" {
		m.Text += ", called at " + m.Line
	}
	return m
}

// notFinite counts NaN and infinite elements in words.
func notFinite(nan, inf int64) string {
	switch {
	case inf == 0:
		return fmt.Sprintf("%d NaN", nan)
	case nan == 0:
		return fmt.Sprintf("%d infinite", inf)
	}
	return fmt.Sprintf("%d NaN and %d infinite", nan, inf)
}
