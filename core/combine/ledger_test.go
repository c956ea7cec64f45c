package combine

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/verdict"
)

// kinetoRank is the trace of one of several ranks: a clock that is rank * 3 ms ahead, thirty all-reduces of everyone.
type kinetoRank struct {
	rank, world int
	silent      bool // it does not say its rank
	claims      int  // the rank that it says
	unnumbered  bool // its collectives have no number
	each        int  // how often each is there
}

func (k kinetoRank) text() string {
	var b strings.Builder
	b.WriteString(`{"schemaVersion": 1, `)
	if !k.silent {
		fmt.Fprintf(&b, `"distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d}, `, k.claims, k.world)
	}
	ranks := make([]string, k.world)
	for i := range ranks {
		ranks[i] = fmt.Sprint(i)
	}
	fmt.Fprintf(&b, `"deviceProperties": [], "traceEvents": [{"ph": "M", "name": "process_name", "pid": %d, "tid": 0, "args": {"name": "python"}}`, 1000+k.rank)
	for n := range 30 {
		at := 1_700_000_000_000_000 + n*1000 + k.rank*3000
		seq := fmt.Sprintf(`, "Seq": %d`, n)
		if k.unnumbered {
			seq = ""
		}
		for range max(1, k.each) {
			fmt.Fprintf(&b, `, {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32", "pid": 0, "tid": 7, "ts": %d, "dur": %d, "args": {"device": 0, "stream": 7, "Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[%s]", "In msg nelems": 1024, "dtype": "Float", "Group size": %d%s}}`,
				at+(n*37+k.rank*11)%40, 200-(n*37+k.rank*11)%40, strings.Join(ranks, ", "), k.world, seq)
		}
	}
	b.WriteString("]}")
	return b.String()
}

// writeRanks writes files of a directory.
func writeRanks(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, dir, name, []byte(text))
	}
	return dir
}

func ranksOfJob(world int) map[string]string {
	files := map[string]string{}
	for r := range world {
		files[fmt.Sprintf("rank%d.json", r)] = kinetoRank{rank: r, claims: r, world: world}.text()
	}
	return files
}

// combinedDir combines what a directory holds.
func combinedDir(t *testing.T, dir string) *Document {
	t.Helper()
	f, err := Discover(context.Background(), []Input{{Path: dir}})
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Inputs: f.Traces, Output: filepath.Join(t.TempDir(), "out.json")}
	if err := r.AddClockFiles(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	r.Account(f)
	doc, _, err := Run(job.New(context.Background(), job.Options{Workers: 2}), r)
	if err != nil {
		t.Fatal(err)
	}
	if l := doc.Files; l.Seen != len(l.Used)+len(l.PassedOver) {
		t.Errorf("%d files were seen, %d used and %d passed over", l.Seen, len(l.Used), len(l.PassedOver))
	}
	return doc
}

func utf16Of(text string) string {
	b := []byte{0xff, 0xfe}
	for _, c := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, c)
	}
	return string(b)
}

func TestAWholeJobPasses(t *testing.T) {
	doc := combinedDir(t, writeRanks(t, ranksOfJob(3)))
	if doc.Status != StatusAligned || doc.Conclusion.Outcome != verdict.Passed || *doc.Ranks.Total != 3 || doc.Ranks.Seen != 3 {
		t.Errorf("got %s, %+v, %+v", doc.Status, doc.Conclusion, doc.Ranks)
	}
}

// TestWhatStandsInThePlaceOfATraceIsNoSilentLoss: whatever a rank's file has become, it is used, or named as lost.
func TestWhatStandsInThePlaceOfATraceIsNoSilentLoss(t *testing.T) {
	whole := kinetoRank{rank: 1, claims: 1, world: 3}.text()
	for _, c := range []struct {
		what, name, text string
		why              string // "": it is used
	}{
		{"a NUL in a name", "rank1.json", strings.Replace(whole, "AllReduce_Sum", "AllReduce\x00Sum", 1), ""},
		{"no UTF-8", "rank1.json", strings.Replace(whole, "python", "pyth\xffon", 1), ""},
		{"UTF-16", "rank1.json", utf16Of(whole), "text in UTF-16"},
		{"empty", "rank1.json", "", "empty"},
		{"cut in front of its events", "rank1.json", `{"deviceProperties": [`, "damaged: "},
		{"zeroes", "rank1.json", strings.Repeat("\x00", 5000), "a binary file"},
		{"an error instead", "rank1.json", "<html>403</html>", "text of a format"},
		{"no list of events", "rank1.json", `{"rank": 1}`, "JSON, but not a trace"},
		{"another ending", "rank1.json.tmp", whole[:900] + "\x00\x00", ""},
		{"a trace that prlx does not read", "rank1.pftrace", "\x0a\x06\x08\x01\x50\x01\xc0\x01\x00", ""},
		{"first keys that are long", "rank1.json", strings.Replace(whole, `"deviceProperties": []`, `"long": "`+strings.Repeat("x", 70_000)+`"`, 1), ""},
	} {
		files := ranksOfJob(3)
		delete(files, "rank1.json")
		files[c.name] = c.text
		dir := writeRanks(t, files)
		f, err := Discover(t.Context(), []Input{{Path: dir}})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		taken := slices.ContainsFunc(f.Traces, func(in Input) bool { return filepath.Base(in.Path) == c.name })
		if c.why == "" && taken && c.name == "rank1.json" {
			if doc := combinedDir(t, dir); doc.Conclusion.Outcome != verdict.Passed || len(doc.Nodes) != 3 {
				t.Errorf("%s: it is used, and %d nodes come to %+v", c.what, len(doc.Nodes), doc.Conclusion)
			}
			continue
		}
		if taken { // its reader refuses it, which names it
			continue
		}
		doc := combinedDir(t, dir)
		lost := doc.Files.lost()
		if len(lost) != 1 || lost[0].Path != c.name || !strings.HasPrefix(lost[0].Why, c.why) {
			t.Errorf("%s: lost is %+v, want %s because it is %q", c.what, lost, c.name, c.why)
		}
		if doc.Status != StatusDegraded || doc.Conclusion.Outcome != verdict.Inconclusive || !strings.Contains(doc.Verdict, "passed over: "+c.name) {
			t.Errorf("%s: %s, %+v", c.what, doc.Verdict, doc.Conclusion)
		}
	}
}

// TestWhatBelongsBesideTracesIsNoLoss: notes, programs, settings, outputs of prlx, clock files.
func TestWhatBelongsBesideTracesIsNoLoss(t *testing.T) {
	files := ranksOfJob(2)
	for name, text := range map[string]string{
		"README.md": "what was recorded\n", "train.py": "import torch\n", "config.json": `{"lr": 0.1}`, "log.jsonl": "{\"step\": 1}\n{\"step\": 2}\n", "list.json": `[{"a": 1}]`,
		".hidden": "x", "empty.txt": "", "weights.bin": "\x00\x01\x02\x03", "rank0.html": "<html></html>", "merged.json": "{}", "checkpoints/step100.bin": "\x00",
		"out.json": "{\"traceEvents\": [{\"ph\": \"i\", \"ts\": 1700000000000000, \"pid\": 1, \"tid\": 1}]}", "out.json.alignment.json": `{"schema": "prlx.combine/1"}`,
	} {
		files[name] = text
	}
	doc := combinedDir(t, writeRanks(t, files))
	if lost := doc.Files.lost(); len(lost) > 0 || doc.Conclusion.Outcome != verdict.Passed {
		t.Errorf("lost is %+v, the conclusion %+v", lost, doc.Conclusion)
	}
	var over []string
	for _, p := range doc.Files.PassedOver {
		over = append(over, p.Path)
	}
	slices.Sort(over)
	if want := ".hidden README.md checkpoints config.json empty.txt list.json log.jsonl merged.json out.json out.json.alignment.json rank0.html train.py weights.bin"; strings.Join(over, " ") != want {
		t.Errorf("passed over: %q\nwant %q", strings.Join(over, " "), want)
	}
}

// TestANodeWithoutATraceIsNamed: of directories that differ in their numbers alone, one holds nothing.
func TestANodeWithoutATraceIsNamed(t *testing.T) {
	files := map[string]string{"node2/notes.txt": "nothing\n"}
	for r := range 2 {
		files[fmt.Sprintf("node%d/t.json", r)] = kinetoRank{rank: r, silent: true, world: 3}.text()
	}
	doc := combinedDir(t, writeRanks(t, files))
	if lost := doc.Files.lost(); len(lost) != 1 || lost[0].Path != "node2" || doc.Conclusion.Outcome != verdict.Inconclusive {
		t.Errorf("lost is %+v", lost)
	}
}

func TestAMissingRankIsNamed(t *testing.T) {
	files := ranksOfJob(4)
	delete(files, "rank2.json")
	doc := combinedDir(t, writeRanks(t, files))
	if doc.Conclusion.Outcome != verdict.Inconclusive || !strings.Contains(doc.Verdict, "3 of 4 ranks have a trace, rank 2 has none") || !slices.Equal(doc.Ranks.Missing, []int64{2}) {
		t.Errorf("got %s, %+v, %+v", doc.Verdict, doc.Conclusion, doc.Ranks)
	}
}

// TestRanksComeFromNamesWhereTracesAreSilent: and what contradicts is named.
func TestRanksComeFromNamesWhereTracesAreSilent(t *testing.T) {
	said := func(rank int) string { return kinetoRank{rank: rank, claims: rank, world: 3}.text() }
	silent := func(rank int) string { return kinetoRank{rank: rank, silent: true, world: 3}.text() }
	claims := func(rank, claim int) string { return kinetoRank{rank: rank, claims: claim, world: 3}.text() }
	for _, c := range []struct {
		what  string
		files map[string]string
		says  string // of node 1
		ranks string
	}{
		{"one is silent", map[string]string{"rank0.json": said(0), "rank1.json": silent(1), "rank2.json": said(2)}, "the trace does not say its rank (distributedInfo is missing): by its name it is rank 1", "0 1 2"},
		{"all are silent", map[string]string{"rank0.json": silent(0), "rank1.json": silent(1), "rank2.json": silent(2)}, "by its name it is rank 1", "0 1 2"},
		{"another word, confirmed", map[string]string{"worker0.json": said(0), "worker1.json": silent(1), "worker2.json": said(2)}, "by its name it is rank 1", "0 1 2"},
		{"two say the same", map[string]string{"rank0.json": said(0), "rank1.json": claims(1, 0), "rank2.json": said(2)}, "the trace says rank 0, and so does that of rank0.json; its name says rank 1, which is taken", "0 1 2"},
		{"names that contradict", map[string]string{"rank0.json": claims(0, 1), "rank1.json": claims(1, 0), "rank2.json": said(2)}, "its name says rank 1, and the trace says rank 0, which is taken", "1 0 2"},
	} {
		doc := combinedDir(t, writeRanks(t, c.files))
		var ranks []string
		for _, n := range doc.Nodes {
			if n.Rank == nil {
				ranks = append(ranks, "-")
			} else {
				ranks = append(ranks, fmt.Sprint(*n.Rank))
			}
		}
		if got := strings.Join(ranks, " "); got != c.ranks {
			t.Errorf("%s: ranks %s, want %s", c.what, got, c.ranks)
		}
		if w := strings.Join(doc.Nodes[1].Warnings, "\n"); !strings.Contains(w, c.says) {
			t.Errorf("%s: the warnings are %q, want %q", c.what, w, c.says)
		}
		if doc.Status != StatusAligned || doc.Collectives.Unmatched > 0 {
			t.Errorf("%s: %s, %d unmatched", c.what, doc.Status, doc.Collectives.Unmatched)
		}
	}
}

// TestOneOddRankDoesNotCostTheOthersTheirClocks: records that are there twice, have no number, or are of a trace whose rank nobody knows.
func TestOneOddRankDoesNotCostTheOthersTheirClocks(t *testing.T) {
	for what, odd := range map[string]kinetoRank{
		"records twice":  {rank: 2, claims: 2, world: 4, each: 2},
		"unnumbered":     {rank: 2, claims: 2, world: 4, unnumbered: true},
		"another's rank": {rank: 2, claims: 3, world: 4},
	} {
		files := map[string]string{}
		for r := range 4 {
			k := kinetoRank{rank: r, claims: r, world: 4}
			if r == odd.rank {
				k = odd
			}
			files[fmt.Sprintf("node%d.json", r)] = k.text()
		}
		doc := combinedDir(t, writeRanks(t, files))
		if m := doc.Nodes[1].Method; m != methodCollectives {
			t.Errorf("%s: the clock of a rank like any other rests on %s", what, m)
		}
		if what == "records twice" && doc.Nodes[2].Method != methodCollectives {
			t.Errorf("%s: the same records twice are no worse than once, but the clock rests on %s", what, doc.Nodes[2].Method)
		}
	}
}

func TestStems(t *testing.T) {
	for path, want := range map[string]string{
		"a/rank1.json": "a/rank1", "rank1.pt.trace.json.gz": "rank1", "t.xplane.pb": "t", "rank1.json.tmp": "rank1", ".json": ".json", "x.1.json": "x.1",
	} {
		if got := stem(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if got := commonDir([]string{"/a/b/c", "/a/b/d", "-"}); got != "/a/b" {
		t.Errorf("got %s", got)
	}
}

// TestAMessageSaysWhichMetadataIsMissing: of traces that nothing relates.
func TestAMessageSaysWhichMetadataIsMissing(t *testing.T) {
	group := func(k kinetoRank) string { // the ranks of the group are not written beside its kernels
		return strings.ReplaceAll(k.text(), `"Process Group Ranks": "[0, 1, 2]", `, "")
	}
	doc := combinedDir(t, writeRanks(t, map[string]string{
		"a.json": group(kinetoRank{rank: 0, silent: true, world: 3, unnumbered: true}),
		"b.json": strings.Replace(group(kinetoRank{rank: 1, silent: true, world: 3, unnumbered: true}), "ncclDevKernel", "other", 1),
	}))
	if said := strings.Join(doc.Warnings, "\n"); !strings.Contains(said, "distributedInfo, which says the rank, is missing") || !strings.Contains(said, "executions of group 0/allreduce: ") {
		t.Errorf("the warnings are %q", said)
	}
}

// TestValidatingSaysWhatNobodyHasBounded: a bound is null where nobody has bounded a clock, and nothing passes of traces without dates.
func TestValidatingSaysWhatNobodyHasBounded(t *testing.T) {
	judge := func(dir string) *ValidateDocument {
		f, err := Discover(t.Context(), []Input{{Path: dir}})
		if err != nil {
			t.Fatal(err)
		}
		r := ValidateRequest{Request: Request{Inputs: f.Traces}}
		r.Account(f)
		doc, err := Validate(job.New(context.Background(), job.Options{Workers: 2}), r)
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	raw := judge(writeRanks(t, ranksOfJob(2)))
	if raw.Conclusion.Outcome != verdict.Failed || len(raw.Worst) == 0 || raw.Worst[0].BoundNS != nil {
		t.Errorf("as recorded: %+v, worst %+v", raw.Conclusion, raw.Worst)
	}
	undated := map[string]string{}
	for name, text := range ranksOfJob(2) {
		undated[name] = strings.ReplaceAll(strings.ReplaceAll(text, `"ts": 1700000000`, `"ts": 1`), `"ts": 17000000`, `"ts": 1`)
	}
	if doc := judge(writeRanks(t, undated)); doc.Conclusion.Outcome == verdict.Passed || doc.Passed != nil && *doc.Passed {
		t.Errorf("without dates: %+v", doc.Conclusion)
	}
}
