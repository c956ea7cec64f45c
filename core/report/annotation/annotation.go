// Package annotation writes workflow commands, which GitHub shows as annotations of a run: ::error title=...::message.
package annotation

import (
	"io"
	"strings"
)

// Most is how many annotations of a level and step GitHub shows: more would push out those of other tools.
const Most = 10

// The levels.
const (
	Error   = "error"
	Warning = "warning"
	Notice  = "notice"
)

// Write writes one command. Where says to which file it belongs, as properties with a comma behind each; "" to none.
func Write(w io.Writer, level, where, title, message string) error {
	_, err := io.WriteString(w, "::"+level+" "+where+"title="+Property(title)+"::"+data(message)+"\n")
	return err
}

// data escapes the message of a workflow command, Property also what separates properties.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace
	Property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace
)
