package ptx

import "strings"

// Pack is a PTX text without what Read does not need: debug sections, the room in front of lines, and comments. Those that say where code
// was inlined stay, and those around inline assembly.
func Pack(text string) string {
	var b strings.Builder
	inSection := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if inSection || strings.HasPrefix(line, ".section") {
			inSection = !strings.HasSuffix(line, "}")
			continue
		}
		if code, comment, found := strings.Cut(line, "//"); found && !strings.Contains(code, `"`) && !needed(strings.TrimSpace(comment)) {
			line = strings.TrimSpace(code)
		}
		if line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func needed(comment string) bool {
	return strings.Contains(comment, "@[") || strings.HasPrefix(comment, "begin inline asm") || strings.HasPrefix(comment, "end inline asm")
}
