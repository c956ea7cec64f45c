package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/probe"
	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/diff/describe"
	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/diff/simulated"
	"github.com/prlx-go/prlx/core/nccl/diagnosing"
	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/nccl/flightrecorder"
	"github.com/prlx-go/prlx/core/nccl/gathering"
	"github.com/prlx-go/prlx/core/simulator/simulation"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/tape/comparing"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/verdict"
)

var updateSchemas = flag.Bool("update-schemas", false, "rewrite docs/schemas/*.schema.json")

// documents are those that leave prlx: printed, written or handed to Python. Their structs are the one description of them.
var documents = map[string]any{
	"alignment_stats/1":   combine.NodeStats{},
	"steps-diff/1":        comparing.Document{},
	"combine-compare/1":   combine.CompareDocument{},
	"combine/1":           printedCombine{},
	"config/1":            printedConfig{},
	"convert/1":           ConvertDocument{},
	"report/1":            reportReply{},
	"cycles-compare/1":    cycledoc.CompareDocument{},
	"cycles/1":            cycledoc.Document{},
	"diff/1":              diff.Document{},
	"doctor/1":            printedDoctor{},
	"inspect/1":           InspectDocument{},
	"kernel-trace/1":      describe.Recording{},
	"locate/1":            printedLocate{},
	"mark/1":              aligned.Mark{},
	"nccl-collect/1":      gathering.Document{},
	"nccl-compare/1":      dividing.Comparison{},
	"nccl-diagnose/1":     diagnosing.Document{},
	"nccl-flight/1":       flightrecorder.Document{},
	"nccl-merge/1":        NCCLMergeDocument{},
	"nccl-selftest/1":     printedSelftest{},
	"nccl/1":              dividing.Document{},
	"probe/1":             probe.Document{},
	"session-diff/1":      session.Document{},
	"session-inspect/1":   describe.Session{},
	"session/1":           session.Manifest{},
	"simulate-compare/1":  simulated.CompareDocument{},
	"simulate-selftest/1": printedSimulateSelftest{},
	"simulate/1":          simulated.Document{},
	"simulation/1":        simulation.Document{},
	"solve/1":             combine.SolveDocument{},
	"stragglers/1":        straggler.Document{},
	"validate/1":          combine.ValidateDocument{},
	"version/1":           printedVersion{},
}

// Documents that Python makes, or adds to.

// printedCombine is prlx.combine/1: what was done, node by node.
type printedCombine struct {
	combine.Document
	Base string `json:"base,omitempty"` // where the outputs are; printed, and left out of a document that lies beside them
}

// printedVersion is prlx.version/1: the versions of the core and of what surrounds it.
type printedVersion struct {
	VersionDocument
	Version string `json:"version"` // of the Python package
	Python  string `json:"python"`
}

// printedSelftest is prlx.nccl-selftest/1: whether the plug-in for NCCL works on a machine.
type printedSelftest struct {
	Schema     string           `json:"schema"`
	Conclusion verdict.Verdict  `json:"conclusion"`
	Passed     bool             `json:"passed"`
	Sentence   string           `json:"sentence"` // the verdict and what was looked at
	Problems   []string         `json:"problems"`
	Library    string           `json:"library"`
	Versions   []printedPlayed  `json:"versions"`            // of the interface, as NCCL asks for them
	Played     map[string]int   `json:"played"`              // calls by kind
	Recorded   map[string]int   `json:"recorded"`            // of these, what was read back
	Recording  *gathering.Row   `json:"recording,omitempty"` // as nccl_collect sees the file
	NCCL       printedNCCL      `json:"nccl"`
	Machine    printedOnMachine `json:"machine"`
}

// printedPlayed is one version of the interface.
type printedPlayed struct {
	Version  int `json:"version"`
	Calls    int `json:"calls"`
	AskedFor int `json:"asked_for"` // the mask of types that the plug-in set
}

// printedNCCL is what NCCL itself did with the plug-in.
type printedNCCL struct {
	Outcome   string         `json:"outcome"` // in words; also why it was not tried
	Library   string         `json:"library,omitempty"`
	Version   int            `json:"version,omitempty"` // such as 22807
	Recording *gathering.Row `json:"recording,omitempty"`
}

// printedOnMachine is where it ran.
type printedOnMachine struct {
	PRLX     string   `json:"prlx"`
	Python   string   `json:"python"`
	System   string   `json:"system"`
	Libc     string   `json:"libc"`
	GPUs     int      `json:"gpus"`
	Packages []string `json:"packages"`
}

// printedSimulateSelftest is prlx.simulate-selftest/1: whether a GPU does what the simulator says.
type printedSimulateSelftest struct {
	Schema     string               `json:"schema"`
	Outcome    string               `json:"outcome"` // passed, failed, incomplete: Triton is not there; not run: there is no GPU, and nothing was compared
	Conclusion verdict.Verdict      `json:"conclusion"`
	Sentence   string               `json:"sentence"` // the verdict and what was looked at
	Problems   []string             `json:"problems"`
	GPU        *printedGPU          `json:"gpu"` // null: none
	Kernels    []printedMicrokernel `json:"kernels"`
	Recorded   []printedRecorded    `json:"recorded"` // kernels of Triton, clean and while they record
	Machine    printedSimulating    `json:"machine"`
}

// printedGPU is the GPU that the microkernels ran on.
type printedGPU struct {
	Name       string `json:"name"`
	Capability [2]int `json:"capability"` // such as 8, 0
	CUDA       int    `json:"cuda"`       // the newest that the driver knows, such as 13000
}

// printedMicrokernel is how the results of one kernel compare.
type printedMicrokernel struct {
	Name        string  `json:"name"`
	ULPsAllowed float64 `json:"ulps_allowed"` // 0: the bits must be the same
	Differ      int     `json:"differ"`       // results
	ULPs        float64 `json:"ulps"`         // the largest difference of approximate results, in units in the last place
	Problem     string  `json:"problem"`      // "" where there is none
}

// printedRecorded is how one kernel that records compares: what it writes with what it writes clean, and its recordings with the simulator's.
type printedRecorded struct {
	Name    string             `json:"name"`
	Exact   bool               `json:"exact"`   // a GPU must write the bits that the simulator writes
	Events  int                `json:"events"`  // in its largest recording
	Slower  map[string]float64 `json:"slower"`  // by mode: the time of a launch, in times of a clean one
	Problem string             `json:"problem"` // "" where there is none
}

// printedSimulating is where the simulator ran.
type printedSimulating struct {
	System string `json:"system"`
	Python string `json:"python"`
	PRLX   string `json:"prlx"`
}

// printedDoctor is prlx.doctor/1: the state of an installation.
type printedDoctor struct {
	Schema string         `json:"schema"`
	OK     bool           `json:"ok"` // nothing failed
	Checks []printedCheck `json:"checks"`
}

// printedCheck is one thing that was looked at.
type printedCheck struct {
	Name   string `json:"name"`
	Status string `json:"status"` // OK, WARN (works, but not as well as it could) or FAIL
	Detail string `json:"detail"`
	Cure   string `json:"cure"` // what to do; empty when there is nothing to do
}

// printedConfig is prlx.config/1: every setting, and who set it.
type printedConfig struct {
	Schema   string           `json:"schema"`
	File     *string          `json:"file"` // the configuration file; null: there is none
	Settings []printedSetting `json:"settings"`
	Warnings []string         `json:"warnings"`
}

// printedSetting is one setting.
type printedSetting struct {
	Key     string   `json:"key"`
	Value   any      `json:"value"`
	Origin  string   `json:"origin"` // who set it: default, a variable of the environment, a file
	Env     string   `json:"env"`    // the variable that sets it
	Default any      `json:"default"`
	Choices []string `json:"choices"` // the words that it accepts; empty: any
	Help    string   `json:"help"`
}

// printedLocate is prlx.locate/1: where two runs first differ, found by running them again.
type printedLocate struct {
	Schema  string `json:"schema"`
	Status  string `json:"status"` // located, same, launches, not-again, nothing or inconclusive
	Verdict string `json:"verdict"`

	Conclusion verdict.Verdict `json:"conclusion"`

	Kernel  *string       `json:"kernel"`   // null: none differs
	Launch  *int64        `json:"launch"`   // its number in A
	LaunchB *int64        `json:"launch_b"` // and in B
	Warps   int64         `json:"warps"`    // that differ
	Place   string        `json:"place"`    // FILE:LINE, "" unknown
	Runs    int64         `json:"runs"`     // of each side, now
	Passes  []printedPass `json:"passes"`

	WarpRanges string        `json:"warp_ranges"` // that differ, "" not known which
	FirstWarps []printedWarp `json:"first_warps"` // at most five
}

// printedWarp is a warp by its number and by its place.
type printedWarp struct {
	Warp    int64 `json:"warp"`
	Block   int64 `json:"block"`
	InBlock int64 `json:"in_block"`
}

// printedPass is one pass over both sides.
type printedPass struct {
	Name    string `json:"name"`
	Ran     bool   `json:"ran"` // false: its recordings were there
	Status  string `json:"status"`
	Verdict string `json:"verdict"`

	RecordedWarps string `json:"recorded_warps"` // as PRLX_RECORD has them, "" all
}

// printedMap is how a map of clocks is written.
type printedMap struct {
	Knots     [][4]int64  `json:"knots"` // instant on the source clock, on the target clock and bound, ns; ps beyond the second
	Before    clock.Drift `json:"before_ppt"`
	After     clock.Drift `json:"after_ppt"`
	GrowthPPB int64       `json:"growth_ppb"`
	WanderPPB int64       `json:"wander_ppb"`
	Flags     []int       `json:"flags"` // what is known before, between and after the knots
}

// schema is a JSON Schema. Only words are used that mean the same in 2020-12 and in draft-07.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	ID          string             `json:"$id,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        any                `json:"type,omitempty"`
	Const       string             `json:"const,omitempty"`
	Properties  properties         `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Others      *schema            `json:"additionalProperties,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	MinItems    int                `json:"minItems,omitempty"`
	MaxItems    int                `json:"maxItems,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Defs        map[string]*schema `json:"$defs,omitempty"`
}

// properties keep the order of the document.
type properties []property

type property struct {
	name  string
	value *schema
}

func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := encode(one.value) // leaves < and > as they are
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", one.name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// maker makes the schema of one document.
type maker struct {
	words *comments
	defs  map[string]*schema
	names map[reflect.Type]string
}

func (m *maker) document(name string, doc any) *schema {
	t := reflect.TypeOf(doc)
	s := m.object(t)
	s.Schema, s.ID = "https://json-schema.org/draft/2020-12/schema", "prlx."+strings.Replace(name, "/", ".", 1)+".schema.json"
	s.Title, s.Description = "prlx."+name, m.words.of(t, "")
	s.Properties[0].value = &schema{Const: "prlx." + name}
	if len(m.defs) > 0 {
		s.Defs = m.defs
	}
	return s
}

// object is the schema of a struct: its fields in their order, those of embedded structs in their place.
func (m *maker) object(t reflect.Type) *schema {
	s := &schema{Type: "object"}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			inner := m.object(embedded)
			s.Properties, s.Required = append(s.Properties, inner.Properties...), append(s.Required, inner.Required...)
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		omitted := slices.Contains(strings.Split(options, ","), "omitempty")
		value := m.of(f.Type, !omitted)
		if value.Ref == "" {
			value.Description = m.words.of(t, f.Name)
		} else if text := m.words.of(t, f.Name); text != "" { // in draft-07 nothing may stand beside $ref
			value = &schema{Description: text, AnyOf: []*schema{value}}
		}
		s.Properties = append(s.Properties, property{name, value})
		if !omitted {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// of is the schema of a value; null stands for a nil pointer.
func (m *maker) of(t reflect.Type, null bool) *schema {
	switch t {
	case reflect.TypeFor[clock.Map]():
		return m.named(reflect.TypeFor[printedMap](), "Map")
	case reflect.TypeFor[combine.Bounds]():
		return &schema{AnyOf: []*schema{m.named(t, "Bounds"), {Type: "null"}}}
	}
	if _, own := reflect.New(t).Interface().(json.Marshaler); own && t != reflect.TypeFor[json.RawMessage]() {
		panic(fmt.Sprintf("%v writes its own JSON: say here what that is", t))
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := m.of(t.Elem(), false)
		if !null {
			return s
		}
		if kind, plain := s.Type.(string); plain && s.Ref == "" {
			s.Type = []string{kind, "null"}
			return s
		}
		return &schema{AnyOf: []*schema{s, {Type: "null"}}}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Float32, reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Array:
		return &schema{Type: "array", Items: m.of(t.Elem(), true), MinItems: t.Len(), MaxItems: t.Len()}
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() {
			return &schema{}
		}
		return &schema{Type: "array", Items: m.of(t.Elem(), true)}
	case reflect.Map:
		return &schema{Type: "object", Others: m.of(t.Elem(), true)}
	case reflect.Struct:
		if t.Name() == "" {
			return m.object(t)
		}
		return m.named(t, strings.TrimPrefix(t.Name(), "printed"))
	case reflect.Interface:
		return &schema{}
	}
	if t.ConvertibleTo(reflect.TypeFor[int64]()) {
		return &schema{Type: "integer"}
	}
	panic(fmt.Sprintf("no schema for %v", t))
}

// named refers to the definition of a struct, and makes it when it is met first.
func (m *maker) named(t reflect.Type, name string) *schema {
	known, met := m.names[t]
	if !met {
		if _, taken := m.defs[name]; taken {
			name = strings.ToUpper(filepath.Base(t.PkgPath())[:1]) + filepath.Base(t.PkgPath())[1:] + name
		}
		known = name
		m.names[t], m.defs[name] = name, &schema{}
		*m.defs[name] = *m.object(t)
		m.defs[name].Description = m.words.of(t, "")
	}
	return &schema{Ref: "#/$defs/" + known}
}

// comments are what the source says of types and of their fields.
type comments struct{ packages map[string]map[string]string }

// of is the comment of a type, or of one of its fields, as one line.
func (c *comments) of(t reflect.Type, field string) string {
	path := strings.TrimPrefix(t.PkgPath(), "github.com/prlx-go/prlx/")
	if _, read := c.packages[path]; !read {
		c.packages[path] = readComments(filepath.Join("..", "..", filepath.FromSlash(path)))
	}
	return c.packages[path][t.Name()+"."+field]
}

func readComments(folder string) map[string]string {
	found := map[string]string{}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		panic(err)
	}
	for _, path := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			panic(err)
		}
		for _, declared := range parsed.Decls {
			group, is := declared.(*ast.GenDecl)
			if !is || group.Tok != token.TYPE {
				continue
			}
			for _, spec := range group.Specs {
				readType(found, group, spec.(*ast.TypeSpec))
			}
		}
	}
	return found
}

func readType(found map[string]string, group *ast.GenDecl, spec *ast.TypeSpec) {
	doc := spec.Doc
	if doc == nil {
		doc = group.Doc
	}
	found[spec.Name.Name+"."] = oneLine(doc)
	of, is := spec.Type.(*ast.StructType)
	if !is {
		return
	}
	for _, field := range of.Fields.List {
		text := oneLine(field.Comment)
		if text == "" {
			text = oneLine(field.Doc)
		}
		for _, name := range field.Names {
			found[spec.Name.Name+"."+name.Name] = text
		}
	}
}

func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

// TestSchemasAreFresh holds docs/schemas to the structs.
func TestSchemasAreFresh(t *testing.T) {
	words := &comments{packages: map[string]map[string]string{}}
	folder := filepath.Join("..", "..", "docs", "schemas")
	want := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		m := &maker{words: words, defs: map[string]*schema{}, names: map[reflect.Type]string{}}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := e.Encode(m.document(name, documents[name])); err != nil {
			t.Fatal(err)
		}
		text := b.Bytes()
		file := "prlx." + strings.Replace(name, "/", ".", 1) + ".schema.json"
		want[file] = true
		path := filepath.Join(folder, file)
		if *updateSchemas {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, text) {
			t.Errorf("%s is not what the structs say (%v): make schemas", path, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.schema.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d schemas in %s (%v)", len(files), folder, err)
	}
	for _, path := range files {
		if !want[filepath.Base(path)] {
			t.Errorf("%s describes no document", path)
		}
	}
}
