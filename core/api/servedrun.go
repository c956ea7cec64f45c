package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/lazyregexp"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/simulator/device"
)

// servedRun is a program, with all processes that it starts, whose launches on devices are watched: each is told what to check and to record, and
// leaves its document in the journal of its device. Whoever started the program reads the journals when it has ended.
type servedRun struct {
	Folder  string                     `json:"folder"`  // of journals, one per device: NUMBER.jsonl; the devices of the run share it
	Options map[string]json.RawMessage `json:"options"` // of simulate_launch, instead of what a driver asks
	Record  *recorder.Record           `json:"record"`  // how launches are recorded; its path is a folder. null: they are not
	Sources bool                       `json:"sources"` // recordings hold the .cu and .cuh files that lines of their kernel name
	Most    int                        `json:"most"`    // launches of each kernel that are executed, the others are passed over; 0: all
	Repeat  bool                       `json:"repeat"`  // a launch that finds what an earlier one found leaves what that one left, and is not executed

	launches map[string]int
	last     uint64 // launch of this device
	left     map[uint64]repeated
	kept     int                       // bytes of them
	texts    map[int64]*recorder.Texts // by module
}

// repeated is what came of a launch that may be repeated.
type repeated struct {
	reply []byte
	left  *device.Left
}

// mostKept bounds what is kept of launches that may be repeated.
const mostKept = 1 << 29

// servedLaunch is a line of a journal.
type servedLaunch struct {
	Launch   uint64          `json:"launch"` // its number in the run
	Process  int             `json:"process"`
	Kernel   string          `json:"kernel"`
	Outcome  string          `json:"outcome"`  // "executed", "repeated", "refused", "passed over"; "noted": it is no launch
	Document json.RawMessage `json:"document"` // prlx.simulation/1 of one that was executed or repeated, the error of one that was refused, what was noted
}

var unsafeInNames = lazyregexp.New(`[^A-Za-z0-9_.-]+`)

const longestName = 80 // of a kernel, in the name of a file

// launch passes a launch on with what it is told as well, and writes down what came of it. A journal that cannot be written is an error of the
// launch: nothing else of the run would be known.
func (s *servedRun) launch(d *device.Device, request []byte, call func(request []byte) []byte) []byte {
	done, err := s.told(d, request, call)
	if err != nil {
		return reply(nil, err)
	}
	return done
}

func (s *servedRun) told(d *device.Device, request []byte, call func(request []byte) []byte) ([]byte, error) {
	var asked map[string]json.RawMessage
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, fault.Usagef("a launch is not a JSON object: %v", err)
	}
	row := servedLaunch{Process: os.Getppid()}
	for _, key := range []string{"kernel", "called"} { // the last one that is there counts
		var name string
		if json.Unmarshal(asked[key], &name) == nil && name != "" {
			row.Kernel = name
		}
	}
	var err error
	if row.Launch, err = s.number(); err != nil {
		return nil, err
	}
	s.last = row.Launch
	now := s.moment(d, request)
	if before, ok := s.left[same(now)]; ok {
		before.left.Again()
		row.Outcome, row.Document = "repeated", before.reply[1:]
		return before.reply, s.write(&row)
	}
	if s.passedOver(row.Kernel) {
		row.Outcome, row.Document = "passed over", json.RawMessage("null")
		return append([]byte{replyDocument}, `{"findings":[],"instructions":0,"output":""}`...), s.write(&row)
	}
	for name, value := range s.Options {
		asked[name] = value
	}
	asked["launch"] = strconv.AppendUint(nil, row.Launch, 10)
	if s.Record != nil {
		one := *s.Record
		if s.Sources {
			one.Texts = s.textsOf(d, request)
		}
		name := unsafeInNames.ReplaceAllString(row.Kernel, "_")
		one.Path = filepath.Join(one.Path, fmt.Sprintf("%04d_%s.prlx", row.Launch, name[:min(len(name), longestName)]))
		if asked["record"], err = json.Marshal(&one); err != nil {
			return nil, err
		}
	}
	if request, err = json.Marshal(asked); err != nil {
		return nil, err
	}
	done := call(request)
	row.Outcome, row.Document = "executed", done[1:]
	if done[0] != replyDocument {
		row.Outcome = "refused"
	} else {
		s.keep(now, done)
	}
	return done, s.write(&row)
}

// mostText bounds a source file that recordings hold.
const mostText = 1 << 20

// textsOf are the files of CUDA C that a launch's module was compiled from, as they are now; nil where none is there.
func (s *servedRun) textsOf(d *device.Device, request []byte) *recorder.Texts {
	var r struct{ Module int64 }
	if json.Unmarshal(request, &r) != nil {
		return nil
	}
	if known, ok := s.texts[r.Module]; ok {
		return known
	}
	texts := &recorder.Texts{}
	if m, err := d.Module(r.Module); err == nil {
		for _, name := range m.Files() {
			if ending := filepath.Ext(name); ending != ".cu" && ending != ".cuh" {
				continue
			}
			if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > mostText {
				continue
			}
			if text, err := os.ReadFile(name); err == nil {
				texts.Add(name, filepath.Base(name), string(text))
			}
		}
	}
	if s.texts == nil {
		s.texts = make(map[int64]*recorder.Texts)
	}
	s.texts[r.Module] = texts
	return texts
}

// moment is what a launch finds, nil where nobody asks or nobody knows.
func (s *servedRun) moment(d *device.Device, request []byte) *device.Moment {
	var r struct{ Module, Table int64 }
	if !s.Repeat || s.Record != nil || json.Unmarshal(request, &r) != nil {
		return nil
	}
	return d.Moment(request, r.Module, r.Table)
}

// same is by what a moment is found again, 0 where there is none.
func same(m *device.Moment) uint64 {
	if m == nil {
		return 0
	}
	return m.Same
}

// keep keeps what a launch left that found such a moment.
func (s *servedRun) keep(m *device.Moment, reply []byte) {
	if m == nil {
		return
	}
	left, bytes := m.Left(mostKept - s.kept)
	if left == nil {
		return
	}
	if s.left == nil {
		s.left = make(map[uint64]repeated)
	}
	s.kept += bytes
	s.left[m.Same] = repeated{reply, left}
}

// note writes down what the program itself did wrong, which its runtime has found.
func (s *servedRun) note(request []byte) []byte {
	var asked json.RawMessage
	if err := json.Unmarshal(request, &asked); err != nil {
		return reply(nil, fault.Usagef("a note is not JSON: %v", err))
	}
	if err := s.write(&servedLaunch{Launch: s.last, Process: os.Getppid(), Outcome: "noted", Document: asked}); err != nil {
		return reply(nil, err)
	}
	return append([]byte{replyDocument}, "{}"...)
}

// passedOver counts a launch of a kernel, and says whether enough of them were executed.
func (s *servedRun) passedOver(kernel string) bool {
	if s.launches == nil {
		s.launches = make(map[string]int)
	}
	s.launches[kernel]++
	return s.Most > 0 && s.launches[kernel] > s.Most
}

// number is that of the next launch of the run, whichever device it is on.
func (s *servedRun) number() (uint64, error) {
	f, err := os.OpenFile(filepath.Join(s.Folder, "launches"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, fault.FromIO(s.Folder, err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return 0, fault.FromIO(s.Folder, err)
	}
	var text [20]byte
	n, _ := f.ReadAt(text[:], 0)
	number, _ := strconv.ParseUint(string(bytes.TrimSpace(text[:n])), 10, 64) // of nothing: 0
	if _, err := f.WriteAt(strconv.AppendUint(nil, number+1, 10), 0); err != nil {
		return 0, fault.FromIO(s.Folder, err)
	}
	return number, nil
}

// write adds a line to the journal of this device.
func (s *servedRun) write(row *servedLaunch) error {
	line, err := json.Marshal(row)
	if err != nil {
		return err
	}
	path := filepath.Join(s.Folder, strconv.Itoa(os.Getpid())+".jsonl")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fault.FromIO(path, err)
	}
	_, err = f.Write(append(line, '\n'))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fault.FromIO(path, err)
	}
	return nil
}
