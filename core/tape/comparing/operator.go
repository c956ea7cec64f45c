package comparing

import (
	"fmt"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/tape"
)

// look compares two operators, what they were given before what they made. nil: they do not differ.
func (c *comparison) look(a, b *tape.Operator) *Difference {
	d := &Difference{Known: c.exact && !c.modules, Follows: c.differs, Ranks: []int64{}}
	if c.tensors(d, a.Place.Slots, b.Place.Slots) {
		return d
	}
	if a.Scalars != b.Scalars {
		d.Kind, d.ValueA, d.ValueB = kindArguments, a.Scalars, b.Scalars
		d.Distance = distanceOf(a, b)
		return d
	}
	output := -1
	for i := range a.Values {
		x, y, role := &a.Values[i], &b.Values[i], a.Place.Slots[i].Role
		switch {
		case x.State == tape.Unreadable || y.State == tape.Unreadable:
			c.rank.Unread++
			d.Known = false
			continue
		case x.State == tape.Uninitialized || y.State == tape.Uninitialized:
			c.rank.Unwritten++
			d.Known = d.Known && x.State == y.State
			continue
		}
		c.rank.Tensors++
		if x.Digest == y.Digest {
			continue
		}
		if role == tape.Input && d.Kind == "" {
			c.input(d, a, b, i)
		} else if role != tape.Input && output < 0 {
			output = i
		}
	}
	c.random(d, a.Generator, b.Generator)
	if d.Kind == "" && output >= 0 {
		d.Kind, d.Follows = kindOutput, c.differs && !d.Known
		d.Tensor = a.Place.Slots[output].Name
		d.ValueA, d.ValueB = valueText(&a.Values[output]), valueText(&b.Values[output])
	}
	if d.Kind == "" {
		return nil
	}
	d.Distance = distanceOf(a, b)
	return d
}

// tensors compares what tensors an operator has, not their contents.
func (c *comparison) tensors(d *Difference, a, b []tape.Slot) bool {
	if len(a) != len(b) {
		d.Kind, d.ValueA, d.ValueB = kindShape, fmt.Sprintf("%d tensors", len(a)), fmt.Sprintf("%d tensors", len(b))
		return true
	}
	for i := range a {
		x, y := &a[i], &b[i]
		switch {
		case x.Role != y.Role || x.Name != y.Name:
			d.Kind, d.ValueA, d.ValueB = kindShape, x.Name, y.Name
		case x.Type != y.Type:
			d.Kind, d.ValueA, d.ValueB = kindType, x.Type, y.Type
		case !slices.Equal(x.Shape, y.Shape):
			d.Kind, d.ValueA, d.ValueB = kindShape, fmt.Sprint(x.Shape), fmt.Sprint(y.Shape)
		default:
			continue
		}
		d.Tensor = x.Name
		return true
	}
	return false
}

// random compares the state of the random numbers before an operator draws some. It goes before the inputs: they do not decide it.
func (c *comparison) random(d *Difference, a, b *tape.Generator) {
	if a == nil || b == nil || a.Before == b.Before {
		return
	}
	if d.Kind == kindInput {
		return
	}
	d.Kind, d.Follows = kindRandom, c.drawn || c.differs && a.Seed == b.Seed
	d.ValueA, d.ValueB = fmt.Sprintf("seed %d", a.Seed), fmt.Sprintf("seed %d", b.Seed)
	if a.Seed == b.Seed {
		d.ValueA, d.ValueB = fmt.Sprintf("state %#x of seed %d", a.Before, a.Seed), fmt.Sprintf("state %#x", b.Before)
	}
}

// input is a tensor that the operators got with other contents.
func (c *comparison) input(d *Difference, a, b *tape.Operator, i int) {
	slot := &a.Place.Slots[i]
	d.digests = [2]uint64{a.Values[i].Digest, b.Values[i].Digest}
	d.Kind, d.Tensor, d.what = kindInput, slot.Name, fmt.Sprintf("%s %v", slot.Type, slot.Shape)
	d.ValueA, d.ValueB = valueText(&a.Values[i]), valueText(&b.Values[i])
	if maker, ok := c.made[a.Values[i].Digest]; ok {
		d.Made = &maker
	}
}

// valueText says what is known of a tensor's contents.
func valueText(v *tape.Value) string {
	text := fmt.Sprintf("digest %016x", v.Digest)
	if v.NaN > 0 {
		text += fmt.Sprintf(", %d NaN", v.NaN)
	}
	if v.Inf > 0 {
		text += fmt.Sprintf(", %d infinite", v.Inf)
	}
	if !math.IsNaN(v.Max) {
		text += fmt.Sprintf(", largest %.9g", v.Max)
	}
	return text
}

// say puts a difference into a sentence.
func (d *Difference) say(names [2]string, among bool) {
	where := d.A.String()
	if d.A.Occurrence != d.B.Occurrence {
		where += fmt.Sprintf(" (no. %d in %s)", d.B.Occurrence+1, names[1])
	}
	switch d.Kind {
	case kindType, kindShape:
		d.Text = fmt.Sprintf("%s has %s in %s and %s in %s", where, d.ValueA, names[0], d.ValueB, names[1])
		if d.Tensor != "" {
			d.Text = fmt.Sprintf("%s: %s is %s in %s and %s in %s", where, d.Tensor, d.ValueA, names[0], d.ValueB, names[1])
		}
	case kindArguments:
		x, y := firstArgument(d.ValueA, d.ValueB)
		d.Text = fmt.Sprintf("%s was called with %s in %s and %s in %s", where, x, names[0], y, names[1])
	case kindRandom:
		d.Text = fmt.Sprintf("%s drew other random numbers: %s in %s, %s in %s", where, d.ValueA, names[0], d.ValueB, names[1])
	case kindInput:
		d.Text = fmt.Sprintf("%s got another %s (%s)", where, d.Tensor, d.what)
		switch {
		case among:
			d.Text = fmt.Sprintf("%s got %s (%s) in %s that is not that of %s", where, d.Tensor, d.what, names[1], names[0])
		case d.Follows:
		case d.Made != nil:
			d.Text += fmt.Sprintf("; %s had made it, the same in both: it was changed since", d.Made)
		default:
			d.Text += "; no operator before it made something else: it came from outside of what was recorded, or was changed there"
		}
	case kindOutput:
		d.Text = fmt.Sprintf("%s made another %s of the same inputs", where, result(d.Tensor))
		if !d.Known {
			d.Text = fmt.Sprintf("%s made another %s; its inputs are the same as far as is known", where, result(d.Tensor))
		}
	}
	if d.Distance != nil {
		d.Text += "; results are " + d.Distance.Text
	}
}

// called adds the lines of the programs to the sentence.
func (d *Difference) called(names [2]string) {
	switch {
	case d.LineA == d.LineB && d.LineA != "":
		d.Text += "; called at " + d.LineA
	case d.LineA != "" && d.LineB != "":
		d.Text += fmt.Sprintf("; called at %s in %s and at %s in %s", d.LineA, names[0], d.LineB, names[1])
	case d.LineA+d.LineB != "":
		d.Text += "; called at " + d.LineA + d.LineB
	}
}

// result names a result: they have numbers, arguments that were written have names.
func result(name string) string {
	if name == "0" {
		return "result"
	}
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		return "result " + name
	}
	return name
}
