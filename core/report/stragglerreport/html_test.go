package stragglerreport

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/straggler"
)

// TestThePageAsksForNothing looks for whatever would load something, and for names that became markup.
func TestThePageAsksForNothing(t *testing.T) {
	for name, d := range documents() {
		text := string(render(t, "html", d, Options{}))
		if n := strings.Count(text, "<script"); n != 0 && n != 2 {
			t.Errorf("the page of %s has %d scripts", name, n)
		}
		text = strings.Replace(text, "<script>"+kit.Script("map.js")()+"</script>", "", 1)
		for _, bad := range []string{"http://", "https://", "<script>", "<link", "<img", "<b>", "url(", "@import", " style=", " onload", "ZgotmplZ"} {
			if strings.Contains(text, bad) {
				t.Errorf("the page of %s has %q", name, bad)
			}
		}
		if !strings.Contains(text, `lang="en"`) || !strings.Contains(text, "Content-Security-Policy") {
			t.Errorf("the page of %s does not say its language or what it may do", name)
		}
	}
}

// TestTheMapSaysWhatCellsCost: by title without the script, and packed for it.
func TestTheMapSaysWhatCellsCost(t *testing.T) {
	text := string(render(t, "html", late(""), Options{}))
	for _, want := range []string{
		"<title>rank2, steps 2 to 3: cost 61.5\u00a0ms</title>", "<title>rank0, step 1: cost 1.20\u00a0ms</title>", `"us":[",1bgc","xc","",""]`, `"also_us":["k,334","","",""]`,
		`<path class="s5" d="M1 0.5h1"/>`, `<path class="s1" d="M0 1.5h1"/>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the map lacks %s", want)
		}
	}
	if n := strings.Count(text, `class="cell"`); n != 2 {
		t.Errorf("%d cells with a title", n)
	}
	d := late("")
	d.Map.CostNS = [][]int64{{0, 0}, {0, 0}, {0, 0}, {0, 0}}
	if text := string(render(t, "html", d, Options{})); strings.Contains(text, "<script") || strings.Contains(text, `id="cells"`) {
		t.Error("a map of nothing is drawn")
	}
}

// TestAPictureFollowsTheChain: the line runs along the rank that was late, to the one that left last.
func TestAPictureFollowsTheChain(t *testing.T) {
	text := string(render(t, "html", late(""), Options{}))
	for _, want := range []string{
		`<path class="chain" d="M200 10H1064V30H1160"/>`,
		"rank0, all-reduce: waits 70.0\u00a0ms for rank2, then transfer of 10.0\u00a0ms</title>",
		`<rect class="late" x="200" y="3" width="864" height="14"><title>rank2 was late at all-reduce: it cost 61.5`,
		"<li>90.0\u00a0ms after its beginning rank2 was late at all-reduce: it cost 61.5\u00a0ms, ampere_sgemm.</li>", "Not drawn: 2 ranks that cost less.",
		"Step 2, 100\u00a0ms: rank2 cost 61.5\u00a0ms",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture lacks %s", want)
		}
	}
	d := late("")
	away := d.Pictures[0].Chain[0]
	away.LeftBy = "who"
	d.Pictures[0].Chain = append(d.Pictures[0].Chain, straggler.PictureHop{Rank: "who", LeftBy: "rank0"}, away, d.Pictures[0].Chain[0])
	if text := string(render(t, "html", d, Options{})); !strings.Contains(text, `d="M200 10H1064V30H1160M200 10H1064M200 10H1064V30H1160"`) {
		t.Error("the line is not broken where it runs over a rank that is not drawn")
	}
}

func TestBandwidthsHaveATable(t *testing.T) {
	text := string(render(t, "html", late(""), Options{}))
	for _, want := range []string{"25\u00a0MB", "25\u00a0GB/s", "37.5\u00a0GB/s", "18.8\u00a0GB/s", "send-recv, rank0 and rank3", "4.1\u00a0kB"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table of bandwidths lacks %s", want)
		}
	}
}

// TestThePageOfAThousandRanksIsBounded: 1,024 ranks with long names, a map without an empty cell, and more of everything than is shown.
func TestThePageOfAThousandRanksIsBounded(t *testing.T) {
	d := late("")
	d.Ranks, d.Steps, d.Map, d.Pictures = nil, nil, straggler.Map{}, nil
	rng := rand.New(rand.NewPCG(1, 2))
	long := strings.Repeat("<", 500)
	columns := straggler.MapCells / 1024
	for n := range 1024 {
		d.Ranks = append(d.Ranks, straggler.RankCost{ID: fmt.Sprint("rank", n, long), Host: fmt.Sprint("host", n/8, long), CostNS: int64(5000 - n), Operations: 2000, Causes: []straggler.Cause{{Name: long}}, Stability: straggler.Stability{Steps: 9, First: long, Last: long}})
		row := make([]int64, columns)
		for c := range row {
			row[c] = rng.Int64N(1e9)
		}
		d.Map.CostNS, d.Map.LateNS = append(d.Map.CostNS, row), append(d.Map.LateNS, row)
	}
	for range columns {
		d.Map.Columns = append(d.Map.Columns, straggler.MapColumn{From: long, To: long, Steps: 32})
	}
	for n := range 2000 {
		d.Steps = append(d.Steps, straggler.StepCost{Name: fmt.Sprint(n, long), Critical: d.Ranks[n*7%1024].ID, CostNS: int64(n), Cause: long})
		d.Groups = append(d.Groups, straggler.GroupCost{Group: fmt.Sprint(n, long)})
		d.Links = append(d.Links, straggler.LinkCost{Ranks: []string{d.Ranks[0].ID, d.Ranks[n%1024].ID}})
		d.Bandwidths = append(d.Bandwidths, straggler.Bandwidth{Operation: long, Group: long, Pair: []string{long, long}})
	}
	for range straggler.PictureSteps {
		p := straggler.Picture{Step: long, ToNS: 1e9, Operations: []string{long}}
		for r := range straggler.PictureRanks {
			row := straggler.PictureRow{Rank: d.Ranks[r].ID, CostNS: 5}
			for k := range int64(straggler.PictureEvents / straggler.PictureRanks) {
				row.Spans = append(row.Spans, straggler.PictureSpan{EnterNS: k * 1e6, ReadyNS: k*1e6 + 5e5, LeaveNS: k*1e6 + 9e5, For: d.Ranks[0].ID, Cause: long, CostNS: 7})
				p.Chain = append(p.Chain, straggler.PictureHop{Rank: row.Rank, LeftBy: row.Rank, CostNS: 7, Cause: long, Operation: long})
			}
			p.Rows = append(p.Rows, row)
		}
		d.Pictures = append(d.Pictures, p)
	}
	page := render(t, "html", d, Options{})
	if len(page) > 2_000_000 || !bytes.Contains(page, []byte("executions at the end")) || !bytes.Contains(page, []byte("more are in the JSON document.")) {
		t.Errorf("the page has %d bytes", len(page))
	}
	t.Logf("%d bytes", len(page))
}
