package simulation

import (
	"testing"

	"github.com/prlx-go/prlx/core/kernel/simt"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
	"github.com/prlx-go/prlx/core/kernel/site"
)

func TestScalarsInText(t *testing.T) {
	for _, c := range []struct {
		ty   string
		bits uint64
		want string
	}{
		{"i32", 0xffffffff, "-1"},
		{"u32", 0xffffffff, "4294967295"},
		{"i64", 1 << 63, "-9223372036854775808"},
		{"i8", 0x80, "-128"},
		{"fp32", 0x40200000, "2.5"},
		{"fp64", 0x4004000000000000, "2.5"},
		{"i1", 1, "true"},
		{"bf16", 0x3f80, "0x0000000000003f80"},
	} {
		if got := scalarText(c.ty, c.bits); got != c.want {
			t.Errorf("%s %#x: got %s, want %s", c.ty, c.bits, got, c.want)
		}
	}
}

func TestTheVerdictNamesTheFirstFindingAtTheUsersLineAndCountsTheOthers(t *testing.T) {
	out := simt.Finding{Check: "out-of-bounds", Lanes: 0b101, Where: []site.Frame{
		{File: "/lib/triton/language/standard.py", Line: 9}, {File: "/home/me/kernel.py", Line: 12}, {File: "/home/me/main.py", Line: 3},
	}}
	nowhere := simt.Finding{Check: "race", Where: []site.Frame{{File: "/home/me/kernel.py"}}}
	for want, result := range map[string]*simt.Result{
		"f: no finding":                                          {},
		"f: out-of-bounds at kernel.py:12":                       {Findings: []simt.Finding{out}},
		"f: out-of-bounds at kernel.py:12, and one more finding": {Findings: []simt.Finding{out, nowhere}},
		"f: race, and 5 more findings":                           {Findings: []simt.Finding{nowhere, out}, MoreFindings: 4},
	} {
		doc := Describe(&simt.Launch{Kernel: "f"}, 3, result)
		if doc.Verdict != want || doc.Launch != 3 {
			t.Errorf("got verdict %q of launch %d, want %q of launch 3", doc.Verdict, doc.Launch, want)
		}
		if (doc.Status == "clean") != (len(result.Findings) == 0) {
			t.Errorf("%d findings have status %s", len(result.Findings), doc.Status)
		}
	}
}

func TestAFindingInsideTheLibraryIsReportedAtItsOutermostLine(t *testing.T) {
	at := site.User([]site.Frame{{File: "/x/triton/language/math.py", Line: 4}, {File: "/x/triton/language/core.py", Line: 7}})
	if at == nil || at.Line != 7 {
		t.Errorf("got %v, want line 7", at)
	}
}

func TestTheDigestOfArgumentsChangesWithContentsAndNotWithAddresses(t *testing.T) {
	launch := func(host uint64, content byte, n uint64) *simt.Launch {
		return &simt.Launch{
			Memory: []memory.Allocation{{Name: "x", Host: host, Bytes: []byte{content, 2}}},
			Params: []simt.Argument{
				{Name: "x", Type: "*i8", Bits: host, Allocation: 0},
				{Name: "n", Type: "i32", Bits: n, Allocation: -1},
				{Name: "global_scratch", Type: "*i8", Bits: host, Allocation: -1},
			},
		}
	}
	digest := func(l *simt.Launch) uint64 { return argumentDigest(recordedArguments(l)) }
	same := digest(launch(4096, 1, 7))
	if digest(launch(8192, 1, 7)) != same {
		t.Error("another address changed the digest")
	}
	if digest(launch(4096, 9, 7)) == same || digest(launch(4096, 1, 8)) == same {
		t.Error("another content or another scalar did not change the digest")
	}
	if got := recordedArguments(launch(4096, 1, 7)); len(got) != 2 || got[1].Value != "7" {
		t.Errorf("got arguments %+v, want x and n", got)
	}
}
