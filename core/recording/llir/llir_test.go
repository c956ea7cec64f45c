package llir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// small has a branch, a loop with a phi, a mask that guards assembly, a select and a switch.
const small = `source_filename = "m"
@global_smem = external addrspace(3) global [0 x i8], align 16

define ptx_kernel void @k(ptr addrspace(1) %0, i32 %1, float %2, ptr addrspace(1) nofree readnone captures(none) %3, ptr addrspace(1) nofree readnone captures(none) %4) local_unnamed_addr #0 !dbg !4 {
  %6 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !7
  %7 = icmp slt i32 %6, %1, !dbg !8
  br i1 %7, label %.lr.ph, label %14, !dbg !8

.lr.ph:                                           ; preds = %5, %.lr.ph
  %8 = phi i32 [ 0, %5 ], [ %12, %.lr.ph ]
  %9 = tail call i32 asm sideeffect "@$2 ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l,b"(ptr addrspace(1) %0, i1 %7) #2, !dbg !9
  %10 = bitcast i32 %9 to float, !dbg !9
  %11 = fcmp olt float %2, %10, !dbg !10
  %12 = add i32 %8, 1, !dbg !10
  %13 = select i1 %11, float %10, float 0.000000e+00, !dbg !10
  switch i32 %12, label %.lr.ph [
    i32 3, label %14
    i32 -7, label %14
  ], !dbg !8

14:                                               ; preds = %5, %.lr.ph
  ret void, !dbg !11
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

attributes #0 = { nounwind "nvvm.reqntid"="128" }

!4 = distinct !DISubprogram(name: "k", linkageName: "k", scope: !5, file: !5, line: 5)
!5 = !DIFile(filename: "kernels.py", directory: "/src")
!6 = distinct !DISubprogram(name: "inner", scope: !12, file: !12, line: 80)
!7 = !DILocation(line: 6, column: 11, scope: !4)
!8 = !DILocation(line: 7, column: 12, scope: !4)
!9 = !DILocation(line: 8, column: 9, scope: !4)
!10 = !DILocation(line: 81, column: 4, scope: !6, inlinedAt: !9)
!11 = !DILocation(line: 5, column: 1, scope: !4)
!12 = !DIFile(filename: "library.py", directory: "/lib")
`

// withoutOurs takes out of an instrumented text what was inserted: lines of ours, and what follows the module.
func withoutOurs(text string) string {
	for i := strings.Index(text, "\ndefine internal "); i >= 0; {
		if line, _, _ := strings.Cut(text[i+1:], "{"); strings.Contains(line, " @prlx_") {
			text = text[:i]
			break
		}
		next := strings.Index(text[i+1:], "\ndefine internal ")
		if next < 0 {
			break
		}
		i += 1 + next
	}
	var kept []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "  %prlx_") && !strings.HasPrefix(line, "  call void @prlx_") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func TestSitesOfASmallKernel(t *testing.T) {
	r := Instrument(small, Options{})
	if r.Warning != "" {
		t.Fatal(r.Warning)
	}
	var got []string
	for i, s := range r.Sites {
		at := s.Chain[0]
		got = append(got, fmt.Sprintf("%s %s:%d:%d/%d %q %s %s", s.Kind, filepath.Base(at.File), at.Line, at.Column, len(s.Chain), s.Text, s.Compare.Name(), r.Types[i]))
	}
	want := []string{
		`branch kernels.py:7:12/1 "icmp slt i32" slt i32`,
		`predicate kernels.py:7:12/1 "icmp slt i32" slt i32`,
		`predicate library.py:81:4/2 "fcmp olt float" olt f32`,
		`switch kernels.py:7:12/1 "switch i32"  i32`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOperandsSayWhereTheyComeFrom(t *testing.T) {
	r := Instrument(small, Options{})
	branch, mask, choice := &r.Sites[0], &r.Sites[2], &r.Sites[3]
	if o := branch.Operands[0]; o.Origin != site.FromProgramID || o.Name != "%tid.x" || o.Role != "lhs" || o.Where.Line != 6 {
		t.Errorf("the left operand is %+v", o)
	}
	if o := branch.Operands[1]; o.Origin != site.FromArgument || o.Name != "%1" {
		t.Errorf("the right operand is %+v", o)
	}
	if o := mask.Operands[1]; o.Origin != site.FromLoad || o.Where.Line != 8 || o.Type != "f32" {
		t.Errorf("what was loaded is %+v", o)
	}
	if o := choice.Operands[0]; o.Origin != site.FromArith || o.Inputs[0].Origin != site.FromCarried {
		t.Errorf("a counter is %+v", o)
	}
	table := observe.Table{Sites: r.Sites, Types: r.Types}
	table.NameArguments([]string{"x", "n"})
	if o := branch.Operands[1]; o.Name != "n" {
		t.Errorf("an argument is called %q", o.Name)
	}
}

func TestOnlyCallsOfTheRecorderAreInserted(t *testing.T) {
	r := Instrument(small, Options{})
	want := strings.Replace(small, "ptr addrspace(1) nofree readnone captures(none) %4)", "ptr addrspace(1) %4)", 1)
	if got := withoutOurs(r.Text); got != strings.TrimSuffix(want, "") {
		t.Errorf("the rest of the text is not what it was:\n%s", got)
	}
	for _, line := range []string{
		"  %prlx_v0.0 = zext i32 %6 to i64, !dbg !8\n  call void @prlx_record_decision(ptr addrspace(1) %prlx_entry, i32 0, i1 %7, i64 %prlx_v0.0, ptr addrspace(1) %4), !dbg !8\n  br i1 %7,",
		"  %prlx_v2.0 = bitcast float %2 to i32, !dbg !10\n  %prlx_v2.1 = zext i32 %prlx_v2.0 to i64, !dbg !10\n",
		"  call void @prlx_record_choice(ptr addrspace(1) %prlx_entry, i32 3, i64 %prlx_v3.0, ptr addrspace(1) %4), !dbg !8\n  switch i32 %12,",
	} {
		if !strings.Contains(r.Text, line) {
			t.Errorf("there is no\n%s\nin\n%s", line, r.Text)
		}
	}
	if n := strings.Count(r.Text, "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()"); n != 1 {
		t.Errorf("%%tid.x is declared %d times", n)
	}
}

// with replaces the select of the small kernel.
func with(lines string) string {
	return strings.Replace(small, "  %13 = select i1 %11, float %10, float 0.000000e+00, !dbg !10\n", lines, 1)
}

func TestWhatIsAPredicate(t *testing.T) {
	for what, c := range map[string]struct {
		lines string
		want  string
	}{
		"the larger of two decides nothing":  {"  %13 = select i1 %11, float %10, float %2, !dbg !10\n", ""},
		"a number or another decides":        {"  %x = fcmp ord float %10, 0.000000e+00\n  %13 = select i1 %x, float %10, float 0.000000e+00\n", "fcmp ord float"},
		"equal or another decides":           {"  %x = icmp eq i32 %12, 0\n  %13 = select i1 %x, i32 0, i32 %12\n", "icmp eq i32"},
		"the larger integer decides nothing": {"  %x = icmp ugt i32 %12, %8\n  %13 = select i1 %x, i32 %12, i32 %8\n", ""},
		"of a joined mask the compares come first": {
			"  %x = fcmp ogt float %10, 1.0\n  %y = and i1 %11, %x\n  %13 = select i1 %y, i32 1, i32 2\n", "fcmp olt float, fcmp ogt float, and",
		},
		"once in a block":     {"  %13 = select i1 %11, i32 1, i32 2\n  %x = zext i1 %11 to i32\n", "fcmp olt float"},
		"a negated compare":   {"  %x = xor i1 %11, true\n  %13 = select i1 %x, i32 1, i32 2\n", "fcmp uge float"},
		"a question to LLVM":  {"  %r = tail call i32 @__nvvm_reflect(ptr @s)\n  %x = icmp eq i32 %r, 0\n  %13 = select i1 %x, i32 1, i32 2\n", ""},
		"a vector is no mask": {"  %13 = select <2 x i1> %v, <2 x i32> %a, <2 x i32> %b\n", ""},
		"an element of a compare of vectors": {
			"  %v = insertelement <2 x i32> poison, i32 %12, i64 0\n  %x = icmp ult <2 x i32> %v, <i32 3, i32 4>\n  %y = extractelement <2 x i1> %x, i64 1\n  %13 = select i1 %y, i32 1, i32 2\n", "icmp ult i32",
		},
		"flags in front": {"  %13 = select nnan nsz i1 %11, float 1.0, float 2.0\n", "fcmp olt float"},
	} {
		r := Instrument(with(c.lines), Options{})
		var got []string
		for i := range r.Sites {
			if s := &r.Sites[i]; s.Kind == site.Predicate && s.Text != "icmp slt i32" {
				got = append(got, s.Text)
			}
		}
		if strings.Join(got, ", ") != c.want || r.Warning != "" {
			t.Errorf("%s: got %q, want %q; %s", what, got, c.want, r.Warning)
		}
	}
}

func TestFiltersLeaveTheTextAlone(t *testing.T) {
	if r := Instrument(small, Options{Filter: observe.Filter{Kernels: []string{"other*"}}}); r.Text != small || r.Sites != nil {
		t.Error("a kernel that nobody asked for was changed")
	}
	r := Instrument(small, Options{Filter: observe.Filter{Places: []observe.Place{{File: "kernels.py", First: 8, Last: 8}}}})
	if len(r.Sites) != 1 || r.Sites[0].Chain[0].Line != 81 {
		t.Errorf("of line 8 there are %d sites", len(r.Sites))
	}
}

// TestWarpsThatGaveRegistersAwayAreLeftOut: ptxas refuses a kernel whose calls do not fit into what warps have left.
func TestWarpsThatGaveRegistersAwayAreLeftOut(t *testing.T) {
	const head = "  %8 = phi i32 [ 0, %5 ], [ %12, %.lr.ph ]\n"
	for lines, want := range map[string]int{
		"  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 24)\n":                       1,
		"  call void asm sideeffect \"setmaxnreg.dec.sync.aligned.u32 40;\", \"\"()\n":           1,
		"  call void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 240)\n":                      4,
		"  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 72)\n":                       4,
		"  call void @f(i32 24) ; setmaxnreg\n":                                                  4,
		"  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 24)\n  %q = add i32 %8, 1\n": 1,
	} {
		r := Instrument(strings.Replace(small, head, head+lines, 1), Options{})
		said := strings.Contains(r.Warning, "3 sites of warps that have fewer than 72 registers left")
		if len(r.Sites) != want || said != (want == 1) {
			t.Errorf("%s: %d sites, want %d; %q", lines, len(r.Sites), want, r.Warning)
		}
	}
}

// broken are texts that are not rewritten, and what the warning names.
var broken = []struct{ name, text, warning string }{
	{"empty", "", "no function has a body"},
	{"noise", "\x00\xff{}\n%\n", "no function has a body"},
	{"not closed", strings.Replace(small, "\n}\n", "\n", 1), "not closed"},
	{"a name twice", strings.Replace(small, "%12 = add", "%9 = add", 1), "%9 is given twice"},
	{"a new kind of line", strings.Replace(small, "  %12 = add", "weird stuff\n  %12 = add", 1), "neither a label nor an instruction"},
	{"no scratch", strings.Replace(small, ", ptr addrspace(1) nofree readnone captures(none) %3, ptr addrspace(1) nofree readnone captures(none) %4", "", 1), "no scratch parameter: k"},
	{"instrumented before", Instrument(small, Options{}).Text, "names that begin with @prlx_"},
	{"no parameters", strings.Replace(small, "@k(ptr addrspace(1) %0, i32 %1, float %2, ptr addrspace(1) nofree readnone captures(none) %3, ptr addrspace(1) nofree readnone captures(none) %4)", "@k", 1), "a function without parameters"},
	{"no kernel", strings.Replace(small, "ptx_kernel ", "", 1), "no kernel of a kind that is known"},
}

func TestWhatIsNotUnderstoodStaysAsItIs(t *testing.T) {
	for _, b := range broken {
		r := Instrument(b.text, Options{})
		if r.Text != b.text || len(r.Sites) != 0 {
			t.Errorf("%s: the text was changed", b.name)
		}
		if !strings.Contains(r.Warning, b.warning) {
			t.Errorf("%s: the warning is %q, want %q in it", b.name, r.Warning, b.warning)
		}
	}
}

// TestVerifyNoticesWhatIsWrong changes an instrumented text in ways that an instrumenter must not.
func TestVerifyNoticesWhatIsWrong(t *testing.T) {
	m, err := read(small)
	if err != nil {
		t.Fatal(err)
	}
	good := Instrument(small, Options{}).Text
	if err := m.verify(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"an instruction is gone":     {"  %12 = add i32 %8, 1, !dbg !10\n", ""},
		"an instruction is changed":  {"fcmp olt", "fcmp ogt"},
		"a name that does not exist": {"i64 %prlx_v0.0, ptr", "i64 %prlx_v99, ptr"},
		"a callee without body":      {"call void @prlx_record_choice(", "call void @prlx_record_switch("},
		"a call before a phi":        {"  %8 = phi", "  call void @prlx_record_decision(ptr addrspace(1) %prlx_entry, i32 0, i1 true, i64 0, ptr addrspace(1) %4)\n  %8 = phi"},
		"a block is renamed":         {"\n.lr.ph:", "\n.lr.pi:"},
		"another function":           {"@k(", "@l("},
		"one parameter less":         {"i32 %1, float %2, ", "i32 %1, "},
		"one parameter more":         {"i32 %1, float %2, ", "i32 %1, float %2, i32 %prlx_more, "},
	} {
		if text := strings.Replace(good, change[0], change[1], 1); text == good {
			t.Errorf("%s: nothing was changed", name)
		} else if m.verify(text) == nil {
			t.Errorf("%s: nobody noticed", name)
		}
	}
}

// corpus yields the files that Triton printed.
func corpus(t testing.TB, visit func(version, name, text string)) {
	t.Helper()
	dir := os.Getenv("PRLX_TEST_DATA")
	if dir == "" {
		dir = "../../../../shared/data"
	}
	files, _ := filepath.Glob(filepath.Join(dir, "llir", "*", "*.before.llir"))
	if len(files) == 0 {
		t.Skip("no LLVM IR under PRLX_TEST_DATA")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		visit(filepath.Base(filepath.Dir(f)), filepath.Base(f), string(text))
	}
}

// withoutHeads leaves out the lines at which functions begin.
func withoutHeads(text string) string {
	var kept []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "define ") && !strings.HasPrefix(line, "attributes #0 ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func TestWhatTritonPrints(t *testing.T) {
	made := 0
	corpus(t, func(version, name, text string) {
		r := Instrument(text, Options{})
		old := version < "3.5" // no profile scratch
		amd := strings.Contains(name, "gfx")
		switch {
		case old && !amd:
			if r.Text != text || !strings.Contains(r.Warning, "scratch") {
				t.Errorf("%s/%s: %s", version, name, r.Warning)
			}
			return
		case old: // a launcher gives it no scratch that it has
			return
		case r.Warning != "" || len(r.Sites) == 0:
			t.Errorf("%s/%s: %d sites; %s", version, name, len(r.Sites), r.Warning)
			return
		}
		made++
		branches, lost := 0, 0
		for i := range r.Sites {
			if r.Sites[i].Kind == site.Branch {
				branches++
			}
			if r.Sites[i].Key == 0 {
				t.Errorf("%s/%s: site %d has no key", version, name, i)
			}
			if r.Sites[i].Chain[0].Line == 0 {
				lost++
			}
		}
		if lost > len(r.Sites)/10 {
			t.Errorf("%s/%s: %d of %d sites have no line", version, name, lost, len(r.Sites))
		}
		if want := strings.Count(text, "\n  br i1 %"); branches != want {
			t.Errorf("%s/%s: %d branches, want %d", version, name, branches, want)
		}
		if withoutHeads(withoutOurs(r.Text)) != withoutHeads(text) {
			t.Errorf("%s/%s: the rest of the text changed", version, name)
		}
	})
	if made < 33 {
		t.Errorf("only %d modules were instrumented", made)
	}
}

func TestTypesOfCompares(t *testing.T) {
	for ty, want := range map[string]warptrace.ValueType{"i32": warptrace.TypeU32, "i64": warptrace.TypeU64, "half": warptrace.TypeF16, "bfloat": warptrace.TypeBF16, "double": warptrace.TypeF64, "ptr addrspace(1)": warptrace.TypePtr} {
		if got := valueType(ty, 36); got != want {
			t.Errorf("%s: %v, want %v", ty, got, want)
		}
		if _, ok := conversion(ty); !ok {
			t.Errorf("%s has no conversion", ty)
		}
	}
	for _, ty := range []string{"<2 x i32>", "i128", "x86_fp80", "", "i", "ix"} {
		if _, ok := conversion(ty); ok {
			t.Errorf("%q has a conversion", ty)
		}
	}
}

func FuzzInstrument(f *testing.F) {
	f.Add(small)
	for _, b := range broken {
		f.Add(b.text)
	}
	for _, body := range microkernels {
		f.Add(micro(body))
	}
	for _, n := range newer {
		f.Add(strings.Replace(small, n.old, n.text, 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := Instrument(text, Options{})
		if len(r.Sites) == 0 && r.Text != text {
			t.Error("the text changed, and no site is there")
		}
		if len(r.Sites) != len(r.Types) {
			t.Error("sites without types")
		}
	})
}

func BenchmarkInstrument(b *testing.B) {
	var texts []string
	n := 0
	corpus(b, func(version, name, text string) {
		if version >= "3.5" && strings.Contains(name, "sm") {
			texts = append(texts, text)
			n += len(text)
		}
	})
	b.SetBytes(int64(n))
	for b.Loop() {
		for _, text := range texts {
			Instrument(text, Options{})
		}
	}
}

// TestKeysDoNotDependOnTheFolder: caches of compilers carry paths of other checkouts.
func TestKeysDoNotDependOnTheFolder(t *testing.T) {
	here := Instrument(small, Options{})
	there := Instrument(strings.NewReplacer(`"/src"`, `"/elsewhere/src"`, `"/lib"`, `"C:\5Clib"`).Replace(small), Options{})
	for i := range here.Sites {
		if a, b := here.Sites[i], there.Sites[i]; a.Key != b.Key || a.Chain[0].File == b.Chain[0].File {
			t.Errorf("site %d: %x in %s, %x in %s", i, a.Key, a.Chain[0].File, b.Key, b.Chain[0].File)
		}
	}
}
