package llir

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// TestChainsEndWhereMetadataDoes: what leads nowhere, to a node of another kind, or in a circle is left out, and what is known is kept.
func TestChainsEndWhereMetadataDoes(t *testing.T) {
	for name, c := range map[string]struct {
		nodes string // in place of the node of the branch
		want  site.Frame
	}{
		"a location":                   {"!8 = !DILocation(line: 7, column: 12, scope: !4)\n", site.Frame{Function: "k", File: "/src/kernels.py", Line: 7, Column: 12}},
		"a function is no location":    {"!8 = distinct !DISubprogram(name: \"other\", scope: !5, file: !5, line: 5)\n", site.Frame{Function: "k"}},
		"a node that is missing":       {"", site.Frame{Function: "k"}},
		"a block of a missing scope":   {"!8 = !DILocation(line: 7, column: 12, scope: !20)\n!20 = !DILexicalBlock(scope: !99, file: !5, line: 1)\n", site.Frame{File: "/src/kernels.py", Line: 7, Column: 12}},
		"a block without a scope":      {"!8 = !DILocation(line: 7, column: 12, scope: !20)\n!20 = !DILexicalBlock(file: !5, line: 1)\n", site.Frame{File: "/src/kernels.py", Line: 7, Column: 12}},
		"blocks in a circle":           {"!8 = !DILocation(line: 7, column: 12, scope: !20)\n!20 = !DILexicalBlock(scope: !20, file: !5)\n", site.Frame{File: "/src/kernels.py", Line: 7, Column: 12}},
		"a block inside of a function": {"!8 = !DILocation(line: 7, column: 12, scope: !20)\n!20 = !DILexicalBlock(scope: !4, file: !12)\n", site.Frame{Function: "k", File: "/lib/library.py", Line: 7, Column: 12}},
	} {
		text := strings.Replace(small, "!8 = !DILocation(line: 7, column: 12, scope: !4)\n", c.nodes, 1)
		r := Instrument(text, Options{})
		if len(r.Sites) == 0 || r.Sites[0].Kind != site.Branch || r.Sites[0].Chain[0] != c.want {
			t.Errorf("%s: the branch is at %+v, want %+v; %s", name, r.Sites, c.want, r.Warning)
		}
	}
}

func TestNamesInMetadataAreUnescaped(t *testing.T) {
	for escaped, want := range map[string]string{
		`C:\5Csrc\5Ck.py`: `C:\src\k.py`, `a\22b`: `a"b`, `plain`: `plain`, `\C3\A4`: "ä", `a\5`: `a\5`, `a\5G`: `a\5G`, `\zz`: `\zz`, `\5c`: `\`,
	} {
		if got := unescaped(escaped); got != want {
			t.Errorf("%s is %q, want %q", escaped, got, want)
		}
	}
}

// TestKernelsOfAModuleAreLookedAtOneByOne: one that is not wanted, has no scratch parameter or no site keeps nobody from the next.
func TestKernelsOfAModuleAreLookedAtOneByOne(t *testing.T) {
	const attributes = "\nattributes #0"
	second := small[strings.Index(small, "define ptx_kernel"):strings.Index(small, "\n}\n")] + "\n}\n"
	scratch := ", ptr addrspace(1) nofree readnone captures(none) %3, ptr addrspace(1) nofree readnone captures(none) %4"
	for name, c := range map[string]struct {
		first   string
		options Options
	}{
		"not wanted":  {second, Options{Filter: observe.Filter{Kernels: []string{"second"}}}},
		"no scratch":  {strings.Replace(strings.NewReplacer("%5 ]", "%3 ]", "%6", "%4", "%7", "%5").Replace(second), scratch, "", 1), Options{}},
		"without any": {"define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 {\n  ret void\n}\n", Options{}},
	} {
		text := strings.Replace(small, second, c.first, 1)
		text = strings.Replace(text, attributes, "\n"+strings.Replace(second, "@k(", "@second(", 1)+attributes, 1)
		if r := Instrument(text, c.options); r.Functions != 1 || len(r.Sites) != 4 {
			t.Errorf("%s: %d functions record at %d sites, want the second at 4; %s", name, r.Functions, len(r.Sites), r.Warning)
		}
	}
}

// TestEveryCompareHasItsInverse: what holds where another does not.
func TestEveryCompareHasItsInverse(t *testing.T) {
	for name, inverted := range map[string]string{
		"eq": "ne", "ne": "eq", "ugt": "ule", "uge": "ult", "ult": "uge", "ule": "ugt", "sgt": "sle", "sge": "slt", "slt": "sge", "sle": "sgt",
	} {
		r := Instrument(with("  %w = zext i32 %12 to i64\n  %x = icmp "+name+" i64 %w, 5\n  %y = xor i1 %x, true\n  %13 = select i1 %y, i32 1, i32 2\n"), Options{})
		got := ""
		for i := range r.Sites {
			if s := &r.Sites[i]; strings.HasSuffix(s.Text, " i64") {
				got = s.Text
			}
		}
		if got != "icmp "+inverted+" i64" {
			t.Errorf("not %s is %q, want %s; %s", name, got, inverted, r.Warning)
		}
	}
}

func TestFlagsStandBetweenAConversionAndItsMask(t *testing.T) {
	for _, line := range []string{"uitofp nneg i1 %11 to float", "zext nneg i1 %11 to i32", "zext i1 %11 to i32", "sitofp i1 %11 to float"} {
		r := Instrument(with("  %13 = "+line+"\n"), Options{})
		if n := len(r.Sites); n != 4 || r.Sites[2].Text != "fcmp olt float" {
			t.Errorf("%s: %d sites, want 4 with the compare; %s", line, n, r.Warning)
		}
	}
	if r := Instrument(with("  %13 = zext i8 %i1 to i32\n"), Options{}); len(r.Sites) != 3 {
		t.Errorf("a name is taken for a mask: %d sites", len(r.Sites))
	}
}

// TestStoresThatNobodyCanSumAreCounted goes on where TestWhatIsNotSummedIsCounted ends: values of an unknown width, buffers that nobody made here.
func TestStoresThatNobodyCanSumAreCounted(t *testing.T) {
	const buffer = `call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float 1.0, ptr addrspace(8) `
	for instruction, unseen := range map[string]int{
		`call void asm sideeffect "st.global.b32 [ $1 + 0 ], { $0 };", "r,l"(fp128 %2, ptr addrspace(1) %p)`:                  1,
		`call void asm sideeffect "st.global.b32 [ $1 + 0 ], { $0 };", "r,l"(<4 x i32> zeroinitializer, ptr addrspace(1) %p)`: 1,
		`call void asm sideeffect "st.global.b8 [ $1 + 0 ], { $0 };", "r,l"(i1 %4, ptr addrspace(1) %p)`:                      0,
		buffer + `%0, i32 %2, i32 0, i32 0)`:                                                                          1,
		buffer + `%x, i32 %2, i32 0, i32 0)`:                                                                          1,
		buffer + `%p, i32 %2, i32 0, i32 0)`:                                                                          1,
		buffer + `%r, i32 %2, i32 0, i32 0)`:                                                                          0,
		`call void @llvm.nvvm.cp.async.bulk.tensor.s2g.2d(ptr addrspace(3) null, ptr %q, i32 %2)`:                     1,
		`call void @llvm.masked.store.v4f32.p1(<4 x float> zeroinitializer, ptr addrspace(1) %p, i32 4, <4 x i1> %m)`: 1,
		`call void @llvm.amdgcn.global.store.lds(i32 %2)`:                                                             1,
		`call void @llvm.amdgcn.raw.ptr.buffer.atomic.cmpswap.i32(i32 1, i32 %2, ptr addrspace(8) %r, i32 0)`:         1,
		`call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %r, i32 %2, i32 0, i32 0)`:                    0,
		`call i32 @llvm.nvvm.read.ptx.sreg.tid.x()`:                                                                   0,
	} {
		m, err := read(storing(instruction))
		if err != nil {
			t.Fatal(err)
		}
		s := &found{m: m}
		if s.function(m.Functions[0]); s.unseen != unseen {
			t.Errorf("%s: %d, want %d", instruction, s.unseen, unseen)
		}
	}
	short := strings.Replace(storing(buffer+`%r, i32 %2, i32 0, i32 0)`), ", i16 0, i32 2147483646, i32 159744)", ", i16 0)", 1)
	m, err := read(short)
	if err != nil {
		t.Fatal(err)
	}
	s := &found{m: m}
	if s.function(m.Functions[0]); s.unseen != 1 {
		t.Errorf("a buffer without a size: %d, want 1", s.unseen)
	}
}

// TestTypesOfPTXInstructions: the type and how many elements, wherever modifiers stand; what an atomic does by both.
func TestTypesOfPTXInstructions(t *testing.T) {
	for opcode, want := range map[string]struct {
		count     int
		ty        string
		operation uint64
	}{
		"st.global.v4.b32":                       {4, "b32", 0},
		"st.global.v8.f32.L2::evict":             {8, "f32", 0},
		"red.global.add.noftz.f16x2":             {1, "f16x2", 17},
		"atom.global.gpu.relaxed.min.s32":        {1, "s32", 34},
		"atom.global.gpu.relaxed.max.s64":        {1, "s64", 35},
		"atom.global.gpu.relaxed.min.u32":        {1, "u32", 2},
		"atom.global.gpu.relaxed.add.s32":        {1, "s32", 1},
		"atom.global.gpu.relaxed.max.noftz.bf16": {1, "bf16", 19},
		"atom.global.gpu.relaxed.exch.b64":       {1, "b64", 9},
	} {
		mods := strings.Split(opcode, ".")
		count, ty := shapeOf(mods)
		if operation := operationOf(mods, ty); count != want.count || ty != want.ty || operation != want.operation {
			t.Errorf("%s: %d of %s, operation %d; want %+v", opcode, count, ty, operation, want)
		}
	}
}

// TestPointersAreFollowedToTheirArgument: through loops, choices and conversions, and no further than to one argument of the user.
func TestPointersAreFollowedToTheirArgument(t *testing.T) {
	const head = "define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1, i32 %2, i1 %3, ptr addrspace(1) %4, ptr addrspace(1) %5) #0 {\n"
	for name, c := range map[string]struct {
		lines string
		want  int
	}{
		"itself":             {"%x = freeze ptr addrspace(1) %1", 1},
		"a loop":             {"%x = phi ptr addrspace(1) [ %0, %e ], [ %y, %l ]\n  %y = getelementptr i32, ptr addrspace(1) %x, i32 4", 0},
		"a choice of one":    {"%y = getelementptr i32, ptr addrspace(1) %1, i32 4\n  %x = select i1 %3, ptr addrspace(1) %1, ptr addrspace(1) %y", 1},
		"a choice of two":    {"%x = select i1 %3, ptr addrspace(1) %0, ptr addrspace(1) %1", -1},
		"one of two in loop": {"%x = phi ptr addrspace(1) [ %0, %e ], [ %1, %l ]", -1},
		"a number":           {"%x = inttoptr i32 %2 to ptr addrspace(1)", -1},
		"scratch of Triton":  {"%x = getelementptr i8, ptr addrspace(1) %4, i32 4", -1},
		"another space":      {"%x = addrspacecast ptr addrspace(1) %1 to ptr", 1},
	} {
		m, err := read(head + "e:\n  br label %l\n\nl:\n  " + c.lines + "\n  ret void\n}\nattributes #0 = { nounwind }\n")
		if err != nil {
			t.Fatal(name, err)
		}
		if got := m.Functions[0].argumentOf("%x"); got != c.want {
			t.Errorf("%s: argument %d, want %d", name, got, c.want)
		}
	}
}

// TestEventsOfStoresHaveTheTypeOfTheirElement, and the operands of every lane where these are asked for.
func TestEventsOfStoresHaveTheTypeOfTheirElement(t *testing.T) {
	for instruction, want := range map[string]warptrace.ValueType{
		`store float 1.000000e+00, ptr addrspace(1) %0, align 4`:                                           warptrace.TypeF32,
		`store double 1.000000e+00, ptr addrspace(1) %0, align 8`:                                          warptrace.TypeF64,
		`store <4 x half> zeroinitializer, ptr addrspace(1) %p, align 8`:                                   warptrace.TypeF16,
		`store i64 %3, ptr addrspace(1) %0, align 8`:                                                       warptrace.TypeI64,
		`call void asm sideeffect "st.global.b16 [ $1 + 0 ], { $0 };", "r,l"(i32 %2, ptr addrspace(1) %p)`: warptrace.TypeI16,
	} {
		for _, o := range []Options{{}, {Stores: true}, {Stores: true, Values: true}, {Values: true}} {
			r := Instrument(storing(instruction), o)
			if len(r.Types) != 1 {
				t.Fatalf("%s: %d sites; %s", instruction, len(r.Types), r.Warning)
			}
			event, opening := strings.Contains(r.Text, "call void @prlx_record_access("), strings.Contains(r.Text, "@prlx_record_opening_access(")
			ty := warptrace.TypeNone
			if o.Stores {
				ty = want
			}
			if r.Types[0] != ty || event != (o.Stores && !o.Values) || opening != (o.Stores && o.Values) {
				t.Errorf("%s, %+v: type %v, an event: %v, operands: %v", instruction, o, r.Types[0], event, opening)
			}
		}
	}
}

// TestWhatReadsPiecesOfTheTextTakesThemApart: elements of vectors, compares of arguments, values of unsigned compares, accesses that are cut short.
func TestWhatReadsPiecesOfTheTextTakesThemApart(t *testing.T) {
	for ty, want := range map[string]struct {
		element string
		count   int
	}{"<4 x half>": {"half", 4}, "i32": {"i32", 1}, "<a x half>": {"<a x half>", 0}, "<4>": {"<4>", 0}, "<64 x i8>": {"i8", 64}, "<65 x i8>": {"<65 x i8>", 0}} {
		if element, count := elementOf(ty); element != want.element || count != want.count {
			t.Errorf("%s: %d of %s", ty, count, element)
		}
	}
	for _, c := range []struct {
		ty      string
		compare site.Compare
		want    warptrace.ValueType
	}{
		{"i32", 34, warptrace.TypeU32},
		{"i8", 34, warptrace.TypeU8},
		{"i64", 37, warptrace.TypeU64},
		{"i32", 33, warptrace.TypeI32},
		{"i32", 38, warptrace.TypeI32},
		{"i1", 34, warptrace.TypeBool},
		{"float", 34, warptrace.TypeF32},
		{"ptr addrspace(1)", 34, warptrace.TypePtr},
	} {
		if got := valueType(c.ty, c.compare); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	r := Instrument(storing("%7 = select i1 %4, i32 1, i32 2"), Options{}) // by an argument, which nothing in the function makes
	if len(r.Sites) != 1 || r.Sites[0].Compare != site.NoCompare || len(r.Sites[0].Operands) != 1 || r.Sites[0].Operands[0].Origin != site.FromArgument {
		t.Errorf("a choice by an argument: %+v, %s", r.Sites, r.Warning)
	}
	for instruction, unseen := range map[string]int{
		"%7 = atomicrmw add ptr addrspace(1) %p": 1, "%7 = cmpxchg ptr addrspace(1) %p": 1, "%7 = atomicrmw add ptr addrspace(3) null, i32 1 acq_rel, align 4": 0,
		"call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float 1.0, ptr addrspace(8) %r, i32 %2)": 1,
	} {
		m, err := read(storing(instruction))
		if err != nil {
			t.Fatal(err)
		}
		s := &found{m: m}
		if s.function(m.Functions[0]); s.unseen != unseen {
			t.Errorf("%s: %d, want %d", instruction, s.unseen, unseen)
		}
	}
}

// TestAKernelThatRecordsLosesWhatWasConcluded of one that does not: that it frees, synchronises and writes nothing.
func TestAKernelThatRecordsLosesWhatWasConcluded(t *testing.T) {
	concluded := strings.Replace(small, `attributes #0 = { nounwind "nvvm.reqntid"="128" }`, `attributes #0 = { nofree nosync nounwind memory(none) "nvvm.reqntid"="128" }`, 1)
	r := Instrument(concluded, Options{})
	if !strings.Contains(r.Text, `attributes #0 = { nounwind "nvvm.reqntid"="128" }`) || strings.Contains(r.Text, "memory(none)") {
		t.Errorf("%s\n%s", r.Warning, r.Text[max(0, strings.Index(r.Text, "attributes")):])
	}
	helper := strings.Replace(concluded, "\nattributes #0", "\ndefine internal void @h(ptr addrspace(1) %0, ptr addrspace(1) %1) #1 {\n  ret void\n}\n\nattributes #1 = { nofree nounwind }\nattributes #0", 1)
	if r := Instrument(helper, Options{}); !strings.Contains(r.Text, "attributes #1 = { nofree nounwind }") {
		t.Error("a function that records nothing lost attributes")
	}
}

// TestVectorsAreWrittenAsTheNumberOfTheirBits: a value that is a vector is one number, an element of one is taken out first.
func TestVectorsAreWrittenAsTheNumberOfTheirBits(t *testing.T) {
	for value, want := range map[operand]string{
		{"i64", "%3"}: "", {"float", "%3"}: "bitcast float %3 to i32", {"<2 x half>", "%3"}: "bitcast <2 x half> %3 to i32",
		{"half", "%7[2]<4 x half>"}: "extractelement <4 x half> %7, i64 2",
	} {
		l := &lines{number: "0"}
		l.bits(value)
		if made := l.b.String(); !strings.Contains(made, want) || strings.Contains(made, "bitcast i64") || want == "" && made != "" {
			t.Errorf("%v makes %q, want %q", value, made, want)
		}
	}
}
