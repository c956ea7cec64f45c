package clockfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// A small JSON scanner for records: it walks one object and hands out keys and raw values without allocating, checks the whole
// of it, and keeps numbers as they are written, so that 64-bit instants stay exact.

const maxDepth = 16

var errJSON = errors.New("not a JSON object")

// object calls visit for each member of the JSON object in b. key is without quotes and still escaped.
func object(b []byte, visit func(key, value []byte) error) error {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errJSON
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return atEnd(b, i+1)
	}
	for {
		k, err := skipString(b, i)
		if err != nil {
			return err
		}
		key := b[i+1 : k-1]
		i = space(b, k)
		if i >= len(b) || b[i] != ':' {
			return errJSON
		}
		i = space(b, i+1)
		v, err := skipValue(b, i, 0)
		if err != nil {
			return err
		}
		if err := visit(key, b[i:v]); err != nil {
			return err
		}
		i = space(b, v)
		if i >= len(b) {
			return errJSON
		}
		if b[i] == '}' {
			return atEnd(b, i+1)
		}
		if b[i] != ',' {
			return errJSON
		}
		i = space(b, i+1)
	}
}

// array calls visit for each element of the JSON array in b.
func array(b []byte, visit func(value []byte) error) error {
	i := space(b, 0)
	if i >= len(b) || b[i] != '[' {
		return fmt.Errorf("not a JSON array")
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return atEnd(b, i+1)
	}
	for {
		v, err := skipValue(b, i, 0)
		if err != nil {
			return err
		}
		if err := visit(b[i:v]); err != nil {
			return err
		}
		i = space(b, v)
		if i >= len(b) {
			return errJSON
		}
		if b[i] == ']' {
			return atEnd(b, i+1)
		}
		if b[i] != ',' {
			return errJSON
		}
		i = space(b, i+1)
	}
}

func atEnd(b []byte, i int) error {
	if space(b, i) != len(b) {
		return errJSON
	}
	return nil
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at b[i].
func skipString(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '"' {
		return 0, errJSON
	}
	for i++; i < len(b); i++ {
		switch {
		case b[i] == '"':
			return i + 1, nil
		case b[i] == '\\':
			i++
		case b[i] < 0x20:
			return 0, errJSON
		}
	}
	return 0, errJSON
}

// skipValue returns the index after the value that starts at b[i].
func skipValue(b []byte, i, depth int) (int, error) {
	if i >= len(b) || depth > maxDepth {
		return 0, errJSON
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{' || c == '[':
		return skipContainer(b, i, depth)
	case c == 't' && bytes.HasPrefix(b[i:], []byte("true")):
		return i + 4, nil
	case c == 'f' && bytes.HasPrefix(b[i:], []byte("false")):
		return i + 5, nil
	case c == 'n' && bytes.HasPrefix(b[i:], []byte("null")):
		return i + 4, nil
	case c == 'N' && bytes.HasPrefix(b[i:], []byte("NaN")): // Python's json writes it
		return i + 3, nil
	case c == '-' || c >= '0' && c <= '9':
		for i++; i < len(b) && isNumberByte(b[i]); i++ {
		}
		return i, nil
	}
	return 0, errJSON
}

func skipContainer(b []byte, i, depth int) (int, error) {
	isObject := b[i] == '{'
	end := byte(']')
	if isObject {
		end = '}'
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == end {
		return i + 1, nil
	}
	for {
		if isObject {
			k, err := skipString(b, i)
			if err != nil {
				return 0, err
			}
			i = space(b, k)
			if i >= len(b) || b[i] != ':' {
				return 0, errJSON
			}
			i = space(b, i+1)
		}
		v, err := skipValue(b, i, depth+1)
		if err != nil {
			return 0, err
		}
		i = space(b, v)
		if i >= len(b) {
			return 0, errJSON
		}
		if b[i] == end {
			return i + 1, nil
		}
		if b[i] != ',' {
			return 0, errJSON
		}
		i = space(b, i+1)
	}
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// unquote strips the quotes of a string value, as protobuf's JSON form puts them around 64-bit integers.
func unquote(v []byte) []byte {
	if len(v) >= 2 && v[0] == '"' {
		return v[1 : len(v)-1]
	}
	return v
}

// integer reads an integer as it is written: digits, or a decimal number with an integral value ("3.7e7", "12.0"). A fraction
// is rounded to the nearest integer. quantum is half a unit of the last digit that the writer printed, in the same unit, 0 for
// plain digits.
func integer(v []byte) (n int64, quantum float64, err error) {
	s := string(unquote(v))
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, 0, nil
	}
	return decimal(s)
}

// decimal reads a number in floating notation exactly.
func decimal(s string) (n int64, quantum float64, err error) {
	bad := func() (int64, float64, error) { return 0, 0, fmt.Errorf("%q is not a 64-bit integer", clip(s)) }
	mantissa, exp := s, 0
	hasExp := false
	for i := range len(s) {
		if s[i] == 'e' || s[i] == 'E' {
			x, err := strconv.Atoi(s[i+1:])
			if err != nil || x < -400 || x > 400 {
				return bad()
			}
			mantissa, exp, hasExp = s[:i], x, true
			break
		}
	}
	neg := false
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		neg = mantissa[0] == '-'
		mantissa = mantissa[1:]
	}
	digits := make([]byte, 0, 32)
	point := -1
	for i := range len(mantissa) {
		switch c := mantissa[i]; {
		case c == '.' && point < 0:
			point = len(digits)
		case c >= '0' && c <= '9' && len(digits) < 64:
			digits = append(digits, c)
		default:
			return bad()
		}
	}
	if len(digits) == 0 {
		return bad()
	}
	if point < 0 {
		point = len(digits)
	}
	scale := point + exp // number of digits before the decimal point
	if hasExp {
		quantum = 0.5 * math.Pow10(point+exp-max(point+5, len(digits)))
	} else {
		quantum = 0.5 * math.Pow10(point-len(digits))
	}
	n, ok := scaled(digits, scale)
	if !ok {
		return bad()
	}
	if neg {
		n = -n
	}
	return n, quantum, nil
}

// scaled returns 0.digits * 10^scale, rounded half away from zero.
func scaled(digits []byte, scale int) (int64, bool) {
	var n int64
	if scale < 0 {
		return 0, true
	}
	for i := range scale {
		if n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n *= 10
		if i < len(digits) {
			n += int64(digits[i] - '0')
		}
	}
	if scale < len(digits) && digits[scale] >= '5' {
		n++
	}
	return n, true
}

// float reads a number as float64; it is for differences and rates, never for instants. NaN and infinities are errors.
func float(v []byte) (float64, error) {
	f, err := strconv.ParseFloat(string(unquote(v)), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is not a finite number", clip(string(v)))
	}
	return f, nil
}

func boolean(v []byte) (bool, error) {
	switch string(unquote(v)) {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", clip(string(v)))
}

func nodeID(v []byte) (int, error) {
	n, q, err := integer(v)
	if err != nil || q != 0 || n < 0 || n > MaxNode {
		return 0, fmt.Errorf("%q is not a node id (0 to %d)", clip(string(v)), MaxNode)
	}
	return int(n), nil
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
