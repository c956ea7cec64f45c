package recorder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Texts is the text of a kernel as its compiler read it.
type Texts struct {
	Functions []struct {
		File      string `json:"file"`
		Function  string `json:"function"`
		FirstLine uint32 `json:"first_line"`
		Text      string `json:"text"`
	} `json:"functions"`
	Constants []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"constants"`
}

// Add adds the text of a function, or of a whole file under its name.
func (t *Texts) Add(file, function, text string) {
	t.Functions = append(t.Functions, struct {
		File      string `json:"file"`
		Function  string `json:"function"`
		FirstLine uint32 `json:"first_line"`
		Text      string `json:"text"`
	}{file, function, 1, text})
}

// write gives a recording the texts: in itself, or by name where they lie beside it.
func (t *Texts) write(w *warptrace.V2Writer, path string, beside bool, code warptrace.Text) error {
	if t == nil || len(t.Functions)+len(t.Constants) == 0 {
		return nil
	}
	var texts warptrace.Texts
	for i := range t.Functions {
		f := &t.Functions[i]
		text := warptrace.Text{File: f.File, Function: f.Function, FirstLine: f.FirstLine, Text: strings.ToValidUTF8(f.Text, "\uFFFD")}
		texts.Functions = append(texts.Functions, text)
	}
	if len(code.Text) <= warptrace.MaxTextBytes {
		texts.Code = code
	}
	if beside {
		if err := keepTexts(&texts, filepath.Join(filepath.Dir(path), warptrace.TextsFolder)); err != nil {
			return err
		}
	}
	for _, c := range t.Constants {
		texts.Constants = append(texts.Constants, warptrace.Constant(c))
	}
	return w.SetTexts(&texts)
}

// keepTexts writes what is not there yet to a folder, and leaves the names.
func keepTexts(texts *warptrace.Texts, folder string) error {
	all := []*warptrace.Text{&texts.Code}
	for i := range texts.Functions {
		all = append(all, &texts.Functions[i])
	}
	for _, text := range all {
		if text.Text == "" {
			continue
		}
		text.Digest = warptrace.DigestOfText(text.Text)
		if err := keepText(folder, text); err != nil {
			return err
		}
	}
	return nil
}

// keepText writes a text to a folder where it is not there yet, and leaves its name.
func keepText(folder string, text *warptrace.Text) error {
	path := filepath.Join(folder, warptrace.TextName(text.Digest))
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = putText(path, text.Text)
	}
	if err != nil {
		return fault.FromIO(path, err)
	}
	text.Text = ""
	return nil
}

func putText(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	packed, err := warptrace.PackText(text)
	if err != nil {
		return err
	}
	out, err := file.Create(path, true) // another launch may write the same at the same time
	if err != nil {
		return err
	}
	defer out.Abort()
	if _, err := out.Write(packed); err != nil {
		return err
	}
	return out.Commit()
}
