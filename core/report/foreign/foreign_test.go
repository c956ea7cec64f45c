package foreign_test

import (
	"testing"

	"github.com/prlx-go/prlx/core/report/foreign"
)

func TestForeignText(t *testing.T) {
	for _, c := range []struct{ in, clean, fit string }{
		{"rank 0", "rank 0", "rank 0"},
		{"größer", "größer", "größer"},
		{"123456789", "12345678…", "123456789"},
		{"12345678", "12345678", "12345678"},
		{"a\x00b\nc", "a\uFFFDb\uFFFDc", "a\uFFFDb\uFFFDc"},
		{"a\u202eb\u200bc\u2028", "a\uFFFDb\uFFFDc\uFFFD", "a\uFFFDb\uFFFDc\uFFFD"},
		{"a\xffb\uFFFE", "a\uFFFDb\uFFFD", "a\uFFFDb\uFFFD"},
	} {
		if got := foreign.Clean(c.in, 8); got != c.clean {
			t.Errorf("Clean(%q) is %q, want %q", c.in, got, c.clean)
		}
		if got := foreign.Fit(c.in); got != c.fit {
			t.Errorf("Fit(%q) is %q, want %q", c.in, got, c.fit)
		}
	}
	for in, want := range map[string]string{"": "", "x=1": "x=1", "=1": "'=1", "+1": "'+1", "-1": "'-1", "@a": "'@a"} {
		if got := foreign.Cell(in); got != want {
			t.Errorf("Cell(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestMarkdownIsTextAlone(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"k.py:12":                 "k.py:12",
		"a|b":                     `a\|b`,
		"[x](http://e.org)":       `\[x\]\(http\://e.org\)`,
		"www.e.org WWW.E.ORG":     `www\.e.org WWW\.E.ORG`,
		"a <b> `c` ![i](j)":       "a \\<b\\> \\`c\\` \\!\\[i\\]\\(j\\)",
		"\x1b[31mred\x1b[0m\nnew": "\uFFFD\\[31mred\uFFFD\\[0m\uFFFDnew",
		"a\u202eb":                "a\uFFFDb",
	} {
		if got := foreign.Markdown(in); got != want {
			t.Errorf("Markdown(%q) is %q, want %q", in, got, want)
		}
	}
}
