package appendonly

import (
	"slices"
	"testing"
)

// Two lists that extend the same one do not write into the same spare capacity.
func TestList_TwoSuccessors(t *testing.T) {
	t.Parallel()
	var base List[int]
	for i := range 5 {
		base = base.With([]int{i})
	}
	one, two := base.With([]int{10}), base.With([]int{20, 21})
	if want := []int{0, 1, 2, 3, 4, 10}; !slices.Equal(one.Items(), want) {
		t.Errorf("the first successor is %v, want %v", one.Items(), want)
	}
	if want := []int{0, 1, 2, 3, 4, 20, 21}; !slices.Equal(two.Items(), want) {
		t.Errorf("the second successor is %v, want %v", two.Items(), want)
	}
	if n := len(base.Items()); n != 5 {
		t.Errorf("the list they extend has %d items, want 5", n)
	}
}

func TestList_SharesItsArray(t *testing.T) {
	t.Parallel()
	var list List[int]
	for i := range 100 {
		longer := list.With([]int{i})
		if i > 0 && &longer.Items()[0] == &list.Items()[0] {
			return
		}
		list = longer
	}
	t.Error("every extension copied the items")
}
