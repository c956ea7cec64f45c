package api

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/diagnosing"
	"github.com/prlx-go/prlx/core/nccl/flightrecorder"
	"github.com/prlx-go/prlx/core/nccl/gathering"
	"github.com/prlx-go/prlx/core/testing/nccltest"
	"github.com/prlx-go/prlx/core/verdict"
)

// damageSeed draws the damages; it stood here before the first run.
const damageSeed = 20261127

// damages is how many are tried a command: 50, or as many as PRLX_NCCL_DAMAGES says.
func damages(t *testing.T) int {
	text := os.Getenv("PRLX_NCCL_DAMAGES")
	if text == "" {
		return 50
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// kindsOfDamage are what happens to one file of a folder. Flipped bits stand last: formats without checksums leave them out.
var kindsOfDamage = []string{"cut", "zeroed", "missing", "foreign file", "older job", "flipped"}

// folder is a job with a known answer: its files, in their order.
type folder struct {
	name    string
	files   map[string][]byte
	culprit []string // names of files that the answer rests on
	answer  answered
	circle  string // of a deadlock: the rank that calls in another order, who waits with any of the others
}

// same reports whether an answer is the one that the whole folder gets.
func (f *folder) same(got answered, kind string) bool {
	if f.circle != "" && got.Outcome == verdict.Failed {
		return strings.HasPrefix(got.Says, diagnosing.ClassDeadlock) && slices.Contains(strings.FieldsFunc(got.Says, func(r rune) bool { return r < '0' || r > '9' }), f.circle)
	}
	if got.Outcome != f.answer.Outcome || got.Says != f.answer.Says {
		return false
	}
	return got.Outcome == verdict.Failed || got.Records == f.answer.Records || kind == "older job" // which collect brings, too
}

func (f *folder) names() []string {
	out := make([]string, 0, len(f.files))
	for name := range f.files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// answered is what a command says, in so far as it can be right or wrong.
type answered struct {
	Outcome verdict.Outcome
	Says    string // whom it names, for what
	Records int    // that it rests on
}

// damaged is a folder with one file damaged.
type damaged struct {
	dir, kind, file, what string
	mildly                bool // what the answer rests on is whole
}

// damage writes a folder with one damage.
func damage(t *testing.T, rnd *rand.Rand, f *folder, kind string, older [][]byte) damaged {
	t.Helper()
	names := f.names()
	d := damaged{dir: t.TempDir(), kind: kind, file: names[rnd.IntN(len(names))]}
	whole := f.files[d.file]
	b := slices.Clone(whole)
	d.mildly = len(f.culprit) > 0 && !slices.Contains(f.culprit, d.file)
	switch kind {
	case "cut":
		n := rnd.IntN(len(b))
		b, d.what = b[:n], fmt.Sprintf("at byte %d of %d", n, len(b))
	case "zeroed":
		size := 1 << (6 + rnd.IntN(12))
		at := rnd.IntN(max(1, len(b)-size/2))
		if rnd.IntN(2) == 0 {
			at -= at % 512
		}
		clear(b[at:min(at+size, len(b))])
		d.what = fmt.Sprintf("%d bytes from %d on, of %d", size, at, len(b))
	case "flipped":
		for range 1 + rnd.IntN(3) {
			at := rnd.IntN(len(b))
			for b[at] == 0 && rnd.IntN(8) > 0 { // mostly where something stands
				at = rnd.IntN(len(b))
			}
			b[at] ^= 1 << rnd.IntN(8)
			d.what += fmt.Sprintf(" byte %d", at)
		}
	case "missing":
		b = nil
	case "foreign file":
		d.mildly = true
		other := [][]byte{[]byte("hello\n"), make([]byte, 5000), []byte(`{"traceEvents":[]}`), append([]byte("PRLXNCCL\x01\x00\x00\x00"), make([]byte, 9000)...)}[rnd.IntN(4)]
		writeFile(t, d.dir, "other"+filepath.Ext(d.file), other)
	case "older job":
		d.mildly = true
		for i, o := range older {
			writeFile(t, d.dir, fmt.Sprintf("old-%d%s", i, filepath.Ext(d.file)), o)
		}
	}
	d.mildly = d.mildly || b != nil && bytes.Equal(append(slices.Clone(b), make([]byte, len(whole)-len(b))...), whole) // zeros that nobody wrote are gone, or zeros
	for _, name := range names {
		switch {
		case name != d.file:
			writeFile(t, d.dir, name, f.files[name])
		case b != nil:
			writeFile(t, d.dir, name, b)
		}
	}
	return d
}

func writeFile(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// operate runs an operation and takes its document apart; refused: it gave none.
func operate[T any](t *testing.T, name string, request map[string]any) (doc *T, refused bool) {
	t.Helper()
	b, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := operations()[name](job.New(t.Context(), job.Options{}), b)
	if err != nil {
		if fault.Of(err).Kind == fault.Internal {
			t.Fatalf("%s: %v", name, err)
		}
		return nil, true
	}
	doc = new(T)
	if err := json.Unmarshal(reply, doc); err != nil {
		t.Fatal(err)
	}
	return doc, false
}

func askDiagnose(t *testing.T, dir string) (answered, bool) {
	d, refused := operate[diagnosing.Document](t, "nccl_diagnose", map[string]any{"inputs": []string{dir}})
	if refused {
		return answered{}, true
	}
	a := answered{Outcome: d.Conclusion.Outcome}
	for i := range d.Recordings {
		a.Records += d.Recordings[i].Records
	}
	if a.Outcome == verdict.Failed {
		f := &d.Findings[0]
		a.Says = fmt.Sprint(f.Class, f.Ranks, f.Stage)
	}
	return a, false
}

func askCollect(t *testing.T, dir string) (answered, bool) {
	d, refused := operate[gathering.Document](t, "nccl_collect", map[string]any{"inputs": []string{dir}, "output": filepath.Join(t.TempDir(), "out")})
	if refused {
		return answered{}, true
	}
	a := answered{Outcome: d.Conclusion.Outcome}
	if a.Outcome == verdict.Failed { // it says that a file is damaged or none of ours, which is so
		a.Outcome = verdict.Inconclusive
	}
	for i := range d.Files {
		for _, n := range d.Files[i].Calls {
			a.Records += n
		}
	}
	return a, false
}

func askMerge(t *testing.T, dir string) (answered, bool) {
	d, refused := operate[NCCLMergeDocument](t, "nccl_merge", map[string]any{"inputs": []string{dir}, "output": filepath.Join(t.TempDir(), "out.json")})
	if refused {
		return answered{}, true
	}
	return answered{Outcome: d.Conclusion.Outcome, Records: d.Slices, Says: fmt.Sprint(d.Flows, d.Ranks)}, false
}

func askFlight(t *testing.T, dir string) (answered, bool) {
	d, refused := operate[flightrecorder.Document](t, "nccl_flight", map[string]any{"inputs": []string{dir}})
	if refused {
		return answered{}, true
	}
	a := answered{Outcome: d.Conclusion.Outcome, Records: d.Entries}
	if a.Outcome == verdict.Failed {
		f := &d.Findings[0]
		a.Says = fmt.Sprint(f.Class, f.Ranks, f.Operation, f.Sequence)
		a.Records = 0
	}
	return a, false
}

// tally counts what became of answers.
type tally struct{ tried, wrong, refused, open, right, whole, kept int }

// try damages folders and compares answers.
func try(t *testing.T, command string, folders []*folder, kinds []string, older [][]byte, ask func(*testing.T, string) (answered, bool)) {
	for _, f := range folders {
		d := damaged{dir: t.TempDir()}
		for name, b := range f.files {
			writeFile(t, d.dir, name, b)
		}
		a, refused := ask(t, d.dir)
		if refused || a.Outcome == verdict.Inconclusive {
			t.Fatalf("%s of %s: %+v, refused %v", command, f.name, a, refused)
		}
		f.answer = a
	}
	var n tally
	by := map[string]*tally{}
	for i := range damages(t) {
		rnd := rand.New(rand.NewPCG(damageSeed, uint64(i)))
		f := folders[rnd.IntN(len(folders))]
		t.Run("", func(t *testing.T) {
			d := damage(t, rnd, f, kinds[rnd.IntN(len(kinds))], older)
			got, refused := ask(t, d.dir)
			if by[d.kind] == nil {
				by[d.kind] = &tally{}
			}
			same := !refused && f.same(got, d.kind)
			whole := d.mildly && !(command == "collect" && d.kind == "foreign file") // which is found wrong by who brings it
			for _, n := range []*tally{&n, by[d.kind]} {
				n.tried++
				switch {
				case refused:
					n.refused++
				case got.Outcome == verdict.Inconclusive:
					n.open++
				case same:
					n.right++
				default:
					n.wrong++
				}
				if whole {
					n.whole++
					if same {
						n.kept++
					}
				}
			}
			if !refused && got.Outcome != verdict.Inconclusive && !same {
				t.Errorf("%s, %s of %s %s: %+v, where it was %+v", f.name, d.kind, d.file, d.what, got, f.answer)
			}
		})
	}
	for _, kind := range kinds {
		if k := by[kind]; k != nil {
			t.Logf("%-8s %-12s %4d damages: %3d silently wrong, %4d refused, %4d inconclusive, %4d right; of %4d that leave the evidence whole %4d keep the answer", command, kind, k.tried, k.wrong, k.refused, k.open, k.right, k.whole, k.kept)
		}
	}
	t.Logf("%-8s %-12s %4d damages: %3d silently wrong, %4d refused, %4d inconclusive, %4d right; of %4d that leave the evidence whole %4d keep the answer", command, "all", n.tried, n.wrong, n.refused, n.open, n.right, n.whole, n.kept)
	if n.kept*100 < n.whole*60 {
		t.Errorf("%s: of %d damages that leave the evidence whole %d keep the answer, expected 60 %%", command, n.whole, n.kept)
	}
}

// ncclFolders are simulated jobs: hangs of which it is known whom they wait for, and jobs that run well. Which ones is drawn by the seed.
func ncclFolders(t *testing.T, unchecked bool) (hangs, healthy []*folder, older [][]byte) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(damageSeed, 0))
	for _, fault := range []nccltest.Fault{nccltest.Missing, nccltest.Died, nccltest.WrongCount, nccltest.WrongCall, nccltest.Deadlock, nccltest.HangSend, nccltest.HangRecv, nccltest.HangSendGPU, nccltest.HangFlush, nccltest.Healthy, nccltest.Healthy} {
		p := nccltest.Plan{
			Seed: rnd.Uint64N(1000), Ranks: 4 + 2*rnd.IntN(3), PerHost: 1, Channels: 1 + rnd.IntN(2), Steps: 8, Ops: 40, Level: 3, ComputeNS: 3e6, Jitter: 0.03, Uneven: 0.02, TailNS: 20_000_000_000, Fault: fault,
		}
		p.Rank, p.At = rnd.IntN(p.Ranks), 20+rnd.IntN(8)
		if fault == nccltest.Healthy || fault == nccltest.WrongCount {
			p.TailNS = 1_000_000_000
		}
		f := &folder{name: fmt.Sprintf("%v at rank %d of %d", fault, p.Rank, p.Ranks), files: map[string][]byte{}}
		for rank, file := range nccltest.Simulate(p) {
			file.Unchecked = unchecked
			f.files[fmt.Sprintf("node%d-%d.prlx-nccl", rank, 1000+rank)] = file.Bytes()
		}
		if fault == nccltest.Healthy {
			healthy = append(healthy, f)
			continue
		}
		d := t.TempDir()
		for name, b := range f.files {
			writeFile(t, d, name, b)
		}
		doc, refused := operate[diagnosing.Document](t, "nccl_diagnose", map[string]any{"inputs": []string{d}})
		if refused || doc.Status != diagnosing.StatusCulprit || !slices.Contains(doc.Findings[0].Ranks, strconv.Itoa(p.Rank)) {
			t.Fatalf("%s: %+v", f.name, doc)
		}
		for _, r := range append(doc.Findings[0].Ranks, doc.Findings[0].Peer) {
			if rank, err := strconv.Atoi(r); err == nil {
				f.culprit = append(f.culprit, fmt.Sprintf("node%d-%d.prlx-nccl", rank, 1000+rank))
			}
		}
		if fault == nccltest.Deadlock {
			f.circle = strconv.Itoa(p.Rank)
		}
		hangs = append(hangs, f)
	}
	for _, file := range nccltest.Simulate(nccltest.Plan{Seed: 3, Ranks: 4, PerHost: 1, Channels: 1, Steps: 8, Ops: 30, Level: 3, ComputeNS: 3e6, Jitter: 0.03, TailNS: 20_000_000_000, Fault: nccltest.Died, Rank: 1, At: 20}) {
		file.Before(3600_000_000_000)
		older = append(older, file.Bytes())
	}
	return hangs, healthy, older
}

// TestADamagedFileNamesNobodyWrongly damages one file of a job whose answer is known, again and again: the answer is the same, inconclusive or a refusal.
func TestADamagedFileNamesNobodyWrongly(t *testing.T) {
	hangs, healthy, older := ncclFolders(t, false)
	t.Run("diagnose", func(t *testing.T) {
		try(t, "diagnose", slices.Concat(hangs, healthy), kindsOfDamage, older, askDiagnose)
	})
	t.Run("diagnose of recordings without checksums", func(t *testing.T) {
		hangs, healthy, older := ncclFolders(t, true)
		try(t, "unchecked", slices.Concat(hangs, healthy), kindsOfDamage[:len(kindsOfDamage)-1], older, askDiagnose)
	})
	t.Run("collect", func(t *testing.T) { try(t, "collect", healthy, kindsOfDamage, older, askCollect) })
	t.Run("merge", func(t *testing.T) { try(t, "merge", healthy, kindsOfDamage, older, askMerge) })
	t.Run("flight", func(t *testing.T) {
		folders, older := flightFolders(t)
		try(t, "flight", folders, kindsOfDamage[:len(kindsOfDamage)-1], older, askFlight)
	})
}

// flightFolders are dumps of ranks of which it is known who is missing, pickled and JSON.
func flightFolders(t *testing.T) (out []*folder, older [][]byte) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(damageSeed, 1))
	for _, what := range []string{"missing", "mismatch", "restarted", "well"} {
		for _, pickled := range []bool{false, true} {
			ranks := 4 + rnd.IntN(3)
			bad := rnd.IntN(ranks)
			f := &folder{name: fmt.Sprintf("%s at rank %d of %d", what, bad, ranks), files: map[string][]byte{}}
			for rank := range ranks {
				name := fmt.Sprintf("nccl_trace_rank_%d", rank)
				calls, op, first := 40, "nccl:all_reduce", int64(1e18)
				if rank == bad {
					switch what {
					case "missing":
						calls = 30
					case "mismatch":
						op = "nccl:all_gather"
					case "restarted":
						calls, first = 3, first+1e12
					}
					if what != "well" {
						f.culprit = append(f.culprit, name)
					}
				}
				f.files[name] = flightDump(ranks, calls, op, first, what != "well", pickled)
			}
			out = append(out, f)
		}
	}
	return out, [][]byte{flightDump(4, 12, "nccl:all_reduce", 1e17, true, false)}
}

// flightDump is a dump of a rank.
func flightDump(ranks, calls int, op string, firstNS int64, hangs, pickled bool) []byte {
	members := make([]string, ranks)
	for i := range members {
		members[i] = strconv.Itoa(i)
	}
	entries := []any{}
	for n := range calls {
		state, name := "completed", "nccl:all_reduce"
		if n == calls-1 {
			name = op
			if hangs {
				state = "started"
			}
		}
		entries = append(entries, map[string]any{
			"record_id": n, "process_group": []any{"0", "default_pg"}, "collective_seq_id": n + 1, "p2p_seq_id": 0, "op_id": n + 1, "profiling_name": name,
			"time_created_ns": firstNS + int64(n)*1e7, "input_sizes": []any{[]any{1024}}, "output_sizes": []any{[]any{1024}}, "input_dtypes": []any{"Float"}, "output_dtypes": []any{"Float"},
			"state": state, "retired": state == "completed", "is_p2p": false, "frames": []any{map[string]any{"name": "step", "filename": "train.py", "line": 7}},
		})
	}
	top := map[string]any{"version": "2.10", "pg_config": map[string]any{"0": map[string]any{"name": "0", "desc": "default_pg", "ranks": "[" + strings.Join(members, ", ") + "]"}}, "entries": entries}
	if pickled {
		return append(pickle([]byte{0x80, 2}, top), '.')
	}
	b, _ := json.Marshal(top)
	return b
}

// pickle writes a value as Python's protocol 2 does.
func pickle(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		b = append(b, '}', '(')
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			b = pickle(pickle(b, k), v[k])
		}
		return append(b, 'u')
	case []any:
		b = append(b, ']', '(')
		for _, one := range v {
			b = pickle(b, one)
		}
		return append(b, 'e')
	case string:
		return append(binary.LittleEndian.AppendUint32(append(b, 'X'), uint32(len(v))), v...)
	case bool:
		if v {
			return append(b, 0x88)
		}
		return append(b, 0x89)
	case int:
		return pickle(b, int64(v))
	case int64:
		return binary.LittleEndian.AppendUint64(append(b, 0x8a, 8), uint64(v))
	}
	return append(b, 'N')
}

// TestAMergedJobMayLackRanks: a rank without a recording, an empty file, several ranks of a process.
func TestAMergedJobMayLackRanks(t *testing.T) {
	merge := func(dir, name string) *NCCLMergeDocument {
		d, err := merged(t, map[string]any{"inputs": []string{dir}, "output": filepath.Join(t.TempDir(), name)})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, name := range []string{"out.json", "out.xplane.pb"} {
		dir := ncclJob(t, 20)
		if d := merge(dir, name); d.Conclusion.Outcome != verdict.Passed || d.Ranks != 2 {
			t.Errorf("%s: %+v", name, d.Conclusion)
		}
		writeFile(t, dir, "empty.prlx-nccl", nil)
		if d := merge(dir, name); d.Conclusion.Outcome != verdict.Passed || len(d.Warnings) != 1 {
			t.Errorf("%s: an empty file where no rank is missing: %+v, %q", name, d.Conclusion, d.Warnings)
		}
		if err := os.Remove(filepath.Join(dir, "node1-501-aa.prlx-nccl")); err != nil {
			t.Fatal(err)
		}
		if d := merge(dir, name); d.Conclusion.Outcome != verdict.Inconclusive || d.Ranks != 1 || !strings.Contains(d.Conclusion.Why, "recording of rank 1") {
			t.Errorf("%s: one rank missing: %+v", name, d.Conclusion)
		}
		several, f := t.TempDir(), nccltest.NewFile("h", 5)
		f.Level, f.WallNS, f.Heartbeat = 2, 1_795_000_000_000_000_000, 2e9
		seats := []int{f.Comm(7, "w", 1, 3, 0, 1e9), f.Comm(7, "w", 1, 3, 1, 1e9)}
		user := f.Thread()
		for i := range int64(5) {
			for _, c := range seats {
				op := user.Coll(1e9+i*1e6, c, 0, nccltest.Collective{Func: "AllReduce", Datatype: "ncclFloat32", Algorithm: "RING", Protocol: "SIMPLE", Sequence: uint64(i), Count: 1024, Channels: 1})
				user.KernelStop(1e9+i*1e6+9000, user.Kernel(1e9+i*1e6+1000, c, op, 0, 0), 0)
			}
		}
		f.Write(t, filepath.Join(several, "a.prlx-nccl"))
		if d := merge(several, name); d.Ranks != 2 || d.Slices != 20 || !strings.Contains(d.Conclusion.Why, "recording of rank 2") {
			t.Errorf("%s: several ranks of a process: %d ranks, %d slices, %+v", name, d.Ranks, d.Slices, d.Conclusion)
		}
	}
}

// TestLeftoversOfAnOldJobBlameNobody: one of its ranks died, and the job that runs now is another.
func TestLeftoversOfAnOldJobBlameNobody(t *testing.T) {
	_, healthy, older := ncclFolders(t, false)
	dir := t.TempDir()
	for name, b := range healthy[0].files {
		writeFile(t, dir, name, b)
	}
	for i, b := range older {
		writeFile(t, dir, fmt.Sprintf("a-%d.prlx-nccl", i), b)
	}
	d, refused := operate[diagnosing.Document](t, "nccl_diagnose", map[string]any{"inputs": []string{dir}})
	if refused || d.Conclusion.Outcome != verdict.Passed || len(d.Findings) != 0 || !strings.Contains(strings.Join(d.Warnings, " "), "4 recordings are of another job") {
		t.Errorf("%+v, warnings %q", d.Conclusion, d.Warnings)
	}
	if d.Progress.Outcome == verdict.Failed { // by which watch stops
		t.Errorf("progress: %+v", d.Progress)
	}
}
