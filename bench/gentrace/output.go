package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// form is how recordings are written.
type form struct {
	format   string
	compress bool
	level    int
}

func (f *form) flags(set *flag.FlagSet) {
	set.StringVar(&f.format, "format", "v2", "v1 or v2")
	set.BoolVar(&f.compress, "compress", false, "v1: events in one zstd frame (v2 is always compressed)")
	set.IntVar(&f.level, "level", 3, "of zstd")
}

// output is one recording being written.
type output struct {
	file  *os.File
	buf   *bufio.Writer
	sites *site.Table
	v1    *warptracetest.V1Stream
	v2    *warptrace.V2Writer
}

// create starts a recording. For v1 the header's EventsPerWarp must be that of the longest warp at least.
func (f *form) create(path string, h warptrace.Header, sites *site.Table) (*output, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	o := &output{file: file, buf: bufio.NewWriterSize(file, 1<<20), sites: sites}
	switch f.format {
	case "v1":
		o.v1 = warptracetest.V1File{Compress: f.compress, Level: f.level, SampleRate: 1}.Stream(o.buf, h, 1)
	case "v2":
		o.v2, err = warptrace.CreateV2(o.buf, h, sites, warptrace.V2Options{Level: f.level})
	default:
		err = fmt.Errorf("-format is %q, expected v1 or v2", f.format)
	}
	return o, err
}

func (o *output) append(w *warptrace.Warp) error {
	if o.v1 != nil {
		o.v1.Append(w, o.sites)
		return nil
	}
	return o.v2.Append(w)
}

func (o *output) close() error {
	var err error
	if o.v1 != nil {
		err = o.v1.Close()
	} else {
		err = o.v2.Close()
	}
	if err == nil {
		err = o.buf.Flush()
	}
	if closeErr := o.file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// write writes a recording that is in memory.
func (f *form) write(path string, r *warptracetest.Recording) error {
	o, err := f.create(path, r.Header, r.Sites)
	if err != nil {
		return err
	}
	for i := range r.Warps {
		if err := o.append(&r.Warps[i]); err != nil {
			return err
		}
	}
	return o.close()
}

// beside are the files that may accompany recordings.
type beside struct{ truth, source, siteMap string }

func (b *beside) flags(set *flag.FlagSet) {
	set.StringVar(&b.truth, "truth", "", "write the truth to this JSON file")
	set.StringVar(&b.source, "source", "", "write the kernel's source into this directory")
	set.StringVar(&b.siteMap, "map", "", "write the site map (prlx-sites.json) to this file")
}

func (b *beside) write(p *warptracetest.Program, truth any) error {
	if b.source != "" {
		if err := p.WriteSource(b.source); err != nil {
			return err
		}
	}
	if b.siteMap != "" {
		if err := writeMap(b.siteMap, p.Sites()); err != nil {
			return err
		}
	}
	if b.truth != "" {
		return writeJSON(b.truth, truth)
	}
	return nil
}

func writeMap(path string, sites *site.Table) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := site.WriteMap(f, sites); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// directory makes a directory and returns a function that names files in it.
func directory(path string) (func(name string) string, error) {
	if path == "" {
		return nil, fmt.Errorf("-out is missing")
	}
	return func(name string) string { return filepath.Join(path, name) }, os.MkdirAll(path, 0o755)
}
