package api

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/combine"
)

var updateOptions = flag.Bool("update-options", false, "rewrite python/prlx/_option_table.py, _option_types.py, docs/options.md and the tables of docs/commands")

// offered are the operations whose options are written once: in the struct of their request, in whose fields a tag "takes" makes an
// option. The comment of the field explains it: its first sentence is the help of the flag, the others stand in docstrings and
// pages. Further tags:
//
//	takes    what somebody gives: a key of optionKinds
//	metavar  what stands for the value in help
//	also     another spelling of the flag
//	off      the flag that turns it off, which is on without it, and the help of that flag: --no-x: what it does; without help both flags
//	         are shown
//	choices  the words that it accepts
//	default  what is taken when it is left out; unset, the same in words
//	setting  own: OPERATION.NAME sets it, too; shared: NAME does; else the names of the settings, of which an operation has its own
//	rare     help gives its sentence only where there is room, or with -v
//	only     the operations that it is an option of, where others embed the struct
//
// A tag with the name of an operation before it, such as assert.default, counts there alone, in place of the other.
var offered = []offer{
	{"combine", "combine_traces", combineRequest{}},
	{"align", "align_trace", alignRequest{}},
	{"validate", "validate_collectives", validateRequest{}},
	{"stragglers", "find_stragglers", stragglersRequest{}},
	{"solve", "solve_offsets", combine.SolveRequest{}},
	{"diff", "diff_traces", diffRequest{}},
	{"assert", "assert_same", diffRequest{}},
}

// offer is a command, its function in Python, and the request that has its options.
type offer struct {
	operation, function string
	request             any
}

// option is one option as users meet it.
type option struct {
	name, takes, metavar, also string
	off, offHelp               string
	choices                    []string
	fallback, unset, setting   string
	help, details              string
	rare                       bool
}

// A kind of option: of which types its field is, what stands for its value in help, and its type in Python.
type optionKind struct {
	fields  []reflect.Kind
	metavar string
	python  string
}

var optionKinds = map[string]optionKind{
	"switch":  {[]reflect.Kind{reflect.Bool}, "", "bool"},
	"text":    {[]reflect.Kind{reflect.String}, "TEXT", "str"},
	"texts":   {[]reflect.Kind{reflect.Slice}, "TEXT", "Sequence[str | int]"},
	"seconds": {[]reflect.Kind{reflect.Float64}, "S", "float"},
	"node":    {[]reflect.Kind{reflect.String}, "NODE", "str | int"},
	"path":    {[]reflect.Kind{reflect.String}, "FILE", "Path"},
	"paths":   {[]reflect.Kind{reflect.Slice}, "FILE", "Path | Iterable[Path]"},
	"inputs":  {[]reflect.Kind{reflect.Slice}, "FILE", "Inputs"},
	"range":   {[]reflect.Kind{reflect.Slice}, "A:B", "str | TimeRange"},
	"whole":   {[]reflect.Kind{reflect.Int, reflect.Int64}, "N", "int"},
	"size":    {[]reflect.Kind{reflect.Int64}, "SIZE", "int | str"},
	"number":  {[]reflect.Kind{reflect.Int64}, "N", "int"},
	"names":   {[]reflect.Kind{reflect.Slice}, "NAME", "str | Iterable[str]"},
	"list":    {[]reflect.Kind{reflect.Slice}, "LIST", "str | Iterable[str]"},

	// What recordings of kernels take.
	"recordings": {[]reflect.Kind{reflect.Slice}, "FILE", "Recordings"},
	"tolerance":  {[]reflect.Kind{reflect.String}, "SPEC", "Tolerance"},
	"warps":      {[]reflect.Kind{reflect.String}, "LIST", "Warps"},
	"sites":      {[]reflect.Kind{reflect.Slice}, "LIST", "Sites"},
	"allowed":    {[]reflect.Kind{reflect.Struct}, "N", "int | Mapping[str, int]"},
}

// optionsOf are the options of a request, those of embedded structs in their place.
func optionsOf(words *comments, operation string, t reflect.Type) ([]option, error) {
	var found []option
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			inner, err := optionsOf(words, operation, f.Type)
			if err != nil {
				return nil, err
			}
			found = append(found, inner...)
			continue
		}
		only := strings.Fields(f.Tag.Get("only"))
		if f.Tag.Get("takes") == "" || len(only) > 0 && !slices.Contains(only, operation) {
			continue
		}
		one, err := optionOf(operation, f, words.of(t, f.Name))
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		found = append(found, one)
	}
	return found, nil
}

// optionOf reads the tags of a field.
func optionOf(operation string, f reflect.StructField, comment string) (option, error) {
	tag := func(key string) string {
		if own, is := f.Tag.Lookup(operation + "." + key); is {
			return own
		}
		return f.Tag.Get(key)
	}
	name, _, _ := strings.Cut(tag("json"), ",")
	one := option{name: name, takes: tag("takes"), metavar: tag("metavar"), also: tag("also"), rare: tag("rare") != "", fallback: tag("default"), unset: tag("unset")}
	kind, known := optionKinds[one.takes]
	of := f.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case !known:
		return one, fmt.Errorf("nothing takes %q", one.takes)
	case !slices.Contains(kind.fields, of.Kind()):
		return one, fmt.Errorf("%q does not fit into %v", one.takes, f.Type)
	case !strings.HasSuffix(comment, ".") || strings.ContainsAny(comment, "\"|"):
		return one, fmt.Errorf("the comment is %q, expected sentences without quotes and bars", comment)
	}
	if one.metavar == "" {
		one.metavar = kind.metavar
	}
	if given := tag("choices"); given != "" {
		one.choices, one.metavar = strings.Fields(given), ""
	}
	switch tag("setting") {
	case "":
	case "own":
		one.setting = operation + "." + dashed(name)
	case "shared":
		one.setting = dashed(name)
	default:
		keys := strings.Fields(tag("setting"))
		for _, key := range keys {
			if !strings.Contains(key, ".") {
				return one, fmt.Errorf("setting is %q, expected own, shared or names of settings", tag("setting"))
			}
			if len(keys) == 1 || strings.HasPrefix(key, operation+".") {
				one.setting = key
			}
		}
	}
	one.off, one.offHelp, _ = strings.Cut(tag("off"), ": ")
	one.help, one.details, _ = strings.Cut(comment, ". ")
	one.help = strings.TrimSuffix(one.help, ".")
	return one, nil
}

func dashed(name string) string { return strings.ReplaceAll(name, "_", "-") }

// left says what holds when an option is left out.
func (o *option) left() string {
	switch {
	case o.unset != "":
		return o.unset
	case o.takes == "switch":
		return ""
	case len(o.choices) > 0 && o.fallback != "":
		return "`" + o.fallback + "`"
	}
	return o.fallback
}

// pythonTable writes what Python makes flags, arguments, settings and requests of.
func pythonTable(all map[string][]option) string {
	var b strings.Builder
	b.WriteString(`"""Every option, by operation. Made of the requests in Go by "make options": change it there."""

from __future__ import annotations

from typing import Any

TABLE: dict[str, dict[str, Any]] = {
`)
	for _, o := range offered {
		fmt.Fprintf(&b, "    %q: {\n        \"function\": %q,\n        \"options\": (\n", o.operation, o.function)
		for _, one := range all[o.operation] {
			b.WriteString("            {\n")
			for _, row := range [][2]string{
				{"name", one.name},
				{"takes", one.takes},
				{"help", one.help},
				{"details", links.ReplaceAllString(one.details, "$1")},
				{"metavar", one.metavar},
				{"also", one.also},
				{"off", one.off},
				{"off_help", one.offHelp},
				{"unset", one.unset},
				{"setting", one.setting},
			} {
				if row[1] != "" {
					fmt.Fprintf(&b, "                %q: %q,\n", row[0], row[1])
				}
			}
			if len(one.choices) > 0 {
				fmt.Fprintf(&b, "                \"choices\": (\"%s\"),\n", strings.Join(one.choices, `", "`))
			}
			if value := one.pythonDefault(); value != "None" {
				fmt.Fprintf(&b, "                \"default\": %s,\n", value)
			}
			if one.rare {
				b.WriteString("                \"rare\": True,\n")
			}
			b.WriteString("            },\n")
		}
		b.WriteString("        ),\n    },\n")
	}
	return b.String() + "}\n"
}

func (o *option) pythonDefault() string {
	switch {
	case o.takes == "switch" && o.unset != "":
		return "None"
	case o.takes == "switch":
		return map[string]string{"": "False", "true": "True"}[o.fallback]
	case o.fallback == "":
		return "None"
	case slices.Contains([]string{"whole", "number", "allowed"}, o.takes):
		return o.fallback
	}
	return fmt.Sprintf("%q", o.fallback)
}

// pythonTypes writes the keyword arguments as type checkers and editors read them.
func pythonTypes(all map[string][]option) string {
	var b strings.Builder
	b.WriteString(`"""Types of keyword arguments. Made of the requests in Go by "make options": change them there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ._compare import Recordings, Tolerance
    from ._filters import Sites, Warps
    from ._request import Inputs, Path
    from ._units import TimeRange
`)
	for _, o := range offered {
		fmt.Fprintf(&b, "\n\nclass %s(TypedDict, total=False):\n    \"\"\"What ``%s`` takes by name.\"\"\"\n\n", typesName(o.operation), o.function)
		for _, one := range all[o.operation] {
			kind := optionKinds[one.takes].python
			if one.pythonDefault() == "None" || one.setting != "" && one.takes != "switch" {
				kind += " | None"
			}
			fmt.Fprintf(&b, "    %s: %s\n", one.name, kind)
		}
	}
	return b.String()
}

// typesName is the class of an operation's keyword arguments: SolveOptions.
func typesName(operation string) string {
	var b strings.Builder
	for _, word := range strings.Split(operation, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String() + "Options"
}

// spelled is a flag as a page names it, with its value and its short form.
func (o *option) spelled() string {
	value := strings.Join(o.choices, `\|`)
	if value == "" {
		value = o.metavar
	}
	if o.off != "" && o.offHelp != "" {
		return "`" + o.off + "`"
	}
	if o.takes == "paths" || o.takes == "inputs" || o.takes == "recordings" {
		value += "..."
	}
	text := "`" + strings.TrimSuffix("--"+dashed(o.name)+" "+value, " ") + "`"
	for _, other := range []string{o.also, o.off} {
		if other != "" {
			text += ", `" + other + "`"
		}
	}
	return text
}

var links = regexp.MustCompile(`\[([^\]]+)\]\(((?:concepts|formats)/[^)]+)\)`)

// sentences is the whole explanation, with links from a page in docs or, with "../", in a folder of docs.
func (o *option) sentences(from string) string {
	help := o.help
	if o.offHelp != "" {
		help = strings.ToUpper(o.offHelp[:1]) + o.offHelp[1:]
	}
	return links.ReplaceAllString(strings.TrimSuffix(help+". "+o.details, " "), "[$1]("+from+"$2)")
}

// pageTable is the table of options in the page of a command.
func pageTable(options []option) string {
	var b strings.Builder
	b.WriteString("| option | what it does |\n|---|---|\n")
	for _, one := range options {
		text := one.sentences("../")
		if left := one.left(); left != "" {
			text += " Default: " + left + "."
		}
		fmt.Fprintf(&b, "| %s | %s |\n", one.spelled(), text)
	}
	return b.String()
}

// reference is docs/options.md.
func reference(all map[string][]option) string {
	var b strings.Builder
	b.WriteString(`# Options

Each option has one name: that of the flag, of the keyword argument in Python and, where it has one, of the setting in ` + "`prlx.toml`" + ` and in the
environment. This page is made of the core's source by ` + "`make options`" + `. So far it holds the operations below; the options of the other
commands stand in [their pages](commands/README.md).
`)
	for _, o := range offered {
		fmt.Fprintf(&b, "\n## %s\n\n[`prlx %s`](commands/%s.md), `prlx.%s`\n\n| flag | keyword | setting | default | what it does |\n|---|---|---|---|---|\n",
			o.operation, dashed(o.operation), o.operation, o.function)
		for _, one := range all[o.operation] {
			setting := ""
			if one.setting != "" {
				setting = "`" + one.setting + "`"
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s |\n", one.spelled(), one.name, setting, one.left(), one.sentences(""))
		}
	}
	return b.String()
}

var pageMarks = regexp.MustCompile(`(?s)(<!-- made by make options -->\n).*?(<!-- end -->\n)`)

// TestOptionsAreFresh holds what is made of options to the structs that take them.
func TestOptionsAreFresh(t *testing.T) {
	words := &comments{packages: map[string]map[string]string{}}
	all := map[string][]option{}
	root := filepath.Join("..", "..")
	want := map[string]string{}
	for _, o := range offered {
		found, err := optionsOf(words, o.operation, reflect.TypeOf(o.request))
		if err != nil {
			t.Fatal(err)
		}
		all[o.operation] = found
		path := filepath.Join(root, "docs", "commands", o.operation+".md")
		page, err := os.ReadFile(path)
		if err != nil || !pageMarks.Match(page) {
			t.Fatalf("%s has no place for the table of options (%v)", path, err)
		}
		want[path] = pageMarks.ReplaceAllStringFunc(string(page), func(string) string {
			return "<!-- made by make options -->\n" + pageTable(found) + "<!-- end -->\n"
		})
	}
	want[filepath.Join(root, "python", "prlx", "_option_table.py")] = pythonTable(all)
	want[filepath.Join(root, "python", "prlx", "_option_types.py")] = pythonTypes(all)
	want[filepath.Join(root, "docs", "options.md")] = reference(all)
	for path, text := range want {
		if *updateOptions {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, []byte(text)) {
			t.Errorf("%s is not what the requests say (%v): make options", path, err)
		}
	}
}

// TestOptionsThatMakeNoSense: a mistake in a tag is said where it is, and writes nothing.
func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		field any
		want  string
	}{
		{struct {
			A bool `takes:"path"`
		}{}, "does not fit"},
		{struct {
			A string `takes:"thing"`
		}{}, "nothing takes"},
		{struct {
			A string `takes:"path" setting:"mine"`
		}{}, "expected own, shared"},
	} {
		if _, err := optionOf("solve", reflect.TypeOf(c.field).Field(0), "A sentence."); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	field := reflect.TypeFor[combine.SolveRequest]().Field(1)
	for _, comment := range []string{"", "no end", `Quotes "here".`, "A | bar."} {
		if _, err := optionOf("solve", field, comment); err == nil {
			t.Errorf("the comment %q passes", comment)
		}
	}
	if one, err := optionOf("solve", field, "First. Second. Third."); err != nil || one.help != "First" || one.details != "Second. Third." {
		t.Errorf("got %+v (%v)", one, err)
	}
}
