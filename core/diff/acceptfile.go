package diff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/site"
)

// Accepted is a file of differences that somebody has looked at and accepted for a while (docs/formats/accepted.md).
type Accepted struct {
	Path    string
	Entries []AcceptedEntry
}

// AcceptedEntry accepts some differences. Empty fields ask for nothing.
type AcceptedEntry struct {
	Line   int      // of the file, where the entry begins
	Site   string   // a pattern as of site.ParsePattern; "*" is every site
	Kinds  []string // of divergences
	Kernel string   // pattern of the kernel's name
	Max    int64    // divergences that it accepts at most, -1: any number
	Until  string   // the last day on which it holds, "2027-01-31"; "" for ever
	Reason string

	sites site.Pattern // Site, read, unless it is every one
}

const (
	anySite          = "*"
	maxAccepted      = 1 << 20 // bytes of the file
	maxAcceptedRules = 10_000
	maxAcceptedDepth = 32 // the TOML parser recurses
	acceptedHint     = `expected for instance: [[accept]] with site = "attn.py:41", kind = "Value", until = 2027-01-31, reason = "atomics reorder the sum"`
)

var (
	acceptedKeys    = []string{"site", "kind", "kernel", "max", "until", "reason"}
	acceptableKinds = []string{KindBranch, KindActiveMask, KindValue, KindPath, KindExtraEvents}
)

// ReadAccepted reads a file of accepted differences. What it does not know is an error: a misspelt key would accept too much.
func ReadAccepted(ctx context.Context, path string) (*Accepted, error) {
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if src.Size() > maxAccepted {
		return nil, fault.New(fault.Limit, "has %d bytes; accepted differences of at most %d are read", src.Size(), maxAccepted).
			WithPath(path)
	}
	b := make([]byte, src.Size())
	if _, err := src.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fault.FromIO(path, err)
	}
	return ParseAccepted(path, b)
}

// ParseAccepted is ReadAccepted of the file's content; the path is for messages.
func ParseAccepted(path string, b []byte) (*Accepted, error) {
	text := strings.TrimPrefix(string(b), "\ufeff")
	if tomlNesting(text) > maxAcceptedDepth {
		return nil, fault.Formatf(path, fault.Unknown, "TOML nested deeper than %d", maxAcceptedDepth).WithHint(acceptedHint)
	}
	var doc map[string]any
	if _, err := toml.Decode(text, &doc); err != nil {
		return nil, fault.FromTOML(path, "not TOML", err).WithHint(acceptedHint)
	}
	r := acceptedReader{path: path, lines: acceptHeadings(text)}
	return r.document(doc)
}

type acceptedReader struct {
	path  string
	lines []int // of each [[accept]]
}

func (r *acceptedReader) errorf(line int, format string, args ...any) error {
	if line > 0 {
		return fault.Linef(r.path, line, format, args...).WithHint(acceptedHint)
	}
	return fault.Formatf(r.path, fault.Unknown, format, args...).WithHint(acceptedHint)
}

func (r *acceptedReader) document(doc map[string]any) (*Accepted, error) {
	for _, key := range sortedKeysOf(doc) {
		if key != "accept" && key != "schema" {
			return nil, r.errorf(0, "unknown key %q%s; known is accept", clippedWord(key), nearName(key, []string{"accept"}))
		}
	}
	if schema, is := doc["schema"]; is && schema != "prlx.accepted/1" {
		return nil, r.errorf(0, "schema is %v, expected prlx.accepted/1", clippedWord(fmt.Sprint(schema)))
	}
	a := &Accepted{Path: r.path}
	tables, err := r.tables(doc["accept"])
	if err != nil {
		return nil, err
	}
	if len(tables) > maxAcceptedRules {
		return nil, fault.New(fault.Limit, "has %d entries; %d are allowed", len(tables), maxAcceptedRules).WithPath(r.path)
	}
	for i, table := range tables {
		line := 0
		if len(r.lines) == len(tables) {
			line = r.lines[i]
		}
		entry, err := r.entry(line, i, table)
		if err != nil {
			return nil, err
		}
		a.Entries = append(a.Entries, entry)
	}
	return a, nil
}

func (r *acceptedReader) tables(v any) ([]map[string]any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []map[string]any:
		return v, nil
	case []any: // accept = [{...}, ...]
		var tables []map[string]any
		for _, one := range v {
			table, ok := one.(map[string]any)
			if !ok {
				return nil, r.errorf(0, "accept holds a %s, expected tables", tomlKind(one))
			}
			tables = append(tables, table)
		}
		return tables, nil
	case map[string]any:
		return nil, r.errorf(0, "[accept] is one table, expected [[accept]]")
	}
	return nil, r.errorf(0, "accept is a %s, expected tables [[accept]]", tomlKind(v))
}

func (r *acceptedReader) entry(line, index int, table map[string]any) (AcceptedEntry, error) {
	e := AcceptedEntry{Line: line, Max: -1}
	which := fmt.Sprintf("entry %d", index+1)
	for _, key := range sortedKeysOf(table) {
		var problem string
		switch v := table[key]; key {
		case "site":
			e.Site, problem = tomlText(v)
			if problem == "" {
				e.sites, problem = acceptSites(e.Site)
			}
		case "kind":
			e.Kinds, problem = tomlKinds(v)
		case "kernel":
			e.Kernel, problem = tomlText(v)
			if problem == "" {
				problem = badGlob(e.Kernel)
			}
		case "max":
			e.Max, problem = tomlCount(v)
		case "until":
			e.Until, problem = tomlDay(v)
		case "reason":
			e.Reason, problem = tomlText(v)
		default:
			return e, r.errorf(line, "%s: unknown key %q%s; known are %s",
				which, clippedWord(key), nearName(key, acceptedKeys), strings.Join(acceptedKeys, ", "))
		}
		if problem != "" {
			return e, r.errorf(line, "%s: %s %s", which, key, problem)
		}
	}
	if e.Site == "" {
		return e, r.errorf(line, `%s has no site; "*" means every site`, which)
	}
	if strings.TrimSpace(e.Reason) == "" {
		return e, r.errorf(line, "%s has no reason: say why the difference is accepted", which)
	}
	return e, nil
}

func tomlText(v any) (string, string) {
	s, ok := v.(string)
	if !ok {
		return "", "is a " + tomlKind(v) + ", expected text"
	}
	if strings.TrimSpace(s) == "" {
		return "", "is empty"
	}
	return s, ""
}

func tomlKinds(v any) ([]string, string) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) == 0 {
		return nil, "is an empty list"
	}
	var named []string
	for _, one := range list {
		s, problem := tomlText(one)
		if problem != "" {
			return nil, problem
		}
		if !slices.Contains(acceptableKinds, s) {
			return nil, fmt.Sprintf("is %q%s; known are %s", clippedWord(s), nearName(s, acceptableKinds), strings.Join(acceptableKinds, ", "))
		}
		named = append(named, s)
	}
	return named, ""
}

func tomlCount(v any) (int64, string) {
	n, ok := v.(int64)
	if !ok || n < 0 {
		return 0, fmt.Sprintf("is %v, expected a whole number from 0 on", clippedWord(fmt.Sprint(v)))
	}
	return n, ""
}

// tomlDay takes a TOML date or the same as text.
func tomlDay(v any) (string, string) {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.DateOnly), ""
	case string:
		if _, err := time.Parse(time.DateOnly, v); err == nil {
			return v, ""
		}
	}
	return "", fmt.Sprintf("is %v, expected a date such as 2027-01-31", clippedWord(fmt.Sprint(v)))
}

// acceptSites reads the pattern of sites of an entry.
func acceptSites(pattern string) (site.Pattern, string) {
	if pattern == anySite {
		return site.Pattern{}, ""
	}
	p, err := site.ParsePattern(pattern)
	if err != nil {
		return p, fmt.Sprintf("is wrong: %v", err)
	}
	return p, ""
}

// badGlob says what is wrong with a pattern of a name, "" for nothing.
func badGlob(pattern string) string {
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Sprintf("is %q, which is not a pattern", clippedWord(pattern))
	}
	return ""
}

// acceptHeadings finds the lines of [[accept]] tables, so that messages can name them.
func acceptHeadings(text string) []int {
	var lines []int
	n := 0
	for line := range strings.Lines(text) {
		n++
		body := strings.ReplaceAll(strings.TrimSpace(line), " ", "")
		if strings.HasPrefix(body, "[[accept]]") {
			lines = append(lines, n)
		}
	}
	return lines
}

// tomlNesting is the largest depth of brackets, whatever they belong to: a guard for the recursive TOML parser.
func tomlNesting(text string) int {
	depth, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return most
}

func tomlKind(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case int64:
		return "whole number"
	case float64:
		return "number with a fraction"
	case bool:
		return "switch"
	case time.Time:
		return "date"
	case []any, []map[string]any:
		return "list"
	}
	return "table"
}

func sortedKeysOf(table map[string]any) []string {
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// clippedWord shortens what stands in a file to what a message can hold.
func clippedWord(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}

// nearName is " (did you mean NAME?)" when a known name is at most two changes away, or a third of its length.
func nearName(word string, known []string) string {
	best, name := 1+max(2, len(word)/3), ""
	if len(word) > 60 {
		return ""
	}
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < best {
			best, name = d, k
		}
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", name)
}

// editDistance is the number of letters to insert, delete or replace to get from one word to another.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
