package main

import (
	"fmt"
	"slices"
	"strings"
)

// A score is one row of the report.
type score struct {
	group                                                  string
	mutants, killed, limited, equivalent, survived, unseen int
	left                                                   []record // survivors that are not equivalent
	equal                                                  []record
	wrong                                                  []string // what is not true of the list of equivalents
}

func (s *score) share() float64 {
	if n := s.mutants - s.equivalent; n > 0 {
		return float64(s.killed) / float64(n)
	}
	return 0
}

// holds says what a group does not show, nothing where it shows all.
func (s *score) holds() []string {
	bad := slices.Clone(s.wrong)
	if s.mutants < fewestMutants {
		bad = append(bad, fmt.Sprintf("%s: %d mutants, want %d", s.group, s.mutants, fewestMutants))
	}
	if float64(s.equivalent) > mostEquivalent*float64(s.mutants) {
		bad = append(bad, fmt.Sprintf("%s: %d of %d mutants are called equivalent, at most %.0f %% may be", s.group, s.equivalent, s.mutants, 100*mostEquivalent))
	}
	if s.share() < leastKilled {
		bad = append(bad, fmt.Sprintf("%s: %.1f %% killed, want %.0f %%", s.group, 100*s.share(), 100*leastKilled))
	}
	return bad
}

// count makes a score of a group's records.
func count(name string, records []record, equivalents map[string]equivalent) score {
	s := score{group: name}
	for _, r := range records {
		e, listed := equivalents[r.key()]
		switch r.Verdict {
		case broken:
			s.wrong = append(s.wrong, fmt.Sprintf("%s/%s:%d, %s: %s", r.Room, r.File, r.Line, r.Change, r.Said))
			continue
		case limited:
			s.limited++
			fallthrough
		case killed:
			s.killed++
			if listed {
				s.wrong = append(s.wrong, fmt.Sprintf("%s:%d, %s is called equivalent (%s) and was killed by %s", r.File, r.Line, r.Change, e.Reason, strings.Join(r.By, ", ")))
			}
		default:
			switch {
			case listed:
				s.equivalent++
				s.equal = append(s.equal, r)
			case r.Verdict == unreached:
				s.unseen++
				fallthrough
			default:
				s.survived++
				s.left = append(s.left, r)
			}
		}
		s.mutants++
	}
	return s
}

// table is the scores as Markdown.
func table(scores []score) string {
	var b strings.Builder
	b.WriteString("| package | mutants | killed | of these by a limit | survived | of these not reached | equivalent | killed of those that are not equivalent |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|\n")
	all := score{group: "together"}
	row := func(s *score) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %.1f %% |\n", s.group, s.mutants, s.killed, s.limited, s.survived, s.unseen, s.equivalent, 100*s.share())
	}
	for i := range scores {
		s := &scores[i]
		row(s)
		all.mutants += s.mutants
		all.killed += s.killed
		all.limited += s.limited
		all.survived += s.survived
		all.unseen += s.unseen
		all.equivalent += s.equivalent
	}
	if len(scores) > 1 {
		row(&all)
	}
	return b.String()
}

// page is everything that a run says.
func page(scores []score, seed, commit, toolchain string, equivalents map[string]equivalent) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What the tests notice\n\nWritten by `make mutants`, which [README.md](README.md) describes: commit %s, seed `%s`, %s.\n\n%s", commit, seed, toolchain, table(scores))
	b.WriteString("\n## Survivors\n\n")
	place := func(r record) string {
		in := r.Function
		if in == "" {
			in = "outside of functions"
		}
		return fmt.Sprintf("`%s/%s`, `%s`: `%s`, %s", r.Room, r.File, in, code(r.Text), "`"+code(r.Change)+"`")
	}
	for _, s := range scores {
		for _, r := range s.left {
			fmt.Fprintf(&b, "- %s (%s)\n", place(r), r.Verdict)
		}
	}
	b.WriteString("\n## Equivalent\n\n")
	for _, s := range scores {
		for _, r := range s.equal {
			fmt.Fprintf(&b, "- %s. %s\n", place(r), equivalents[r.key()].Reason)
		}
	}
	return b.String()
}

// code is a text that may stand between backquotes.
func code(s string) string { return strings.ReplaceAll(s, "`", "'") }
