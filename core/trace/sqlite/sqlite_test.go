package sqlite

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
)

func opened(t testing.TB, path string) *Database {
	t.Helper()
	src, err := file.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	d, err := Open(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTablesAreWhatSQLiteReads: databases with pages of 512 bytes (deep trees, rows over several pages) and of 8,192, against what Python's
// sqlite3 reads of them (testdata/make.py).
func TestTablesAreWhatSQLiteReads(t *testing.T) {
	for _, of := range []struct {
		name  string
		ahead int64
	}{{"small", blockBytes}, {"small", 0}, {"small", 3 * 512}, {"large-pages", blockBytes}, {"large-pages", 0}} {
		name := of.name
		d := opened(t, filepath.Join("testdata", name+".db"))
		d.ahead = of.ahead // a row of several pages moves what is in memory
		var want map[string]struct {
			Columns []string
			Rows    [][]any
		}
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		words := json.NewDecoder(bytes.NewReader(text))
		words.UseNumber()
		if err := words.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if len(d.Tables()) != len(want) {
			t.Errorf("%s: %d tables, want %d", name, len(d.Tables()), len(want))
		}
		for table, w := range want {
			one := d.Table(strings.ToUpper(table))
			if one == nil || !slices.Equal(one.Columns, w.Columns) {
				t.Fatalf("%s: table %s is %+v, want columns %q", name, table, one, w.Columns)
			}
			if table == "without" {
				if err := d.Read(context.Background(), one, nil); !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), "WITHOUT ROWID") {
					t.Errorf("%s: WITHOUT ROWID: %v", name, err)
				}
				continue
			}
			compareRows(t, d, one, w.Rows)
		}
	}
}

// compareRows reads a table in order.
func compareRows(t *testing.T, d *Database, table *Table, want [][]any) {
	t.Helper()
	n := 0
	err := d.Read(context.Background(), table, func(r *Row) error {
		if n >= len(want) {
			t.Fatalf("%s has more than %d rows", table.Name, n)
		}
		for c, w := range want[n] {
			if got := r.value(c, w); got != "" {
				t.Errorf("%s row %d %s: %s", table.Name, n, table.Columns[c], got)
			}
		}
		n++
		return nil
	})
	if err != nil || n != len(want) {
		t.Errorf("%s: %d rows, want %d: %v", table.Name, n, len(want), err)
	}
}

// value compares a value with what JSON says of it; "" where they are equal.
func (r *Row) value(c int, want any) string {
	if r.Null(c) != (want == nil) {
		return "null or not"
	}
	switch w := want.(type) {
	case string:
		if string(r.Text(c)) != w {
			return string(r.Text(c))
		}
	case map[string]any:
		if b, _ := hex.DecodeString(w["hex"].(string)); !bytes.Equal(r.Text(c), b) {
			return "other bytes"
		}
	case json.Number:
		whole, err := w.Int64()
		if f, _ := w.Float64(); err != nil && f == float64(int64(f)) && f < 1<<53 && f > -1<<53 {
			whole = int64(f)
		}
		if r.Int(c) != whole {
			return w.String()
		}
	}
	return ""
}

// TestRealDatabasesAreReadWhole reads every table of Nsight Systems' databases.
func TestRealDatabasesAreReadWhole(t *testing.T) {
	for _, path := range filetest.Glob(t, "other/*.sqlite") {
		d := opened(t, path)
		rows := map[string]int{}
		for _, table := range d.Tables() {
			if err := d.Read(context.Background(), table, func(*Row) error { rows[table.Name]++; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		// SELECT count(*) of each, by sqlite3.
		for table, want := range map[string]int{"CUPTI_ACTIVITY_KIND_KERNEL": 3442, "NVTX_EVENTS": 16782, "StringIds": 140, "ThreadNames": 843, "META_DATA_CAPTURE": 169} {
			if rows[table] != want {
				t.Errorf("%s: %d rows, want %d", table, rows[table], want)
			}
		}
	}
}

// TestADatabaseThatIsStillWrittenIsRefused: what stands in a log beside it is not in it.
func TestADatabaseThatIsStillWrittenIsRefused(t *testing.T) {
	b, err := os.ReadFile("testdata/small.db")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "open.db")
	for _, write := range []struct {
		path    string
		content []byte
		words   string
	}{{path, b, ""}, {path + "-wal", nil, ""}, {path + "-wal", []byte("frames"), "open.db-wal beside it"}, {path, b[:len(b)/2], "is cut"}} {
		if err := os.WriteFile(write.path, write.content, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := file.Open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(context.Background(), src)
		src.Close()
		if (write.words == "") != (err == nil) || err != nil && (!fault.Is(err, fault.Format) || !strings.Contains(err.Error(), write.words)) {
			t.Errorf("%s of %d bytes: %v, want %q", write.path, len(write.content), err, write.words)
		}
	}
}

// readAll reads all that bytes hold as a database.
func readAll(b []byte) error {
	src, err := file.FromBytes("fuzz.db", b)
	if err != nil {
		return err
	}
	d, err := Open(context.Background(), src)
	if err != nil {
		return err
	}
	for _, table := range d.Tables() {
		visit := func(r *Row) error {
			for c := range table.Columns {
				_, _ = r.Int(c), r.Text(c)
			}
			return nil
		}
		if err := d.Read(context.Background(), table, visit); err != nil {
			return err
		}
	}
	return nil
}

// TestDamagedDatabasesEndWithATypedError: thousands of random changes; and the tree of a table whose pages refer to each other.
func TestDamagedDatabasesEndWithATypedError(t *testing.T) {
	b, err := os.ReadFile("testdata/small.db")
	if err != nil {
		t.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(3, 5))
	failed := 0
	for range 3000 {
		c := bytes.Clone(b)
		for range 1 + draw.IntN(8) {
			c[draw.IntN(len(c))] = byte(draw.Uint32())
		}
		if err := readAll(c); err != nil {
			failed++
			if !fault.Is(err, fault.Format) && !fault.Is(err, fault.Limit) {
				t.Fatalf("%v is of no kind", err)
			}
		}
	}
	if failed < 500 {
		t.Errorf("%d of 3000 are damaged", failed)
	}
	circle := bytes.Clone(b)
	d := opened(t, "testdata/small.db")
	root := int(d.Table("numbers").root-1) * d.pageSize
	if circle[root] != interiorPage {
		t.Fatalf("the root is of kind %d", circle[root])
	}
	copy(circle[root+8:], []byte{0, 0, 0, byte(d.Table("numbers").root)})
	if err := readAll(circle); !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a circle: %v", err)
	}
}

// FuzzRead: no bytes make the reader panic or run on.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"testdata/small.db", "testdata/large-pages.db"} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 1<<17)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := readAll(b); err != nil && !fault.Is(err, fault.Format) && !fault.Is(err, fault.Limit) {
			t.Errorf("%v is of no kind", err)
		}
	})
}
