package warptrace

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
)

// The texts block of format v2: the text of the kernel, or what names it.

// SetTexts adds the text of the kernel, in front of what the launch wrote. A Text without text is named by its digest alone; where there
// is text, the digest follows from it.
func (w *V2Writer) SetTexts(texts *Texts) error {
	if err := w.open(); err != nil {
		return err
	}
	if w.list.texts != nil {
		return fault.Usagef("the text of the kernel was set before")
	}
	if len(texts.Functions) > maxTexts || len(texts.Constants) > maxConstants {
		return fault.New(fault.Limit, "a recording holds the texts of at most %d functions and %d constants", maxTexts, maxConstants)
	}
	for _, f := range append(texts.Functions[:len(texts.Functions):len(texts.Functions)], texts.Code) {
		if len(f.Text) > MaxTextBytes {
			return fault.New(fault.Limit, "the text of %s has %d bytes; at most %d are written", f.Function, len(f.Text), MaxTextBytes)
		}
	}
	body := encodeTexts(texts)
	if len(body) > v2MaxTexts {
		return fault.New(fault.Limit, "the text of the kernel takes %d bytes; at most %d are written", len(body), v2MaxTexts)
	}
	at := w.off
	w.list.setTexts(v2Block{at, w.block(v2Head{kind: v2TextsKind, count: 1}, nil, body)})
	return w.err
}

// setTexts notes where the texts are; more can be written behind them.
func (l *v2List) setTexts(b v2Block) {
	l.texts = &b
	l.end = max(l.end, b.offset+v2HeadBytes+int64(b.head.stored))
}

// readTexts finds the texts block that the end lists.
func (v *v2) readTexts(list *v2List, offset uint64, endAt int64) error {
	if offset == 0 {
		return nil
	}
	if offset > uint64(endAt) {
		return v.corrupt(endAt, "the end of the file is corrupt: the text of the kernel lies behind it")
	}
	head, ok, err := v.headAt(int64(offset), endAt)
	if err != nil {
		return err
	}
	if !ok || head.kind != v2TextsKind {
		return v.corrupt(int64(offset), "the block with the text of the kernel is corrupt")
	}
	if lie := head.lie(); lie != "" {
		return fault.New(fault.Limit, "a block cannot be what it says: %s", lie).WithPath(v.in.Path())
	}
	list.setTexts(v2Block{int64(offset), head})
	return nil
}

// texts reads the texts block.
func (v *v2) texts(ctx context.Context) (*Texts, error) {
	if v.textsAt == nil {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	_, body, err := v.payload(*v.textsAt, &v2Memory{})
	if err != nil {
		return nil, err
	}
	texts, err := decodeTexts(body)
	if err != nil {
		return nil, v.corrupt(v.textsAt.offset, "the text of the kernel is corrupt: %v", err)
	}
	return texts, nil
}

func encodeTexts(texts *Texts) []byte {
	var m message
	for i := range texts.Functions {
		m = m.sub(1, encodeText(texts.Functions[i]))
	}
	for _, c := range texts.Constants {
		m = m.sub(2, message(nil).text(1, c.Name).text(2, c.Value))
	}
	if texts.Code != (Text{}) {
		m = m.sub(3, encodeText(texts.Code))
	}
	return m
}

func encodeText(f Text) message {
	if f.Text != "" {
		f.Text = strings.ToValidUTF8(f.Text, "\uFFFD")
		f.Digest = DigestOfText(f.Text)
	}
	return message(nil).text(1, f.File).text(2, f.Function).uint(3, uint64(f.FirstLine)).sub(4, f.Digest[:]).text(5, f.Text)
}

var (
	errManyTexts  = errors.New("it has more functions or constants than are read, or a text is longer")
	errTextDigest = errors.New("a text does not have its digest")
)

func decodeTexts(b []byte) (*Texts, error) {
	texts := &Texts{}
	err := eachField(b, func(f *field) (err error) {
		switch f.num {
		case 1:
			var one Text
			one, err = decodeText(f.b)
			texts.Functions = append(texts.Functions, one)
		case 2:
			var c Constant
			err = eachField(f.b, func(f *field) error {
				switch f.num {
				case 1:
					c.Name = f.text()
				case 2:
					c.Value = f.text()
				}
				return nil
			})
			texts.Constants = append(texts.Constants, c)
		case 3:
			texts.Code, err = decodeText(f.b)
		}
		if len(texts.Functions) > maxTexts || len(texts.Constants) > maxConstants {
			return errManyTexts
		}
		return err
	})
	return texts, err
}

func decodeText(b []byte) (Text, error) {
	var t Text
	err := eachField(b, func(f *field) error {
		switch f.num {
		case 1:
			t.File = f.text()
		case 2:
			t.Function = f.text()
		case 3:
			t.FirstLine = uint32(f.v)
		case 4:
			if len(f.b) != len(t.Digest) {
				return errTextDigest
			}
			copy(t.Digest[:], f.b)
		case 5:
			t.Text = f.text()
		}
		return nil
	})
	switch {
	case err != nil:
	case len(t.Text) > MaxTextBytes:
		err = errManyTexts
	case t.Text != "" && DigestOfText(t.Text) != t.Digest:
		err = errTextDigest
	}
	return t, err
}

// textDecoder inflates texts that lie in files of their own, up to the length that a text may have.
var textDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxTextBytes))
})
