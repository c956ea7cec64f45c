package chrometrace

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string; bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte { return appendString(dst, s) }

// AppendMicros appends the time from base (ns) to i in microseconds, with as many decimals as it takes. ok is false, and nothing
// appended, when that is more than 292 years.
func AppendMicros(dst []byte, i Instant, baseNS int64) (out []byte, ok bool) {
	s, ok := relative(i, baseNS)
	if !ok {
		return dst, false
	}
	return appendStamp(dst, s, 0), true
}

// appendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD, control characters escapes; everything
// else is written as it is.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\ufffd"...)
			i++
			start = i
			continue
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
