package llir

import (
	"strings"
	"testing"
)

// newer are constructs of later LLVMs, or such as nobody has made yet, in the small kernel. What is not touched is copied.
var newer = []struct{ name, old, text string }{
	{"attributes of parameters", "ptr addrspace(1) %0,", "ptr addrspace(1) nofree captures(address, read_provenance) dead_on_return initializes((0, 4)) range(i64 0, 8) %0,"},
	{"attributes of functions", ") local_unnamed_addr #0", ") local_unnamed_addr memory(argmem: readwrite) \"new-kind\"=\"{(<\" #0"},
	{"debug records", "  %12 = add", "    #dbg_value(i32 %8, !6, !DIExpression(DW_OP_plus_uconst, 1), !7)\n    #dbg_declare_value(ptr %0, !6, !DIExpression(), !7)\n  %12 = add"},
	{"flags of getelementptr", "  %12 = add", "  %g = getelementptr inbounds nuw nusw i8, ptr addrspace(1) %0, i64 4, !dbg !9\n  %12 = add"},
	{"flags of compares", "icmp slt i32", "icmp samesign slt i32"},
	{"an unknown instruction", "  %12 = add", "  %u = frobnicate <4 x i32> %8, splat (i32 7), !dbg !9, !new !{i32 1}\n  %12 = add"},
	{"an unknown type", "  %12 = add", "  %u = load target(\"x.y\", 3, i8), ptr addrspace(1) %0, align 4, !dbg !9\n  %12 = add"},
	{"metadata before !dbg", "  %12 = add i32 %8, 1, !dbg !10", "  %12 = add i32 %8, 1, !amdgpu.new !7, !dbg !10, !noalias !{!4}"},
	{"operand bundles", "  %12 = add", "  call void @llvm.assume(i1 true) [ \"align\"(ptr addrspace(1) %0, i64 16), \"x\"(token none) ]\n  %12 = add"},
	{"floats as LLVM 24 prints them", "float 0.000000e+00", "float f0x00000000"},
	{"an unknown top-level thing", "\nattributes #0", "\n^0 = module: (path: \"x\", hash: (0, 0))\ncomdat $c = any\nuselistorder i32 %1, { 1, 0 }\nattributes #0"},
	{"names in quotes", "%12", "%\"12 }\""},
	{"comments", "  %12 = add", "  ; %9 = twice\n; unaligned\n  %12 = add"},
	{"conversions with flags", "  %12 = add", "  %c = zext nneg i32 %8 to i64, !dbg !9\n  %d = trunc nuw nsw i64 %c to i32\n  %12 = add"},
}

func TestWhatNewerCompilersPrintIsCopied(t *testing.T) {
	for _, n := range newer {
		text := strings.ReplaceAll(small, n.old, n.text)
		if text == small {
			t.Errorf("%s: nothing was changed", n.name)
		}
		r := Instrument(text, Options{})
		if r.Warning != "" || len(r.Sites) != 4 {
			t.Errorf("%s: %d sites; %s", n.name, len(r.Sites), r.Warning)
		}
		if got := withoutOurs(r.Text); withoutHeads(got) != withoutHeads(text) {
			t.Errorf("%s: the rest of the text is not what it was:\n%s", n.name, got)
		}
	}
}

// TestDamagedTextsStayAsTheyAre cuts and changes the small kernel everywhere: a text is rewritten, or comes back as it was with one
// warning that says what it was.
func TestDamagedTextsStayAsTheyAre(t *testing.T) {
	check := func(what string, at int, text string) {
		r := Instrument(text, Options{})
		if len(r.Sites) == 0 && r.Text != text {
			t.Fatalf("%s at %d: nothing is recorded, and the text was changed", what, at)
		}
		if r.Text == text && r.Warning == "" && strings.Contains(text, "\n}\n") && strings.Contains(text, "br i1 %7") {
			t.Fatalf("%s at %d: nobody says why nothing is recorded", what, at)
		}
		if strings.ContainsAny(r.Warning, "\n") || strings.Count(r.Warning, "not recorded: ") > 2 {
			t.Fatalf("%s at %d: the warning is %q", what, at, r.Warning)
		}
	}
	for i := range small {
		check("cut", i, small[:i])
		for _, c := range "}%\"(\n\x00" {
			check("changed", i, small[:i]+string(c)+small[i+1:])
		}
		if end := strings.IndexByte(small[i:], '\n'); i == 0 || small[i-1] == '\n' && end >= 0 {
			check("without a line", i, small[:i]+small[i+end+1:])
		}
	}
}
