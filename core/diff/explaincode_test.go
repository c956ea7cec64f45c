package diff

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// kernelText is a kernel of which line 12 loads, line 13 computes and line 14 stores, as its user wrote it.
var kernelText = []string{
	"def k(x, out, n, B: tl.constexpr):",
	"    i = tl.arange(0, B)",
	"    v = tl.load(x + i)",
	"    w = v * 2.0 + 1.0",
	"    tl.store(out + i, w)",
}

const kernelCode = `.version 8.7
.target sm_80
.address_size 64
.visible .entry k(
.param .u64 .ptr .global .align 1 k_param_0,
.param .u64 .ptr .global .align 1 k_param_1
)
{
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
.loc 1 10 1
ld.param.b64 %rd1, [k_param_0];
ld.param.b64 %rd2, [k_param_1];
.loc 1 11 1
mov.u32 %r1, %tid.x;
.loc 1 12 1
mad.wide.u32 %rd3, %r1, 4, %rd1;
ld.global.b32 %r2, [%rd3];
.loc 1 13 1
add.f32 %r3, %r2, %r2;
add.f32 %r4, %r3, 0f3F800000;
.loc 1 14 1
mad.wide.u32 %rd4, %r1, 4, %rd2;
st.global.b32 [%rd4], %r4;
ret;
}
.file 1 "k.py"
`

// textsOf are the texts of a kernel with lines and code replaced: from, to, from, to, ...
func textsOf(replaced ...string) *warptrace.Texts {
	r := strings.NewReplacer(replaced...)
	return &warptrace.Texts{
		Functions: []warptrace.Text{{File: "k.py", Function: "k", FirstLine: 10, Text: r.Replace(strings.Join(kernelText, "\n") + "\n")}},
		Code:      warptrace.Text{Function: "k", Text: r.Replace(kernelCode)},
	}
}

func storing(value float32, texts *warptrace.Texts) run {
	return run{stores: row(0, 4, 0, 0, 32, value), keep: true, texts: texts}
}

func whyOf(t *testing.T, a, b run) (*Explanation, *Result) {
	t.Helper()
	ta, tb := a.open(t, "a.prlx"), b.open(t, "b.prlx")
	r := compared(t, ta, tb, Options{}, 1)
	why, err := Explain(job.New(context.Background(), job.Options{}), r, ta, tb, Options{})
	must(t, err)
	return why, r
}

func TestTheStatementIsNamedWhereEveryWarpWentTheSameWay(t *testing.T) {
	for _, c := range []struct {
		name       string
		a, b       *warptrace.Texts
		line, side string
		class, why string
	}{
		{"another formula", textsOf(), textsOf("v * 2.0", "v * v", "add.f32 %r3", "mul.f32 %r3"), "k.py:k:13:0", "B", classFormula, "it was changed, and computes"},
		{"another address", textsOf(), textsOf("x + i)", "x + 2 * i)", "%r1, 4, %rd1", "%r1, 8, %rd1"), "k.py:k:12:0", "B", classIndex, "it was changed, and computes"},
		{"a changed line without effect", textsOf(), textsOf("tl.arange(0, B)", "tl.arange(0, B + 0)", "v * 2.0", "v * v", "add.f32 %r3", "mul.f32 %r3"), "k.py:k:13:0", "B", classFormula, "it was changed, and computes"},
		{"code alone", &warptrace.Texts{Code: textsOf().Code}, &warptrace.Texts{Code: textsOf("add.f32 %r3", "mul.f32 %r3").Code}, "k.py:k:13:0", "B", classFormula, "its code computes something else"},
	} {
		why, _ := whyOf(t, storing(1, c.a), storing(7, c.b))
		if why == nil || why.Statement == nil || why.Statement.SourceLocation != c.line || why.Statement.Side != c.side || why.Class != c.class ||
			!strings.HasPrefix(why.Statement.Why, c.why) || why.Confidence == confidenceStrong {
			t.Errorf("%s: got %+v, statement %+v", c.name, why, why.Statement)
			continue
		}
		if way := why.Statement.Way; len(way) == 0 || way[len(way)-1] != "k.py:14" {
			t.Errorf("%s: the way is %v", c.name, way)
		}
	}
}

// TestMemoryThatHeldSomethingElse: both builds compute the same, and what the kernel reads and writes began otherwise.
func TestMemoryThatHeldSomethingElse(t *testing.T) {
	a, b := storing(1, textsOf()), storing(7, textsOf())
	a.module, b.module = "ab", "ab"
	a.names, b.names = []string{"x"}, []string{"x"}
	argument := func(digest uint64) []warptrace.Argument {
		return []warptrace.Argument{{Name: "x", Type: "*fp32", Digest: digest}, {Name: "out", Type: "*fp32", Digest: 9}}
	}
	a.arguments, b.arguments = argument(1), argument(2)
	why, _ := whyOf(t, a, b)
	if why.Class != classStale || why.Statement == nil || why.Statement.SourceLocation != "k.py:k:12:0" || !strings.Contains(why.Statement.Why, "first to read x") {
		t.Errorf("got %+v, statement %+v", why, why.Statement)
	}
	b.arguments = argument(1)
	if why, _ = whyOf(t, a, b); why.Class != classUnknown || why.Statement != nil {
		t.Errorf("of the same contents: got %+v, statement %+v", why, why.Statement)
	}
}

func TestCodeThatIsDamagedSaysSo(t *testing.T) {
	for _, code := range []string{"garbage", ".version 8.7\n.target sm_80\n.visible .entry k() {\n", strings.Repeat("@%p bra L;\n", 100)} {
		texts := textsOf()
		texts.Code.Text = code
		why, r := whyOf(t, storing(1, textsOf()), storing(7, texts))
		if why == nil || why.Statement != nil || !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "the code that B holds") }) {
			t.Errorf("%q: got %+v, warnings %q", code, why, r.Warnings)
		}
	}
}

func TestRunsInOtherOrdersSettleARace(t *testing.T) {
	plain := storing(1, textsOf())
	other := storing(7, textsOf())
	for _, c := range []struct {
		name     string
		ofA, ofB []run
		want     int // points of race
		differ   int // of B
	}{
		{"only B depends on the order", []run{plain, plain}, []run{other, plain}, 12, 1},
		{"neither does", []run{plain, plain}, []run{other, other}, -6, 0},
		{"both do", []run{other}, []run{plain}, 3, 1},
	} {
		ta, tb := plain.open(t, "a.prlx"), other.open(t, "b.prlx")
		r := compared(t, ta, tb, Options{}, 1)
		open := func(runs []run) (found []*warptrace.Trace) {
			for _, one := range runs {
				found = append(found, one.open(t, "again.prlx"))
			}
			return found
		}
		must(t, CompareReruns(context.Background(), r, ta, tb, open(c.ofA), open(c.ofB)))
		if got := r.Reruns.Sides[1]; got.Differ != c.differ || got.Orders != len(c.ofB) || got.Others {
			t.Errorf("%s: of B %+v", c.name, got)
		}
		found := ruleReruns(&clues{r: r})
		if len(found) != 1 || found[0].class != race || found[0].points != c.want {
			t.Errorf("%s: got %+v, want %d", c.name, found, c.want)
		}
	}
	changed := plain
	changed.module = "another"
	ta, tb := plain.open(t, "a.prlx"), other.open(t, "b.prlx")
	r := compared(t, ta, tb, Options{}, 1)
	must(t, CompareReruns(context.Background(), r, ta, tb, []*warptrace.Trace{changed.open(t, "again.prlx")}, nil))
	if got := r.Reruns.Sides[0]; got.Orders != 0 || !got.Others || len(ruleReruns(&clues{r: r})) != 0 {
		t.Errorf("a run of another build: %+v", got)
	}
}
