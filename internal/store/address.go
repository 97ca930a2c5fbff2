package store

import (
	"errors"
	"regexp"
	"strings"
)

// Schemes of database addresses.
const (
	sqliteScheme   = "sqlite://"
	postgresScheme = "postgres://"
)

// CheckAddress checks the form of a database address. Its errors do not contain the address, which may contain a
// password.
func CheckAddress(address string) error {
	switch {
	case address == sqliteScheme:
		return errors.New("the folder is missing: must be sqlite://FOLDER")
	case strings.HasPrefix(address, sqliteScheme):
		return nil
	case strings.HasPrefix(address, "postgresql://"): // an alias elsewhere; one name is enough here
		return errors.New("must begin with postgres://, not postgresql://")
	case !IsPostgres(address):
		return errors.New("must begin with sqlite:// or postgres://")
	case !postgresForm.MatchString(address):
		return errors.New("must be postgres://USER:PASSWORD@HOST/DATABASE?OPTION=VALUE, with / : @ and other special " +
			"characters of the password percent-encoded")
	}
	return nil
}

// IsPostgres reports whether an address is that of a PostgreSQL database.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, postgresScheme)
}

// postgresForm is the form of a PostgreSQL address. A password that is not encoded would end up in the host, the port,
// the database or an option, which messages show, so these are stricter than PostgreSQL's own.
var postgresForm = regexp.MustCompile(`^` + postgresScheme +
	`([^@/\s]*@)?` + // user and password
	host + `(,` + host + `)*` +
	`(/[^@/?#=;&\s]*)?` + // database
	`(\?` + option + `(&` + option + `)*)?$`)

const (
	host   = `(\[[0-9A-Fa-f:.]*(%[0-9A-Za-z.]*)?\]|[^\[\]@/?#=;&:,\s]*)(:[0-9]*)?`
	option = `[A-Za-z0-9_.]+=[^=&#\s]*`
)
