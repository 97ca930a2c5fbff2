package account

import (
	"strings"
	"testing"

	"github.com/assaydata/assay"
)

func TestPassword_Strength(t *testing.T) {
	t.Parallel()
	const email = "annlee@fjord-compute.example"
	f := func(password, want string) {
		t.Helper()
		err := checkStrength(password, email, "Ann-Marie Leeuwenhoek")
		if want == "" && err == nil {
			return
		}
		e := assay.AsError(err)
		if err == nil || e.Code != "invalid_password" || !strings.Contains(e.Message, want) || want == "" {
			t.Errorf("%q: %v, want %q", password, err, want)
		}
		if err != nil && strings.Contains(e.Message, password) {
			t.Errorf("the message shows the password: %s", e.Message)
		}
	}
	const common, yours, neighbors = "common password", "your email address or name", "repeated or neighboring"
	const contains = "must not contain"
	for _, password := range []string{
		"password1234", "Password1234", "P@ssw0rd1234!", "passwordpassword", "passwordpasswordpass", "iloveyou1987",
		"Summer2024!!", "football1990", "trustno1trustno1", "hunter2hunter2hunter2", "dragonmonkey12", "administrator",
		"administrator1", "changeme1234",
	} {
		f(password, common)
	}
	for _, password := range []string{
		"aaaaaaaaaaaa", "éééééééééééé", "ababababababab", "abcabcabcabc", "123123123123", "1234567890123", "abcdefghijkl",
		"zyxwvutsrqpo", "qwertyuiopasdf", "1qaz2wsx3edc", "zaq12wsxcde3", "1q2w3e4r5t6y", "aaaabbbbcccc", "199019911992",
		strings.Repeat("a", 64) + "kq7vPz2mXw9R",
	} {
		f(password, neighbors)
	}
	f("Fjord-Compute1!", yours)
	f("leeuwenhoek1987", yours)
	f("MarieMarieMarie", yours)
	f(email, contains)
	f("kq7vPz2AnnLeemXw9R", contains)
	f("kq7vPz2mXw9R assay", contains)
	f("ASSAY kq7vPz2mXw9R", contains)
	for _, password := range []string{
		"correct horse battery", "another horse battery", "a password that was typed", "kq7vPz2mXw9R", "Tr0ub4dor&3x",
		"kaffeetasse blau", "passwort ist mir zu kurz", "лошадь батарея скрепка", strings.Repeat("correct horse battery ", 5),
	} {
		f(password, "")
	}
	for range 100 {
		f(NewPassword(email), "")
	}
	if err := checkStrength("kq7vPz2anmXw9R", "an@example.com", ""); err != nil { // two letters are part of many words
		t.Error(err)
	}
}

// No text breaks the check, and none takes long: its work is bounded by the number of characters that it judges.
func FuzzPassword_Strength(f *testing.F) {
	f.Add(strings.Repeat("4@8({[<361!|0$5+7%2", 7))
	f.Add(strings.Repeat("p4ssw0rd", 16))
	f.Add("\xff\xfe\x00")
	f.Fuzz(func(_ *testing.T, password string) { _ = checkStrength(password, "ann@example.com", "Ann") })
}
