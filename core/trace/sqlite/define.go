package sqlite

import "strings"

// define reads the columns of a table from the statement that made it. ok is false where it is no such statement.
func (t *Table) define(sql string) (ok bool) {
	t.rowID = -1
	open := strings.IndexByte(sql, '(')
	if open < 0 || !strings.HasPrefix(strings.ToUpper(strings.TrimSpace(sql)), "CREATE") {
		return false
	}
	types := []string{}
	var part []string
	depth := 1
	words := lexer{sql[open+1:]}
	for depth > 0 {
		word := words.next()
		switch {
		case word == "":
			return false
		case word == "(":
			depth++
		case word == ")":
			depth--
		}
		if depth > 1 || depth == 1 && word != "," {
			part = append(part, word)
			continue
		}
		if kind, column := t.column(part); column {
			types = append(types, kind)
		}
		if part = part[:0]; len(t.Columns) > maxColumns {
			return false
		}
	}
	for word := words.next(); word != ""; word = words.next() {
		if strings.EqualFold(word, "WITHOUT") {
			t.keyed = true
		}
	}
	if t.rowID >= 0 && !strings.EqualFold(types[t.rowID], "INTEGER") {
		t.rowID = -1
	}
	return len(t.Columns) > 0
}

// column adds what one part of the definition says: a column, of which it returns the type, or the key of the table.
func (t *Table) column(part []string) (kind string, ok bool) {
	if len(part) == 0 {
		return "", false
	}
	switch first := strings.ToUpper(part[0]); first {
	case "CONSTRAINT", "UNIQUE", "CHECK", "FOREIGN", "PRIMARY":
		for i := range part {
			// PRIMARY KEY ( column )
			if i+4 < len(part) && strings.EqualFold(part[i], "PRIMARY") && part[i+2] == "(" && (part[i+4] == ")" || strings.EqualFold(part[i+4], "AUTOINCREMENT")) {
				t.rowID = t.Column(name(part[i+3]))
			}
		}
		return "", false
	}
	t.Columns = append(t.Columns, name(part[0]))
	for i := 1; i+1 < len(part); i++ {
		if strings.EqualFold(part[i], "PRIMARY") && strings.EqualFold(part[i+1], "KEY") {
			t.rowID = len(t.Columns) - 1
		}
	}
	if len(part) > 1 {
		kind = name(part[1])
	}
	return kind, true
}

// name takes the quotes off a name.
func name(word string) string {
	if len(word) < 2 || !strings.ContainsRune("\"`'[", rune(word[0])) {
		return word
	}
	end := word[:1]
	return strings.ReplaceAll(word[1:len(word)-1], end+end, end)
}

// lexer splits a statement into names, numbers, quoted text and signs, without its comments.
type lexer struct{ rest string }

// next returns the next word, "" at the end.
func (l *lexer) next() string {
	for {
		l.rest = strings.TrimLeft(l.rest, " \t\r\n\f")
		switch {
		case strings.HasPrefix(l.rest, "--"):
			_, l.rest, _ = strings.Cut(l.rest, "\n")
			continue
		case strings.HasPrefix(l.rest, "/*"):
			_, l.rest, _ = strings.Cut(l.rest, "*/")
			continue
		}
		break
	}
	if l.rest == "" {
		return ""
	}
	if at := strings.IndexByte("\"`'[", l.rest[0]); at >= 0 {
		return l.take(quoted(l.rest, "\"`']"[at]))
	}
	end := strings.IndexFunc(l.rest, func(r rune) bool { return strings.ContainsRune(" \t\r\n\f(),\"`'[", r) })
	switch end {
	case -1:
		end = len(l.rest)
	case 0:
		end = 1
	}
	return l.take(end)
}

func (l *lexer) take(n int) string {
	word := l.rest[:n]
	l.rest = l.rest[n:]
	return word
}

// quoted is how long a quoted word is, whose last sign is end; one that is doubled is part of it.
func quoted(s string, end byte) int {
	for i := 1; i < len(s); i++ {
		if s[i] != end {
			continue
		}
		if i+1 < len(s) && s[i+1] == end && end != ']' {
			i++
			continue
		}
		return i + 1
	}
	return len(s)
}
