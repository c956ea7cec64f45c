package unpickle

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

func load(t *testing.T, hexed string) (any, error) {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(hexed, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return Load("test.pickle", b)
}

func list(items ...any) *List { return &List{items} }

// TestWhatPythonPickles: the bytes are those of CPython's pickle.dumps.
func TestWhatPythonPickles(t *testing.T) {
	for name, c := range map[string]struct {
		hexed string
		want  any
	}{
		// {'a': [1, -2, 70000, None, True, False], 'b': (1.5, 'x')} by protocol 2
		"protocol 2": {
			"80027d7100285801000000617101 5d7102284b014afeffffff4a701101004e888965580100000062710347 3ff8000000000000580100000078710486710575 2e",
			&Dict{[]any{"a", "b"}, []any{list(int64(1), int64(-2), int64(70000), nil, true, false), list(1.5, "x")}},
		},
		// [1795444314996083750, -1, 2**63-1, -2**63, b'ab', ()] by protocol 4
		"protocol 4": {
			"8004952e000000000000005d9428 8a08260c568117b3ea184affffffff8a08ffffffffffffff7f8a0800000000000000 80430261629429652e",
			list(int64(1795444314996083750), int64(-1), int64(9223372036854775807), int64(-9223372036854775808), []byte("ab"), list()),
		},
		"unsigned in nine bytes": {"80028a09ffffffffffffff7f002e", int64(9223372036854775807)},
		"empty long":             {"80028a002e", int64(0)},
		"a set":                  {"80048f944b014b02902e", nil},
	} {
		got, err := load(t, c.hexed)
		if name == "a set" { // its items have no mark
			if !fault.Is(err, fault.Format) {
				t.Errorf("%s: got %v, %v", name, got, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %#v, %v", name, got, err)
		}
	}
}

// TestValuesAreShared: what is kept and taken again is one value.
func TestValuesAreShared(t *testing.T) {
	got, err := load(t, "80025d7100285d7101680165 2e")
	l, ok := got.(*List)
	if err != nil || !ok || len(l.Items) != 2 || l.Items[0] != l.Items[1] {
		t.Errorf("got %#v, %v", got, err)
	}
}

// TestNothingIsImportedOrCalled: each is refused by what it would do, and where.
func TestNothingIsImportedOrCalled(t *testing.T) {
	for hexed, says := range map[string]string{
		"8002 636f730a73797374656d0a 58020000006c73 8552 2e": `imports "system" of the module "os"`,
		"8004 8c026f73 8c0673797374656d 93 2e":               "imports a name",
		"8002 4e 4e 52 2e":                                   "calls something",
		"8002 4e 4e 62 2e":                                   "changes an object",
		"8002 28 69 6f730a73797374656d0a 2e":                 `makes an object of "system" of the module "os"`,
		"8002 4e 4e 81 2e":                                   "makes an object",
		"8002 50 31 0a 2e":                                   "outside of it",
		"8002 4e 51 2e":                                      "outside of it",
		"8002 82 01 2e":                                      "registered class",
		"8005 97 2e":                                         "memory outside",
		"8002 ff 2e":                                         "0xff is not one",
		"8002 8a0a01010101010101010101 2e":                   "an integer of 10 bytes",
	} {
		got, err := load(t, hexed)
		if !fault.Is(err, fault.Format) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, %v; want an error that says %q", hexed, got, err, says)
		}
	}
}

func TestWhatIsCutOrBrokenIsRefused(t *testing.T) {
	const whole = "80027d7100285801000000617101 5d7102284b014afeffffff4a701101004e888965580100000062710347 3ff8000000000000580100000078710486710575 2e"
	b, _ := hex.DecodeString(strings.ReplaceAll(whole, " ", ""))
	for n := range b {
		if got, err := Load("cut", b[:n]); !fault.Is(err, fault.Format) {
			t.Errorf("cut to %d bytes: got %v, %v", n, got, err)
		}
	}
	for _, hexed := range []string{
		"80022e", "80024e4e2e", "80024e2e00", "800228 2e", "800265 2e", "80024b01 61 2e", "80025d 28 4e 75 2e", "80027d 28 4e 75 2e", "8002 6801 2e", "8002 7101 2e",
		"8002 85 2e", "8002 30 2e", "8002 4e28302e", "8002 58ffffffff 2e", "8004 8dffffffffffffffff 2e", "8002 4e 28 73 2e", "80004e2e", "4e2e", "8002 28 71 00 2e",
	} {
		if got, err := load(t, hexed); !fault.Is(err, fault.Format) {
			t.Errorf("%s: got %v, %v", hexed, got, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"80027d71002858010000006171015d7102284b014afeffffff4a701101004e8889655801000000627103473ff80000000000005801000000787104867105752e",
		"8004952e000000000000005d94288a08260c568117b3ea184affffffff8a08ffffffffffffff7f8a080000000000000080430261629429652e",
		"80025d7100285d71016801652e", "8002636f730a73797374656d0a58020000006c7385522e",
	} {
		b, _ := hex.DecodeString(seed)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := Load("fuzz", b); err != nil && fault.Of(err).Kind != fault.Format {
			t.Fatalf("%v", err)
		}
	})
}
