package reports_test

import (
	"bytes"
	"testing"

	"lockpick/reports"
)

func TestGoldenText(t *testing.T) {
	for _, tt := range []struct {
		name  string
		color bool
	}{{"several.text", false}, {"several-color.text", true}} {
		var b bytes.Buffer
		if err := reports.Text(&b, several(), reports.Options{Checks: checks, Color: tt.color}); err != nil {
			t.Fatal(err)
		}
		golden(t, tt.name, b.Bytes())
	}
}
