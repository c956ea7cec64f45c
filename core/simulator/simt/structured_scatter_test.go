package simt

import (
	"fmt"
	"strings"
)

// scatter puts the blocks of instructions of every function into any order, behind the first.
func (s *structured) scatter() {
	type block struct{ lines []int }
	text := strings.Split(s.text.String(), "\n")
	moved := make([]int, len(text)+1) // where a line of the old text is in the new one
	s.text.Reset()
	s.line = 0
	copyLine := func(at int) { moved[at+1] = s.put("%s", text[at]) }
	at := 0
	for at < len(text) {
		for at < len(text) && text[at] != "}" && !strings.HasPrefix(text[at], ".reg .b64") {
			copyLine(at)
			at++
		}
		if at == len(text) {
			break
		}
		copyLine(at)
		at++
		var blocks []block
		open, fresh := 0, true
		for ; open > 0 || text[at] != "}"; at++ {
			line := text[at]
			open += strings.Count(line, "{") - strings.Count(line, "}")
			if fresh || strings.HasSuffix(line, ":") {
				blocks, fresh = append(blocks, block{}), false
			}
			last := &blocks[len(blocks)-1]
			last.lines = append(last.lines, at)
			fresh = endsStructured(line)
		}
		order := s.Perm(len(blocks) - 1)
		order = append([]int{-1}, order...)
		name := s.fresh()
		for _, i := range order {
			i++
			s.at(fmt.Sprintf("%sB%d", name, i))
			for _, line := range blocks[i].lines {
				copyLine(line)
			}
			end := text[blocks[i].lines[len(blocks[i].lines)-1]]
			if !endsStructured(end) || strings.HasPrefix(end, "@") {
				s.put("bra %sB%d;", name, i+1)
			}
		}
		copyLine(at)
		at++
	}
	for _, f := range s.functions {
		for i := range f.ops {
			f.ops[i].line = moved[f.ops[i].line]
		}
	}
}

// endsStructured reports whether control may go elsewhere than to the next line.
func endsStructured(line string) bool {
	for _, word := range []string{"bra", "brx", "ret;", "exit;"} {
		if strings.Contains(line, word) && !strings.Contains(line, ".branchtargets") {
			return true
		}
	}
	return false
}
