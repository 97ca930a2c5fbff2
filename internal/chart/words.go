package chart

import (
	"fmt"
	"strings"
	"time"

	"github.com/assaydata/assay"
)

// heading is the title with the unit.
func (c *Chart) heading() string { return joined(", ", c.Title, c.Unit) }

// joined joins the texts that are not empty.
func joined(separator string, texts ...string) string {
	var list []string
	for _, t := range texts {
		if t != "" {
			list = append(list, t)
		}
	}
	return strings.Join(list, separator)
}

// Description says in words what the chart shows.
func (c *Chart) Description() string {
	if len(c.Points) == 0 {
		return joined(" ", "No values in this range.", sentence(c.Notice), sentence(c.Source))
	}
	grain := "Daily"
	if c.Hourly {
		grain = "Hourly"
	}
	first, last := c.Points[0], c.Points[len(c.Points)-1]
	low, high := c.bounds()
	shown := fmt.Sprintf("%s values from %s to %s: first %s, last %s, lowest %s, highest %s.", grain, c.instant(first.At),
		c.instant(last.At), shownValue(first.Value), shownValue(last.Value), shownValue(low), shownValue(high))
	return joined(" ", shown, sentence(c.Notice), sentence(c.Source))
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(text, ".") + "."
}

// instant is when a point is, in UTC.
func (c *Chart) instant(at int64) string {
	if !c.Hourly {
		return assay.FormatDay(at)
	}
	return time.UnixMilli(at).UTC().Format("2006-01-02 15:04 UTC")
}

// shownValue is a value with its thousands separated. It has all of its digits: what a picture says is exact.
func shownValue(v assay.Nanos) string {
	text := v.String()
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole, fraction, pointed := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if pointed {
		whole += "." + fraction
	}
	return sign + whole
}
