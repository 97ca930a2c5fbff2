package sites

import (
	"slices"
	"strings"
	"sync"
)

// Other is the bucket of sites whose description names no known chip.
const Other = "Other"

// chipNames lists the known chips: the normalized name, then other spellings. A space in a spelling matches a space, a
// punctuation mark or nothing.
var chipNames = [][]string{
	// NVIDIA, data center
	{"GB300"},
	{"GB200"},
	{"B300"},
	{"B200"},
	{"B100"},
	{"GH200"},
	{"H200"},
	{"H100"},
	{"H800"},
	{"H20"},
	{"A100"},
	{"A800"},
	{"A40"},
	{"A30"},
	{"A16"},
	{"A10G"},
	{"A10"},
	{"L40S"},
	{"L40"},
	{"L20"},
	{"L4"},
	{"V100"},
	{"P100"},
	{"P40"},
	{"T4"},
	{"K80"},
	// NVIDIA, workstation and gaming
	{"RTX PRO 6000"},
	{"RTX 6000 Ada", "6000 Ada"},
	{"RTX A6000", "A6000"},
	{"RTX A5000", "A5000"},
	{"RTX A4000", "A4000"},
	{"RTX 5090"},
	{"RTX 5080"},
	{"RTX 4090"},
	{"RTX 4080"},
	{"RTX 3090"},
	{"RTX 3080"},
	// AMD
	{"MI355X", "MI 355X", "MI 355"},
	{"MI350X", "MI 350X", "MI 350"},
	{"MI325X", "MI 325X", "MI 325"},
	{"MI300A", "MI 300A"},
	{"MI300X", "MI 300X", "MI 300"},
	{"MI250X", "MI 250X"},
	{"MI250", "MI 250"},
	{"MI210", "MI 210"},
	{"MI100", "MI 100"},
	// Google
	{"TPU v7", "Ironwood"},
	{"TPU v6", "TPU v6e", "Trillium"},
	{"TPU v5p"},
	{"TPU v5e", "TPU v5 lite"},
	{"TPU v4"},
	{"TPU v3"},
	{"TPU v2"},
	// Amazon
	{"Trainium3", "Trainium 3", "Trn3"},
	{"Trainium2", "Trainium 2", "Trn2"},
	{"Trainium", "Trn1", "Trainium 1"},
	{"Inferentia2", "Inferentia 2", "Inf2"},
	{"Inferentia", "Inf1"},
	// Others
	{"Gaudi 3"},
	{"Gaudi 2"},
	{"Ascend 910C", "910C"},
	{"Ascend 910B", "910B"},
	{"Ascend 910"},
	{"WSE 3", "CS 3"},
	{"WSE 2", "CS 2"},
}

// maxWords is the number of words of the longest spelling.
const maxWords = 3

// spelling is one way to write a chip: all its words joined, and how many words it may have.
type spelling struct {
	chip  int // position in chipNames
	words int
}

var spellings = sync.OnceValue(func() map[string]spelling {
	all := map[string]spelling{}
	for i, names := range chipNames {
		for _, name := range names {
			words := strings.Fields(strings.ToUpper(name))
			piece := strings.Join(words, "")
			if known, ok := all[piece]; !ok || known.words < len(words) {
				all[piece] = spelling{i, len(words)}
			}
		}
	}
	return all
})

// Chips returns the chips that a description names, each once, in the order of the text, or Other if it names no known
// chip. Only whole words count, so GB200 is not B200 and H200 is not H20. A count may be attached, as in 8xH100.
func Chips(description string) (chips []string) {
	words := words(description)
	for i := 0; i < len(words); {
		chip, taken := chipAt(words[i:])
		if taken == 0 {
			i++
			continue
		}
		i += taken
		if name := chipNames[chip][0]; !slices.Contains(chips, name) {
			chips = append(chips, name)
		}
	}
	if chips == nil {
		return []string{Other}
	}
	return chips
}

// Chip returns the chip that a text is a spelling of, in any letter case, or Other; ok is false for anything else.
func Chip(text string) (name string, ok bool) {
	if strings.EqualFold(strings.TrimSpace(text), Other) {
		return Other, true
	}
	piece := strings.Join(words(text), "")
	if found, known := spellings()[piece]; known && len(words(text)) <= found.words {
		return chipNames[found.chip][0], true
	}
	return "", false
}

// words are the words of a text in capitals.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// chipAt returns the longest name at the beginning of the words.
func chipAt(words []string) (chip, taken int) {
	for n := min(maxWords, len(words)); n > 0; n-- {
		piece := strings.Join(words[:n], "")
		bare := withoutCount(piece)
		forms := [...]string{piece, bare, strings.TrimSuffix(piece, "S"), strings.TrimSuffix(bare, "S")}
		for _, form := range forms { // as written first: the S of L40S is no plural
			if found, ok := spellings()[form]; ok && n <= found.words {
				return found.chip, n
			}
		}
	}
	return 0, 0
}

// withoutCount removes the count from a word such as 8XH100 or H100X8.
func withoutCount(word string) string {
	const digits = "0123456789"
	if rest := strings.TrimLeft(word, digits); len(rest) < len(word) && strings.HasPrefix(rest, "X") {
		return rest[1:]
	}
	if rest := strings.TrimRight(word, digits); len(rest) < len(word) {
		return strings.TrimSuffix(rest, "X")
	}
	return word
}
