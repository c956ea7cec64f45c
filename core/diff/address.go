package diff

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// heldText spells what a lane held. An address that the simulator recorded is an argument and a distance: "x[+1,204]" counts elements of
// what x points to, "x+7 bytes" is inside of one.
func heldText(h *warptrace.Header, v uint64, t warptrace.ValueType) string {
	if t == warptrace.TypePtr {
		if text, ok := addressText(h, v); ok {
			return text
		}
	}
	return warptrace.FormatValue(v, t)
}

// addressBits is where the number of the argument stands in an address, see docs/concepts/sites.md.
const addressBits = 40

// addressText names an address by the argument that it belongs to; ok is false where it belongs to none that is known.
func addressText(h *warptrace.Header, v uint64) (text string, ok bool) {
	if h == nil || h.Means != warptrace.MeansObserved || v>>62 != 0 {
		return "", false
	}
	number := (v + 1<<(addressBits-1)) >> addressBits // an offset can be negative
	if number == 0 || number > uint64(len(h.Arguments)) {
		return "", false
	}
	a := &h.Arguments[number-1]
	size := elementBytes(a.Type)
	if !strings.HasPrefix(a.Type, "*") || a.Name == "" {
		return "", false
	}
	offset := int64(v) - int64(number)<<addressBits
	if size == 0 || offset%size != 0 {
		return fmt.Sprintf("%s%s bytes", clippedWord(a.Name), signed(offset)), true
	}
	return fmt.Sprintf("%s[%s]", clippedWord(a.Name), signed(offset/size)), true
}

// elementBytes is the size of what a pointer of Triton's points to, 0 unknown.
func elementBytes(pointer string) int64 {
	name := strings.TrimPrefix(pointer, "*")
	if digits := strings.IndexAny(name, "0123456789"); digits >= 0 {
		name = name[digits:]
		if end := strings.IndexFunc(name, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			name = name[:end]
		}
		if bits, err := strconv.Atoi(name); err == nil && bits <= 64 {
			return int64(max(bits, 8)) / 8
		}
	}
	return 0
}

// signed writes a number with its sign and commas between groups of three digits.
func signed(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := "+"
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}
