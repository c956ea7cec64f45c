package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/recording/recorder"
)

// passed is what a run hands on for a launch: a device that answers with a document, or with an error where the kernel is called "odd".
type passed struct {
	Kernel string           `json:"kernel"`
	Launch uint64           `json:"launch"`
	NaN    bool             `json:"nan"`
	Counts bool             `json:"counts"`
	Record *recorder.Record `json:"record"`
}

func pass(t *testing.T, s *servedRun, request string) (handed []passed, done []byte) {
	t.Helper()
	done = s.launch(nil, []byte(request), func(request []byte) []byte {
		var one passed
		if err := json.Unmarshal(request, &one); err != nil {
			t.Fatal(err)
		}
		handed = append(handed, one)
		if one.Kernel == "odd" {
			return reply(nil, errors.New("no such instruction"))
		}
		return reply([]byte(`{"findings":[]}`), nil)
	})
	return handed, done
}

func journal(t *testing.T, folder string) (rows []servedLaunch) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("journals %v, %v, want one of this process", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var row servedLaunch
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestRunTellsLaunchesWhatToCheckAndRecord(t *testing.T) {
	folder := t.TempDir()
	a := &servedRun{
		Folder: folder, Options: map[string]json.RawMessage{"nan": []byte("true"), "counts": []byte("true")},
		Record: &recorder.Record{Path: "/runs", Mode: "values"},
	}
	b := &servedRun{Folder: folder} // another device of the same run
	handed, _ := pass(t, a, `{"kernel": "_Z1fIiEvv", "called": "f<int>", "counts": false}`)
	if got := handed[0]; got.Launch != 0 || !got.NaN || !got.Counts || got.Record.Path != "/runs/0000_f_int_.prlx" || got.Record.Mode != "values" {
		t.Errorf("got %+v with %+v", got, got.Record)
	}
	if handed, _ = pass(t, b, `{"kernel": "g"}`); handed[0].Launch != 1 || handed[0].Record != nil || handed[0].NaN {
		t.Errorf("on the other device: got %+v", handed[0])
	}
	handed, done := pass(t, a, `{"kernel": "odd"}`)
	if handed[0].Launch != 2 || done[0] != replyError {
		t.Errorf("got launch %d, reply %q", handed[0].Launch, done)
	}
	want := []servedLaunch{
		{Launch: 0, Kernel: "f<int>", Outcome: "executed"}, {Launch: 1, Kernel: "g", Outcome: "executed"}, {Launch: 2, Kernel: "odd", Outcome: "refused"},
	}
	rows := journal(t, folder)
	if len(rows) != len(want) {
		t.Fatalf("got %d rows, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		if row.Launch != want[i].Launch || row.Kernel != want[i].Kernel || row.Outcome != want[i].Outcome || row.Process != os.Getppid() || len(row.Document) < 2 {
			t.Errorf("row %d: got %+v, want %+v", i, row, want[i])
		}
	}
}

func TestRunRecordsOneLaunchAlone(t *testing.T) {
	only := uint64(1)
	s := &servedRun{Folder: t.TempDir(), Record: &recorder.Record{Path: "/runs"}, Only: &only}
	for i := range 3 {
		if handed, _ := pass(t, s, `{"kernel": "f"}`); (handed[0].Record != nil) != (i == 1) {
			t.Errorf("launch %d: recorded %v", i, handed[0].Record != nil)
		}
	}
}

func TestRunPassesOverLaunchesBeyondTheFirstOfEachKernel(t *testing.T) {
	s := &servedRun{Folder: t.TempDir(), Most: 2}
	executed := map[string]int{}
	for _, kernel := range []string{"f", "f", "g", "f", "f", "g"} {
		handed, done := pass(t, s, `{"kernel": "`+kernel+`"}`)
		executed[kernel] += len(handed)
		if done[0] != replyDocument {
			t.Errorf("%s: got %q", kernel, done)
		}
	}
	if executed["f"] != 2 || executed["g"] != 2 {
		t.Errorf("executed %v, want 2 of each", executed)
	}
	over := 0
	for _, row := range journal(t, s.Folder) {
		if row.Outcome == "passed over" {
			over++
		}
	}
	if over != 2 {
		t.Errorf("%d launches were passed over, want 2", over)
	}
}

func TestLaunchOfARunWhoseJournalCannotBeWrittenIsAnError(t *testing.T) {
	s := &servedRun{Folder: filepath.Join(t.TempDir(), "not", "there")}
	if handed, done := pass(t, s, `{"kernel": "f"}`); done[0] != replyError || len(handed) > 0 {
		t.Errorf("got %q after %d launches", done, len(handed))
	}
	if _, done := pass(t, &servedRun{Folder: t.TempDir()}, `nothing`); done[0] != replyError {
		t.Errorf("got %q", done)
	}
}

func TestRunForgetsWhatWasNotNeededForLongest(t *testing.T) {
	s := &servedRun{kept: mostKept, left: map[uint64]*repeated{1: {bytes: mostKept / 2, last: 7}, 2: {bytes: mostKept / 4, last: 3}, 3: {bytes: 0, last: 1}, 4: {bytes: mostKept / 4, last: 5}}}
	s.makeRoom(mostKept / 3)
	if len(s.left) != 2 || s.left[1] == nil || s.left[3] == nil || s.kept != mostKept/2 {
		t.Errorf("%d bytes of %d launches are kept, want those of launch 7, and the one that left nothing", s.kept, len(s.left))
	}
}
