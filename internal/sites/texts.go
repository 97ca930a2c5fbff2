package sites

import (
	"sort"
	"strings"
)

// texts are one text a site, in one piece, so that all can be searched at once.
type texts struct {
	all  string
	ends []int // where each text ends, with its separator
}

// separator ends a text. Fold leaves no such byte in what is looked for.
const separator = 0

// newTexts makes texts of what is appended for each of n sites.
func newTexts(n int, appendText func(dst []byte, i int) []byte) texts {
	var all []byte
	ends := make([]int, n)
	for i := range n {
		all = append(appendText(all, i), separator)
		ends[i] = len(all)
	}
	return texts{string(all), ends}
}

// at is the text of a site.
func (t *texts) at(i int32) string {
	from := 0
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.all[from : t.ends[i]-1]
}

// containing gives the sites whose text contains a part, in order.
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
