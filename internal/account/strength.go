package account

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/ccojocar/zxcvbn-go/data"
)

// The cost of guessing a part of a password. Attackers try lists first, so what is on a list costs as much as a
// character or two, however long it is; what they know of the account costs nothing.
const (
	costKnown    = 0 // the email address and the name
	costSequence = 1 // abcdef, 98765, qwerty, aaaa, 1987
	costCommon   = 1 // a common password
	costWord     = 2 // an English word
	costRune     = 1 // any other character

	// minCost is what a password must cost: two words and another character, or five characters that are part of nothing.
	minCost = 5
	// maxJudged is how many characters are judged. A longer password that begins with so many weak ones is weak.
	maxJudged = 64
)

// part is a kind of part of a password.
type part uint8

const (
	partRune part = iota
	partCommon
	partKnown
	partSequence
	numParts
)

// weak says why a password is refused, by what most of it is made of. No message shows any of it.
var weak = [numParts]string{
	partCommon:   "it is a common password or word, or a simple variation of one",
	partKnown:    "it is made of your email address or name",
	partSequence: "it is made of repeated or neighboring characters",
}

var (
	errReused        = invalid("invalid_password", "The new password must differ from your last two.")
	errContainsKnown = invalid("invalid_password",
		"A password must not contain the part of your email address before the @, or the name of this product.")
)

const (
	// minKnown is how long the first part of an email address is if no password may contain it. Shorter ones are part of
	// many words.
	minKnown = 4
	// product is part of many passwords of people who sign in here.
	product = "assay"
)

// checkStrength refuses a password that is easy to guess for someone who knows the account's email address and name.
func checkStrength(password, email, name string) error {
	lower, local := strings.ToLower(password), ""
	if local, _, _ = strings.Cut(strings.ToLower(email), "@"); len(local) < minKnown {
		local = product
	}
	if strings.Contains(lower, product) || strings.Contains(lower, local) {
		return errContainsKnown
	}
	runes := []rune(lower)
	runes = runes[:min(len(runes), maxJudged)]
	cost, kind := judge(repeated(runes), knownWords(email, name))
	if cost >= minCost {
		return nil
	}
	if kind == partRune {
		kind = partSequence // a few characters again and again
	}
	return invalid("invalid_password", "This password is too easy to guess: %s.", weak[kind])
}

// repeated returns the shortest text whose repetition is the given one; its last copy may be cut off.
func repeated(text []rune) []rune {
	for size := 1; size <= len(text)/2; size++ {
		same := true
		for i := size; i < len(text) && same; i++ {
			same = text[i] == text[i-size]
		}
		if same {
			return text[:size]
		}
	}
	return text
}

// substitutes are what stands for a letter in words that are meant to look like passwords.
var substitutes = map[rune]rune{
	'4': 'a', '@': 'a', '8': 'b', '(': 'c', '3': 'e', '6': 'g', '1': 'i', '!': 'i', '|': 'l', '0': 'o', '5': 's', '$': 's',
	'7': 't', '+': 't', '2': 'z',
}

// plain undoes the substitutes.
func plain(text []rune) []rune {
	letters := make([]rune, len(text))
	for i, r := range text {
		letters[i] = r
		if letter, ok := substitutes[r]; ok {
			letters[i] = letter
		}
	}
	return letters
}

// judge returns the least cost of guessing a text part by part, and what most of it is made of.
func judge(text []rune, known map[string]bool) (cost int, mostly part) {
	letters := plain(text)
	costs := make([]int, len(text)+1) // of the first characters
	last := make([]piece, len(text)+1)
	for end := 1; end <= len(text); end++ {
		costs[end], last[end] = costs[end-1]+costRune, piece{partRune, 1}
		for size := minPart; size <= min(end, maxPart); size++ {
			kind, price, ok := priceOf(text[end-size:end], known)
			if !ok {
				kind, price, ok = priceOf(letters[end-size:end], known)
			}
			if ok && costs[end-size]+price < costs[end] {
				costs[end], last[end] = costs[end-size]+price, piece{kind, size}
			}
		}
	}
	var sizes [numParts]int
	for end := len(text); end > 0; end -= last[end].size {
		sizes[last[end].kind] += last[end].size
	}
	for kind := range numParts {
		if sizes[kind] > sizes[mostly] {
			mostly = kind
		}
	}
	return costs[len(text)], mostly
}

// piece is a part of a password and how many characters it has.
type piece struct {
	kind part
	size int
}

// The size of parts that are looked for. A shorter one costs no less than its characters.
const (
	minPart = 3
	maxPart = maxJudged
)

// priceOf returns the cost of a part, unless it is just some characters.
func priceOf(text []rune, known map[string]bool) (kind part, price int, ok bool) {
	word := string(text)
	lists := commonWords()
	switch {
	case known[word]:
		return partKnown, costKnown, true
	case isSequence(text, word):
		return partSequence, costSequence, true
	case len(text) > minPart && lists.passwords[word]:
		return partCommon, costCommon, true
	case len(text) > minPart && lists.english[word]:
		return partCommon, costWord, true
	}
	return 0, 0, false
}

// rows are characters that are neighbors on a keyboard, in the orders in which people type them.
var rows = []string{
	"qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop", "1234567890",
	"1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p", "1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6u7i8o9p0", "qazwsxedcrfvtgbyhnujmikolp",
	"zaq1xsw2cde3vfr4bgt5nhy6mju7", "zaq12wsxcde34rfvbgt56yhnmju7", "!@#$%^&*()", "poiuytrewq", "lkjhgfdsa", "mnbvcxz",
	"0987654321",
}

// isSequence reports whether each character follows from the one before: by the same step in the alphabet, or on a
// keyboard. A year is a sequence too.
func isSequence(text []rune, word string) bool {
	step := text[1] - text[0]
	even := step >= -1 && step <= 1
	for i := 2; i < len(text) && even; i++ {
		even = text[i]-text[i-1] == step
	}
	if even {
		return true
	}
	if len(text) == len("1987") && (strings.HasPrefix(word, "19") || strings.HasPrefix(word, "20")) {
		return strings.Trim(word, "0123456789") == ""
	}
	for _, row := range rows {
		if strings.Contains(row, word) {
			return true
		}
	}
	return false
}

// knownWords are the texts, and their parts of letters and digits.
func knownWords(texts ...string) map[string]bool {
	words := map[string]bool{}
	for _, text := range texts {
		text = strings.ToLower(text)
		words[text] = true
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("@.-_+ ", r) }) {
			words[word] = true
		}
	}
	return words
}

// lists are what attackers try first.
type lists struct{ passwords, english map[string]bool }

// commonWords reads the lists when they are first needed: few processes ever set a password.
var commonWords = sync.OnceValue(func() lists {
	read := func(name string) map[string]bool {
		var content struct{ List []string }
		if err := json.Unmarshal(data.MustAsset("data/"+name+".json"), &content); err != nil {
			panic(err) // it is part of the program
		}
		set := make(map[string]bool, len(content.List))
		for _, word := range content.List {
			set[strings.ToLower(word)] = true
		}
		return set
	}
	return lists{passwords: read("Passwords"), english: read("English")}
})
