package warptrace

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

var sampleTexts = Texts{
	Functions: []Text{
		{File: "/k/kernel.py", Function: "softmax", FirstLine: 7, Text: "@triton.jit\ndef softmax(x):\n    return x\n"},
		{File: "/k/other.py", Function: "row", FirstLine: 3, Text: "@triton.jit\ndef row(x):\n    return x + 1\n"},
	},
	Constants: []Constant{{"BLOCK", "128"}, {"num_warps", "4"}},
	Code:      Text{Function: "softmax", Text: ".visible .entry softmax()\n{\nret;\n}\n"},
}

// withTexts writes a small recording that has texts.
func withTexts(t testing.TB, texts *Texts, opt V2Options) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := CreateV2(&out, v2TestHeader(3), structuredSites(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.SetTexts(texts); err != nil {
		t.Fatal(err)
	}
	for warp := range uint64(3) {
		if err := w.Append(&Warp{WarpInfo: WarpInfo{Warp: warp, Total: 5}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func textsIn(t *testing.T, path string) *Texts {
	t.Helper()
	trace, err := OpenPath(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	if err := trace.Verify(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	texts, err := trace.Texts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func saved(t *testing.T, raw []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.prlx")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestARecordingHoldsTheTextOfItsKernel(t *testing.T) {
	for _, opt := range []V2Options{{}, {Sections: true}} {
		got := textsIn(t, saved(t, withTexts(t, &sampleTexts, opt)))
		if got == nil || len(got.Functions) != 2 || len(got.Constants) != 2 {
			t.Fatalf("texts: %+v", got)
		}
		for i, want := range sampleTexts.Functions {
			want.Digest = DigestOfText(want.Text)
			if got.Functions[i] != want {
				t.Errorf("text %d: got %+v, want %+v", i, got.Functions[i], want)
			}
		}
		code := sampleTexts.Code
		code.Digest = DigestOfText(code.Text)
		if got.Code != code {
			t.Errorf("code: got %+v, want %+v", got.Code, code)
		}
		if got.Constants[0] != sampleTexts.Constants[0] {
			t.Errorf("constants: %+v", got.Constants)
		}
	}
}

func TestTextsSurviveACut(t *testing.T) {
	raw := withTexts(t, &sampleTexts, V2Options{})
	path := saved(t, raw[:len(raw)-v2Trailer-1])
	if got := textsIn(t, path); got == nil || got.Functions[1].Function != "row" {
		t.Fatalf("texts of a recording that was cut: %+v", got)
	}
}

func TestASessionHoldsATextOnce(t *testing.T) {
	named := Texts{Functions: []Text{sampleTexts.Functions[0]}}
	text := named.Functions[0].Text
	named.Functions[0].Digest, named.Functions[0].Text = DigestOfText(text), ""
	path := saved(t, withTexts(t, &named, V2Options{}))
	if got := textsIn(t, path); got.Functions[0].Text != "" {
		t.Fatalf("a text that is nowhere: %q", got.Functions[0].Text)
	}
	folder := filepath.Join(filepath.Dir(path), TextsFolder)
	file := filepath.Join(folder, TextName(DigestOfText(text)))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		packed, err := PackText(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, packed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(text)
	if got := textsIn(t, path); got.Functions[0].Text != text {
		t.Errorf("text beside the recording: %q", got.Functions[0].Text)
	}
	for what, other := range map[string]string{
		"another text": text + "# changed", "one that is too long": strings.Repeat("x", MaxTextBytes+1),
	} {
		put(other)
		if got := textsIn(t, path); got.Functions[0].Text != "" {
			t.Errorf("%s was taken for the text", what)
		}
	}
	outside := filepath.Join(t.TempDir(), "outside")
	put(text)
	if err := os.Rename(file, outside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, file); err != nil {
		t.Fatal(err)
	}
	if got := textsIn(t, path); got.Functions[0].Text != "" {
		t.Error("a link led out of the folder of texts")
	}
}

func TestTextsThatDoNotFitAreRefused(t *testing.T) {
	var out bytes.Buffer
	w, err := CreateV2(&out, v2TestHeader(3), nil, V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	for what, texts := range map[string]*Texts{
		"a long text":    {Functions: []Text{{Text: strings.Repeat("x", MaxTextBytes+1)}}},
		"many functions": {Functions: make([]Text, maxTexts+1)},
		"many constants": {Constants: make([]Constant, maxConstants+1)},
	} {
		if err := w.SetTexts(texts); fault.Of(err).Kind != fault.Limit {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Every byte of the block is told by its checksum; with the checksums made to fit, by what it says.
func TestDamagedTextsAreNoticed(t *testing.T) {
	raw := withTexts(t, &sampleTexts, V2Options{})
	good := textsIn(t, saved(t, raw))
	body := encodeTexts(good)
	for i := range body {
		wrong := bytes.Clone(body)
		wrong[i] ^= 0x20
		got, err := decodeTexts(wrong)
		if err != nil {
			continue
		}
		for k := range got.Functions {
			if f := got.Functions[k]; f.Text != "" && DigestOfText(f.Text) != f.Digest {
				t.Errorf("byte %d: a text without its digest was read", i)
			}
		}
	}
}

func readTexts(b []byte) error {
	trace, err := openAny(b)
	if err != nil {
		return err
	}
	_, err = trace.Texts(context.Background())
	return err
}
