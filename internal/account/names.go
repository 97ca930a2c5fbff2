package account

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/redact"
)

// maxName is how many characters the name of a key, an account or an organization may have.
const maxName = 64

// maxEmail is the longest address that mail can be sent to.
const maxEmail = 254

// NormalEmail is an address as it is stored and compared. Few providers distinguish upper and lower case, and two
// accounts that look alike would be confusing. A letter outside ASCII stays outside: the lower case of the Kelvin sign
// is k, and the owner of a mailbox that is spelled with one must not become the owner of the other.
func NormalEmail(email string) string {
	return strings.Map(func(r rune) rune {
		if lower := unicode.ToLower(r); r <= unicode.MaxASCII || lower > unicode.MaxASCII {
			return lower
		}
		return r
	}, strings.TrimSpace(email))
}

func checkEmail(email string) error {
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > maxEmail || assay.CheckVisible("email", email) != nil {
		return invalid("invalid_email", "The email address is not one such as name@example.com.")
	}
	return nil
}

// checkName refuses a name that is too short, too long, or cannot be shown on one line.
func checkName(what, name string, least int) error {
	n := utf8.RuneCountInString(name)
	if n < least || n > maxName {
		return invalid("invalid_parameter", "%s has %d characters: allowed are %d to %d.", what, n, least, maxName)
	}
	if err := assay.CheckVisible(what, name); err != nil {
		return invalid("invalid_parameter", "%s.", err)
	}
	return nil
}

// checkKeyName also refuses a key that was given as the name, because names are stored in plain text.
func checkKeyName(name string) error {
	if redact.Keys(name) != name {
		return invalid("invalid_parameter",
			"name holds an API key: allowed is any other text of 1 to %d characters.", maxName)
	}
	return checkName("name", name, 1)
}
