package diff

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// acceptResult has one row for each kind at each of two sites, in warps 0 to 9.
func acceptResult() *Result {
	at := func(line uint32) *site.Site {
		return &site.Site{Kind: site.Atomic, Chain: []site.Frame{{Function: "attn_fwd", File: "src/attn.py", Line: line, Column: 5}}}
	}
	r := &Result{
		A:     &warptrace.Header{Kernel: "attn_fwd_64"},
		B:     &warptrace.Header{Kernel: "attn_fwd_64"},
		Sites: []SiteRef{{ID: 0x41, Site: at(41)}, {ID: 0x77, Site: at(77)}},
	}
	for warp := range uint64(10) {
		r.Rows = append(r.Rows, Row{Warp: warp, Kind: RowKind(warp % rowKinds), SiteA: int32(warp / 5), SiteB: int32(warp / 5), Cluster: -1})
	}
	return r
}

func accepted(t *testing.T, text string) *Accepted {
	t.Helper()
	a, err := ParseAccepted("accepted.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnEntryAcceptsWhatItNames(t *testing.T) {
	cases := map[string]struct {
		entry string
		warps []uint64
	}{
		"a line":             {`site = "attn.py:41"`, []uint64{0, 1, 2, 3, 4}},
		"a path":             {`site = "src/*.py:77"`, []uint64{5, 6, 7, 8, 9}},
		"an id":              {`site = "0x77"`, []uint64{5, 6, 7, 8, 9}},
		"a function":         {`site = "func:attn_*"`, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"everything":         {`site = "*"`, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"one kind":           {"site = \"*\"\nkind = \"Value\"", []uint64{2, 7}},
		"several kinds":      {"site = \"*\"\nkind = [\"Branch\", \"Path\"]", []uint64{0, 3, 5, 8}},
		"its kernel":         {"site = \"attn.py:41\"\nkernel = \"attn_*\"", []uint64{0, 1, 2, 3, 4}},
		"another kernel":     {"site = \"attn.py:41\"\nkernel = \"softmax*\"", nil},
		"as many as allowed": {"site = \"attn.py:41\"\nmax = 5", []uint64{0, 1, 2, 3, 4}},
		"more than allowed":  {"site = \"attn.py:41\"\nmax = 4", nil},
		"until today":        {"site = \"attn.py:41\"\nuntil = 2027-01-31", []uint64{0, 1, 2, 3, 4}},
		"until yesterday":    {"site = \"attn.py:41\"\nuntil = 2027-01-30", nil},
		"a day as text":      {"site = \"attn.py:41\"\nuntil = \"2027-02-01\"", []uint64{0, 1, 2, 3, 4}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := acceptResult()
			use, err := accepted(t, "[[accept]]\nreason = \"known\"\n"+c.entry).Apply(r, "2027-01-31")
			if err != nil {
				t.Fatal(err)
			}
			var got []uint64
			for _, row := range r.Rows {
				if row.Accepted {
					got = append(got, row.Warp)
				}
			}
			if !reflect.DeepEqual(got, c.warps) || use.Divergences != int64(len(c.warps)) {
				t.Errorf("accepted warps %v (%d), want %v", got, use.Divergences, c.warps)
			}
		})
	}
}

func TestEveryEntrySaysWhatBecameOfIt(t *testing.T) {
	a := accepted(t, `
[[accept]]
site = "attn.py:41"
kind = "Value"
reason = "first taker"

[[accept]]
site = "attn.py:41"
kind = "Value"
reason = "nothing is left for this one"

[[accept]]
site = "attn.py:77"
until = 2026-12-31
reason = "was to be repaired"

[[accept]]
site = "attn.py:77"
max = 1
reason = "one, not five"

[[accept]]
site = "*"
kernel = "gemm"
reason = "elsewhere"
`)
	r := acceptResult()
	use, err := a.Apply(r, "2027-01-01")
	if err != nil {
		t.Fatal(err)
	}
	var statuses []string
	for _, e := range use.Entries {
		statuses = append(statuses, e.Status)
	}
	want := []string{"used", "unused", "expired", "exceeded", "other-kernel"}
	if !reflect.DeepEqual(statuses, want) {
		t.Fatalf("statuses %v, want %v", statuses, want)
	}
	for i, text := range []string{
		"accepted.toml:7: nothing differs at attn.py:41 any more",
		"accepted.toml:12: expired on 2026-12-31: 5 divergences at attn.py:77 count again",
		"accepted.toml:17: accepts 1 at attn.py:77, and there are 5",
	} {
		if i >= len(r.Warnings) || !strings.HasPrefix(r.Warnings[i], text) {
			t.Errorf("warning %d of %q does not begin with %q", i, r.Warnings, text)
		}
	}
}

func TestNoiseIsNotAccepted(t *testing.T) {
	r := acceptResult()
	r.Rows[0].Noise = true
	use, err := accepted(t, "[[accept]]\nsite = \"attn.py:41\"\nreason = \"x\"").Apply(r, "2027-01-01")
	if err != nil || use.Divergences != 4 || r.Rows[0].Accepted {
		t.Errorf("accepted %+v, %v; want the four that are not noise", use, err)
	}
}

func TestMistakesInTheFileAreNamed(t *testing.T) {
	good := "[[accept]]\nsite = \"a.py:1\"\nreason = \"r\"\n"
	cases := map[string]struct{ text, want string }{
		"a key":            {good + "kinds = \"Value\"", `accepted.toml:1: entry 1: unknown key "kinds" (did you mean kind?)`},
		"a far key":        {good + "xyzzy = 1", `unknown key "xyzzy"; known are site, kind`},
		"a table":          {"[[acept]]", `unknown key "acept" (did you mean accept?)`},
		"one table":        {"[accept]\nsite = \"a\"", "[accept] is one table, expected [[accept]]"},
		"no table":         {"accept = 3", "accept is a whole number"},
		"a list of others": {"accept = [3]", "accept holds a whole number"},
		"a kind":           {good + "kind = \"value\"", `kind is "value" (did you mean Value?)`},
		"a kind's type":    {good + "kind = 3", "kind is a whole number, expected text"},
		"no kinds":         {good + "kind = []", "kind is an empty list"},
		"no site":          {"[[accept]]\nreason = \"r\"", "entry 1 has no site"},
		"no reason":        {"[[accept]]\nsite = \"a.py:1\"", "entry 1 has no reason"},
		"an empty reason":  {"[[accept]]\nsite = \"a.py:1\"\nreason = \" \"", "reason is empty"},
		"a site's type":    {"[[accept]]\nsite = 41\nreason = \"r\"", "site is a whole number, expected text"},
		"a bad pattern":    {"[[accept]]\nsite = \"a[\"\nreason = \"r\"", "is not a site pattern"},
		"a bad kernel":     {good + "kernel = \"a[\"", "is not a pattern"},
		"max below 0":      {good + "max = -1", "expected a whole number from 0 on"},
		"max as text":      {good + "max = \"3\"", "expected a whole number from 0 on"},
		"no day":           {good + "until = \"next week\"", "expected a date such as"},
		"no such day":      {good + "until = 2027-02-30", "not TOML"},
		"no TOML":          {"[[accept]\n", "accepted.toml:2: not TOML"},
		"a schema":         {"schema = \"prlx.accepted/9\"", "schema is prlx.accepted/9"},
		"deep":             {"a = " + strings.Repeat("[", 1000), "nested deeper"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := ParseAccepted("accepted.toml", []byte(c.text))
			if !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a format error with %q", err, c.want)
			}
		})
	}
}

func TestTheFileIsReadWithItsLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accepted.toml")
	if err := os.WriteFile(path, []byte("\ufeffschema = \"prlx.accepted/1\"\naccept = [{site = \"a.py:1\", reason = \"r\"}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := ReadAccepted(t.Context(), path)
	if err != nil || len(a.Entries) != 1 || a.Entries[0].Site != "a.py:1" || a.Entries[0].Max != -1 {
		t.Errorf("read %+v, %v", a, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := ReadAccepted(t.Context(), path); err != nil || len(a.Entries) != 0 {
		t.Errorf("an empty file accepts nothing: got %+v, %v", a, err)
	}
	if err := os.WriteFile(path, make([]byte, maxAccepted+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAccepted(t.Context(), path); !fault.Is(err, fault.Limit) {
		t.Errorf("a file above the limit: got %v", err)
	}
	if _, err := ReadAccepted(t.Context(), path+".missing"); !fault.Is(err, fault.IO) {
		t.Errorf("a file that is not there: got %v", err)
	}
	if _, err := a.Apply(acceptResult(), "tomorrow"); !fault.Is(err, fault.Usage) {
		t.Errorf("today must be a date: got %v", err)
	}
}

func FuzzParseAccepted(f *testing.F) {
	f.Add([]byte("[[accept]]\nsite = \"a.py:1\"\nkind = [\"Value\"]\nmax = 3\nuntil = 2027-01-31\nreason = \"r\"\n"))
	f.Add([]byte("accept = [{site = \"*\", reason = \"r\"}]"))
	f.Add([]byte("[[accept]]\n[[accept]]\n# [[accept]]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		a, err := ParseAccepted("fuzz.toml", b)
		if err != nil {
			if fault.Of(err).Kind == fault.Internal {
				t.Fatalf("an internal error: %v", err)
			}
			return
		}
		if _, err := a.Apply(acceptResult(), "2027-01-31"); err != nil {
			t.Fatal(err)
		}
	})
}
