package sites

import (
	"sort"
	"strings"
)

// texts holds one text per site in a single piece of memory, so that all can be searched at once.
type texts struct {
	all  string
	ends []int // where each text ends, with its separator
}

// separator ends a text. A folded search text never contains it.
const separator = 0

// newTexts builds the texts of n sites from an append function.
func newTexts(n int, appendText func(dst []byte, i int) []byte) texts {
	var all []byte
	ends := make([]int, n)
	for i := range n {
		all = append(appendText(all, i), separator)
		ends[i] = len(all)
	}
	return texts{string(all), ends}
}

// at returns the text of a site.
func (t *texts) at(i int32) string {
	from := 0
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.all[from : t.ends[i]-1]
}

// containing returns the sites whose text contains a part, in order.
func (t *texts) containing(part string) (sites []int32) {
	for from := 0; from < len(t.all); {
		found := strings.Index(t.all[from:], part)
		if found < 0 {
			break
		}
		i := sort.SearchInts(t.ends, from+found+1)
		sites = append(sites, int32(i))
		from = t.ends[i]
	}
	return sites
}
