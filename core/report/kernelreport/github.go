package kernelreport

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
)

// gitHub shows at most ten annotations of a level and step; more would push out those of other tools.
const maxAnnotations = 10

// gitHub writes workflow commands: one annotation per site and kind, causes first, and one for the verdict. Errors where the
// comparison failed, warnings where it passed all the same and for followers, notices for what does not count.
func gitHub(w io.Writer, doc *diff.Document, opt Options) error {
	out := bufio.NewWriter(w)
	level := "error"
	switch {
	case doc.Status == statusIdentical || doc.Status == statusSameResults && doc.Passed:
		level = "notice"
	case doc.Passed:
		level = "warning"
	}
	writeAnnotation(out, level, place{}, "prlx: "+clean(doc.A.Kernel, maxName), clean(doc.Verdict, maxText), opt)
	shown, left := map[string]int{level: 1}, 0
	all := findings(doc)
	for _, wanted := range []string{"error", "warning", "notice"} {
		for i := range all {
			f := &all[i]
			if f.level(doc) != wanted {
				continue
			}
			if shown[wanted] >= maxAnnotations {
				left++
				continue
			}
			shown[wanted]++
			at, _ := f.annotated(doc)
			p := placeOf(at)
			text := f.sentence(doc)
			if !p.known() {
				text = clean(siteName(f.site.SiteID, f.site.SourceLocation), maxName) + ": " + text
			}
			writeAnnotation(out, wanted, p, "prlx: "+clean(f.kind, 40), text, opt)
		}
	}
	if left > 0 {
		writeAnnotation(out, "notice", place{}, "prlx", fmt.Sprintf("%d more sites and kinds differ", left), opt)
	}
	return out.Flush()
}

// level is how loud a finding is.
func (f *siteFinding) level(doc *diff.Document) string {
	switch {
	case f.loudest.quiet() || doc.Status == statusSameResults && doc.Passed:
		return "notice"
	case doc.Passed || f.loudest == follower:
		return "warning"
	}
	return "error"
}

func writeAnnotation(out *bufio.Writer, level string, p place, title, message string, opt Options) {
	out.WriteString("::" + level + " ")
	if p.known() {
		fmt.Fprintf(out, "file=%s,line=%d,", property(relative(p.File, opt.Root)), p.Line)
		if p.Column > 0 {
			fmt.Fprintf(out, "col=%d,", p.Column)
		}
	}
	fmt.Fprintf(out, "title=%s::%s\n", property(title), data(message))
}

// data escapes the message of a workflow command, property also what separates properties.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace
)
