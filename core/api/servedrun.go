package api

import (
	"bytes"
	"cmp"
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
	Only    *uint64                    `json:"only"`    // the launch that is recorded alone; null: all
	Sources bool                       `json:"sources"` // recordings hold the .cu and .cuh files that lines of their kernel name
	Most    int                        `json:"most"`    // launches of each kernel that are executed, the others are passed over; 0: all
	Repeat  bool                       `json:"repeat"`  // a launch that finds what an earlier one found leaves what that one left, and is not executed

	launches map[string]int
	last     uint64 // launch of this device
	left     map[uint64]*repeated
	kept     int                       // bytes of them
	texts    map[int64]*recorder.Texts // by module
	numbers  *os.File                  // the number of the next launch of the run, which all its devices share
	journal  *os.File
	told     []byte // what launches are told beside their number, as members of an object
}

// repeated is what came of a launch that may be repeated.
type repeated struct {
	reply []byte
	left  *device.Left
	bytes int
	last  uint64 // launch that needed it
}

// mostKept bounds what is kept of launches that may be repeated: those that were not needed for longest are forgotten.
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
	done, err := s.run(d, request, call)
	if err != nil {
		return reply(nil, err)
	}
	return done
}

// servedRequest is what a run itself reads of a launch.
type servedRequest struct {
	Module int64  `json:"module"`
	Table  int64  `json:"table"`
	Kernel string `json:"kernel"`
	Called string `json:"called"`
}

func (s *servedRun) run(d *device.Device, request []byte, call func(request []byte) []byte) ([]byte, error) {
	var asked servedRequest
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, fault.Usagef("a launch is not a JSON object: %v", err)
	}
	row := servedLaunch{Process: os.Getppid(), Kernel: cmp.Or(asked.Called, asked.Kernel)}
	var err error
	if row.Launch, err = s.number(); err != nil {
		return nil, err
	}
	s.last = row.Launch
	now := s.moment(d, request, &asked)
	if before, ok := s.left[same(now)]; ok {
		before.left.Again()
		before.last = s.last
		row.Outcome, row.Document = "repeated", before.reply[1:]
		return before.reply, s.write(&row)
	}
	if s.passedOver(row.Kernel) {
		row.Outcome, row.Document = "passed over", json.RawMessage("null")
		return append([]byte{replyDocument}, `{"findings":[],"instructions":0,"output":""}`...), s.write(&row)
	}
	if request, err = s.tell(d, request, &row, &asked); err != nil {
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

// tell is a launch's request with what the run has to say: of members with one name the last one counts.
func (s *servedRun) tell(d *device.Device, request []byte, row *servedLaunch, asked *servedRequest) ([]byte, error) {
	if s.told == nil && len(s.Options) > 0 {
		options, err := json.Marshal(s.Options)
		if err != nil {
			return nil, err
		}
		s.told = append(options[1:len(options)-1], ',')
	}
	text := bytes.TrimSuffix(bytes.TrimSpace(request), []byte("}"))
	told := append(make([]byte, 0, len(text)+len(s.told)+64), text...)
	if !bytes.HasSuffix(bytes.TrimSpace(text), []byte("{")) {
		told = append(told, ',')
	}
	told = strconv.AppendUint(append(append(told, s.told...), `"launch":`...), row.Launch, 10)
	if s.Record != nil && (s.Only == nil || *s.Only == row.Launch) {
		one := *s.Record
		if s.Sources {
			one.Texts = s.textsOf(d, asked.Module)
		}
		name := unsafeInNames.ReplaceAllString(row.Kernel, "_")
		one.Path = filepath.Join(one.Path, fmt.Sprintf("%04d_%s.prlx", row.Launch, name[:min(len(name), longestName)]))
		record, err := json.Marshal(&one)
		if err != nil {
			return nil, err
		}
		told = append(append(told, `,"record":`...), record...)
	}
	return append(told, '}'), nil
}

// mostText bounds a source file that recordings hold.
const mostText = 1 << 20

// textsOf are the files of CUDA C that a module was compiled from, as they are now; nil where none is there.
func (s *servedRun) textsOf(d *device.Device, module int64) *recorder.Texts {
	if known, ok := s.texts[module]; ok {
		return known
	}
	texts := &recorder.Texts{}
	if m, err := d.Module(module); err == nil {
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
	s.texts[module] = texts
	return texts
}

// moment is what a launch finds, nil where nobody asks or nobody knows.
func (s *servedRun) moment(d *device.Device, request []byte, asked *servedRequest) *device.Moment {
	if !s.Repeat || s.Record != nil {
		return nil
	}
	return d.Moment(request, asked.Module, asked.Table)
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
	left, bytes := m.Left(mostKept)
	if left == nil {
		return
	}
	if s.left == nil {
		s.left = make(map[uint64]*repeated)
	}
	s.makeRoom(bytes)
	s.kept += bytes
	s.left[m.Same] = &repeated{reply: reply, left: left, bytes: bytes, last: s.last}
}

// makeRoom forgets what was not needed for longest, until there is room for so many bytes.
func (s *servedRun) makeRoom(bytes int) {
	for s.kept+bytes > mostKept {
		oldest, found := uint64(0), false
		for same, one := range s.left {
			if one.bytes > 0 && (!found || one.last < s.left[oldest].last) {
				oldest, found = same, true
			}
		}
		s.kept -= s.left[oldest].bytes
		delete(s.left, oldest)
	}
}

// note writes down what the program itself did wrong, which its runtime has found.
func (s *servedRun) note(request []byte) []byte {
	var asked bytes.Buffer
	if err := json.Compact(&asked, request); err != nil {
		return reply(nil, fault.Usagef("a note is not JSON: %v", err))
	}
	if err := s.write(&servedLaunch{Launch: s.last, Process: os.Getppid(), Outcome: "noted", Document: asked.Bytes()}); err != nil {
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
func (s *servedRun) number() (number uint64, err error) {
	if s.numbers == nil {
		if s.numbers, err = os.OpenFile(filepath.Join(s.Folder, "launches"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return 0, fault.FromIO(s.Folder, err)
		}
	}
	if err := syscall.Flock(int(s.numbers.Fd()), syscall.LOCK_EX); err != nil {
		return 0, fault.FromIO(s.Folder, err)
	}
	defer func() { _ = syscall.Flock(int(s.numbers.Fd()), syscall.LOCK_UN) }()
	var text [20]byte
	n, _ := s.numbers.ReadAt(text[:], 0)
	number, _ = strconv.ParseUint(string(bytes.TrimSpace(text[:n])), 10, 64) // of nothing: 0
	if _, err := s.numbers.WriteAt(strconv.AppendUint(text[:0], number+1, 10), 0); err != nil {
		return 0, fault.FromIO(s.Folder, err)
	}
	return number, nil
}

// write adds a line to the journal of this device. Documents are compact already.
func (s *servedRun) write(row *servedLaunch) (err error) {
	if s.journal == nil {
		path := filepath.Join(s.Folder, strconv.Itoa(os.Getpid())+".jsonl")
		if s.journal, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return fault.FromIO(path, err)
		}
	}
	kernel, err := json.Marshal(row.Kernel)
	if err != nil {
		return err
	}
	line := make([]byte, 0, len(row.Document)+len(kernel)+128)
	line = strconv.AppendUint(append(line, `{"launch":`...), row.Launch, 10)
	line = strconv.AppendInt(append(line, `,"process":`...), int64(row.Process), 10)
	line = append(append(line, `,"kernel":`...), kernel...)
	line = append(append(append(line, `,"outcome":"`...), row.Outcome...), `","document":`...)
	line = append(append(line, row.Document...), "}\n"...)
	if _, err = s.journal.Write(line); err != nil {
		return fault.FromIO(s.journal.Name(), err)
	}
	return nil
}
