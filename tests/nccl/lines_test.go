package nccl_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/nccl/segment"
)

// line writes an event of a recording as the harness writes the call behind it.
type line struct{ strings.Builder }

func (l *line) hex(values ...uint64) {
	for _, v := range values {
		fmt.Fprintf(l, " %x", v)
	}
}

func (l *line) numbers(values ...int64) {
	for _, v := range values {
		fmt.Fprintf(l, " %d", v)
	}
}

func hash(b []byte) uint64 {
	h := fnv.New32a()
	h.Write(b)
	return uint64(h.Sum32())
}

func (l *line) texts(all ...segment.Text) {
	for _, t := range all {
		plain := len(t.Text) > 0 && len(t.Text) < 40 && !strings.ContainsFunc(t.Text, func(r rune) bool { return r <= ' ' || r >= 127 })
		switch {
		case !t.Known:
			l.WriteString(" -")
		case plain:
			l.WriteString(" " + t.Text)
		default:
			fmt.Fprintf(l, " #%d:%x", len(t.Text), hash([]byte(t.Text)))
		}
	}
}

// named writes texts, or the enumerators of version 1.
func (l *line) named(e *segment.Event, texts []segment.Text, numbers ...uint32) {
	if e.Version > 1 {
		l.texts(texts...)
		return
	}
	for _, n := range numbers {
		l.numbers(int64(n))
	}
}

func startLine(e *segment.Event) string {
	var l line
	fmt.Fprintf(&l, "S%d", e.Version)
	l.hex(e.Handle, e.Type, e.Context, e.Parent)
	l.numbers(int64(e.Rank))
	if e.Raw != nil {
		l.hex(hash(e.Raw))
		return l.String()
	}
	l.fields(e)
	return l.String()
}

func (l *line) fields(e *segment.Event) {
	switch e.Type {
	case 2:
		l.hex(e.Sequence, e.SendBuffer, e.ReceiveBuffer, e.Count)
		l.numbers(int64(e.Root))
		l.named(e, []segment.Text{e.Func, e.Datatype, e.Algorithm, e.Protocol}, e.FuncNumber, e.DatatypeNumber, e.AlgorithmNumber, e.ProtocolNumber)
		l.numbers(int64(e.Channels), int64(e.Warps))
		l.hex(e.ParentGroup, e.UserTag, e.TrafficBytes, e.CommHash)
		l.texts(e.Name, e.Variant)
		l.numbers(int64(e.Symmetric), int64(e.ReduceOp), int64(e.CollNet), int64(e.NVLS))
	case 4:
		l.hex(e.SendBuffer, e.Count)
		l.named(e, []segment.Text{e.Func, e.Datatype}, e.FuncNumber, e.DatatypeNumber)
		l.numbers(int64(e.Peer), int64(e.Channels))
		l.hex(e.ParentGroup, e.UserTag, e.CommHash)
		l.texts(e.Name)
	case 8:
		l.numbers(int64(e.PID), int64(e.Channel), int64(e.Peer), int64(e.Steps), int64(e.ChunkBytes), int64(e.IsSend))
		if e.RCCL != nil {
			l.hex(hash(e.RCCL))
		}
	case 16:
		l.numbers(int64(e.Step))
	case 64:
		l.numbers(int64(e.Channel))
		l.hex(e.GPUTimeNS)
	case 128:
		l.hex(uint64(e.NetID), e.NetData)
		if e.Descriptor != nil {
			l.hex(hash(e.Descriptor))
		} else {
			l.hex(0)
		}
	case 256:
		l.numbers(int64(e.GroupDepth), int64(e.Captured))
	case 512, 1024:
		l.texts(e.Func, e.Datatype)
		l.hex(e.Count)
		l.numbers(int64(e.Root))
		l.hex(e.Stream)
		l.numbers(int64(e.Captured))
		l.hex(e.UserTag)
	case 2048:
		l.hex(e.Stream)
	case 4096:
		l.hex(e.Sequence)
		l.texts(e.Func)
		l.hex(e.SendBuffer, e.ReceiveBuffer, e.Count)
		l.numbers(int64(e.Root))
		l.texts(e.Datatype, e.Strategy)
		l.numbers(int64(e.IntraSync), int64(e.BatchSize), int64(e.Batches), int64(e.CESequence))
		l.hex(e.Stream, e.UserTag)
	case 8192:
		l.numbers(int64(e.Ranks), int64(e.Complete))
	case 16384:
		l.numbers(int64(e.Ops))
		l.hex(e.Bytes)
		l.numbers(int64(e.IntraSync))
	case 32768:
		l.numbers(int64(e.Channel), int64(e.Phase))
		l.texts(e.PhaseName)
		l.hex(e.GPUTimeNS)
	}
}

func stateLine(r *segment.Record) string {
	var l line
	args := int64(0)
	if r.HasArgs {
		args = 1
	}
	fmt.Fprintf(&l, "R%d", r.Version)
	l.hex(r.ID)
	l.numbers(int64(r.State), args)
	s, old := r.State, r.Version <= 3
	isStep := s >= 8 && s <= 12 || s == 20
	switch {
	case !r.HasArgs:
	case s >= 13 && s <= 18:
		l.hex(r.Value)
	case old && s <= 7:
		l.hex(r.Value)
		l.numbers(int64(r.Number))
	case old && (isStep || s == 21 || s == 22):
	case old:
		l.hex(hash(r.Body[:16]))
	case isStep, s == 22, s == 31 && r.Version == 7:
		l.hex(r.Value)
	case s == 21:
		l.hex(r.Value)
		if n := map[uint16]int{segment.CodeNetIB: 40, segment.CodeNetSocket: 24}[r.Extra]; n > 0 && r.Value != 0 {
			l.hex(hash(r.Body[:n]))
		}
	case s == 31 && r.Version == 6:
		l.hex(hash(r.Body[:24]))
	case s <= 7 || s > 30:
		l.hex(hash(r.Body[:8]))
	}
	return l.String()
}

func initLine(f *segment.File, r *segment.Record) (string, error) {
	u32 := func(at int) uint32 {
		return uint32(r.Body[at]) | uint32(r.Body[at+1])<<8 | uint32(r.Body[at+2])<<16 | uint32(r.Body[at+3])<<24
	}
	name, err := f.Text(u32(0))
	known := 0
	if name.Known {
		known = 1
	}
	return fmt.Sprintf("I%d %x %x %d:%d:%x %d %d %d", r.Version, r.ID, r.Value, known, len(name.Text), hash([]byte(name.Text)), int32(u32(4)), int32(u32(8)), int32(u32(12))), err
}

// decoded is what a recording holds, as lines of each kernel thread.
type decoded struct {
	file  *segment.File
	seen  segment.Seen
	lines map[int][]string
	calls int
	told  uint64 // losses that records tell of
}

func decode(t *testing.T, path string) decoded {
	t.Helper()
	f, err := segment.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	d := decoded{file: f, lines: map[int][]string{}}
	type stretch struct {
		tid   int
		first uint64
		lines []string
	}
	var stretches []*stretch
	at := map[segment.Source]*stretch{}
	d.seen, err = f.Walk(context.Background(), func(from segment.Source, r *segment.Record) error {
		s := at[from]
		if s == nil {
			s = &stretch{tid: int(from.TID), first: r.Ticks}
			at[from] = s
			stretches = append(stretches, s)
		}
		one, err := d.line(f, r)
		if one != "" {
			s.lines = append(s.lines, one)
			d.calls++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if harm := append(d.seen.Harm(), f.Harm...); !f.Checked || len(harm) > 0 {
		t.Errorf("what the recorder wrote is called damaged: %q, checksums %v", harm, f.Checked)
	}
	slices.SortStableFunc(stretches, func(a, b *stretch) int { return cmp.Compare(a.first, b.first) })
	for _, s := range stretches {
		d.lines[s.tid] = append(d.lines[s.tid], s.lines...)
	}
	return d
}

func (d *decoded) line(f *segment.File, r *segment.Record) (string, error) {
	switch r.Kind {
	case segment.Start:
		e, ok, err := f.Event(r)
		if err == nil && !ok {
			return "", fmt.Errorf("a start of code %d, version %d has %d bytes", r.Code, r.Version, len(r.Body))
		}
		return startLine(&e), err
	case segment.Stop:
		return fmt.Sprintf("E%d %x", r.Version, r.ID), nil
	case segment.Update:
		return stateLine(r), nil
	case segment.Init:
		return initLine(f, r)
	case segment.Finalize:
		return fmt.Sprintf("F%d %x", r.Version, r.ID), nil
	case segment.Loss:
		d.told += r.ID
	}
	return "", nil
}

// lost is how many callbacks the recorder has counted that it could not write.
func (d *decoded) lost() uint64 {
	var all uint64
	for _, th := range d.file.Threads {
		for _, n := range th.Lost {
			all += n
		}
	}
	for _, n := range d.file.LostNowhere {
		all += n
	}
	return all
}

// truth reads what the harness wrote, as lines of each kernel thread, without those that the recorder was asked to leave out: they got a
// handle of its process whose code is 32 or more. A last line without its end is what a kill left.
func truth(t *testing.T, path string, cookie uint32) (map[int][]string, int) {
	t.Helper()
	type stretch struct {
		tid, order int
		lines      []string
	}
	var all []*stretch
	files, _ := filepath.Glob(path + ".*")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var at *stretch
		scan := bufio.NewScanner(strings.NewReader(string(b[:strings.LastIndexByte(string(b), '\n')+1])))
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			words := strings.SplitN(scan.Text(), " ", 3)
			if words[0] == "T" {
				tid, _ := strconv.Atoi(words[1])
				order, _ := strconv.Atoi(words[2])
				at = &stretch{tid: tid, order: order}
				all = append(all, at)
				continue
			}
			if !leftOut(words, cookie) {
				at.lines = append(at.lines, scan.Text())
			}
		}
	}
	slices.SortFunc(all, func(a, b *stretch) int { return cmp.Compare(a.order, b.order) })
	lines, n := map[int][]string{}, 0
	for _, s := range all {
		lines[s.tid] = append(lines[s.tid], s.lines...)
		n += len(s.lines)
	}
	return lines, n
}

func leftOut(words []string, cookie uint32) bool {
	if words[0][0] == 'I' || words[0][0] == 'F' {
		return false
	}
	id, err := strconv.ParseUint(words[1], 16, 64)
	return err == nil && id>>48 == uint64(cookie) && (id>>47&1 == 1 || id&(1<<42-1) == 0)
}

// same compares a recording with the truth, line by line, and returns how many lines were compared. What is not in the recording, which on
// a busy machine may be some of what was played, must be as much as the recorder says was lost. cut: the process was killed, and each
// thread may have recorded one call of which the truth does not know.
func same(t *testing.T, got decoded, path string, cut bool) int {
	t.Helper()
	want, n := truth(t, path, got.file.Cookie)
	if got.seen.Damaged != 0 || got.seen.Retaken != 0 || got.seen.Corrupt != 0 {
		t.Fatalf("the recording is damaged: %+v", got.seen)
	}
	missing, beyond := 0, 0
	for tid, lines := range want {
		m, rest := compare(t, tid, got.lines[tid], lines, got.lost() > 0)
		if len(rest) > 1 || len(rest) == 1 && !cut {
			t.Fatalf("thread %d: %d calls too many are recorded, there were %d; the first:\n%s", tid, len(rest), len(lines), rest[0])
		}
		missing += m
		beyond += len(rest)
	}
	for tid, have := range got.lines {
		if _, ok := want[tid]; !ok && len(have) > 1 {
			t.Fatalf("thread %d recorded %d calls and made none", tid, len(have))
		}
	}
	lost := int(got.lost())
	if missing > lost || missing < lost && !cut || missing < lost-len(want) {
		t.Fatalf("%d calls are not in the recording, which says that %d were lost", missing, lost)
	}
	if lost > 0 {
		t.Logf("%d of %d calls were lost, and counted", lost, n)
	}
	return n - missing
}

// compare finds the lines of a thread in what was played, in order. It returns how many it passed over, and what it did not find.
func compare(t *testing.T, tid int, have, lines []string, passes bool) (missing int, rest []string) {
	t.Helper()
	for i, one := range lines {
		switch {
		case len(have) > 0 && have[0] == one:
			have = have[1:]
		case passes:
			missing++
		case len(have) > 0:
			t.Fatalf("thread %d, call %d:\ngot  %s\nwant %s", tid, i, have[0], one)
		default:
			t.Fatalf("thread %d: %d of %d calls are recorded; the first that is missing:\n%s", tid, i, len(lines), one)
		}
	}
	return missing, have
}
