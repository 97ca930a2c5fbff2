package assay

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckVisible rejects a text with a character that readers cannot see or cannot tell from a space. With such
// characters two different names look the same, and one name can look like another one read backwards.
func CheckVisible(what, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s is not valid UTF-8 text", what)
	}
	var before rune
	for i, r := range text {
		plain := ' ' <= r && r <= '~' // as nearly all are
		if !plain && isHidden(r) && !isSpelling(before, r, text[i+utf8.RuneLen(r):]) {
			return fmt.Errorf("%s contains U+%04X: must be visible characters and plain spaces", what, r)
		}
		before = r
	}
	return nil
}

// isHidden reports whether a character is invisible or a blank other than the space. Decoders put U+FFFD in the place
// of what they cannot read, so it stands for something lost.
func isHidden(r rune) bool {
	const brailleBlank, nullNotehead = '\u2800', '\U0001D159'
	return !unicode.IsPrint(r) || r == brailleBlank || r == nullNotehead || r == unicode.ReplacementChar ||
		unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// viramas are the signs that silence the vowel of a letter in the scripts of India and Sri Lanka.
const viramas = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"

// isSpelling reports whether an invisible character belongs to the spelling of a word. A joiner or non-joiner next to a
// virama chooses the form of the letters, as in the Sinhala name of Sri Lanka; Persian has the non-joiner inside words.
func isSpelling(before, r rune, rest string) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	after, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r != nonJoiner && r != joiner:
		return false
	case strings.ContainsRune(viramas, before):
		return unicode.IsLetter(after)
	case strings.ContainsRune(viramas, after):
		return unicode.IsLetter(before)
	}
	return r == nonJoiner && unicode.Is(unicode.Arabic, before) && unicode.Is(unicode.Arabic, after)
}
