// Command mutants measures what the Go tests notice. It makes small changes in the packages of plan.go, one at a time, and runs for each
// the tests that reach the changed place: tests that still pass have not looked.
//
//	go run ./tests/mutants -o tests/mutants/results.md
//
// The changes are drawn by the hash of the seed, so that the same code gives the same mutants. Each verdict is written to
// build/mutants/results.jsonl at once; a run that was ended goes on where it was, and one after a change of the code or the tests tries
// again only what the change can have touched. The tree is never written to: mutants are built with an overlay.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

type settings struct {
	only, seed, output, equivalents string
	list, fresh                     bool
}

func main() {
	var s settings
	flag.StringVar(&s.only, "only", "", "names of packages of the plan, with commas; all where it is empty")
	flag.StringVar(&s.seed, "seed", "prlx", "decides which mutants are drawn")
	flag.StringVar(&s.output, "o", "", "the report, as Markdown")
	flag.StringVar(&s.equivalents, "equivalents", "tests/mutants/equivalent.toml", "mutants that no test can kill, with the reason")
	flag.BoolVar(&s.list, "list", false, "list the mutants that are drawn and run nothing")
	flag.BoolVar(&s.fresh, "fresh", false, "forget earlier verdicts")
	flag.Parse()
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(s settings) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	b := &bench{root: root, dir: filepath.Join(root, "build", "mutants")}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	if b.scratch, err = os.MkdirTemp(b.dir, "run-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.scratch)
	equivalents, err := readEquivalents(s.equivalents)
	if err != nil {
		return err
	}
	kept := filepath.Join(b.dir, "results.jsonl")
	if s.fresh {
		if err := os.RemoveAll(kept); err != nil {
			return err
		}
	}
	l, err := openLedger(kept)
	if err != nil {
		return err
	}
	defer l.file.Close()
	var scores []score
	var bad []string
	seen := map[string]bool{}
	for _, g := range plan {
		if s.only != "" && !slices.Contains(strings.Split(s.only, ","), g.name) {
			continue
		}
		records, err := b.group(g, s, l)
		if err != nil {
			return err
		}
		for _, r := range records {
			seen[r.key()] = true
		}
		for _, room := range g.rooms {
			for key, e := range equivalents {
				if e.Package == room.path && !seen[key] {
					bad = append(bad, fmt.Sprintf("%s names a mutant of %s that is not drawn: %q, %s", s.equivalents, room.path, e.Line, e.Change))
				}
			}
		}
		sc := count(g.name, records, equivalents)
		if g.all { // it is as small as that
			sc.want = len(records)
		}
		scores = append(scores, sc)
		bad = append(bad, sc.holds()...)
	}
	if s.list {
		return nil
	}
	if err := b.leave(scores, s, equivalents); err != nil {
		return err
	}
	slices.Sort(bad)
	if len(bad) > 0 {
		return fmt.Errorf("%s", strings.Join(bad, "\nmutants: "))
	}
	return nil
}

// group gets a verdict on every mutant of a group, from the ledger where it still stands.
func (b *bench) group(g group, s settings, l *ledger) ([]record, error) {
	over := map[string][]string{} // a package with tests -> the packages that they may reach
	for _, r := range g.rooms {
		for _, t := range r.tests {
			over[t] = append(over[t], r.path)
		}
	}
	suites := map[string]*suite{}
	var records []record
	for _, r := range g.rooms {
		src, err := load(b.root, r.path)
		if err != nil {
			return nil, err
		}
		drawn := src.draw(s.seed, r.draw)
		if s.list {
			for _, m := range drawn {
				fmt.Printf("%s/%s:%d\t%s\t%s\t%s\n", r.path, m.File, m.Line, m.Operator, m.Change, m.Text)
			}
			continue
		}
		code := &suite{room: r.path, texts: map[string]string{}}
		if err := code.read(src.dir); err != nil {
			return nil, err
		}
		var asked []*suite
		for _, t := range r.tests {
			if tests, _ := filepath.Glob(filepath.Join(b.root, t, "*_test.go")); len(tests) == 0 {
				continue
			}
			if suites[t] == nil {
				if suites[t], err = b.survey(t, over[t]); err != nil {
					return nil, err
				}
			}
			asked = append(asked, suites[t])
		}
		for i := range drawn {
			m := &drawn[i]
			rec := record{ID: hash(m.key()), mutant: *m}
			if old, ok := l.known[rec.ID]; ok && old.State == state(m, old.verdict, code, asked) {
				rec.verdict = old.verdict
			} else {
				if rec.verdict, err = b.try(src, m, asked); err != nil {
					return nil, err
				}
				rec.State = state(m, rec.verdict, code, asked)
				if err := l.add(rec); err != nil {
					return nil, err
				}
				fmt.Printf("%s %d/%d: %s/%s:%d %s: %s (%s): %s %s\n", g.name, i+1, len(drawn), r.path, m.File, m.Line, m.Operator, m.Text, m.Change, rec.Verdict, strings.Join(rec.By, " "))
			}
			records = append(records, rec)
		}
	}
	return records, nil
}

// leave prints the scores and writes what else is to be read: the report, and the survivors in the form of the list of equivalents.
func (b *bench) leave(scores []score, s settings, equivalents map[string]equivalent) error {
	fmt.Println()
	fmt.Print(table(scores))
	var left strings.Builder
	for _, sc := range scores {
		for _, r := range sc.left {
			left.WriteString(stanza(r))
		}
	}
	if err := os.WriteFile(filepath.Join(b.dir, "survivors.toml"), []byte(left.String()), 0o644); err != nil {
		return err
	}
	if s.output == "" {
		return nil
	}
	when, err := exec.Command("git", "log", "-1", "--format=%cs, %h").Output()
	if err != nil {
		return fmt.Errorf("git log: %w", said(err))
	}
	for i := range scores {
		scores[i].when = strings.TrimSpace(string(when))
		scores[i].describe(equivalents)
	}
	earlier, err := os.ReadFile(s.output)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(s.output, []byte(page(merged(string(earlier), scores), s.seed, runtime.Version())), 0o644)
}
