package compile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// expand lists what a template of testdata/manual.txt stands for: {a,b} without blanks is one of several.
func expand(template string) []string {
	for at := 0; at < len(template); at++ {
		if template[at] != '{' {
			continue
		}
		end := strings.IndexByte(template[at:], '}') + at
		if inside := template[at+1 : end]; strings.ContainsAny(inside, " $") || !strings.Contains(inside, ",") {
			continue
		}
		var list []string
		for _, choice := range strings.Split(template[at+1:end], ",") {
			list = append(list, expand(template[:at]+choice+template[end+1:])...)
		}
		return list
	}
	return []string{template}
}

// statement is an instruction with registers in place of what begins with a dollar: $p a predicate, $h, $r, $d of 16, 32, 64 bits, $c of
// the first type that is not one of 32 bits, $ of the last type.
func statement(form string) string {
	name, rest, _ := strings.Cut(form, " ")
	op := ptx.Opcode{Mods: strings.Split(name, ".")[1:]}
	letter := func(kind string) string {
		switch code.WidthOf(kind) {
		case 1:
			return "p"
		case 8, 16:
			return "h"
		case 64:
			return "d"
		}
		return "r"
	}
	other := "r"
	for _, mod := range op.Mods {
		if l := letter(mod); code.WidthOf(mod) > 0 && l != "r" {
			other = l
		}
	}
	var s strings.Builder
	n := 0
	for at := 0; at < len(rest); at++ {
		if rest[at] != '$' {
			s.WriteByte(rest[at])
			continue
		}
		l := letter(typeOf(op))
		if typeOf(op) == "" && slices.Contains(op.Mods, "pred") {
			l = "p"
		}
		if at+1 < len(rest) && strings.IndexByte("phrdc", rest[at+1]) >= 0 {
			at++
			if l = rest[at : at+1]; l == "c" {
				l = other
			}
		}
		n++
		fmt.Fprintf(&s, "%%%s%d", l, n)
	}
	return strings.TrimSpace(name + " " + s.String())
}

// refusal is why the simulator refuses an instruction, and what it says to do; "" it executes it.
func refusal(t *testing.T, form string) (why, hint string) {
	t.Helper()
	text := ".version 8.8\n.target sm_80\n.address_size 64\n.func (.param .b32 result) f(.param .b32 n)\n{\n\tret;\n}\n.global .u64 pointer = f;\n" +
		".visible .entry k(.param .b32 n)\n{\n\t.reg .pred %p<40>;\n\t.reg .b16 %h<40>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %d<40>;\n\t.param .b32 p0;\n\t.param .b32 r0;\n" +
		"\tTABLE: .branchtargets END, END;\n\tSHAPE: .callprototype (.param .b32 _) _ (.param .b32 _);\n\t" + statement(form) + ";\nEND:\n\tret;\n}\n"
	m, err := ptx.Read(context.Background(), "k.ptx", []byte(text))
	if err == nil {
		_, err = Kernel(target.SM80, "k.ptx", m, m.Functions[1])
	}
	if err == nil {
		return "", ""
	}
	f := fault.Of(err)
	if f.Kind != fault.Incompatible {
		t.Errorf("%s: %v", statement(form), err)
	}
	return f.Msg, f.Hint
}

// reasons are what a table says of refusals, by what their messages or hints have.
func reason(form, hint string) string {
	switch {
	case strings.Contains(hint, "compile for that target"):
		return "later than sm_80"
	case strings.Contains(hint, "no second source"):
		return "no second source says where the metadata is"
	case strings.Contains(hint, "texture"):
		return "textures and surfaces"
	case strings.Contains(hint, ".sync"):
		return "removed with sm_70"
	case slices.ContainsFunc(notSM80, func(begin string) bool { return strings.HasPrefix(form, begin) }):
		return "later than sm_80"
	}
	return "not yet"
}

// notSM80 are forms that came after sm_80 and whose refusal does not say so, by how they begin.
var notSM80 = []string{
	"add.u16x2", "add.s16x2", "min.u16x2", "min.s16x2", "max.u16x2", "max.s16x2", "min.relu", "max.relu", "fma.rn.oob", "add.rn.f32.", "fma.rn.f32.f16", "fma.rn.f32.bf16",
	"atom.global.cas.b128", "atom.global.exch.b128", "atom.global.v2", "redux.sync.min.f32", "isspacep.shared::cluster",
}

// TestTableOfTheManualIsFresh holds docs/ptx-manual.md to what the compiler does with every form of testdata/manual.txt.
func TestTableOfTheManualIsFresh(t *testing.T) {
	lines, err := os.ReadFile(filepath.Join("testdata", "manual.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	s.WriteString("# Instructions of the PTX manual\n\nWhat the simulator does with them, chapter by chapter. Made by `go test ./core/simulator/simt/compile -run TableOfTheManual -update`, " +
		"which compiles every form; how results may\ndiffer from a GPU's stands in [the table of opcodes](opcodes.md). `{a,b}` stands for one of several; a refusal names its line and what to do.\n")
	known := map[string]bool{}
	executed, refused := 0, 0
	for _, line := range strings.Split(strings.TrimSpace(string(lines)), "\n") {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			fmt.Fprintf(&s, "\n## %s\n\n| form | |\n|---|---|\n", title)
			continue
		}
		known[strings.SplitN(strings.SplitN(line, " ", 2)[0], ".", 2)[0]] = true
		var not []string
		why := ""
		forms := expand(line)
		for _, form := range forms {
			message, hint := refusal(t, form)
			if message == "" {
				executed++
				continue
			}
			refused++
			if hint == "" {
				t.Errorf("the refusal of %s says not what to do: %s", form, message)
			}
			why = reason(form, hint)
			not = append(not, strings.SplitN(form, " ", 2)[0])
		}
		verdict := "executed"
		switch {
		case len(not) == len(forms):
			verdict = "refused: " + why
		case len(not) > 0:
			verdict = "executed, but `" + strings.Join(not, "`, `") + "`: " + why
		}
		fmt.Fprintf(&s, "| `%s` | %s |\n", strings.ReplaceAll(strings.SplitN(shown(line), " ", 2)[0], "|", "\\|"), verdict)
	}
	fmt.Fprintf(&s, "\n%d forms are executed, %d are refused.\n", executed, refused)
	for _, o := range opcodes() {
		name := strings.TrimRight(o.Name, "{")
		if !known[name] && !known[name+"{,"] && !known[name+"{"] {
			t.Errorf("testdata/manual.txt has no form of %s", o.Name)
		}
	}
	path := filepath.Join("..", "..", "..", "..", "docs", "ptx-manual.md")
	if *update {
		if err := os.WriteFile(path, []byte(s.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != s.String() {
		t.Errorf("%s is not what the code does: go test ./core/simulator/simt/compile -run TableOfTheManual -update", path)
	}
}

// shown is a template as the table has it: special registers and sizes are its last operand.
func shown(line string) string {
	name, rest, _ := strings.Cut(line, " ")
	if at := strings.IndexByte(rest, '%'); at >= 0 {
		return name + "_" + strings.ReplaceAll(rest[strings.LastIndexByte(rest[:at], ' ')+1:], " ", "")
	}
	return line
}
