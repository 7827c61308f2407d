package reports

import (
	"math"
	"strconv"
	"strings"
	"time"

	"lockpick/checker"
)

// Blanks within and between the columns of the figures.
const (
	valueGap  = 2
	figureGap = 4
)

// figures writes what was counted, from top to bottom and in as many columns as
// fit. Values end where their column does.
func figures(p *page, list []checker.Figure, o Options) {
	if len(list) == 0 {
		return
	}
	p.line()
	p.line(span{strong, o.say("Figures", "数字")})
	columns := figureColumns(list, p.width-2)
	for i := range columns[0].list {
		line := []span{}
		blank := "  "
		for _, c := range columns {
			if i >= len(c.list) {
				break
			}
			value := figure(c.list[i])
			line = append(line, span{plain, blank + pad(c.list[i].Name, c.name)},
				span{strong, strings.Repeat(" ", valueGap+c.value-width(value)) + value})
			blank = strings.Repeat(" ", figureGap)
		}
		p.flow(4, line...)
	}
}

// figureColumn is a column of figures and how wide its names and values are.
type figureColumn struct {
	list        []checker.Figure
	name, value int
}

// figureColumns cuts the list into the most columns that fit, each as wide as
// what is in it.
func figureColumns(list []checker.Figure, limit int) []figureColumn {
	for n := len(list); ; n-- {
		rows := (len(list) + n - 1) / n
		var columns []figureColumn
		total := -figureGap
		for at := 0; at < len(list); at += rows {
			c := figureColumn{list: list[at:min(at+rows, len(list))]}
			for _, f := range c.list {
				c.name, c.value = max(c.name, width(f.Name)), max(c.value, width(figure(f)))
			}
			columns = append(columns, c)
			total += c.name + valueGap + c.value + figureGap
		}
		if total <= limit || n == 1 {
			return columns
		}
	}
}

// figure writes what a check counted, with its unit, to three digits behind the
// point or, below 1, to three digits that count.
func figure(f checker.Figure) string {
	if f.Unit == "s" {
		return long(time.Duration(math.Round(f.Value * float64(time.Second))))
	}
	text := strconv.FormatFloat(f.Value, 'f', 3, 64)
	if a := math.Abs(f.Value); a > 0 && a < 0.1 {
		text = strconv.FormatFloat(f.Value, 'g', 3, 64)
	}
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	switch f.Unit {
	case "", "%":
		return text + f.Unit
	case "per second":
		return text + "/s"
	default:
		return text + " " + f.Unit
	}
}
