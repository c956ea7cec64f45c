package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
)

// Coverage is what was compared of the launches that both sessions have.
type Coverage struct {
	Text        string   `json:"text"`                 // "control flow of 12 launches and outputs of 11; values not compared"
	ControlFlow int64    `json:"control_flow"`         // launches of which it was compared
	FlowInPart  int64    `json:"control_flow_in_part"` // of these, those of which events were lost or not kept
	Outputs     int64    `json:"outputs"`
	Values      int64    `json:"values"`
	Valued      int64    `json:"values_recorded"` // launches whose recordings hold values on both sides, compared or not
	Missing     []string `json:"missing"`         // what was required and not compared of some launch
}

// coverageOf adds up what was compared of each launch; nil stands for a launch that could not be compared.
func coverageOf(launches []*diff.Coverage) *Coverage {
	c := &Coverage{Missing: []string{}}
	for _, l := range launches {
		if l == nil {
			continue
		}
		for _, part := range []struct {
			agrees diff.Agreement
			count  *int64
		}{{l.ControlFlow.Agrees, &c.ControlFlow}, {l.Outputs.Agrees, &c.Outputs}, {l.Values.Agrees, &c.Values}} {
			if part.agrees != diff.AgreementUnknown {
				*part.count++
			}
		}
		if l.ControlFlow.InPart() {
			c.FlowInPart++
		}
		if l.Values.Recorded() {
			c.Valued++
		}
		for _, name := range l.Missing {
			if !slices.Contains(c.Missing, name) {
				c.Missing = append(c.Missing, name)
			}
		}
	}
	slices.Sort(c.Missing)
	c.Text = c.text()
	return c
}

func (c *Coverage) text() string {
	var compared, not []string
	flow := "control flow"
	switch c.FlowInPart {
	case 0:
	case c.ControlFlow:
		flow = "part of the control flow"
	default:
		flow = fmt.Sprintf("control flow (of %d a part)", c.FlowInPart)
	}
	for _, part := range []struct {
		name  string
		count int64
	}{{flow, c.ControlFlow}, {"outputs", c.Outputs}, {"values", c.Values}} {
		switch {
		case part.count == 0:
			not = append(not, part.name)
		case len(compared) == 0:
			compared = append(compared, fmt.Sprintf("%s of %s", part.name, plural(part.count, "launch")))
		default:
			compared = append(compared, fmt.Sprintf("%s of %d", part.name, part.count))
		}
	}
	text := strings.Join(compared, ", ")
	if len(not) > 0 {
		if text != "" {
			text += "; "
		}
		text += strings.Join(not, ", ") + " not compared"
	}
	return text
}
