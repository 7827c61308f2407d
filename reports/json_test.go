package reports_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"lockpick/reports"
)

func TestGoldenJSON(t *testing.T) {
	var b bytes.Buffer
	if err := reports.JSON(&b, several()); err != nil {
		t.Fatal(err)
	}
	golden(t, "several.json", b.Bytes())
}

func TestJSONHasListsAndNoNull(t *testing.T) {
	var b bytes.Buffer
	if err := reports.JSON(&b, reports.Summary{AsExpected: true}); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"runs\": [],\n  \"as_expected\": true\n}\n"; b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
	s := reports.Summary{Runs: []reports.Run{{Scenario: "a", Version: "b"}}}
	b.Reset()
	if err := reports.JSON(&b, s); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b.Bytes(), []byte("null")) {
		t.Errorf("a null in %s", b.String())
	}
	if s.Runs[0].Findings != nil {
		t.Error("the caller's summary was changed")
	}
}

func TestJSONReadsBack(t *testing.T) {
	var b bytes.Buffer
	if err := reports.JSON(&b, several()); err != nil {
		t.Fatal(err)
	}
	var again reports.Summary
	if err := json.Unmarshal(b.Bytes(), &again); err != nil {
		t.Fatal(err)
	}
	var c bytes.Buffer
	if err := reports.JSON(&c, again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), c.Bytes()) {
		t.Errorf("reading and writing changed the summary:\n%s", c.String())
	}
}
