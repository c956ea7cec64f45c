package junit_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"testing"

	"github.com/prlx-go/prlx/core/report/junit"
)

func TestCountsAreThoseOfTheCases(t *testing.T) {
	suites := []junit.Suite{
		{Name: "a", Cases: []junit.Case{{Name: "1"}, {Name: "2", Failure: &junit.Failure{Message: "<no> ]]> \x00"}}, {Name: "3", Skipped: &junit.Skipped{Message: "noise"}}}},
		{Name: "b", Cases: []junit.Case{{Name: "1", Error: &junit.Failure{}, Failure: &junit.Failure{}}}},
	}
	var b bytes.Buffer
	for range 2 { // a second time it counts the same
		b.Reset()
		if err := junit.Write(&b, "prlx", suites); err != nil {
			t.Fatal(err)
		}
	}
	var doc struct {
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   int           `xml:"errors,attr"`
		Suites   []junit.Suite `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("%v in %s", err, b.Bytes())
	}
	if doc.Tests != 4 || doc.Failures != 1 || doc.Errors != 1 {
		t.Errorf("counted %d tests, %d failures, %d errors", doc.Tests, doc.Failures, doc.Errors)
	}
	a := doc.Suites[0]
	if a.Tests != 3 || a.Failures != 1 || a.Skipped != 1 || a.Errors != 0 || a.Properties != nil || a.Time != "0" || a.Cases[2].Time != "0" {
		t.Errorf("the first suite is %+v", a)
	}
	if doc.Suites[1].Errors != 1 || doc.Suites[1].Failures != 0 {
		t.Errorf("an error that is a failure too is counted as %+v", doc.Suites[1])
	}
}

type full struct{ after int }

func (f *full) Write(p []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestErrorsOfTheDiskAreReturned(t *testing.T) {
	for after := range 2 {
		if err := junit.Write(&full{after}, "prlx", []junit.Suite{{Name: "a"}}); err == nil {
			t.Errorf("after %d pieces the disk was full, and nothing was said", after)
		}
	}
}
