package assay

import (
	"fmt"
	"testing"
)

func TestCheckVisible_OrdinaryNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Alder & Söhne (2)", "Fjordline Compute", "São Paulo", "Sa\u0303o Paulo", "株式会社データ", "서울", "Ελλάς", "Київ",
		"עברית", "بيانات", "חברה Ltd.", "हिन्दी", "𝒜 ×2 – “x”…", "🏢", "",
		"می\u200cخواهم",                         // Persian
		"ශ්\u200dරී ලංකා",                       // Sri Lanka
		"ക്\u200cഷ", "क्\u200dष", "র\u200d্যাব", // the joiner of Bengali stands before the virama
	} {
		if err := CheckVisible("name", name); err != nil {
			t.Errorf("%q is rejected: %v", name, err)
		}
	}
}

func TestCheckVisible_RejectsInvisibleCharacters(t *testing.T) {
	t.Parallel()
	for _, r := range []rune{
		0x0000, 0x0009, 0x000A, 0x001B, 0x007F, 0x0085, // controls
		0x00A0, 0x2002, 0x200A, 0x202F, 0x205F, 0x3000, 0x2028, 0x2029, // blanks and line ends that look like a space
		0x061C, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069, // bidirectional
		0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0x2061, 0x2065, 0xFEFF, 0x180E, // zero width
		0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x1D159, // letters and signs without ink
		0xFE00, 0xFE0F, 0x180B, 0xE0100, 0xE01EF, // variation selectors
		0xE0001, 0xE0041, 0xE007F, 0xFFF9, // tags and annotations
		0xE000, 0xFFFD, 0xFFFE, 0x10FFFF, // no character of their own
	} {
		want := fmt.Sprintf("name contains U+%04X: must be visible characters and plain spaces", r)
		for _, name := range []string{string(r), "Al" + string(r) + "der", "Alder" + string(r), string(r) + "Alder"} {
			if err := CheckVisible("name", name); err == nil || err.Error() != want {
				t.Errorf("%q: got %v, want %s", name, err, want)
			}
		}
	}
}

func TestCheckVisible_RejectsJoinersOutsideOfSpelling(t *testing.T) {
	t.Parallel()
	f := func(name, want string) {
		t.Helper()
		if err := CheckVisible("name", name); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", name, err, want)
		}
	}
	const nonJoiner = "name contains U+200C: must be visible characters and plain spaces"
	const joiner = "name contains U+200D: must be visible characters and plain spaces"
	f("می\u200c", nonJoiner)
	f("می\u200c\u200cخواهم", nonJoiner)
	f("می\u200cA", nonJoiner)
	f("می\u200dخواهم", joiner)
	f("ශ්\u200d", joiner)
	f("ශ\u200dරී", joiner)
	f("ශ්\u200d\u200dරී", joiner)
	f("👩\u200d🚀", joiner)
	f("Al\xffder", "name is not valid UTF-8 text")
	f("Al\xed\xa0\x80der", "name is not valid UTF-8 text") // half of a surrogate pair
}
