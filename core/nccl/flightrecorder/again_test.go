package flightrecorder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/verdict"
)

// elastic is a job of four ranks that call all_reduce every 10 ms, of which the last has not completed; rank 3 ended after 20 and another process
// took its place, which has called so many since.
func elastic(called int) []*dump {
	all := dumps(steps(21, started), steps(21, started), steps(21, started), steps(called, started))
	for _, d := range all {
		for i := range d.Entries {
			d.Entries[i].CreatedNS = 1e18 + int64(i)*1e7
			if d.Rank == 3 {
				d.Entries[i].CreatedNS += 3e8
			}
		}
	}
	return all
}

func TestARankThatCountsFromTheBeginningAgainHasRestarted(t *testing.T) {
	for _, called := range []int{1, 3} {
		r, err := Analyze(elastic(called))
		if err != nil {
			t.Fatal(err)
		}
		d := r.Document()
		if len(d.Findings) != 1 || d.Findings[0].Class != "ended" || fmt.Sprint(d.Findings[0].Ranks, d.Findings[0].Waiting, d.Findings[0].Sequence) != "[3] [0 1 2] 21" || d.Conclusion.Outcome != verdict.Failed {
			t.Errorf("%d calls: %s: %s; findings %+v", called, d.Conclusion.Outcome, d.Verdict, d.Findings)
		}
		if !strings.Contains(d.Verdict, "rank 3 counts from the beginning again") {
			t.Error(d.Verdict)
		}
	}
	late := elastic(3) // the same numbers at the same times: it has not come so far, and its process is the same
	for i := range late[3].Entries {
		late[3].Entries[i].CreatedNS -= 3e8
	}
	if r, err := Analyze(late); err != nil || len(r.Findings) == 0 || r.Findings[0].Class == restarted {
		t.Errorf("a rank that fell behind: %+v, %v", r.Findings, err)
	}
}

func TestANumberThatNobodyCountsUpToIsRefused(t *testing.T) {
	for _, n := range []string{"-9223372036854775808", "-1", "9223372036854775807"} {
		_, err := parse("trace_1", 1, []byte(strings.Replace(written, `"collective_seq_id":2`, `"collective_seq_id":`+n, 1)))
		if !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), n) {
			t.Errorf("%s: got %v", n, err)
		}
		for _, other := range []string{"p2p_seq_id", "record_id", "op_id"} {
			at := strings.Index(written, `"`+other+`":`) + len(other) + 3
			_, err := parse("trace_1", 1, []byte(written[:at]+n+written[at+1:]))
			if !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), other) {
				t.Errorf("%s of %s: got %v", other, n, err)
			}
		}
	}
	far := dumps(steps(3, completed), steps(3, completed)) // numbers that are far apart take no longer
	far[0].Entries[2].Sequence, far[1].Entries[2].Sequence = mostNumber, mostNumber
	if r, err := Analyze(far); err != nil || !r.Passed {
		t.Errorf("%v, %v", r, err)
	}
}

func TestADumpThatCannotBeReadIsNamedAndTheOthersAreCompared(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for rank, text := range []string{written, written, written[:700]} {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("trace_%d", rank)))
		if err := os.WriteFile(paths[rank], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, unread, err := ReadAll(t.Context(), paths, 2)
	if err != nil || len(all) != 2 || len(unread) != 1 || unread[0].Rank != 2 {
		t.Fatalf("got %d dumps, %v, %v", len(all), unread, err)
	}
	r, err := Analyze(all, unread...)
	if err != nil {
		t.Fatal(err)
	}
	d := r.Document()
	if d.Conclusion.Outcome == verdict.Passed || !strings.Contains(fmt.Sprint(d.Conclusion.Missing), "dump of rank 2") || !strings.Contains(strings.Join(d.Warnings, " "), "trace_2") {
		t.Errorf("%+v", d.Conclusion)
	}
	if _, _, err := ReadAll(t.Context(), paths[2:], 2); !fault.Is(err, fault.Format) {
		t.Errorf("nothing could be read: got %v", err)
	}
}

func TestADumpOfAFormerRunIsNotLookedAt(t *testing.T) {
	at := func(d *dump, ns int64) *dump {
		for i := range d.Entries {
			d.Entries[i].CreatedNS = ns + int64(i)
		}
		return d
	}
	now, before := dumps(steps(5, completed), steps(5, completed)), dumps(steps(3, started))[0]
	for i, d := range now {
		at(d, int64(1000+i))
	}
	before.Path = "old_0"
	r, err := Analyze(append(now, at(before, 10)))
	if err != nil || !r.Passed || r.Dumps != 2 || !strings.Contains(strings.Join(r.Warnings, " "), "old_0 is of a former run") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Analyze(append(now, at(before, 1002))); !fault.Is(err, fault.Incompatible) {
		t.Errorf("two dumps of one time: %v", err)
	}
}

func TestAVerdictOnDumpsSaysWhatItRestsOn(t *testing.T) {
	good := analyzed(t, steps(5, completed), steps(5, completed)).Document()
	if good.Conclusion.Outcome != verdict.Passed || good.Conclusion.Looked[0].Count != 2 || good.Conclusion.Looked[1].Count != 5 {
		t.Errorf("%+v", good.Conclusion)
	}
	if c := analyzed(t, steps(5, completed), nil, steps(5, completed)).Document().Conclusion; c.Outcome != verdict.Inconclusive || !strings.Contains(c.Why, "rank 1") {
		t.Errorf("one rank gave no dump: %+v", c)
	}
	if c := analyzed(t, []call{}, []call{}).Document().Conclusion; c.Outcome != verdict.Inconclusive {
		t.Errorf("nothing was looked at: %+v", c)
	}
	if c := analyzed(t, steps(5, started), nil, steps(4, completed)).Document().Conclusion; c.Outcome != verdict.Failed {
		t.Errorf("rank 2 never called it, whatever rank 1 did: %+v", c)
	}
}
