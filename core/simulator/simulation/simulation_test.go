package simulation

import (
	"encoding/binary"
	"testing"

	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

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
		doc := describe(&simt.Launch{Kernel: "f"}, &About{Number: 3}, result)
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
	digest := func(l *simt.Launch) uint64 { return recorder.ArgumentDigest(recordedArguments(l)) }
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

// table is a launch with a table of two pointers into rows that hold some bytes.
func table(at uint64, rows [2]byte, entries ...uint64) *simt.Launch {
	var contents []byte
	for _, e := range entries {
		contents = binary.LittleEndian.AppendUint64(contents, e)
	}
	return &simt.Launch{
		Memory: []memory.Allocation{
			{Name: "table", Host: at, Bytes: contents}, {Name: "a", Host: at + 4096, Bytes: []byte{rows[0], 0}}, {Name: "b", Host: at + 8192, Bytes: []byte{rows[1], 0}},
		},
		Params: []simt.Argument{{Name: "table", Type: "*i64", Bits: at, Allocation: 0}},
	}
}

func TestATableOfPointersIsWhatItsEntriesPointAt(t *testing.T) {
	const at, moved = 0x7f0000000000, 0x7f1000000000
	argument := func(l *simt.Launch) warptrace.Argument { return recordedArguments(l)[0] }
	known := argument(table(at, [2]byte{1, 2}, at+4096, at+8192))
	if known.Points != 2 || known.Digest == 0 {
		t.Fatalf("got %+v, want a table of two", known)
	}
	if again := argument(table(moved, [2]byte{1, 2}, moved+4096, moved+8192)); again.Digest != known.Digest {
		t.Error("other addresses changed what the table says")
	}
	for name, l := range map[string]*simt.Launch{
		"other contents": table(at, [2]byte{1, 3}, at+4096, at+8192),
		"another order":  table(at, [2]byte{1, 2}, at+8192, at+4096),
		"further in":     table(at, [2]byte{1, 2}, at+4097, at+8192),
		"no pointer":     table(at, [2]byte{1, 2}, 0, at+8192),
	} {
		if got := argument(l); got.Points != 2 || got.Digest == known.Digest {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if got := argument(table(at, [2]byte{1, 2}, at+4096, at+1<<30)); got.Points != 2 || got.Digest != 0 {
		t.Errorf("memory that nobody knows: got %+v, want a table of which it is not known what it points at", got)
	}
	if got := argument(table(at, [2]byte{1, 2}, 7, 1_700_000_000_000)); got.Points != 0 || got.Digest == 0 {
		t.Errorf("numbers: got %+v, want contents", got)
	}
}

func TestAnArgumentSaysWhereItsViewBegins(t *testing.T) {
	l := table(0x7f0000000000, [2]byte{1, 2}, 5, 6)
	l.Params[0].Bits += 8
	got := recordedArguments(l)[0]
	if got.Offset != 8 || got.Aligned != 8 {
		t.Errorf("got %+v, want 8 bytes in, aligned to 8", got)
	}
	whole := table(0x7f0000000000, [2]byte{1, 2}, 5, 6)
	if recorder.ArgumentDigest(recordedArguments(whole)) == recorder.ArgumentDigest(recordedArguments(l)) {
		t.Error("a view that begins later has the digest of the whole")
	}
	if got := recordedArguments(whole)[0]; got.Offset != 0 || got.Aligned != warptrace.MostAligned {
		t.Errorf("got %+v", got)
	}
}
