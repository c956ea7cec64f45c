package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// A record is one line of the ledger: a mutant and what became of it.
type record struct {
	ID string `json:"id"`
	mutant
	verdict
}

// A ledger keeps every verdict as soon as it is known, so that a run that was ended goes on where it was.
type ledger struct {
	file  *os.File
	known map[string]record
}

func openLedger(name string) (*ledger, error) {
	l := &ledger{known: map[string]record{}}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var r record
		if json.Unmarshal([]byte(line), &r) == nil { // the last line may be cut
			l.known[r.ID] = r
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	if l.file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		_, err = l.file.WriteString("\n")
	}
	return l, err
}

func (l *ledger) add(r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	l.known[r.ID] = r
	_, err = l.file.Write(append(text, '\n'))
	return err
}

// state is what a verdict depends on. A kill stands for as long as the function and the tests that killed are the same; a mutant that
// nothing killed is tried again when anything of the packages changed.
func state(m *mutant, v verdict, code *suite, suites []*suite) string {
	if len(v.By) == 0 {
		parts := []string{code.files}
		for _, s := range suites {
			parts = append(parts, s.files)
		}
		return hash(parts...)
	}
	parts := []string{m.code}
	for _, by := range v.By {
		for _, s := range suites {
			if name, ok := strings.CutPrefix(by, s.room+"."); ok {
				parts = append(parts, s.texts[name])
			}
		}
	}
	return hash(parts...)
}

// An equivalent is a mutant that no test can kill, because nothing that it changes can be seen.
type equivalent struct {
	Package  string `toml:"package"`
	Function string `toml:"function"`
	Operator string `toml:"operator"`
	Line     string `toml:"line"`
	Change   string `toml:"change"`
	Nth      int    `toml:"nth"`
	Reason   string `toml:"reason"`
}

func (e *equivalent) key() string {
	return (&mutant{Room: e.Package, Function: e.Function, Operator: e.Operator, Text: e.Line, Change: e.Change, Nth: e.Nth}).key()
}

// readEquivalents reads the list, by the key of the mutant.
func readEquivalents(name string) (map[string]equivalent, error) {
	var list struct {
		Equivalent []equivalent `toml:"equivalent"`
	}
	meta, err := toml.DecodeFile(name, &list)
	if err != nil {
		return nil, err
	}
	if u := meta.Undecoded(); len(u) > 0 {
		return nil, fmt.Errorf("%s: unknown key %s", name, u[0])
	}
	all := map[string]equivalent{}
	for _, e := range list.Equivalent {
		if strings.TrimSpace(e.Reason) == "" {
			return nil, fmt.Errorf("%s: %s, %q: %s has no reason", name, e.Package, e.Line, e.Change)
		}
		if _, twice := all[e.key()]; twice {
			return nil, fmt.Errorf("%s: %s, %q: %s stands there twice", name, e.Package, e.Line, e.Change)
		}
		all[e.key()] = e
	}
	return all, nil
}

// stanza is a record as the list of equivalents wants it, for whoever finds that it is one.
func stanza(r record) string {
	s := fmt.Sprintf("# %s/%s:%d\n[[equivalent]]\npackage = %q\nfunction = %q\noperator = %q\nline = %s\nchange = %s\n",
		r.Room, r.File, r.Line, r.Room, r.Function, r.Operator, quoted(r.Text), quoted(r.Change))
	if r.Nth > 0 {
		s += fmt.Sprintf("nth = %d\n", r.Nth)
	}
	return s + "reason = \"\"\n\n"
}

// quoted is a literal string of TOML where one can hold the text.
func quoted(s string) string {
	if strings.Contains(s, "'") {
		text, _ := json.Marshal(s)
		return string(text)
	}
	return "'" + s + "'"
}
