package chart

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// Theme says which colors a picture has.
type Theme uint8

// The themes.
const (
	Auto Theme = iota // those that its reader prefers; a PNG is light
	Light
	Dark
)

// ThemeNames are the names of the themes, by theme.
var ThemeNames = []string{Auto: "auto", Light: "light", Dark: "dark"}

// color is a color by its use.
type color uint8

const (
	surface color = iota
	ink
	muted
	grid
	line
	warning
	labelBack
	valueBack
	noticeBack
	onBack // the color of a text on one of the three before
	colors // how many there are
)

// The colors of each theme: those of the dashboard. A badge has the same ones everywhere, because it brings its own
// background.
var (
	light = [colors]uint32{
		surface: 0xffffff, ink: 0x141a24, muted: 0x556072, grid: 0xdce0e7, line: 0x2450d8, warning: 0x8a5300,
		labelBack: 0x3c4657, valueBack: 0x2450d8, noticeBack: 0x8a5300, onBack: 0xffffff,
	}
	dark = [colors]uint32{
		surface: 0x141921, ink: 0xe9edf3, muted: 0xa0abbb, grid: 0x29313d, line: 0x86a8ff, warning: 0xf3c46b,
		labelBack: 0x3c4657, valueBack: 0x2450d8, noticeBack: 0x8a5300, onBack: 0xffffff,
	}
)

// Style is the style of an SVG, the text between its style tags. It depends on nothing but the theme, so a content
// security policy can name it by its digest.
func (t Theme) Style() string { return styles[t] }

// StyleSource is the style as the source of a content security policy.
func (t Theme) StyleSource() string {
	digest := sha256.Sum256([]byte(t.Style()))
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

var styles = [...]string{
	Auto:  fontRule + rules(light) + "@media(prefers-color-scheme:dark){" + rules(dark) + "}",
	Light: fontRule + rules(light),
	Dark:  fontRule + rules(dark),
}

const fontRule = "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}"

// rules give each color a class for areas and one for lines.
func rules(palette [colors]uint32) string {
	var b strings.Builder
	for c, value := range palette {
		fmt.Fprintf(&b, ".a%d{fill:#%06x}.l%d{stroke:#%06x;fill:none}", c, value, c, value)
	}
	return b.String()
}
