// Package format tells what a file is by its first bytes: the formats that prlx reads, and those that people pass instead. It
// decides which reader is asked and by which name a file is refused; it reads nothing itself.
package format

import (
	"bytes"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/prlx-go/prlx/core/fault"
)

// HeadBytes is how much of a file, decompressed, Of should see.
const HeadBytes = 64 << 10

// Kind is what a file is.
type Kind string

// What prlx reads.
const (
	XSpace       Kind = "xspace"         // .xplane.pb
	Chrome       Kind = "chrome"         // Chrome / Kineto JSON, as an object or a list
	Recording    Kind = "recording"      // .prlx, v1 or v2
	Nsight       Kind = "nsight"         // the SQLite database that nsys exports
	Rocpd        Kind = "rocpd"          // the SQLite database of rocprofv3
	RocprofCSV   Kind = "rocprof-csv"    // the table of kernels of rocprof, version 2 or 3
	RocprofJSON  Kind = "rocprof-json"   // the document of rocprofv3
	Perfetto     Kind = "perfetto"       // .pftrace
	Tape         Kind = "tape"           // of training steps
	PairsMessage Kind = "snapshot-pairs" // SnapshotPairs as protobuf
	ClockText    Kind = "clock-text"     // clock readings as text: probe windows, raw stamps, round or declared offsets, snapshot pairs
	Document     Kind = "document"       // a JSON document of prlx: results, alignment.json, session.json
)

// What prlx does not read.
const (
	Empty  Kind = "empty"
	SQLite Kind = "sqlite"
	ELF    Kind = "elf"
	ZIP    Kind = "zip"
	Tar    Kind = "tar"
	Gzip   Kind = "gzip" // compressed twice: one layer was taken off before
	JSON   Kind = "json" // of another kind, or a Chrome trace whose first keys are long
	UTF16  Kind = "utf-16"
	Text   Kind = "text"
	Binary Kind = "binary" // anything else, damaged files of ours too
)

const (
	whatIsRead = "prlx reads XSpace (.xplane.pb), Chrome / Kineto JSON, Nsight Systems, rocprofv3 and Perfetto traces, recordings (.prlx) and files of clock readings"
	readTraces = "prlx combine, validate, cycles and inspect read it"
)

// words are what a file of a kind is called, and what to do where it is not taken.
var words = map[Kind][2]string{
	XSpace:       {"an XSpace trace (.xplane.pb)", "prlx combine, align, validate, cycles and inspect read it"},
	Chrome:       {"a Chrome / Kineto JSON trace", "prlx combine, align, validate, cycles and inspect read it"},
	Recording:    {"a recording of a kernel (.prlx)", "prlx diff and prlx inspect read it"},
	Tape:         {"a tape of training steps (.tape)", "prlx diff and prlx inspect read it"},
	PairsMessage: {"a file of clock snapshots (SnapshotPairs)", "pass it to prlx combine or align with --snapshots"},
	ClockText:    {"a file of clock readings", "pass it to prlx combine or align with --probes, --offsets, --declared or --snapshots; prlx inspect says which"},
	Document:     {"a document that prlx wrote", "name the trace or the recording that it is about"},
	Empty:        {"empty", "record it again: nothing was written"},
	Perfetto:     {"a Perfetto trace (.pftrace)", readTraces},
	Nsight:       {"an Nsight Systems database (SQLite)", readTraces},
	Rocpd:        {"a rocpd database of rocprofv3 (SQLite)", readTraces},
	SQLite:       {"a SQLite database", "prlx does not read this format"},
	RocprofCSV:   {"a table of rocprof (CSV)", readTraces},
	RocprofJSON:  {"a document of rocprofv3 (JSON)", readTraces},
	ELF:          {"a program or library (ELF)", "name what was recorded, not what ran"},
	ZIP:          {"a ZIP archive", "unpack it and name the files in it"},
	Tar:          {"a tar archive", "unpack it and name the files in it"},
	Gzip:         {"compressed twice", "unpack it once"},
	JSON:         {"JSON, but not a trace", whatIsRead},
	UTF16:        {"text in UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8"},
	Text:         {"text of a format that prlx does not read", whatIsRead},
	Binary:       {"a binary file of a format that prlx does not read", whatIsRead},
}

// String returns what a file of the kind is called, as the rest of a sentence that begins with its name: "a Perfetto trace (.pftrace)".
func (k Kind) String() string { return words[k][0] }

// advice says what to do with a file of the kind where it is not taken.
func (k Kind) advice() string { return words[k][1] }

// Known reports whether a kind names a format for certain. JSON, text and binary data may be a damaged or unusual file of any.
func (k Kind) Known() bool { return k != JSON && k != Text && k != Binary }

// Refuse is the error for a file of a kind where something else was expected.
func (k Kind) Refuse(path, expected string) *fault.Error {
	refused := fault.Formatf(path, fault.Unknown, "is %s, expected %s", k, expected)
	if ending := filepath.Ext(path); k == Binary && (ending == ".nsys-rep" || ending == ".qdrep") {
		return refused.WithHint("nsys export --type sqlite %s", filepath.Base(path))
	}
	return refused.WithHint("%s", k.advice())
}

// magic are formats that begin with fixed bytes.
var magic = []struct {
	at   int
	text string
	kind Kind
}{
	{0, "\x89PRLX2\n\x1a", Recording},
	{0, "\x00\x00\x00\x00XLRP", Recording},
	{0, "\x89PRLXT\n\x1a", Tape},
	{0, "\x7fELF", ELF},
	{0, "PK\x03\x04", ZIP},
	{0, "PK\x05\x06", ZIP},
	{0, "\x1f\x8b", Gzip},
	{0, "\x28\xb5\x2f\xfd", Gzip},
	{257, "ustar", Tar},
}

// Of tells what a file is whose first bytes, decompressed, are head.
func Of(head []byte) Kind {
	if len(head) == 0 {
		return Empty
	}
	for _, m := range magic {
		if len(head) >= m.at && bytes.HasPrefix(head[m.at:], []byte(m.text)) {
			return m.kind
		}
	}
	if bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		return database(head)
	}
	if LooksLikeText(head) {
		return ofText(head)
	}
	if isUTF16(head) {
		return UTF16
	}
	if k := ofMessages(head); k != Binary {
		return k
	}
	return ofDamagedText(head)
}

// isUTF16 reports whether bytes begin as text of two bytes a character: with a byte order mark, or as JSON or XML does without one.
func isUTF16(head []byte) bool {
	for _, start := range []string{"\xff\xfe", "\xfe\xff", "{\x00\"\x00", "\x00{\x00\"", "{\x00\n\x00", "\x00{\x00\n", "[\x00{\x00", "\x00[\x00{"} {
		if bytes.HasPrefix(head, []byte(start)) {
			return len(head)%2 == 0 || len(head) == HeadBytes
		}
	}
	return false
}

// ofDamagedText tells a trace in JSON although some bytes are not text, as a NUL in a name: its reader says what they do to it.
func ofDamagedText(head []byte) Kind {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), " \t\r\n")
	if len(text) > 0 && (text[0] == '{' || text[0] == '[' && !TableHeader(text)) && ofJSON(text) == Chrome {
		return Chrome
	}
	return Binary
}

// database tells databases apart by the names of their tables, which stand in the first pages.
func database(head []byte) Kind {
	switch {
	case bytes.Contains(head, []byte("rocpd_")):
		return Rocpd
	case bytes.Contains(head, []byte("CUPTI_ACTIVITY_KIND")), bytes.Contains(head, []byte("TARGET_INFO_")):
		return Nsight
	}
	return SQLite
}

// LooksLikeText reports whether bytes can be text: valid UTF-8, the last character aside, and no control characters but white space. A
// SnapshotPairs message is not text: it begins with a tag and a length byte below 0x20, or holds the tag 0x08 of its first field.
func LooksLikeText(head []byte) bool {
	for i := 0; i < len(head); {
		c := head[i]
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
		if c < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && n == 1 {
			return i+utf8.UTFMax > len(head) && !utf8.FullRune(head[i:])
		}
		i += n
	}
	return true
}

const byteOrderMark = "\xef\xbb\xbf"

func ofText(head []byte) Kind {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), " \t\r\n")
	if len(text) == 0 {
		return Text
	}
	if text[0] == '{' || text[0] == '[' && !TableHeader(text) {
		return ofJSON(text)
	}
	line, _, _ := strings.Cut(string(text[:min(len(text), 4096)]), "\n")
	switch {
	case isRocprofTable(line):
		return RocprofCSV
	case declares(text):
		return ClockText
	}
	return Text
}

// TableHeader reports whether text that begins with a bracket is TOML, whose tables begin with a name ("[nodes.node1]"), and not a JSON
// list.
func TableHeader(text []byte) bool {
	b := bytes.TrimLeft(bytes.TrimPrefix(text, []byte(byteOrderMark)), " \t\r\n[")
	return len(b) > 0 && (b[0] == '"' || b[0] == '\'' || b[0] == '_' || b[0] >= 'a' && b[0] <= 'z' || b[0] >= 'A' && b[0] <= 'Z')
}

// declares reports whether TOML declares offsets of nodes.
func declares(text []byte) bool {
	return bytes.Contains(text, []byte("nodes")) && bytes.Contains(text, []byte("offset"))
}

// isRocprofTable reports whether a line names the columns of a table of rocprof, version 2 or 3.
func isRocprofTable(line string) bool {
	line = strings.ReplaceAll(strings.ToLower(line), "_", "")
	return strings.Contains(line, ",") && strings.Contains(line, "kernelname") && !strings.Contains(line, "countername") && (strings.Contains(line, "starttimestamp") || strings.Contains(line, "beginns"))
}

// ofJSON tells JSON apart by the keys in its first bytes.
func ofJSON(text []byte) Kind {
	has := func(key string) bool { return bytes.Contains(text, []byte(`"`+key+`"`)) }
	switch {
	case text[0] == '{' && (has("traceEvents") || has("schemaVersion") && has("deviceProperties")):
		return Chrome
	case has("rocprofiler-sdk-tool"):
		return RocprofJSON
	case bytes.Contains(text[:min(len(text), 256)], []byte(`"prlx.rounds/`)), bytes.Contains(text[:min(len(text), 256)], []byte(`"prlx.probes/`)):
		return ClockText
	case text[0] == '{' && bytes.Contains(text[:min(len(text), 256)], []byte(`"prlx.`)) && has("schema"):
		return Document
	case text[0] == '[' && has("ph") && has("pid"):
		return Chrome
	case isClockText(has):
		return ClockText
	}
	return JSON
}

// isClockText reports whether JSON, or JSON lines, has the keys of one of the clock files.
func isClockText(has func(string) bool) bool {
	return has("sys_clock_ns") && has("tracer_clock_ns") || has("sysClockNs") || has("window_start_ns") || has("midpoint_sys_ns") ||
		has("offset_ns") && (has("node_id") || has("nodes")) || has("t1") && has("t4") || has("edges") && has("dst") || has("start_walltime_ns")
}
