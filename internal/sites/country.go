package sites

import (
	_ "embed" // for the list of countries
	"strings"
	"sync"
	"unicode"
)

// Unknown is the country of a site that has none on file.
const Unknown = "Unknown"

//go:embed countries.txt
var countriesText string

// countries maps every name and code of a country to its normalized name.
var countries = sync.OnceValue(func() map[string]string {
	byKey := map[string]string{}
	for line := range strings.Lines(countriesText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		two, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		three, rest, _ := strings.Cut(rest, " ")
		names := strings.Split(rest, "; ")
		for _, name := range names {
			byKey[countryKey(name)] = names[0]
		}
		byKey[strings.ToLower(two)], byKey[strings.ToLower(three)] = names[0], names[0]
	}
	byKey[countryKey(Unknown)] = Unknown
	return byKey
})

// Country returns the normalized name of a country, given any of its names or ISO 3166 codes, in any letter case, with
// or without accents and punctuation. Unknown stays Unknown; ok is false for anything that is not a country.
func Country(text string) (name string, ok bool) {
	name, ok = countries()[countryKey(text)]
	return name, ok
}

// countryKey reduces a name to letters and single spaces.
func countryKey(name string) string {
	var b strings.Builder
	for _, r := range Fold(name) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		case r == '&':
			b.WriteString(" and ")
		case r != '.' && r != '\'': // U.S.A. is one word, and so is d'Ivoire
			b.WriteByte(' ')
		}
	}
	words := strings.Fields(b.String())
	if len(words) > 1 && words[0] == "the" {
		words = words[1:]
	}
	for i, word := range words[:max(len(words)-1, 0)] { // the last is a name, or the code of São Tomé and Príncipe
		if word == "st" {
			words[i] = "saint"
		}
	}
	return strings.Join(words, " ")
}
