package kernels

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/work"
)

// hostileBytes is the size of the hostile texts: 1 MB, or PRLX_CYCLE_HOSTILE_MB.
func hostileBytes() int {
	if n, err := strconv.Atoi(os.Getenv("PRLX_CYCLE_HOSTILE_MB")); err == nil && n > 0 {
		return n << 20
	}
	return 1 << 20
}

// fill repeats a piece of text behind a head.
func fill(head, piece string) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	for b.Len() < hostileBytes() {
		b.WriteString(piece)
	}
	return b.Bytes()
}

// What hostile text costs is bounded by its length: 1 s for 100 MB, and what a slow machine needs to start.
func TestHostileTextsEndSoon(t *testing.T) {
	for name, c := range map[string]struct {
		text []byte
		fail fault.Kind // "": it is read
	}{
		"brackets":             {fill("", "["), ""},
		"braces":               {fill("", "{"), fault.Format},
		"quotes":               {fill(`[{"name": `, `"`), ""},
		"an open string":       {fill(`[{"ph": "X", "name": "`, "aaaaaaaa"), ""},
		"an open object":       {fill(`[{"ph": "X", "args": `, `{"a": `), ""},
		"numbers":              {fill(`[`, "12345,"), ""},
		"bad events":           {fill(`[`, `{"ph" "X"},`), ""},
		"open events":          {fill(`[`, `{"ph": "X", `), ""},
		"blanks":               {fill(`[{"ph" x `, "                  {"), ""},
		"ends of lists":        {fill(`[{"ph" x `, "}]"), ""},
		"lists in lists":       {fill(``, `[{"traceEvents":`), fault.Limit},
		"documents":            {fill(``, `[],`), fault.Limit},
		"keys":                 {fill(`{`, `"a":1,`), fault.Format},
		"a long key":           {fill(`{"`, `aaaaaaaa`), fault.Format},
		"a long value":         {fill(`{"distributedInfo": {"rank": "`, `\"`), fault.Format},
		"one repeated kernel":  {append(fill(`[`, `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":1,"args":{"correlation":3}},`), "{}]"...), ""},
		"begins without end":   {fill(`[`, `{"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":1,"args":{"correlation":3}, "more": "text that makes it longer"},`), ""},
		"backwards":            {backwards(), ""},
		"ids far apart":        {append(fill(`[{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":9,"tid":7,"ts":0,"dur":9e9},{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":7,"ts":5,"dur":1,"args":{"correlation":4294967295}},`, `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":7,"ts":5,"dur":1,"args":{"correlation":3}},`), `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":1,"args":{"correlation":3}}]`...), ""},
		"nested annotations":   {nested(), ""},
		"a name each":          {distinct(), ""},
		"a control character":  {fill(`[`, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"\x01\n\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1},"), ""},
		"escapes in every key": {fill(`[`, `{"p\u0068":"X","c\u0061t":"kernel","name":"\\\"","pid":0,"tid":7,"ts":5,"dur":1},`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := fromBytes("t.json", c.text, Options{})
			if len(c.text) > 16<<20 && strings.HasPrefix(name, "an open") {
				c.fail = fault.Limit
			}
			if f := fault.Of(err); err != nil && (c.fail != f.Kind) || err == nil && c.fail != "" {
				t.Errorf("got %v and %v, want %q", tr != nil, err, c.fail)
			}
		})
	}
}

// backwards are kernels in the reverse order of time.
func backwards() []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := 1 << 30; b.Len() < hostileBytes(); i -= 7 {
		fmt.Fprintf(&b, `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":1},`, i)
	}
	return b.Bytes()
}

// nested are annotations, each inside of the one before.
func nested() []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := 0; b.Len() < hostileBytes(); i++ {
		fmt.Fprintf(&b, `{"ph":"X","cat":"user_annotation","name":"a","pid":9,"tid":7,"ts":%d,"dur":%d},`, i, 1<<30-2*i)
		fmt.Fprintf(&b, `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":7,"ts":%d,"dur":1,"args":{"correlation":%d}},`, i, i+1)
		fmt.Fprintf(&b, `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":1,"args":{"correlation":%d}},`, i, i+1)
	}
	return b.Bytes()
}

// distinct are kernels of different names.
func distinct() []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := 0; b.Len() < min(hostileBytes(), 64<<20); i++ {
		fmt.Fprintf(&b, `{"ph":"X","cat":"kernel","name":"kernel number %d","pid":0,"tid":7,"ts":%d,"dur":1},`, i, i)
	}
	return b.Bytes()
}

func TestTooManyNamesAreRefused(t *testing.T) {
	var n work.Names
	long := []byte(strings.Repeat("x", 1<<20))
	for i := range 100 {
		long[0] = byte(i)
		if _, err := n.Number("t", long); err != nil {
			if !fault.Is(err, fault.Limit) || i != work.MaxNameBytes>>20 {
				t.Errorf("after %d names: %v", i, err)
			}
			return
		}
	}
	t.Error("100 MB of names are kept")
}

// The eight ranks of one job, each in its own document, and all of them in one file.
func TestRanksOfOneJob(t *testing.T) {
	disk := plain(t, testData(t, "kineto/facebookresearch+param__dlrm_kineto.tar.gz")[0])
	kernels := 0
	var all bytes.Buffer
	ranks := map[int]bool{}
	for r := tar.NewReader(bytes.NewReader(disk)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || !strings.HasSuffix(h.Name, ".json") || strings.Contains(h.Name, "/._") {
			continue
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := fromBytes(h.Name, raw, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, n := range slowCount(t, raw) {
			want += n
		}
		if tr.Kernels() != want || len(tr.Sequences) != 1 {
			t.Errorf("%s: %d kernels of %d devices, want %d of 1", h.Name, tr.Kernels(), len(tr.Sequences), want)
		}
		ranks[tr.Sequences[0].Rank] = true
		kernels += want
		all.Write(raw)
		t.Log(h.Name, describeTrace(tr))
	}
	tr, err := fromBytes("all", all.Bytes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(ranks) != 8 || len(tr.Sequences) != 8 || tr.Kernels() != kernels || tr.Losses.Documents != 7 {
		t.Errorf("%d ranks; in one file %d devices and %d of %d kernels", len(ranks), len(tr.Sequences), tr.Kernels(), kernels)
	}
}
