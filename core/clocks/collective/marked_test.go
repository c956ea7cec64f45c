package collective

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/chrometrace"
	"github.com/prlx-go/prlx/core/trace/hlo"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// crossed writes a small XSpace as Chrome JSON, with the mark that goes with it.
func crossed(t testing.TB, src *file.Source, space *xspace.Space, programs *Programs, startNS int64) string {
	t.Helper()
	ctx := context.Background()
	var table aligned.ProgramTable
	list, err := programs.Mark(&table)
	if err != nil || table.Full {
		t.Fatal(err, table.Full)
	}
	node := aligned.Node{ID: "a", Compiled: &aligned.Compiled{Programs: list}}
	var b bytes.Buffer
	b.WriteString(`{"traceEvents":[{}`)
	layout := space.Layout()
	for i := range space.Planes {
		p := &space.Planes[i]
		names, err := xspace.LoadEventNames(ctx, src, p, xspace.NameOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stats, err := xspace.LoadStatNames(ctx, src, p, xspace.NameOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ofMetadata := map[int64]int64{}
		err = xspace.EventMetadata(ctx, src, p, func(m *xspace.EventMeta) error {
			if id, ok := xspace.ProgramOf(m); ok {
				ofMetadata[m.ID] = id
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		process := layout[i]
		said := aligned.Plane{Process: int64(i + 1), Kind: process.Kind, Device: process.Device, DeviceID: process.DeviceID}
		for k := range p.Lines {
			l := &p.Lines[k]
			if process.Kind != "" && process.Executes[k] {
				said.Threads = append(said.Threads, k+1)
			}
			err := xspace.EventsOf(ctx, src, p, l, xspace.EventOptions{EventNames: names, StatNames: stats}, func(e *xspace.Event) error {
				fmt.Fprintf(&b, ",\n"+`{"ph":"X","pid":%d,"tid":%d,"name":%q,"ts":%d.%03d,"dur":%d.%03d,"args":{`, i+1, k+1, e.Name(), startNS/1000, e.OffsetPS/1000, e.DurationPS/1e6, e.DurationPS/1000%1000)
				for it := e.Stats(); it.Next(); {
					fmt.Fprintf(&b, "%q:%q,", it.Stat().Name, it.Stat().Text())
				}
				if id, ok := ofMetadata[e.MetadataID]; ok && process.Kind == aligned.PlaneOperations && process.Executes[k] {
					fmt.Fprintf(&b, `"program_id":%d,`, id)
				}
				b.WriteString(`"":0}}`)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if process.Kind != "" {
			node.Compiled.Planes = append(node.Compiled.Planes, said)
		}
	}
	text, err := (&aligned.Mark{Schema: aligned.Schema, Nodes: []aligned.Node{node}, Programs: table.List}).Text()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "],\n%q: %s}", chrometrace.KeyMark, text)
	return b.String()
}

// markedPart extracts the collectives of a Chrome trace with a mark.
func markedPart(t testing.TB, text string, opt Options) (*Part, error) {
	t.Helper()
	ctx := context.Background()
	src, err := file.FromBytes("trace.json", []byte(text))
	if err != nil {
		return nil, err // compressed, and damaged
	}
	defer src.Close()
	trace, err := chrometrace.Scan(ctx, src, chrometrace.ScanOptions{})
	if err != nil {
		return nil, err
	}
	mark, err := chrometrace.ReadMark(ctx, src, trace)
	if err != nil || mark == nil {
		return nil, err
	}
	compiled, err := ReadCompiled(mark)
	if err != nil {
		return nil, err
	}
	opt.Compiled = compiled[0]
	return fromRecorded(ctx, src, trace, opt)
}

// sameInJSON reports where the collectives of an XSpace are others once it has crossed into JSON.
func sameInJSON(t testing.TB, src *file.Source, space *xspace.Space, want *Part, opt Options) {
	t.Helper()
	got, err := markedPart(t, crossed(t, src, space, want.Programs, opt.StartNS), opt)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := summary(got), summary(want); a != b || got.Unknown != want.Unknown || !reflect.DeepEqual(got.DeviceIDs, want.DeviceIDs) && len(got.Spans) > 0 {
		t.Errorf("in JSON\n%s%d unknown %v\nin XSpace\n%s%d unknown %v", a, got.Unknown, got.DeviceIDs, b, want.Unknown, want.DeviceIDs)
	}
	if !reflect.DeepEqual(sortedOps(got), sortedOps(want)) {
		t.Errorf("operations in JSON\n%+v\nin XSpace\n%+v", got.Ops, want.Ops)
	}
}

func sortedOps(p *Part) map[string]Op {
	out := map[string]Op{}
	for _, o := range p.Ops {
		out[fmt.Sprint(o.Key, o.Variant, o.Phase, o.Sends)] = o
	}
	return out
}

// TestProgramsReadBackFromAMark: participants, transfers and names of every program of recordings.
func TestProgramsReadBackFromAMark(t *testing.T) {
	for _, rel := range []string{"jax_skew/p4/node0.xplane.pb", "xplane/openxla+xprof__2cc1243__tpu_inference_2.xplane.pb"} {
		want := xspacePart(t, filetest.Data(t, rel), 0, 0).Programs
		var table aligned.ProgramTable
		list, err := want.Mark(&table)
		if err != nil {
			t.Fatal(err)
		}
		again, err := want.Mark(&table) // another node of the same job
		if err != nil || !reflect.DeepEqual(again, list) || len(table.List) > len(list) {
			t.Errorf("%s: a second node has programs %v, the first %v (%v)", rel, again, list, err)
		}
		node := aligned.Node{ID: "a", Compiled: &aligned.Compiled{Programs: list}}
		text, err := (&aligned.Mark{Schema: aligned.Schema, Nodes: []aligned.Node{node, node}, Programs: table.List}).Text()
		if err != nil {
			t.Fatal(err)
		}
		mark, err := aligned.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := ReadCompiled(mark)
		if err != nil {
			t.Fatal(err)
		}
		got := compiled[0].programs
		if compiled[1].programs != got {
			t.Errorf("%s: nodes of the same programs hold them twice", rel)
		}
		ops := 0
		for i, p := range want.list {
			q := got.list[i]
			if q.ID != p.ID || q.Name != p.Name || q.Fingerprint != p.Fingerprint || len(q.Ops) != len(p.Ops) || !reflect.DeepEqual(q.Devices, p.Devices) {
				t.Fatalf("%s: program %d is %d %s, want %d %s", rel, i, q.ID, q.Name, p.ID, p.Name)
			}
			for k := range p.Ops {
				ops++
				if a, b := fromHLO(q.Module, &q.Ops[k]), fromHLO(p.Module, &p.Ops[k]); !reflect.DeepEqual(a, b) || q.Ops[k].HostTransfer != p.Ops[k].HostTransfer {
					t.Errorf("%s: %+v, want %+v", rel, a, b)
				}
			}
		}
		if ops == 0 {
			t.Errorf("%s: no collectives in %d programs", rel, len(want.list))
		}
	}
}

// TestADamagedTableOfProgramsIsRefused: with what is wrong about it.
func TestADamagedTableOfProgramsIsRefused(t *testing.T) {
	node := `"nodes":[{"id":"a","compiled":{"programs":[[1,0]],"planes":[{"process":1,"kind":"host","device":-1}]}}]`
	for programs, want := range map[string]string{
		`[]`: "a node has program 0 of 0",
		`[{"name":"p","collectives":[{"op":"a","kind":"gossip"}]}]`:                                                              `"a": the kind is "gossip"`,
		`[{"name":"p","collectives":[{"op":"a","kind":"all-reduce","phase":"end"}]}]`:                                            `the phase is "end"`,
		`[{"name":"p","collectives":[{"op":"a","kind":"all-reduce","groups":"{0,"}]}]`:                                           "not written like",
		`[{"name":"p","collectives":[{"op":"a","kind":"permute","pairs":"{0,1,2}"}]}]`:                                           "a pair of 3",
		`[{"name":"p","replicas":2,"partitions":1,"devices":"{0}"}]`:                                                             "contradicts itself",
		`[{"name":"p","replicas":2,"partitions":1,"devices":"{0},{1}"}]`:                                                         "2 lists of devices",
		`[{"name":"p","collectives":[{"op":"a","kind":"all-reduce","groups":"{0..8388607}"}]}]`:                                  hlo.ErrTooMany.Error(),
		`[{"name":"p","collectives":[` + strings.Repeat(`{},`, aligned.MaxCollectives) + `{}]}]`:                                 "more than 262144 collectives",
		`[` + strings.Repeat(`{},`, aligned.MaxPrograms) + `{}]`:                                                                 "more than 65536 programs",
		`[{"collectives":[` + strings.Repeat(`{},`, 200_000) + `{}]},{"collectives":[` + strings.Repeat(`{},`, 70_000) + `{}]}]`: "more than 62143 collectives",
	} {
		text := `{"traceEvents":[{}],"prlxAlignment":{"schema":"prlx.mark/1",` + node + `,"programs":` + programs + `}}`
		_, err := markedPart(t, text, Options{})
		if e := fault.Of(err); err == nil || e.Kind != fault.Format || !strings.Contains(e.Error(), want) {
			t.Errorf("%.100s: %v, want %q", programs, err, want)
		}
	}
}

// FuzzMarkedChrome: any JSON with a mark is collectives or an error that says so.
func FuzzMarkedChrome(f *testing.F) {
	ctx := context.Background()
	src, err := file.FromBytes("a", append(metadataPlane(program("m", 1, []int64{0, 1}, instr(1, "p", "collective-permute", msg(52, num(2, 1))))),
		testPlane("/host:CPU", map[string][]testEvent{"pool": {{"p", 0, 5, map[string]any{"hlo_op": "p", "hlo_module": "m", "run_id": 1}}}})...))
	if err != nil {
		f.Fatal(err)
	}
	space, err := xspace.Scan(ctx, src, xspace.ScanOptions{})
	if err != nil {
		f.Fatal(err)
	}
	programs, err := ReadPrograms(ctx, src, space, func(string) {})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(crossed(f, src, space, programs, 1000))
	f.Add(`{"traceEvents":[{"ph":"X","pid":1,"tid":1,"name":"a","ts":1,"dur":2,"args":{"hlo_op":"a","program_id":1}}],"prlxAlignment":{"schema":"prlx.mark/1","nodes":[{"id":"a","compiled":{"programs":[[1,0]],"planes":[{"process":1,"kind":"host","device":-1}]}}],"programs":[{"name":"p","replicas":1,"partitions":4,"devices":"{0..3}","collectives":[{"op":"a","kind":"all-reduce","channel":1,"global_ids":true,"groups":"{0,1},{2,3}"}]}]}}`)
	f.Add("\x1f\x8b")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := markedPart(t, text, Options{Limit: 1000})
		typed(t, err)
		judgeTwice(t, p)
	})
}
