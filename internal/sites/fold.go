package sites

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold maps texts that differ only in letter case and accents to the same text: São Paulo and SAO PAULO, Tromsø and
// tromso. It drops control characters.
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

// plain reports whether a text is printable ASCII.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// whole maps letters that Unicode does not decompose to their ASCII spelling.
var whole = map[rune]string{
	'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ß': "ss", 'æ': "ae", 'œ': "oe", 'ı': "i",
	'ħ': "h", 'ŧ': "t", '’': "'", '‘': "'", '–': "-", '—': "-",
}
