package diff

import (
	"testing"

	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// headers are two launches of a kernel that were given one array and one number, changed as a case says.
func headers(change func(b *warptrace.Header)) (a, b *warptrace.Header) {
	both := [2]warptrace.Header{}
	for i := range both {
		both[i] = warptrace.Header{Grid: [3]uint32{1, 1, 1}, Arguments: []warptrace.Argument{
			{Name: "x", Type: "*fp32", Digest: 7, Shape: []uint64{4, 8}, Strides: []int64{8, 1}, Aligned: 16, Special: "divisible by 16"},
			{Name: "n", Type: "i32", Value: "32", Special: "divisible by 16"},
		}}
	}
	change(&both[1])
	return &both[0], &both[1]
}

func TestWhatWasGivenIsNamedByItsProperty(t *testing.T) {
	x := func(b *warptrace.Header) *warptrace.Argument { return &b.Arguments[0] }
	for name, c := range map[string]struct {
		change func(b *warptrace.Header)
		what   string
		text   string
		note   string
	}{
		"type": {func(b *warptrace.Header) { x(b).Type, x(b).Digest = "*fp16", 9 }, givenType, "x is *fp32 in A and *fp16 in B", ""},
		"value": {
			func(b *warptrace.Header) { b.Arguments[1].Value, b.Arguments[1].Special = "31", "" }, givenValue, "n is 32 in A and 31 in B",
			"compiled as divisible by 16 in A, as any value in B",
		},
		"place":     {func(b *warptrace.Header) { x(b).Offset = 64 }, givenPlace, "x begins 0 bytes into its memory in A and 64 bytes in B", ""},
		"alignment": {func(b *warptrace.Header) { x(b).Aligned = 4 }, givenAlignment, "the alignment of x: 16 bytes in A and 4 bytes in B", ""},
		"strides":   {func(b *warptrace.Header) { x(b).Strides = []int64{1, 4} }, givenStrides, "the strides of x: 8 x 1 in A and 1 x 4 in B", ""},
		"shape":     {func(b *warptrace.Header) { x(b).Shape = []uint64{4, 9} }, givenShape, "the shape of x: 4 x 8 in A and 4 x 9 in B", ""},
		"contents":  {func(b *warptrace.Header) { x(b).Digest = 9 }, givenContents, "x held something else when the kernel was launched", ""},
		"grid":      {func(b *warptrace.Header) { b.Grid = [3]uint32{2, 1, 1} }, givenGrid, "the grid of the launch: 1 x 1 x 1 in A and 2 x 1 x 1 in B", ""},
	} {
		a, b := headers(c.change)
		found := givenOf(&Result{}, a, b)
		if len(found) != 1 || found[0].What != c.what || found[0].Text() != c.text || found[0].Note != c.note {
			t.Errorf("%s: got %+v", name, found)
		}
	}
}

func TestWhatARecordingDoesNotSayIsNoDifference(t *testing.T) {
	a, b := headers(func(b *warptrace.Header) {
		b.Arguments[0] = warptrace.Argument{Name: "x", Type: "*fp32"}
		b.Arguments[1].Special = "divisible by 16"
	})
	if found := givenOf(&Result{}, a, b); len(found) != 1 || found[0].What != givenSpecial {
		t.Errorf("an array of which one side says nothing: got %+v", found)
	}
	b.Arguments = nil
	if found := givenOf(&Result{}, a, b); len(found) != 0 {
		t.Errorf("a recording without arguments: got %+v", found)
	}
}

func TestANumberThatIsOneIsComparedWithOneThatIsNot(t *testing.T) {
	a, b := headers(func(b *warptrace.Header) { b.Arguments = b.Arguments[:1] })
	text := func(constants ...warptrace.Constant) *warptrace.Texts {
		return &warptrace.Texts{Functions: []warptrace.Text{{Function: "k", File: "k.py", FirstLine: 1, Text: "def k():\n    pass\n"}}, Constants: constants}
	}
	r := &Result{TextsA: text(), TextsB: text(warptrace.Constant{Name: "n", Value: "1"})}
	r.Changes = edits.Between(r.TextsA, r.TextsB)
	found := givenOf(r, a, b)
	if len(found) != 1 || found[0].Text() != "n is 32 in A and 1 in B" || found[0].Note == "" {
		t.Errorf("got %+v", found)
	}
}

func TestDataComesLast(t *testing.T) {
	a, b := headers(func(b *warptrace.Header) {
		b.Arguments[0].Digest = 9
		b.Arguments[1].Value = "31"
	})
	found := givenOf(&Result{}, a, b)
	if len(found) != 2 || found[0].Name != "n" || !found[1].isData() {
		t.Errorf("got %+v", found)
	}
}
