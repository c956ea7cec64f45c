package api

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/diff/describe"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/report/kernelreport"
)

type convertRequest struct {
	requestLimits
	siteMapArgs
	Path      string `json:"path"`
	Output    string `json:"output"`
	To        string `json:"to"`         // "v1" or "v2"
	Compress  bool   `json:"compress"`   // of v1; v2 always is
	MapOutput string `json:"map_output"` // of v1: where the site map is written
	Overwrite bool   `json:"overwrite"`
}

// ConvertDocument is prlx.convert/1: what became of a recording in another format.
type ConvertDocument struct {
	Schema   string   `json:"schema"`
	Input    string   `json:"input"`
	Output   string   `json:"output"`
	From     string   `json:"from"`
	To       string   `json:"to"`
	Warps    int64    `json:"warps"`
	Events   int64    `json:"events"`
	BytesIn  int64    `json:"bytes_in"`
	BytesOut int64    `json:"bytes_out"`
	Sites    int      `json:"sites"`              // that the written recording or its site map names
	SiteMap  string   `json:"site_map,omitempty"` // that was written
	Lost     []Lost   `json:"lost"`               // what has no place in the other format
	Warnings []string `json:"warnings"`
}

// Lost is one kind of thing that a conversion left out.
type Lost struct {
	What  string `json:"what"`
	Count int64  `json:"count"`
}

// otherEndings are those of files that are not recordings, besides the endings of reports.
var otherEndings = []string{".pb", ".sqlite", ".db", ".gz", ".zst"}

// refuseOtherEnding refuses the name of another format for a recording: who gives it wants that format, and tools would take the file for it.
func refuseOtherEnding(path string) error {
	_, other := kernelreport.FormatOf(path)
	for _, ending := range otherEndings {
		other = other || strings.HasSuffix(strings.ToLower(path), ending)
	}
	if !other {
		return nil
	}
	return fault.New(fault.Usage, "is the name of another format, and prlx convert writes a recording").WithPath(path).
		WithHint("end it in .prlx; prlx diff writes reports, and prlx inspect --json prints what a recording holds")
}

// convertRecording writes a recording in the other format.
func convertRecording(j *job.Job, r *convertRequest) (*ConvertDocument, error) {
	versions := map[string]int{"": 2, "v1": 1, "v2": 2}
	version, ok := versions[strings.ToLower(r.To)]
	if !ok {
		return nil, fault.Usagef("there is no format %q", r.To).WithHint("v1 or v2")
	}
	if r.Output == "" {
		return nil, fault.Usagef("no output is named")
	}
	if err := refuseOtherEnding(r.Output); err != nil {
		return nil, err
	}
	if r.MapOutput != "" && version != 1 {
		return nil, fault.Usagef("a site map belongs to format v1: v2 has its sites inside").WithHint("leave it out, or convert to v1")
	}
	if r.MapOutput == r.Output {
		return nil, fault.New(fault.Usage, "is named for two outputs").WithPath(r.Output)
	}
	for _, output := range []string{r.Output, r.MapOutput} {
		if err := refuseInput(output, []string{r.Path, r.SiteMap}); err != nil {
			return nil, err
		}
	}
	t, err := recording.Open(j.Context(), r.Path, r.maps())
	if err != nil {
		return nil, err
	}
	defer t.Close()
	out, err := file.Create(r.Output, r.Overwrite)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	var mapOut *file.Output
	if r.MapOutput != "" {
		if mapOut, err = file.Create(r.MapOutput, r.Overwrite); err != nil {
			return nil, err
		}
		defer mapOut.Abort()
	}
	report, err := warptrace.Convert(j, t.Trace, out, version, warptrace.ConvertOptions{Compress: r.Compress})
	if err != nil {
		return nil, fault.Of(err).WithPath(r.Path)
	}
	doc := &ConvertDocument{
		Schema: "prlx.convert/1", Input: r.Path, Output: r.Output, From: describe.FormatOf(t.Header()), To: fmt.Sprintf("prlx v%d", version),
		Warps: report.Warps, Events: report.Events, BytesIn: t.Bytes, BytesOut: out.Appended(), Sites: report.Sites.Len(), SiteMap: r.MapOutput,
		Lost: []Lost{}, Warnings: append([]string{}, t.Warnings...),
	}
	for _, l := range report.Lost {
		doc.Lost = append(doc.Lost, Lost(l))
	}
	if mapOut != nil {
		if err := site.WriteMap(mapOut, report.Sites); err != nil {
			return nil, err
		}
		if err := mapOut.Commit(); err != nil {
			return nil, err
		}
	}
	return doc, out.Commit()
}
