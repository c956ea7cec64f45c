package ptx

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinesAgreeWithLLVM compares, for compiled kernels, the source locations that Read finds with the !dbg of the LLVM IR from
// which the PTX was printed. PRLX_PTX_LINES names a directory with pairs of NAME.ptx and NAME.llir, in it or one level below;
// tests/triton compiles some and runs this.
//
// Code generation moves instructions, so what is compared is, for every kind of thing that survives it one to one (statements of
// inline assembly with equal instructions, barriers, shuffles, ...), how often each chain of locations occurs.
func TestLinesAgreeWithLLVM(t *testing.T) {
	dir := os.Getenv("PRLX_PTX_LINES")
	if dir == "" {
		t.Skip("PRLX_PTX_LINES is not set")
	}
	texts, _ := filepath.Glob(filepath.Join(dir, "*.ptx"))
	below, _ := filepath.Glob(filepath.Join(dir, "*", "*.ptx"))
	var all [2]agreement
	for _, path := range append(texts, below...) {
		ir, err := os.ReadFile(strings.TrimSuffix(path, ".ptx") + ".llir")
		if err != nil {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Read(context.Background(), path, text)
		if err != nil {
			t.Error(err)
			continue
		}
		want, got := anchorsOfIR(string(ir)), anchorsOfPTX(m)
		for i := range all {
			one := compareAnchors(want[i], got[i])
			all[i].add(one)
			if one.same < one.total {
				t.Logf("%s: %s: %s %v", path, anchorKinds[i], one, one.examples)
			}
		}
	}
	for i, a := range all {
		t.Logf("%s: %s", anchorKinds[i], a)
		if a.total == 0 {
			t.Errorf("%s: nothing was compared", anchorKinds[i])
		} else if float64(a.same) < leastAgreement[i]*float64(a.total) {
			t.Errorf("%s: %s, want at least %g", anchorKinds[i], a, leastAgreement[i])
		}
	}
}

var (
	anchorKinds    = [2]string{"statements of inline assembly", "barriers, shuffles, stores and branches"}
	leastAgreement = [2]float64{0.99, 0.99}
)

type agreement struct {
	same, total int
	examples    []string
}

func (a *agreement) add(b agreement) { a.same, a.total = a.same+b.same, a.total+b.total }

func (a agreement) String() string {
	return fmt.Sprintf("%d of %d locations agree (%.2f %%)", a.same, a.total, 100*float64(a.same)/float64(max(1, a.total)))
}

// anchors count, by what stands there, the chains of locations.
type anchors map[string]map[string]int

func (a anchors) count(what, chain string) {
	if a[what] == nil {
		a[what] = map[string]int{}
	}
	a[what][chain]++
}

// compareAnchors counts what is in both. What code generation removed or doubled, as the totals of a kind say, is left out.
func compareAnchors(want, got anchors) (out agreement) {
	for what, chains := range want {
		inWant, inGot, same := 0, 0, 0
		for _, n := range chains {
			inWant += n
		}
		for _, n := range got[what] {
			inGot += n
		}
		for chain, n := range chains {
			same += min(n, got[what][chain])
			if got[what][chain] < n && len(out.examples) < 3 {
				out.examples = append(out.examples, fmt.Sprintf("%.40s at %s: %d of %d", what, chain, got[what][chain], n))
			}
		}
		out.total += min(inWant, inGot)
		out.same += same
	}
	return out
}

// anchorsOfPTX are those of a module that was read.
func anchorsOfPTX(m *Module) (out [2]anchors) {
	out = [2]anchors{{}, {}}
	for _, f := range m.Functions {
		for i := 0; i < len(f.Insts); {
			in := &f.Insts[i]
			if in.Asm < 0 {
				if what := anchorOf(in); what != "" {
					out[1].count(what, chainOf(m, in.Location))
				}
				i++
				continue
			}
			var ops []string
			first := in
			for ; i < len(f.Insts) && f.Insts[i].Asm == first.Asm; i++ {
				ops = append(ops, f.Insts[i].Op.Full)
			}
			out[0].count(strings.Join(ops, " "), chainOf(m, first.Location))
		}
	}
	return out
}

func anchorOf(in *Inst) string {
	switch name := in.Op.Name; {
	case name == "bar" || name == "barrier":
		return "barrier"
	case name == "shfl" || name == "redux":
		return name
	case name == "ldmatrix":
		return "ldmatrix"
	case name == "st" && has(&in.Op, "shared"):
		return "st.shared"
	case name == "bra" && in.Guard >= 0:
		return "branch"
	}
	return ""
}

func chainOf(m *Module, location int32) string {
	var b strings.Builder
	for ; location >= 0; location = m.Locations[location].Inlined {
		l := m.Locations[location]
		if l.Line == 0 {
			return "line 0"
		}
		fmt.Fprintf(&b, "%s:%d:%d ", filepath.Base(m.Files[l.File]), l.Line, l.Column)
	}
	return b.String()
}

var (
	irNode    = regexp.MustCompile(`^!(\d+) = (?:distinct )?!(DILocation|DISubprogram|DILexicalBlockFile|DILexicalBlock|DIFile)\((.*)\)$`)
	irField   = regexp.MustCompile(`(\w+): (?:"([^"]*)"|!?(\w+))`)
	irDebug   = regexp.MustCompile(`!dbg !(\d+)`)
	irAsm     = regexp.MustCompile(`asm (?:sideeffect )?"((?:[^"\\]|\\.)*)"`)
	irEscapes = strings.NewReplacer(`\0A`, "\n", `\09`, "\t")
	irGuard   = regexp.MustCompile(`^@!?\S+\s*`)
)

// anchorsOfIR are those of LLVM IR.
func anchorsOfIR(text string) (out [2]anchors) {
	out = [2]anchors{{}, {}}
	nodes := map[string]map[string]string{}
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if m := irNode.FindStringSubmatch(s.Text()); m != nil {
			fields := map[string]string{"": m[2]}
			for _, f := range irField.FindAllStringSubmatch(m[3], -1) {
				fields[f[1]] = f[2] + f[3]
			}
			nodes[m[1]] = fields
		}
	}
	for _, line := range strings.Split(text, "\n") {
		debug := irDebug.FindStringSubmatch(line)
		if debug == nil {
			continue
		}
		chain := irChain(nodes, debug[1])
		if m := irAsm.FindStringSubmatch(line); m != nil {
			if ops := irOpcodes(m[1]); ops != "" {
				out[0].count(ops, chain)
			}
		} else if what := irAnchor(line); what != "" {
			out[1].count(what, chain)
		}
	}
	return out
}

func irAnchor(line string) string {
	switch {
	case strings.Contains(line, "@llvm.nvvm.barrier"):
		return "barrier"
	case strings.Contains(line, "@llvm.nvvm.shfl.sync"):
		return "shfl"
	case strings.Contains(line, "@llvm.nvvm.redux.sync"):
		return "redux"
	case strings.Contains(line, "@llvm.nvvm.ldmatrix"):
		return "ldmatrix"
	case strings.HasPrefix(strings.TrimSpace(line), "store ") && strings.Contains(line, "ptr addrspace(3)"):
		return "st.shared"
	case strings.HasPrefix(strings.TrimSpace(line), "br i1"):
		return "branch"
	}
	return ""
}

// irOpcodes are the instructions of a statement of inline assembly.
func irOpcodes(template string) string {
	var ops []string
	for _, statement := range strings.Split(irEscapes.Replace(template), ";") {
		statement = irGuard.ReplaceAllString(strings.Trim(statement, " \t\r\n{}"), "")
		if op, _, _ := strings.Cut(strings.ReplaceAll(statement, "\t", " "), " "); op != "" && op[0] != '.' {
			ops = append(ops, op)
		}
	}
	return strings.Join(ops, " ")
}

func irChain(nodes map[string]map[string]string, at string) string {
	var b strings.Builder
	for n := nodes[at]; n != nil; n = nodes[n["inlinedAt"]] {
		if n["line"] == "0" || n["line"] == "" {
			return "line 0"
		}
		scope := nodes[n["scope"]]
		for scope != nil && scope["file"] == "" {
			scope = nodes[scope["scope"]]
		}
		column := n["column"]
		if column == "" {
			column = "0"
		}
		file := ""
		if scope != nil {
			file = nodes[scope["file"]]["filename"]
		}
		fmt.Fprintf(&b, "%s:%s:%s ", filepath.Base(file), n["line"], column)
	}
	return b.String()
}
