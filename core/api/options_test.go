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
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/simulator/device"
)

var updateOptions = flag.Bool("update-options", false, "rewrite python/prlx/_option_table.py, _option_types.py, _option_keywords.py, docs/options.md and the tables of docs/commands")

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
//	group    the value that holds it in Python, together with others: a key of optionGroups
//	flag     none: it is a keyword argument alone
//
// A tag with the name of an operation before it, such as assert.default, counts there alone, in place of the other.
var offered = []offer{
	{"combine", "combine_traces", []any{combineRequest{}}, nil},
	{"align", "align_trace", []any{alignRequest{}}, nil},
	{"validate", "validate_collectives", []any{validateRequest{}}, nil},
	{"stragglers", "find_stragglers", []any{stragglersRequest{}}, nil},
	{"solve", "solve_offsets", []any{combine.SolveRequest{}}, nil},
	{"diff", "diff_traces", []any{diffRequest{}}, nil},
	{"assert", "assert_same", []any{diffRequest{}}, nil},
	{"simulate", "enable", launchRequests, nil},
	{"pytorch", "enable_pytorch", launchRequests, nil},
	{"record", "record", launchRequests, append([]string{"stores", "atomics", "loads", "barriers", "events_per_warp"}, held...)},
	{"session", "session", launchRequests, held},
}

var (
	launchRequests = []any{recordedTo{}, recorder.Record{}, recordedBy{}, device.Launch{}, looked{}, requestLimits{}}
	held           = []string{"mode", "filter", "outputs", "inputs", "sources", "overwrite"}
)

// offer is a command, its function in Python, and the requests that have its options. With names it is a function that takes these
// options alone, and no command.
type offer struct {
	operation, function string
	requests            []any
	names               []string
}

// optionGroups are the values of Python that hold options which belong together: the keyword argument, the class and what it says.
var optionGroups = []struct{ key, class, sentence, example string }{
	{"checks", "Checks", "What the simulator looks for in launches.", ">>> prlx.Checks(nan=True, races=False).nan\n    True"},
	{"record", "RecordOptions", "What recordings of kernels hold.", ">>> prlx.RecordOptions(mode=\"values\", outputs=\"64MB\").mode\n    'values'"},
	{"machine", "Machine", "How the simulator runs launches.", ">>> prlx.Machine(seed=7).seed\n    7"},
	{"clocks", "ClockOptions", "What relates the clocks of traces, and how.", ">>> prlx.ClockOptions(method=\"collectives\").method\n    'collectives'"},
	{"rules", "Rules", "What counts as a difference.", ">>> prlx.Rules(values=True, tolerance=1e-5).tolerance\n    1e-05"},
	{"noise", "Noise", "What runs that should be equal differ in, and what was accepted.", ">>> prlx.Noise(baseline=[\"a2.prlx\"]).baseline\n    ['a2.prlx']"},
	{"only", "Selection", "Which part of recordings is compared and listed.", ">>> prlx.Selection(warps=\"0-10\", limit=5).limit\n    5"},
	{"code", "Sources", "Where the names and lines of sites come from.", ">>> prlx.Sources(source_roots=\"src\").source_roots\n    'src'"},
	{"output", "Output", "What is written, and where to.", ">>> prlx.Output(path=\"run\", overwrite=True).path\n    'run'"},
}

// recordedTo, recordedBy and looked are options of simulate that do not reach the core under their names: Python does what they say,
// or makes something else of them.
type recordedTo struct {
	// Record every launch: a new directory, or FILE.prlx for one.
	Output string `json:"output" takes:"path" metavar:"DIR" also:"--record"`
}

type recordedBy struct {
	// Keep the arrays of each launch as they were before it, up to SIZE. They lie beside its recording if they have at most so many
	// bytes together. With them `prlx diff --try` tells which of several changed statements matters.
	Inputs int64 `json:"inputs" takes:"size" rare:"yes" group:"record"`
	// Hold the text of kernels and of the functions that they call. With it reports show the lines that ran, also when the file was
	// edited since, and explanations follow the code.
	Sources bool `json:"sources" takes:"switch" default:"true" unset:"true" off:"--no-sources: leave out the text of kernels" setting:"simulate.sources" rare:"yes" group:"record"`
	// Record only NAME (with * and ?), FILE:LINE, FILE:FROM-TO or func:NAME. May be repeated. Names are those of kernels; one without
	// `*` is also found inside of names. See [filters](concepts/recording.md#filters).
	Filter []string `json:"filter" takes:"names" unset:"what PRLX_FILTER says, or all" rare:"yes" group:"record"`
	// Whether kernels are watched, or compiled to record by themselves. The simulator watches kernels as they are (`observed`); on a
	// GPU they record by themselves (`instrumented`), into memory that PRLX_ARENA bounds (256 MiB). They then leave branches,
	// switches, predicates and what is stored, and say so. PRLX_HISTORY_DEPTH=N keeps the last N events of a warp,
	// PRLX_SAMPLE_RATE=N one of N that a warp passes at a site.
	Capture string `json:"capture" takes:"text" choices:"observed instrumented" unset:"observed on the simulator" rare:"yes" group:"record"`
	// Keep the events of each warp around SITE:VISIT:AFTER. That is the visit (from 0) of the site of this key, and how many events are
	// kept behind it; without them the first visit, and 16. As many are kept before it as there is room for. It needs
	// `--capture instrumented`.
	Window string `json:"window" takes:"text" metavar:"SITE" unset:"the first events of each warp" rare:"yes" group:"record"`
	// Record what registers of a GPU (sm_80) leave room for. Where the recorder would push values out of registers, branches and
	// switches alone are recorded, or nothing, and recordings say so. It needs `--capture instrumented`, and runs Triton's
	// assembler for each kernel ([how](concepts/recording.md#registers)).
	WithinRegisters bool `json:"within_registers" takes:"switch" rare:"yes" group:"record"`
	// Say what recording would take and lose; record nothing. It needs `--capture instrumented`: kernels count what they would record
	// ([how](concepts/recording.md#what-a-recording-will-take)).
	Plan bool `json:"plan" takes:"switch" rare:"yes" group:"record"`
	// Make digests of what the memory behind arguments holds before and after each launch, on a GPU. A small kernel of our own on the
	// stream of the launch reads all of each argument's storage, twice. The simulator sees what is written.
	ContentsAfter bool `json:"contents_after" takes:"switch" default:"true" flag:"none" group:"record" only:"simulate"`
	// Replace what is there. That is the file, the recordings in the directory, or the page.
	Overwrite bool `json:"overwrite" takes:"switch" group:"record"`
}

type looked struct {
	// Arrays that nobody wrote before a launch, by the NAME of the argument. Such are those of `torch.empty`: in every kernel that has
	// them, reads of what the launch did not write itself are `uninitialised-global`. May be repeated.
	Empty []string `json:"empty" takes:"names" rare:"yes" group:"checks"`
	// Show what lanes hold at FILE:LINE, or FILE:LINE:LANE. May be repeated.
	Breaks []string `json:"breaks" takes:"names" metavar:"FILE:LINE" also:"--break" group:"machine"`
	// Stops at these lines that are kept of a launch. The rest is counted.
	MaxStops int `json:"max_stops" takes:"whole" default:"100" rare:"yes" group:"machine"`
	// Say which blocks touched which elements of which array, too. Pages show it as pictures, and ask for it.
	Touched bool `json:"touched" takes:"switch" rare:"yes" group:"machine"`
	// Run torch code that says device=cuda on the CPU. `torch.cuda.synchronize()` then does nothing.
	MapCUDA bool `json:"map_cuda" takes:"switch" only:"simulate"`
}

// option is one option as users meet it.
type option struct {
	name, takes, metavar, also string
	off, offHelp               string
	choices                    []string
	fallback, unset, setting   string
	help, details              string
	group                      string
	rare, noFlag               bool
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
	"whole":   {[]reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint32}, "N", "int"},
	"size":    {[]reflect.Kind{reflect.Int64, reflect.Uint64}, "SIZE", "int | str"},
	"number":  {[]reflect.Kind{reflect.Int64, reflect.Uint64}, "N", "int"},
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
	one := option{name: name, group: tag("group"), noFlag: tag("flag") == "none", takes: tag("takes"), metavar: tag("metavar"), also: tag("also"), rare: tag("rare") != "", fallback: tag("default"), unset: tag("unset")}
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
	case o.takes == "switch" && o.offHelp != "":
		return ""
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
	b.WriteString(madeByPython + `"""Every option, by operation. Made of the requests in Go by "make options": change it there."""

from __future__ import annotations

from typing import Any

# By the keyword argument of a value: its class in _option_types, and what that is.
GROUPS: dict[str, tuple[str, str]] = {
`)
	for _, g := range optionGroups {
		fmt.Fprintf(&b, "    %q: (%q, %q),\n", g.key, g.class, g.sentence)
	}
	b.WriteString("}\n\nTABLE: dict[str, dict[str, Any]] = {\n")
	for _, o := range offered {
		fmt.Fprintf(&b, "    %q: {\n        \"function\": %q,\n        \"command\": %s,\n        \"options\": (\n",
			o.operation, o.function, map[bool]string{true: "True", false: "False"}[o.names == nil])
		for _, one := range all[o.operation] {
			b.WriteString("            {\n")
			for _, row := range [][2]string{
				{"name", one.name},
				{"takes", one.takes},
				{"help", links.ReplaceAllString(one.help, "$1")},
				{"details", links.ReplaceAllString(one.details, "$1")},
				{"metavar", one.metavar},
				{"also", one.also},
				{"off", one.off},
				{"off_help", one.offHelp},
				{"unset", one.unset},
				{"setting", one.setting},
				{"group", one.group},
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
			if one.noFlag {
				b.WriteString("                \"flagless\": True,\n")
			}
			b.WriteString("            },\n")
		}
		b.WriteString("        ),\n    },\n")
	}
	return b.String() + "}\n"
}

func (o *option) pythonDefault() string {
	switch {
	case o.takes == "switch" && o.unset != "" && o.fallback == "":
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

// typesOfOptions are the imports of the types that optionKinds names.
const typesOfOptions = `    from collections.abc import Iterable, Mapping, Sequence

    from ._compare import Recordings, Tolerance
    from ._filters import Sites, Warps
    from ._request import Inputs, Path
    from ._units import TimeRange
`

// pythonTypes writes the values that hold several keyword arguments.
func pythonTypes(all map[string][]option) string {
	var b strings.Builder
	b.WriteString(madeByPython + `"""Values that hold several keyword arguments. Made of the requests in Go by "make options": change them there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
` + strings.Replace(typesOfOptions, ", Sequence", "", 1))
	for _, g := range optionGroups {
		fmt.Fprintf(&b, "\n\n@dataclass(frozen=True, kw_only=True)\nclass %s:\n    \"\"\"%s\n\n    Attributes\n    ----------\n", g.class, g.sentence)
		var fields strings.Builder
		seen := map[string]bool{}
		for _, o := range offered {
			for _, one := range all[o.operation] {
				if one.group != g.key || seen[one.name] {
					continue
				}
				seen[one.name] = true
				fmt.Fprintf(&b, "    %s\n%s\n", one.field(), wrapped(one.help+".", "        "))
				fmt.Fprintf(&fields, "    %s: %s = %s\n", one.field(), one.pythonType(), one.keywordDefault())
			}
		}
		fmt.Fprintf(&b, "\n    Examples\n    --------\n    %s\n    \"\"\"\n\n%s", g.example, fields.String())
	}
	return b.String()
}

// pythonKeywords writes the keyword arguments as type checkers and editors read them; nothing that runs imports it.
func pythonKeywords(all map[string][]option) string {
	var b strings.Builder
	b.WriteString(madeByPython + `"""Types of keyword arguments, for type checkers. Made of the requests in Go by "make options": change them there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
`)
	var classes []string
	for _, g := range optionGroups {
		classes = append(classes, "        "+g.class+",\n")
	}
	slices.Sort(classes)
	here := "    from ._request"
	b.WriteString(strings.Replace(typesOfOptions, here, "    from ._option_types import (\n"+strings.Join(classes, "")+"    )\n"+here, 1))
	for _, o := range offered {
		fmt.Fprintf(&b, "\n\nclass %s(TypedDict, total=False):\n    \"\"\"What ``%s`` takes by name.\"\"\"\n\n", typesName(o.operation), o.function)
		for _, g := range optionGroups {
			if o.names == nil && g.key != "output" && slices.ContainsFunc(all[o.operation], func(one option) bool { return one.group == g.key }) {
				fmt.Fprintf(&b, "    %s: %s | None\n", g.key, g.class)
			}
		}
		for _, one := range all[o.operation] {
			kind := one.pythonType()
			if one.name == "output" && one.group == "output" {
				kind = "Output | " + kind
			}
			fmt.Fprintf(&b, "    %s: %s\n", one.name, kind)
		}
	}
	return b.String()
}

// madeByPython marks a file that nobody writes.
const madeByPython = "# Generated by make options; DO NOT EDIT.\n"

// pythonType is the type of an option's keyword argument.
func (o *option) pythonType() string {
	if o.nullable() {
		return optionKinds[o.takes].python + " | None"
	}
	return optionKinds[o.takes].python
}

// nullable reports whether None stands for an option that is left out.
func (o *option) nullable() bool {
	return o.pythonDefault() == "None" || o.takes == "switch" && o.unset != "" || o.setting != "" && o.takes != "switch"
}

// keywordDefault is the default of an option's keyword argument: None where a setting or the core decides.
func (o *option) keywordDefault() string {
	if o.nullable() && len(o.choices) == 0 {
		return "None"
	}
	return o.pythonDefault()
}

// field is the name of an option in the value that holds it.
func (o *option) field() string {
	if o.group == o.name {
		return "path"
	}
	return o.name
}

// wrapped breaks a text into lines of a docstring.
func wrapped(text, indent string) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(strings.ReplaceAll(text, "`", "``")) {
		if len(line)+1+len(word) > 120 && line != indent {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return b.String() + line
}

// typesName is the class of an operation's keyword arguments: SolveKeywords.
func typesName(operation string) string {
	var b strings.Builder
	for _, word := range strings.Split(operation, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String() + "Keywords"
}

// spelled is a flag as a page names it, with its value and its short form.
func (o *option) spelled() string {
	value := strings.Join(o.choices, `\|`)
	if value == "" {
		value = o.metavar
	}
	if o.noFlag {
		return ""
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
		if one.noFlag {
			continue
		}
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

In Python options that belong together are one value, too: ` + "`clocks=prlx.ClockOptions(method=\"collectives\")`" + ` says what ` + "`method=\"collectives\"`" + `
says. The column *keyword* names the value, where there is one.
`)
	for _, o := range offered {
		command := ""
		if o.names == nil {
			command = fmt.Sprintf("[`prlx %s`](commands/%s.md), ", dashed(o.operation), o.operation)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s`prlx.%s`\n\n| flag | keyword | setting | default | what it does |\n|---|---|---|---|---|\n", o.operation, command, o.function)
		for _, one := range all[o.operation] {
			setting := ""
			if one.setting != "" {
				setting = "`" + one.setting + "`"
			}
			spelled, keyword := one.spelled(), "`"+one.name+"`"
			if o.names != nil {
				spelled = ""
			}
			for _, g := range optionGroups {
				if g.key == one.group {
					keyword += ", in `" + g.class + "`"
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", spelled, keyword, setting, one.left(), one.sentences(""))
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
		var found []option
		for _, request := range o.requests {
			more, err := optionsOf(words, o.operation, reflect.TypeOf(request))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, more...)
		}
		if o.names != nil {
			all[o.operation] = slices.DeleteFunc(found, func(one option) bool { return !slices.Contains(o.names, one.name) })
			continue
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
	want[filepath.Join(root, "python", "prlx", "_option_keywords.py")] = pythonKeywords(all)
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
