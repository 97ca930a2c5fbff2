package sites

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold makes texts that differ in letter case and accents only the same: São Paulo and SAO PAULO, Tromsø and tromso. What
// is no text, such as control characters, is dropped.
func Fold(text string) string {
	if plain(text) {
		return strings.ToLower(text)
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		switch {
		case unicode.Is(unicode.Mn, r) || unicode.IsControl(r) || r == unicode.ReplacementChar:
			continue
		case r < unicode.MaxASCII:
			b.WriteRune(unicode.ToLower(r))
		default:
			r = unicode.ToLower(r)
			if letters, ok := whole[r]; ok {
				b.WriteString(letters)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// plain tells whether a text is printable ASCII.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// whole are the letters that Unicode does not take apart, and how they are spelled without them.
var whole = map[rune]string{
	'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ß': "ss", 'æ': "ae", 'œ': "oe", 'ı': "i", 'ħ': "h", 'ŧ': "t", '’': "'", '‘': "'", '–': "-", '—': "-",
}
