package reports

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lockpick/checker"
)

func drawFigures(t *testing.T, list []checker.Figure, limit int) string {
	t.Helper()
	var b bytes.Buffer
	p := newPage(&b, Options{Width: limit})
	figures(p, list, Options{})
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// operator are the figures that an operator watches, as many as there may be.
var operator = []checker.Figure{
	{Name: "grants", Value: 200}, {Name: "throughput", Value: 4.25, Unit: "per second"},
	{Name: "hold time, mean", Value: 0.0049, Unit: "s"}, {Name: "hold time, p99", Value: 35.0021, Unit: "s"}, {Name: "hold time of the TTL, p99", Value: 116.67, Unit: "%"},
	{Name: "wait time, mean", Value: 2.5, Unit: "s"}, {Name: "wait time, p99", Value: 300, Unit: "s"}, {Name: "gave up", Value: 12.5, Unit: "%"},
	{Name: "releases refused", Value: 1}, {Name: "releases unknown"}, {Name: "renewals", Value: 31}, {Name: "renewals failed", Value: 2},
	{Name: "commands per acquire", Value: 77.25}, {Name: "scripts", Value: 0.5, Unit: "per second"},
	{Name: "connections at most, redis-1", Value: 201}, {Name: "subscriptions at most, redis-1", Value: 199},
}

func TestFiguresInColumns(t *testing.T) {
	tests := []struct {
		name  string
		list  []checker.Figure
		width int
		want  []string
	}{
		{"none", nil, 120, nil},
		{"one line when they fit", operator[:2], 60, []string{"  grants  200    throughput  4.25/s"}},
		{"one column when nothing else fits", operator[:3], 40, []string{
			"  grants              200", "  throughput       4.25/s", "  hold time, mean   4.9ms"}},
		{"as many columns as fit, down and then right", operator, 120, []string{
			"  grants                         200    wait time, p99       5m    commands per acquire            77.25",
			"  throughput                  4.25/s    gave up           12.5%    scripts                         0.5/s",
			"  hold time, mean              4.9ms    releases refused      1    connections at most, redis-1      201",
			"  hold time, p99             35.002s    releases unknown      0    subscriptions at most, redis-1    199",
			"  hold time of the TTL, p99  116.67%    renewals             31",
			"  wait time, mean               2.5s    renewals failed       2",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := drawFigures(t, tt.list, tt.width)
			if tt.want == nil {
				if text != "" {
					t.Errorf("it draws %q", text)
				}
				return
			}
			if got, want := text, "\nFigures\n"+strings.Join(tt.want, "\n")+"\n"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestFiguresAreAllThereAndFit(t *testing.T) {
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 3))
		var list []checker.Figure
		for i := range 1 + dice.IntN(40) {
			list = append(list, checker.Figure{Name: fmt.Sprintf("figure-%d%s", i, strings.Repeat("x", dice.IntN(12))), Value: float64(i), Unit: []string{"", "s", "%"}[i%3]})
		}
		limit := MinWidth + dice.IntN(140)
		text := drawFigures(t, list, limit)
		for line := range strings.Lines(text) {
			if w := width(strings.TrimRight(line, "\n")); w > limit {
				t.Fatalf("seed %d: %d columns, not %d: %q", seed, w, limit, line)
			}
		}
		for _, f := range list {
			if !strings.Contains(text, f.Name) {
				t.Fatalf("seed %d: no %s in\n%s", seed, f.Name, text)
			}
		}
	}
}
