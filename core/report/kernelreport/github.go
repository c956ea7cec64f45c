package kernelreport

import (
	"bufio"
	"fmt"
	"io"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/annotation"
)

// gitHub writes workflow commands: one annotation per site and kind, causes first, and one for the verdict. Errors where the
// comparison failed, warnings where it passed all the same and for followers, notices for what does not count.
func gitHub(w io.Writer, doc *diff.Document, opt Options) error {
	out := bufio.NewWriter(w)
	level := annotation.Error
	switch {
	case doc.Status == statusIdentical || doc.Status == statusSameResults && doc.Passed:
		level = annotation.Notice
	case doc.Passed:
		level = annotation.Warning
	}
	writeAnnotation(out, level, place{}, "prlx: "+clean(doc.A.Kernel, maxName), clean(doc.Verdict, maxText), opt)
	shown, left := map[string]int{level: 1}, 0
	all := findings(doc)
	for _, wanted := range []string{annotation.Error, annotation.Warning, annotation.Notice} {
		for i := range all {
			f := &all[i]
			if f.level(doc) != wanted {
				continue
			}
			if shown[wanted] >= annotation.Most {
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
		writeAnnotation(out, annotation.Notice, place{}, "prlx", fmt.Sprintf("%d more sites and kinds differ", left), opt)
	}
	return out.Flush()
}

// level is how loud a finding is.
func (f *siteFinding) level(doc *diff.Document) string {
	switch {
	case f.loudest.quiet() || doc.Status == statusSameResults && doc.Passed:
		return annotation.Notice
	case doc.Passed || f.loudest == follower:
		return annotation.Warning
	}
	return annotation.Error
}

func writeAnnotation(out *bufio.Writer, level string, p place, title, message string, opt Options) {
	where := ""
	if p.known() {
		where = fmt.Sprintf("file=%s,line=%d,", annotation.Property(relative(p.File, opt.Root)), p.Line)
		if p.Column > 0 {
			where += fmt.Sprintf("col=%d,", p.Column)
		}
	}
	_ = annotation.Write(out, level, where, title, message) // what went wrong is said by Flush
}
