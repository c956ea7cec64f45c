package fatbinary

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

// What nvcc 13.5 embeds for compute_80 and compute_90 of one kernel of two lines, with --compress-mode none, speed and size.
func container(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".fatbin"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTextIsTheSameHoweverItIsCompressed(t *testing.T) {
	want, err := PTX("none", container(t, "none"), 80)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(want, ".target sm_80") || !strings.Contains(want, ".entry twice(") || strings.Contains(want, "\x00") {
		t.Fatalf("got %q", want)
	}
	for _, name := range []string{"speed", "size"} {
		got, err := PTX(name, container(t, name), 80)
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestDeviceTakesTheNewestTextThatIsNotNewerThanItself(t *testing.T) {
	for device, want := range map[uint32]string{80: "sm_80", 86: "sm_80", 90: "sm_90", 120: "sm_90", 75: "sm_80"} {
		got, err := PTX("none", container(t, "none"), device)
		if err != nil || !strings.Contains(got, ".target "+want) {
			t.Errorf("device %d: got %q, %v, want %s", device, got, err, want)
		}
	}
}

func TestEmptyContainerMayComeFirst(t *testing.T) {
	empty := append([]byte(nil), container(t, "none")[:headBytes]...)
	binary.LittleEndian.PutUint64(empty[8:], 0)
	if _, err := PTX("two", append(empty, container(t, "size")...), 80); err != nil {
		t.Error(err)
	}
}

func TestMachineCodeAloneIsRefusedWithWhatHelps(t *testing.T) {
	b := container(t, "none")
	for at := headBytes; at < len(b); at += int(binary.LittleEndian.Uint32(b[at+4:])) + int(binary.LittleEndian.Uint64(b[at+8:])) {
		binary.LittleEndian.PutUint16(b[at:], kindELF)
	}
	_, err := PTX("machine", b, 80)
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Incompatible || !strings.Contains(f.Msg, "only machine code for sm_80, sm_90") || !strings.Contains(f.Hint, "code=compute_80") {
		t.Errorf("got %v", err)
	}
}

func TestDamageIsAnErrorWithItsPlace(t *testing.T) {
	for _, name := range []string{"none", "speed", "size"} {
		whole := container(t, name)
		want, _ := PTX(name, whole, 80)
		for n := range whole {
			if got, err := PTX(name, whole[:n], 80); n > 0 && err == nil {
				t.Fatalf("%s cut at %d: got %d bytes of text", name, n, len(got))
			}
			b := append([]byte(nil), whole...)
			b[n] ^= 0x41
			if got, err := PTX(name, b, 80); err == nil && name == "size" && n > headBytes+80 && n < headBytes+80+200 && got == want {
				t.Fatalf("%s with byte %d changed: the text is what it was", name, n)
			}
		}
	}
}

func FuzzPTX(f *testing.F) {
	for _, name := range []string{"none", "speed", "size"} {
		f.Add(container(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, err := PTX("fuzzed", b, 80); err == nil && len(text) > mostText {
			t.Errorf("%d bytes of text", len(text))
		}
	})
}

func TestWhereSourcesWereIsNoPartOfTheText(t *testing.T) {
	for _, forms := range [][2]string{
		{".loc 1 2 3\n\t.file\t1 \"/a/k.cu\"\n", ".loc 1 2 3\n\t.file\t1 \"/b/c/k.cu\"\n"},
		{"\t.file\t1 \"/a\" \"k.cu\"\n", "\t.file\t1 \"/b\" \"k.cu\"\n"},
		{".file 1 \"k.cu\", 17, 300\n", ".file 1 \"/b/k.cu\", 18, 301\n"},
		{"ret;\n}\n\t.section\t.debug_str\n{\n.b8 1\n}\n", "ret;\n}\n\t.section\t.debug_str\n{\n.b8 2\n}\n"},
	} {
		if a, b := Anywhere(forms[0]), Anywhere(forms[1]); a != b {
			t.Errorf("got %q and %q", a, b)
		}
	}
	if a, b := Anywhere(".file 1 \"a.cu\"\n"), Anywhere(".file 1 \"b.cu\"\n"); a == b {
		t.Error("two files are the same")
	}
}
