package edits

import "strings"

// statements returns the code of each line, without comments and without the room around it, and the first line of the statement that
// it belongs to: of Python, in which brackets, long strings and a backslash go on over lines. The indentation stays, because it is code. A
// statement that is only a string documents the function and is no code.
func statements(lines []string) (code []string, first []int) {
	code, first = make([]string, len(lines)), make([]int, len(lines))
	var s scanner
	begin := 0
	for i, line := range lines {
		if !s.open() {
			begin, s.code = i, false
		}
		first[i] = begin
		code[i] = s.line(strings.TrimSuffix(line, "\r"))
		if !s.open() && !s.code {
			clear(code[begin : i+1])
		}
	}
	return code, first
}

// scanner knows what is open at the end of a line.
type scanner struct {
	depth int    // of brackets
	quote string // that ends the string that is open; "" none
	more  bool   // the line ended with a backslash
	code  bool   // the statement is more than a string that documents
}

func (s *scanner) open() bool { return s.depth > 0 || s.quote != "" || s.more }

// line goes over one line and returns it without its comment.
func (s *scanner) line(line string) string {
	s.more = false
	end := len(line)
	for i := 0; i < end; {
		if s.quote != "" {
			i += s.inside(line[i:])
			continue
		}
		switch c := line[i]; c {
		case '#':
			end = i
		case '"', '\'':
			s.quote = line[i : i+1]
			if strings.HasPrefix(line[i:], strings.Repeat(s.quote, 3)) {
				s.quote = line[i : i+3]
			}
			i += len(s.quote)
		case '\\':
			s.more = i == end-1
			i++
		default:
			s.code = s.code || c != ' ' && c != '\t' && c != '\f'
			s.depth = max(0, s.depth+bracket(c))
			i++
		}
	}
	if len(s.quote) == 1 { // a string of one line ends with it, also where that is a mistake
		s.more = strings.HasSuffix(line, `\`)
		s.quote = ""
	}
	return strings.TrimRight(line[:end], " \t\f")
}

// bracket is what a byte adds to the depth of brackets.
func bracket(c byte) int {
	switch c {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

// inside goes on in a string and returns how many bytes it took.
func (s *scanner) inside(rest string) int {
	switch {
	case rest[0] == '\\':
		return min(2, len(rest))
	case strings.HasPrefix(rest, s.quote):
		n := len(s.quote)
		s.quote = ""
		return n
	}
	return 1
}

// wordsOf are the words and signs of lines.
func wordsOf(lines []string) [][]string {
	out := make([][]string, len(lines))
	for i, line := range lines {
		for j := 0; j < len(line); {
			k := j + 1
			if isWord(line[j]) {
				for k < len(line) && isWord(line[k]) {
					k++
				}
			}
			if word := line[j:k]; word != " " && word != "\t" {
				out[i] = append(out[i], word)
			}
			j = k
		}
	}
	return out
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// alike says how much two lines have in common, 0 where that is less than half of the words of the longer one. Lines of many words
// are held against each other by the words that they begin with.
func alike(a, b []string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	left := map[string]int{}
	for _, w := range a {
		left[w]++
	}
	common := 0
	for _, w := range b {
		if left[w] > 0 {
			left[w]--
			common++
		}
	}
	if longest := max(len(a), len(b)); longest == 0 || 2*common < longest {
		return 0
	}
	return common
}
