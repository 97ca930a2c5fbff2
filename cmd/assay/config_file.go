package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configFile is a configuration file: TOML whose keys are names of flags. A key at the top applies to every command
// with that flag, a key in [serve] to that command, a key in [key] to all commands below assay key, and one in
// [key.create] to that command alone. The most specific one wins.
type configFile struct {
	name, text string
	values     map[string]configValue // by dotted key
}

// configValue is one setting of a configuration file.
type configValue struct {
	file  *configFile
	key   toml.Key
	value any // as the TOML library gives it
}

// readConfigFile reads a configuration file and checks all of it, whichever command is about to run: a mistake in a
// rarely used section should not wait until that section is needed.
func readConfigFile(name string) (*configFile, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	file := &configFile{name: name, text: string(text), values: map[string]configValue{}}
	content := map[string]any{}
	meta, err := toml.Decode(file.text, &content)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		return nil, usagef("%s:%d: %s", name, syntax.Position.Line, strings.TrimSuffix(syntax.Message, "."))
	}
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	root := newRootCommand(&streams{}) // its flags take the values of the check
	for _, key := range meta.Keys() {
		if err := file.add(root, content, key); err != nil {
			return nil, err
		}
	}
	return file, nil
}

// add checks a key and takes over its value.
func (c *configFile) add(root *cobra.Command, content map[string]any, key toml.Key) error {
	value := configValue{file: c, key: key, value: lookUp(content, key)}
	if _, isTable := value.value.(map[string]any); isTable {
		_, err := c.findCommand(root, key)
		return err
	}
	cmd, err := c.findCommand(root, key[:len(key)-1])
	if err != nil {
		return err
	}
	if err := value.check(cmd); err != nil {
		return err
	}
	c.values[strings.Join(key, ".")] = value
	return nil
}

// lookUp finds the value of a key. An array of tables ends the search: no setting is one.
func lookUp(content map[string]any, key toml.Key) any {
	value := content[key[0]]
	if table, ok := value.(map[string]any); ok && len(key) > 1 {
		return lookUp(table, key[1:])
	}
	return value
}

// findCommand finds the command that a table is about.
func (c *configFile) findCommand(root *cobra.Command, table []string) (*cobra.Command, error) {
	cmd := root
	for i, word := range table {
		children := cmd.Commands()
		found := slices.IndexFunc(children, func(child *cobra.Command) bool {
			return child.Name() == word && child.IsAvailableCommand()
		})
		if found < 0 {
			return nil, c.mistake(table[:i+1], fmt.Sprintf("unknown section [%s]", strings.Join(table[:i+1], ".")),
				nearest(word, subcommandNames(cmd)))
		}
		cmd = children[found]
		if other := cmd.Annotations[settingsOf]; other != "" {
			return nil, c.mistake(table[:i+1], fmt.Sprintf("there is no section [%s]: assay %s reads [%s]",
				word, word, other), "")
		}
	}
	return cmd, nil
}

// mistake is an error at a key, with a suggestion if there is one.
func (c *configFile) mistake(key toml.Key, text, suggestion string) error {
	if suggestion != "" {
		text += ". Did you mean " + suggestion + "?"
	}
	return usagef("%s: %s", c.position(key), text)
}

// check tries a value on every flag that it applies to: those of a command and of all commands below it.
func (v configValue) check(cmd *cobra.Command) error {
	name := v.key[len(v.key)-1]
	var names []string
	var err error
	known := false
	eachCommand(cmd, func(c *cobra.Command) {
		if !c.IsAvailableCommand() && c.HasParent() {
			return
		}
		c.LocalFlags() // adds the flags that all commands share to those of the command
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !configurable(f) {
				return
			}
			names = append(names, f.Name)
			if f.Name == name {
				known = true
				err = errors.Join(err, v.set(f))
			}
		})
	})
	if !known {
		section := ""
		if len(v.key) > 1 {
			section = " in [" + strings.Join(v.key[:len(v.key)-1], ".") + "]"
		}
		return v.file.mistake(v.key, fmt.Sprintf("unknown setting %q%s", name, section), nearest(name, names))
	}
	return firstError(err)
}

// firstError is the first of joined errors: a value that is wrong for one command is wrong for all with the same words.
func firstError(err error) error {
	var joined interface{ Unwrap() []error }
	for errors.As(err, &joined) {
		err = joined.Unwrap()[0]
	}
	return err
}

// find is the setting of a flag for a command: the one in the most specific table.
func (c *configFile) find(command []string, flag string) (configValue, bool) {
	for n := len(command); n >= 0; n-- {
		key := strings.Join(append(slices.Clone(command[:n]), flag), ".")
		if value, ok := c.values[key]; ok {
			return value, true
		}
	}
	return configValue{}, false
}

// set sets a flag to the value.
func (v configValue) set(f *pflag.Flag) error {
	text, ok := flagText(f, v.value)
	if !ok {
		return v.file.mistake(v.key, fmt.Sprintf("%s must be %s, not %s", f.Name, tomlType(f), describeTOML(v.value)), "")
	}
	if err := f.Value.Set(text); err != nil {
		return v.file.mistake(v.key,
			fmt.Sprintf("invalid value%s for %s: %v", quotedValue(f, text), f.Name, valueError(f, err)), "")
	}
	return nil
}

func (v configValue) source() string { return v.file.position(v.key) }

// flagText is a TOML value as the flag takes it; not ok if it has the wrong type.
func flagText(f *pflag.Flag, value any) (text string, ok bool) {
	kind := f.Value.Type()
	switch value := value.(type) {
	case string:
		return value, kind != "bool" && kind != "int64" && kind != numberFlag
	case bool:
		return strconv.FormatBool(value), kind == "bool"
	case int64:
		return strconv.FormatInt(value, 10), kind == "int64" || kind == numberFlag
	case time.Time:
		return tomlTime(value), kind == instantFlag
	case []any:
		return joinStrings(value, kind == listFlag)
	}
	return "", false
}

// joinStrings joins an array of strings with commas.
func joinStrings(array []any, ok bool) (string, bool) {
	parts := make([]string, len(array))
	for i, part := range array {
		text, isText := part.(string)
		parts[i], ok = text, ok && isText
	}
	return strings.Join(parts, ","), ok
}

// tomlTime writes a TOML time. One without a zone is UTC, as on the command line; the library marks those by zones of
// its own.
func tomlTime(t time.Time) string {
	switch t.Location().String() {
	case "date-local":
		return t.Format(time.DateOnly)
	case "datetime-local":
		return t.Format(time.DateTime)
	}
	return t.Format(time.RFC3339Nano)
}

// tomlType says what a flag takes in a file.
func tomlType(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "int64", numberFlag:
		return "a whole number"
	case listFlag:
		return "a string or an array of strings"
	case instantFlag:
		return "a string or a date"
	}
	return "a string"
}

func describeTOML(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	case int64, float64:
		return "a number"
	case time.Time:
		return "a date"
	}
	return "an array"
}

// errPosition makes the TOML library report a position.
var errPosition = errors.New("position")

// positionProbe is a value that cannot be decoded.
type positionProbe struct{}

// UnmarshalTOML fails.
func (*positionProbe) UnmarshalTOML(any) error { return errPosition }

// position is FILE:LINE of a key. The library gives positions only with errors, so this decodes the file once more,
// into a type that has nothing but the key and fails there.
func (c *configFile) position(key toml.Key) string {
	shape := reflect.TypeFor[positionProbe]()
	for i := len(key) - 1; i >= 0; i-- {
		tag := reflect.StructTag("toml:" + strconv.Quote(key[i]))
		shape = reflect.StructOf([]reflect.StructField{{Name: "Key", Type: shape, Tag: tag}})
	}
	_, err := toml.Decode(c.text, reflect.New(shape).Interface())
	var at toml.ParseError
	if !errors.As(err, &at) || at.Position.Line == 0 {
		return c.name
	}
	return fmt.Sprintf("%s:%d", c.name, at.Position.Line)
}

// redactAddress hides what may be secret in a value: the password and the options of an address.
func redactAddress(value string) string {
	scheme, _, isURL := strings.Cut(value, "://")
	if !isURL {
		return value
	}
	u, err := url.Parse(value)
	if err != nil {
		return scheme + "://…"
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.Redacted()
}
