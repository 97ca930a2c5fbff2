package seal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func newKey(t *testing.T, letter string) *Key {
	t.Helper()
	k, err := NewKey([]byte(strings.Repeat(letter, MinSecret)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSeal(t *testing.T) {
	t.Parallel()
	k, plain, context := newKey(t, "a"), []byte("a secret"), []byte("account 1")
	sealed := k.Seal("totp", plain, context)
	if bytes.Contains(sealed, plain) {
		t.Error("the sealed text shows the secret")
	}
	if bytes.Equal(sealed, k.Seal("totp", plain, context)) {
		t.Error("sealing twice gives the same text")
	}
	f := func(what string, k *Key, purpose string, text, context []byte, want error) {
		t.Helper()
		got, err := k.Open(purpose, text, context)
		if !errors.Is(err, want) || want == nil && !bytes.Equal(got, plain) || want != nil && got != nil {
			t.Errorf("%s: %q, %v; want %v", what, got, err, want)
		}
	}
	f("as sealed", k, "totp", sealed, context, nil)
	f("another process", newKey(t, "a"), "totp", sealed, context, nil)
	f("another secret", newKey(t, "b"), "totp", sealed, context, ErrOtherKey)
	f("another purpose", k, "ticket", sealed, context, ErrBroken)
	f("another account", k, "totp", sealed, []byte("account 2"), ErrBroken)
	f("nothing", k, "totp", nil, context, ErrBroken)
	f("a part", k, "totp", sealed[:10], context, ErrBroken)
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		want := ErrBroken
		if i < idLength {
			want = ErrOtherKey
		}
		f(fmt.Sprintf("byte %d changed", i), k, "totp", changed, context, want)
	}
}

func TestNewKey_ShortSecret(t *testing.T) {
	t.Parallel()
	if _, err := NewKey(make([]byte, MinSecret-1)); err == nil {
		t.Error("a short secret was accepted")
	}
}

func TestKey_PrintsNothing(t *testing.T) {
	t.Parallel()
	k := newKey(t, "a")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, k); strings.Contains(text, "aaaa") || strings.Contains(text, "97 97") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}
