package chrometrace

import (
	"context"
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/aligned"
)

// KeyMark is the top-level key under which a document says what prlx did to it.
const KeyMark = aligned.KeyMark

// keyNodes is the key under which a merged document keeps what the documents of its nodes said.
const keyNodes = "prlx"

// ReadMark returns what a document says about what prlx did to it, nil when it says nothing.
func ReadMark(ctx context.Context, src *file.Source, t *trace) (*aligned.Mark, error) {
	key := t.key(KeyMark)
	if key == nil {
		return nil, nil
	}
	text, err := valueOf(ctx, src, key)
	if err != nil {
		return nil, err
	}
	m, err := aligned.Read(text)
	if err != nil {
		return nil, fault.Of(err).WithPath(t.Path)
	}
	return m, nil
}

// valueOf reads the value of a top-level key, also one that is longer than what Scan keeps.
func valueOf(ctx context.Context, src *file.Source, key *key) ([]byte, error) {
	if int64(len(key.Value)) == key.Length {
		return key.Value, nil
	}
	if key.Length > aligned.MaxBytes {
		return nil, fault.New(fault.Limit, "the value of %s has %d bytes, more than %d", key.Raw, key.Length, aligned.MaxBytes).WithPath(src.Path())
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.FromIO(src.Path(), err)
	}
	return readRange(src, key.Offset, key.Offset+key.Length, nil)
}

// distributedOfNodes returns, by the id of the node, what the documents that were merged into this one said about process groups.
// What cannot be read is left out.
func distributedOfNodes(ctx context.Context, src *file.Source, t *trace) (map[string]*distributedInfo, error) {
	key := t.key(keyNodes)
	if key == nil || key.Length > aligned.MaxBytes {
		return nil, nil
	}
	text, err := valueOf(ctx, src, key)
	if err != nil {
		return nil, err
	}
	out := map[string]*distributedInfo{}
	l := &lexer{b: text}
	nodes, _ := lookup(l, span{0, int32(len(text))}, "nodes")
	l.elements(nodes, func(node span) {
		id, _ := lookup(l, node, "id")
		document, _ := lookup(l, node, "document")
		info, ok := lookup(l, document, "distributedInfo")
		if !ok {
			return
		}
		if d := readDistributed(info.of(text)); d != nil {
			out[string(textOf(id.of(text)))] = d
		}
	})
	return out, nil
}

// elements calls visit with the place of each element of a list that was already walked.
func (l *lexer) elements(list span, visit func(value span)) {
	b := l.b
	if !list.set() || b[list.s] != '[' {
		return
	}
	kept := l.lenient
	defer func() { l.lenient = kept }()
	for i := l.space(int(list.s) + 1); i < int(list.e) && b[i] != ']'; {
		end := l.value(i, eventDepth+1)
		if end < 0 {
			return
		}
		visit(span{int32(i), int32(end)})
		if i = l.space(end); i >= len(b) || b[i] != ',' {
			return
		}
		i = l.space(i + 1)
	}
}

// marked writes the end of a document, which stands behind the last of its keys, with the mark in front of it.
func (d *documentWriter) marked() error {
	last := d.t.Keys[len(d.t.Keys)-1] // a document with a list has at least that key
	end := last.Offset + last.Length
	if err := d.around(d.t.EventsEnd, end); err != nil {
		return err
	}
	if _, err := io.WriteString(d.dst, ",\n\""+KeyMark+"\": "+string(d.r.edit.Mark)); err != nil {
		return err
	}
	return d.around(end, d.t.Size)
}
