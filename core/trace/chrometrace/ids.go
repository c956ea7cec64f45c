package chrometrace

import (
	"bytes"
	"math/bits"
	"strconv"
)

// maxExact is the largest integer that viewers, which read numbers as float64, keep apart from its neighbours.
const maxExact = 1 << 53

// ids patches every id of an event.
func (w *worker) ids(f *fields) {
	b := w.lex.b
	if f.at[fieldID].set() {
		w.id(f.at[fieldID])
	}
	if f.at[fieldBindID].set() {
		w.id(f.at[fieldBindID])
	}
	if f.at[fieldID2].set() {
		if b[f.at[fieldID2].s] == '{' {
			w.lex.members(f.at[fieldID2], func(_ []byte, v span) bool {
				w.id(v)
				return true
			})
		} else {
			w.id(f.at[fieldID2])
		}
	}
	for _, v := range [...]span{f.at[fieldSF], f.at[fieldESF]} {
		if v.set() && w.edit.IDs.Prefix != "" {
			from := len(w.text)
			w.text = prefixed(w.text, w.edit.IDs.Prefix, v.of(b))
			w.patched(v, from)
		}
	}
}

func (w *worker) id(at span) {
	from := len(w.text)
	w.text = renamed(w.edit.IDs, w.text, at.of(w.lex.b))
	w.patched(at, from)
}

// renamed appends the renamed id; raw is a JSON value.
func renamed(e idEdit, dst, raw []byte) []byte {
	if raw[0] == '{' || raw[0] == '[' {
		return append(dst, raw...) // not an id
	}
	text, quoted := raw, false
	if raw[0] == '"' {
		text, quoted = raw[1:len(raw)-1], true
	}
	if quoted && len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		if v, err := strconv.ParseUint(string(text[2:]), 16, 64); err == nil {
			if sum, carry := bits.Add64(v, e.HexOffset, 0); carry == 0 {
				return appendHex(dst, sum)
			}
		}
	} else if v, ok := decimal(text); ok {
		if sum, carry := bits.Add64(v, e.Offset, 0); carry == 0 && sum <= maxExact {
			return appendDecimal(dst, sum, quoted)
		}
		if e.Offset == 0 && e.HexOffset == 0 {
			return append(dst, raw...)
		}
		if sum, carry := bits.Add64(v, e.HexOffset, 0); carry == 0 {
			return appendHex(dst, sum)
		}
	}
	return prefixed(dst, e.Prefix, raw)
}

// decimal reads an unsigned number without leading zeros.
func decimal(text []byte) (uint64, bool) {
	if len(text) == 0 || len(text) > 20 || (text[0] == '0' && len(text) > 1) {
		return 0, false
	}
	for _, c := range text {
		if c-'0' > 9 {
			return 0, false
		}
	}
	v, err := strconv.ParseUint(string(text), 10, 64)
	return v, err == nil
}

func appendDecimal(dst []byte, v uint64, quoted bool) []byte {
	if !quoted {
		return strconv.AppendUint(dst, v, 10)
	}
	dst = append(dst, '"')
	return append(strconv.AppendUint(dst, v, 10), '"')
}

func appendHex(dst []byte, v uint64) []byte {
	dst = append(dst, `"0x`...)
	return append(strconv.AppendUint(dst, v, 16), '"')
}

// prefixed appends a JSON string of the prefix and a scalar, whose own escapes are kept.
func prefixed(dst []byte, prefix string, raw []byte) []byte {
	dst = appendString(dst, prefix)
	dst = append(dst[:len(dst)-1], bytes.Trim(raw, `"`)...)
	return append(dst, '"')
}
