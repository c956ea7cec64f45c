package kernelreport

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/formats"
)

// The parts of sarif 2.1.0 that a report needs, in the order of the standard.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool              sarifTool                `json:"tool"`
		AutomationDetails *sarifID                 `json:"automationDetails,omitempty"`
		Invocations       []sarifInvocation        `json:"invocations"`
		URIBases          map[string]sarifArtifact `json:"originalUriBaseIds,omitempty"`
		ColumnKind        string                   `json:"columnKind"`
		Results           []sarifResult            `json:"results"`
		Properties        map[string]any           `json:"properties,omitempty"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string       `json:"id"`
		Name    string       `json:"name"`
		Short   sarifMessage `json:"shortDescription"`
		Full    sarifMessage `json:"fullDescription"`
		Default sarifLevel   `json:"defaultConfiguration"`
		Props   sarifTags    `json:"properties"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifTags struct {
		Tags []string `json:"tags"`
	}
	sarifID struct {
		ID string `json:"id"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifArtifact struct {
		URI         string        `json:"uri,omitempty"`
		Base        string        `json:"uriBaseId,omitempty"`
		Description *sarifMessage `json:"description,omitempty"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		CodeFlows    []sarifCodeFlow   `json:"codeFlows,omitempty"`
		Related      []sarifLocation   `json:"relatedLocations,omitempty"`
		Properties   map[string]any    `json:"properties,omitempty"`
	}
	sarifLocation struct {
		ID       *int           `json:"id,omitempty"`
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifMessage  `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifRegion struct {
		Line    int           `json:"startLine"`
		Column  int           `json:"startColumn,omitempty"`
		Snippet *sarifMessage `json:"snippet,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"name,omitempty"`
		Full string `json:"fullyQualifiedName,omitempty"`
		Kind string `json:"kind,omitempty"`
	}
	sarifCodeFlow struct {
		ThreadFlows []sarifThreadFlow `json:"threadFlows"`
	}
	sarifThreadFlow struct {
		Locations []sarifStep `json:"locations"`
	}
	sarifStep struct {
		Location sarifLocation `json:"location"`
	}
)

const (
	sarifSchema = "https://json.schemastore.org/sarif-2.1.0.json"
	sourceRoot  = "%SRCROOT%"
	// maxResults is what gitHub takes of one run; the rest is counted in a notification.
	maxResults = 25_000
	otherRule  = "PRLX0000"
)

// sarif writes one result for every site and kind that differs. Its level is error where the comparison failed, warning where it
// passed all the same and for followers, note for what does not count. Its partial fingerprints say kernel, place and kind: one by the text of
// the source line, which survives a move of the line, and one by the location.
func sarif(w io.Writer, doc *diff.Document, opt Options) error {
	return formats.JSON(w, sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{sarifRunOf(doc, opt)}})
}

func sarifRunOf(doc *diff.Document, opt Options) sarifRun {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "prlx", Version: clean(opt.Version, 80), Rules: rules}},
		Invocations: []sarifInvocation{{Successful: true}},
		URIBases:    map[string]sarifArtifact{sourceRoot: {Description: &sarifMessage{"the root of the repository that the kernel's source is in"}}},
		ColumnKind:  "unicodeCodePoints", Results: []sarifResult{},
		Properties: map[string]any{
			"a": clean(doc.A.Path, maxText), "b": clean(doc.B.Path, maxText), "kernel": clean(doc.A.Kernel, maxText), "passed": doc.Passed,
			"status": clean(doc.Status, 40), "outcome": clean(string(doc.Conclusion.Outcome), 40), "verdict": clean(doc.Verdict, maxText),
		},
		AutomationDetails: &sarifID{"prlx/" + suiteName(doc.A.Kernel) + "/"},
	}
	if doc.Coverage != nil {
		run.Properties["coverage"] = clean(doc.Coverage.Text, maxText)
	}
	all := findings(doc)
	seen := map[string]int{}
	for i := range all[:min(len(all), maxResults)] {
		run.Results = append(run.Results, sarifResultOf(&all[i], doc, opt, seen))
	}
	notes := limits(doc)
	if doc.Status == statusInconclusive {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotification{"error", sarifMessage{clean(doc.Verdict, maxText)}})
	}
	if n := len(all) - maxResults; n > 0 {
		notes = append(notes, figure.Plural(n, "more result is", "more results are")+" left out.")
	}
	for _, text := range notes {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotification{"warning", sarifMessage{text}})
	}
	return run
}

// rules has one rule per kind, at the place of its rank, and one for kinds that this version does not know.
var rules = sarifRules()

func sarifRules() []sarifRule {
	rules := make([]sarifRule, 0, len(kinds)+1)
	for i := range kinds {
		k := &kinds[i]
		rules = append(rules, sarifRule{k.rule, k.slug, sarifMessage{k.title}, sarifMessage{k.help}, sarifLevel{"error"}, sarifTags{[]string{"gpu", "divergence"}}})
	}
	return append(rules, sarifRule{
		otherRule, "other-divergence",
		sarifMessage{"another difference"},
		sarifMessage{"The two sides differ in a way that this version has no name for."},
		sarifLevel{"error"},
		sarifTags{[]string{"gpu", "divergence"}},
	})
}

func sarifResultOf(f *siteFinding, doc *diff.Document, opt Options, seen map[string]int) sarifResult {
	level := f.level(doc)
	if level == "notice" {
		level = "note"
	}
	rule := kindRank(f.kind)
	at, side := f.annotated(doc)
	r := sarifResult{
		Locations: []sarifLocation{sarifLocationOf(f.site.SiteID, at, "", side, doc, opt)},
		RuleID:    rules[rule].ID, RuleIndex: rule, Level: level, Message: sarifMessage{f.sentence(doc)},
		Fingerprints: fingerprints(f, doc, opt, seen),
		Properties: map[string]any{
			"divergences": f.count, "kind": clean(f.kind, 40), "role": f.loudest.String(), "rate": f.site.Rate, "siteId": clean(f.site.SiteID, 40), "warps": f.site.Warps,
		},
	}
	if doc.Edits != nil {
		r.Properties["side"] = side // whose line the location is
	}
	if e := f.example; e != nil && e.SiteB != "" {
		r.Related = append(r.Related, sarifLocationOf(e.SiteB, e.LocationB, "where B goes on", "B", doc, opt))
	}
	if inA := f.inA(doc); inA != "" {
		r.Related = append(r.Related, sarifLocationOf(f.site.SiteID, inA, "the same statement in A", "A", doc, opt))
	}
	if e := f.example; e != nil {
		for _, frame := range e.Inside[:min(len(e.Inside), maxInside)] {
			r.Related = append(r.Related, sarifLocationOf("", frame, "the line of a library within it", side, doc, opt))
		}
	}
	for i := range r.Related {
		id := i + 1
		r.Related[i].ID = &id
	}
	if e := doc.First; e != nil && doc.Explanation != nil && e.SiteID == f.site.SiteID && e.SourceLocation == f.site.SourceLocation && e.Kind == f.kind {
		r.CodeFlows = sarifFlow(doc, opt)
	}
	return r
}

// sarifFlow is the chain of the explanation in the order in which things happened: the origin first, the divergence last.
func sarifFlow(doc *diff.Document, opt Options) []sarifCodeFlow {
	var steps []sarifStep
	chain := doc.Explanation.Chain
	for i := range chain[:min(len(chain), 100)] {
		l := &chain[i]
		steps = append(steps, sarifStep{sarifLocationOf(l.SiteID, l.SourceLocation, clean(l.What, 40)+": "+clean(l.Text, maxText), "A", doc, opt)})
	}
	if len(steps) == 0 {
		return nil
	}
	slices.Reverse(steps)
	return []sarifCodeFlow{{[]sarifThreadFlow{{steps}}}}
}

func sarifLocationOf(id, location, message, side string, doc *diff.Document, opt Options) sarifLocation {
	p := placeOf(location)
	var l sarifLocation
	if message != "" {
		l.Message = &sarifMessage{message}
	}
	if p.known() {
		l.Physical = &sarifPhysical{Artifact: sarifFile(p.File, opt), Region: sarifRegion{Line: p.Line, Column: p.Column}}
		if text, ok := sourceLine(doc, p, side); ok {
			l.Physical.Region.Snippet = &sarifMessage{clean(strings.ReplaceAll(text, "\t", "    "), maxText)}
		}
	}
	name := p.Function
	if name == "" {
		name = siteName(id, location)
	}
	l.Logical = []sarifLogical{{Name: clean(name, maxName), Full: clean(doc.A.Kernel+"/"+name+"/"+id, 3*maxName), Kind: "function"}}
	return l
}

func sarifFile(file string, opt Options) sarifArtifact {
	reference, isRelative := uri(relative(file, opt.Root))
	if isRelative {
		return sarifArtifact{URI: reference, Base: sourceRoot}
	}
	return sarifArtifact{URI: reference}
}

// fingerprints name a finding across runs. The first is the one that gitHub goes by: kernel, file, function, kind and the text of
// the line, so that it survives edits above; where the text is not known, line and column stand for it. Findings that would get
// the same are numbered in order. The second is by the location as it is written.
func fingerprints(f *siteFinding, doc *diff.Document, opt Options, seen map[string]int) map[string]string {
	p := placeOf(f.site.SourceLocation)
	line := fmt.Sprintf("%d:%d", p.Line, p.Column)
	text, known := sourceLine(doc, p, sideOf(f.site.InTrace))
	if known {
		line = strings.Join(strings.Fields(text), " ")
	}
	if !p.known() && p.Function == "" {
		line = f.site.SiteID
	}
	file := relative(p.File, opt.Root)
	byText := digest(doc.A.Kernel, file, p.Function, line, f.kind)
	seen[byText]++
	return map[string]string{
		"primaryLocationLineHash": fmt.Sprintf("%s:%d", byText, seen[byText]),
		"prlxLocation/v1":         digest(doc.A.Kernel, file, f.site.SourceLocation, f.site.SiteKind, f.kind),
	}
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, s := range parts {
		s = valid(s)
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
