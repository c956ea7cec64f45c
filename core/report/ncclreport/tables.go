package ncclreport

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/nccl/diagnosing"
	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/sheet"
)

func clean(s string) string { return foreign.Clean(s, maxName) }

// stuckTable is what each rank does in the operations that do not come to an end.
func stuckTable(d *diagnosing.Document) sheet.Table {
	t := sheet.Table{
		ID: "stuck", Title: "What stands still", More: moreRows(len(d.Stuck), maxRows),
		Hint:    "What each rank does in the operations that do not come to an end: the stage of its oldest step, with whom, and for how long.",
		Columns: sheet.Columns("rank", "operation", "state", "stage", "with", "#channel", "#NIC", "#steps", "#for"),
	}
	for i := range d.Stuck[:min(len(d.Stuck), maxRows)] {
		s := &d.Stuck[i]
		with, steps := "", ""
		if s.Peer != "" {
			with = map[string]string{"send": "to "}[s.Direction]
			if with == "" {
				with = "from "
			}
			with += rankName(s.Peer)
		}
		if s.Of > 0 {
			steps = fmt.Sprintf("%d of %d", s.Steps, s.Of)
		}
		t.Add(sheet.Row{Name: rankName(s.Rank), Mark: culprit(d, s.Rank)}, fmt.Sprintf("%s #%d of %s", clean(s.Operation), s.Sequence, clean(s.Comm)),
			clean(s.State), clean(s.Stage), with, number(s.Channel), number(s.NIC), steps, figure.Duration(s.SinceNS))
	}
	return t
}

// culprit marks the rows of ranks that the first finding names.
func culprit(d *diagnosing.Document, rank string) string {
	if len(d.Findings) > 0 {
		for _, r := range d.Findings[0].Ranks {
			if r == rank {
				return "named"
			}
		}
	}
	return ""
}

// chainTable is who waits for whom, to the root.
func chainTable(d *diagnosing.Document) sheet.Table {
	t := sheet.Table{
		ID: "chain", Title: "Who waits for whom now", More: moreRows(len(d.Waits), maxRows), Hint: "Followed from each rank that waits to where it begins.",
		Columns: sheet.Columns("rank", "waits for", "in", "because"),
	}
	for i := range d.Waits[:min(len(d.Waits), maxRows)] {
		w := &d.Waits[i]
		other, mark := "nobody: here it begins", ""
		if w.For != "" {
			other = rankName(w.For)
		} else {
			mark = "root"
		}
		t.Add(sheet.Row{Name: rankName(w.Rank), Mark: mark}, other, fmt.Sprintf("%s #%d of %s", clean(w.Operation), w.Sequence, clean(w.Comm)), foreign.Clean(w.Because, 4*maxName))
	}
	return t
}

// linkTable is what went from rank to rank, slowest first. Marked is what the diagnosis blames: a link, or a NIC in one direction.
func linkTable(d *dividing.Document, blamed *diagnosing.Document) sheet.Table {
	t := sheet.Table{
		ID: "links", Title: "Links", More: moreRows(len(d.Links), maxRows),
		Hint:    "What went through the network, slowest first. Of usual: by how much longer a step took than on the middle link, for steps of one size. Beyond: what its steps took more than those of the middle link.",
		Columns: sheet.Columns("from and to", "#channel", "#NIC", "#operations", "#moved", "#while sending", "#of usual", "#beyond", "#waited for credit", "#retries"),
	}
	for i := range d.Links[:min(len(d.Links), maxRows)] {
		l := &d.Links[i]
		times := "–"
		if l.Times > 0 {
			times = strconv.FormatFloat(l.Times, 'f', 2, 64) + " x"
		}
		t.Add(sheet.Row{Name: rankName(l.From) + " to " + rankName(l.To), Mark: slow(l, blamed)}, number(l.Channel), number(l.NIC), figure.Count(l.Ops), size(l.Bytes), rate(l.Rate),
			times, figure.Duration(max(l.Excess, 0)), figure.Duration(l.CreditNS), figure.Count(l.Retries))
	}
	return t
}

// slow says whether the diagnosis blames a link.
func slow(l *dividing.Link, d *diagnosing.Document) string {
	if d == nil {
		return ""
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		for _, rank := range f.Ranks {
			switch {
			case f.Class == diagnosing.ClassSlowLink && rank == l.From && f.Peer == l.To && f.Channel == l.Channel && f.NIC == l.NIC:
				return "slow"
			case f.Class == diagnosing.ClassSlowNIC && (f.Direction == "send" && rank == l.From || f.Direction == "receive" && rank == l.To):
				return "slow NIC of " + rankName(rank)
			}
		}
	}
	return ""
}

func rankTable(d *dividing.Document) sheet.Table {
	t := sheet.Table{
		ID: "ranks", Title: "Ranks", More: moreRows(len(d.Ranks), maxRanks), Hint: "Where the time of each rank in operations went. Last: operations in which it certainly began last. Held up: for how long all others waited for it in these.",
		Columns: sheet.Columns("rank", "#operations", "#last", "#held up", "#launch", "#scheduling", "#waiting", "#kernel", "#proxy", "#credit", "#network", "#flush"),
	}
	for i := range d.Ranks[:min(len(d.Ranks), maxRanks)] {
		r := &d.Ranks[i]
		texts := []string{figure.Count(r.Operations), figure.Count(r.Last), figure.Duration(r.CausedNS)}
		for _, p := range partsOf(&r.Time) {
			text := ""
			if r.Divided > 0 {
				text = figure.Duration(p.NS)
			}
			texts = append(texts, text)
		}
		t.Add(sheet.Row{Name: rankName(r.ID), Small: clean(r.Host)}, texts...)
	}
	return t
}

func classTable(d *dividing.Document) sheet.Table {
	t := sheet.Table{
		ID: "operations", Title: "Operations", More: moreRows(len(d.Operations), maxRows), Hint: "By communicator, function and size, those that took most time first. Median and p99 are from when the last rank began to the true end.",
		Columns: sheet.Columns("operation", "how", "#size", "#times", "#divided", "#replays", "#median", "#p99", "#waiting", "#network", "last most often"),
	}
	for i := range d.Operations[:min(len(d.Operations), maxRows)] {
		c := &d.Operations[i]
		bytes, median, p99, waiting, network, last := "", "", "", "", "", ""
		if c.Bytes > 0 {
			bytes = size(c.Bytes)
		}
		if c.Divided > 0 {
			median, p99, waiting, network = figure.Duration(c.MedianNS), figure.Duration(c.P99NS), figure.Duration(c.Time.WaitingNS), figure.Duration(c.Time.NetworkNS)
		}
		if c.Last != "" {
			last = fmt.Sprintf("%s, %s", rankName(c.Last), figure.Plural(c.LastTimes, "time", "times"))
		}
		how := strings.Join(strings.Fields(clean(c.Algorithm)+" "+clean(c.Protocol)), " ")
		t.Add(sheet.Row{Name: clean(c.Operation), Small: clean(c.Comm)}, how, bytes, figure.Count(c.Count), figure.Count(c.Divided), figure.Count(c.Replays), median, p99, waiting, network, last)
	}
	return t
}

func bandwidthTable(d *dividing.Document) sheet.Table {
	t := sheet.Table{
		ID: "bandwidths", Title: "Bandwidths", More: moreRows(len(d.Bandwidths), maxRows), Hint: "Medians, as nccl-tests defines them, of the transfer alone, when all were there; behind them the bus's of the whole time, waiting included.",
		Columns: sheet.Columns("operation", "#size", "#operations", "#transfer", "#slowest", "#algorithm", "#bus", "#bus, whole time"),
	}
	for i := range d.Bandwidths[:min(len(d.Bandwidths), maxRows)] {
		b := &d.Bandwidths[i]
		t.Add(sheet.Row{Name: clean(b.Operation), Small: clean(b.Group)}, size(b.Bytes), figure.Count(b.Operations), figure.Duration(b.TransferNS), figure.Duration(b.SlowestTransferNS),
			rate(b.AlgorithmRate), rate(b.BusRate), rate(b.WholeBus))
	}
	return t
}

func proxyTable(d *dividing.Document) sheet.Table {
	t := sheet.Table{
		ID: "proxies", Title: "Proxies", More: moreRows(len(d.Proxies), maxRows), Hint: "What the proxy threads of each process did. Delay: the median from when an operation was taken over until it was begun. Foreign: operations of other processes of the host (PXN).",
		Columns: sheet.Columns("rank", "#operations", "#steps", "#moved", "#delay", "#idle", "#asleep", "#taken over at once", "#retries", "#foreign"),
	}
	for i := range d.Proxies[:min(len(d.Proxies), maxRows)] {
		p := &d.Proxies[i]
		batch := ""
		if p.Appends > 0 {
			batch = strconv.FormatFloat(float64(p.Appended)/float64(p.Appends), 'f', 1, 64)
		}
		t.Add(sheet.Row{Name: rankName(p.Rank)}, figure.Count(p.Operations), figure.Count(p.Steps), size(p.Bytes), figure.Duration(p.DelayNS), figure.Duration(p.IdleNS), figure.Duration(p.SleepNS), batch,
			figure.Count(p.Retries), figure.Count(p.Foreign))
	}
	return t
}

func clockTable(d *dividing.Document) sheet.Table {
	t := sheet.Table{
		ID: "clocks", Title: "Clocks", More: moreRows(len(d.Clocks), maxRows), Hint: "Of hosts, against that of the job; related by " + clean(d.ClocksBy) + ".",
		Columns: sheet.Columns("host", "by", "#ahead", "#known to"),
	}
	for i := range d.Clocks[:min(len(d.Clocks), maxRows)] {
		c := &d.Clocks[i]
		bound := "unknown"
		if c.BoundNS != nil {
			bound = figure.Duration(*c.BoundNS)
		}
		t.Add(sheet.Row{Name: clean(c.Host)}, clean(c.Method), figure.Duration(c.OffsetNS), bound)
	}
	return t
}

// qualityTable is what recordings hold, and what not.
func qualityTable(d *diagnosing.Document) sheet.Table {
	t := sheet.Table{
		ID: "quality", Title: "Data quality", More: moreRows(len(d.Recordings), maxRows), Hint: "What each recording holds. Lost: callbacks that found no room. Overwritten: made room for newer records. Orphans: ends whose start is not in it.",
		Columns: sheet.Columns("recording", "#records", "#lost", "#overwritten", "#damaged segments", "#orphans", "what it says"),
	}
	for i := range d.Recordings[:min(len(d.Recordings), maxRows)] {
		q := &d.Recordings[i]
		mark := ""
		if !q.Complete {
			mark = "incomplete"
		}
		name := q.Path[strings.LastIndexAny(q.Path, "/\\")+1:]
		t.Add(sheet.Row{Name: clean(name), Mark: mark}, figure.Count(q.Records), figure.Count(q.Lost), figure.Count(q.Overwritten), figure.Count(q.Damaged), figure.Count(q.Orphans),
			foreign.Clean(strings.Join(q.Says, "; "), 4*maxName))
	}
	return t
}

// processTable is whether processes lived on.
func processTable(d *diagnosing.Document) sheet.Table {
	t := sheet.Table{
		ID: "processes", Title: "Processes", More: moreRows(len(d.Ranks), maxRanks), Hint: "Silent: for how long nothing of it was heard when the last recording ends.",
		Columns: sheet.Columns("rank", "#process", "#level", "state", "#silent", "#proxy idle", "#retries"),
	}
	for i := range d.Ranks[:min(len(d.Ranks), maxRanks)] {
		r := &d.Ranks[i]
		idle := ""
		if r.IdleShare > 0 {
			idle = strconv.FormatFloat(100*r.IdleShare, 'f', 1, 64) + "\u00a0%"
		}
		t.Add(sheet.Row{Name: rankName(r.ID), Small: clean(r.Host), Mark: culprit(d, r.ID)}, number(r.PID), number(r.Level), clean(r.State), figure.Duration(r.SilentNS), idle, figure.Count(r.Retries))
	}
	return t
}
