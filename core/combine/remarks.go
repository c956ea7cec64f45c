package combine

import "fmt"

// remarks are what a stage says of the run as a whole.
type remarks struct {
	notes    []string // what was decided, and is no reason to worry
	warnings []string // what limits the result
}

func (r *remarks) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *remarks) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// add takes over what other stages say, in their order.
func (r *remarks) add(of ...remarks) {
	for _, o := range of {
		r.notes = append(r.notes, o.notes...)
		r.warnings = append(r.warnings, o.warnings...)
	}
}

// sentences are what a stage says of one node.
type sentences []string

func (s *sentences) say(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }
