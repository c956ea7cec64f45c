package main

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A score is one row of the report.
type score struct {
	group                                                  string
	mutants, killed, limited, equivalent, survived, unseen int
	left                                                   []record // survivors that are not equivalent
	equal                                                  []record
	wrong                                                  []string // what is not true of the list of equivalents
	want                                                   int      // mutants that there must be

	when  string      // day and commit of the run
	lines [2][]string // of the report: survivors, equivalents
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
	if s.mutants < s.want {
		bad = append(bad, fmt.Sprintf("%s: %d mutants, want %d", s.group, s.mutants, s.want))
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
	s := score{group: name, want: fewestMutants}
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
	b.WriteString("| package | mutants | killed | of these by a limit | survived | of these not reached | equivalent | killed of those that are not equivalent | run |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---|\n")
	all := score{group: "together"}
	for i := range scores {
		s := &scores[i]
		b.WriteString(s.row())
		for k, n := range s.numbers() {
			*all.numbers()[k] += *n
		}
	}
	if len(scores) > 1 {
		b.WriteString(all.row())
	}
	return b.String()
}

// numbers are the columns of a row.
func (s *score) numbers() []*int {
	return []*int{&s.mutants, &s.killed, &s.limited, &s.survived, &s.unseen, &s.equivalent}
}

func (s *score) row() string {
	b := "| " + s.group
	for _, n := range s.numbers() {
		b += fmt.Sprintf(" | %d", *n)
	}
	return b + fmt.Sprintf(" | %.1f %% | %s |\n", 100*s.share(), s.when)
}

// headings are the lists of the report.
var headings = [2]string{"## Survivors", "## Equivalent"}

// page is everything that runs say.
func page(scores []score, seed, toolchain string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What the tests notice\n\nWritten by `make mutants`, which [README.md](README.md) describes: seed `%s`, %s. Each row says of which day and commit it is.\n\n%s", seed, toolchain, table(scores))
	for k, heading := range headings {
		b.WriteString("\n" + heading + "\n\n")
		for _, s := range scores {
			for _, line := range s.lines[k] {
				b.WriteString(line + "\n")
			}
		}
	}
	return b.String()
}

// describe says what the report says of a group that was run.
func (s *score) describe(equivalents map[string]equivalent) {
	place := func(r record) string {
		in := r.Function
		if in == "" {
			in = "outside of functions"
		}
		return fmt.Sprintf("- `%s/%s`, `%s`: `%s`, %s", r.Room, r.File, in, code(r.Text), "`"+code(r.Change)+"`")
	}
	for _, r := range s.left {
		s.lines[0] = append(s.lines[0], fmt.Sprintf("%s (%s)", place(r), r.Verdict))
	}
	for _, r := range s.equal {
		s.lines[1] = append(s.lines[1], fmt.Sprintf("%s. %s", place(r), equivalents[r.key()].Reason))
	}
}

// merged puts what an earlier report says of groups that were not run this time beside what was, in the order of the plan.
func merged(earlier string, scores []score) []score {
	all := map[string]*score{}
	list := -1
	for line := range strings.Lines(earlier) {
		line = strings.TrimSpace(line)
		switch cells := strings.Split(strings.Trim(line, "| "), " | "); {
		case slices.Contains(headings[:], line):
			list = slices.Index(headings[:], line)
		case list < 0 && len(cells) == 9:
			s := &score{group: cells[0], when: cells[8]}
			if s.take(cells[1:7]) {
				all[s.group] = s
			}
		case list >= 0 && strings.HasPrefix(line, "- `"):
			if s := all[groupOf(line)]; s != nil {
				s.lines[list] = append(s.lines[list], line)
			}
		}
	}
	for i := range scores {
		all[scores[i].group] = &scores[i]
	}
	var out []score
	for _, g := range plan {
		if s := all[g.name]; s != nil {
			out = append(out, *s)
		}
	}
	return out
}

// take reads the numbers of a row; false: these are none.
func (s *score) take(cells []string) bool {
	for k, n := range s.numbers() {
		var err error
		if *n, err = strconv.Atoi(cells[k]); err != nil {
			return false
		}
	}
	return true
}

// groupOf is the group of a line of the report: its path is that of a file of a room.
func groupOf(line string) string {
	file, _, _ := strings.Cut(strings.TrimPrefix(line, "- `"), "`")
	for _, g := range plan {
		if slices.ContainsFunc(g.rooms, func(r room) bool { return r.path == path.Dir(file) }) {
			return g.name
		}
	}
	return ""
}

// code is a text that may stand between backquotes.
func code(s string) string { return strings.ReplaceAll(s, "`", "'") }
