package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Opening a database changes nothing: a typing error makes no empty database, and no command changes tables that other
// programs use. Create and Upgrade do that, for the few commands whose purpose it is.

// ErrNoDatabase is the error for opening a folder without a database, or a database without tables.
var ErrNoDatabase = errors.New("there is no database")

// ErrExists is the error for creating a database where there is one.
var ErrExists = errors.New("there is a database already")

// SchemaError is the error for opening a database whose tables are those of another release.
type SchemaError struct {
	Database, Program int // schemas
}

// Older reports whether Upgrade would help.
func (e *SchemaError) Older() bool { return e.Database < e.Program }

func (e *SchemaError) Error() string {
	if e.Older() {
		return fmt.Sprintf("the database has schema %d, and this program needs schema %d", e.Database, e.Program)
	}
	return fmt.Sprintf("the database has schema %d, which a program of schema %d cannot use: use a newer assay",
		e.Database, e.Program)
}

// Schema describes the tables of a database. A schema has the number of its last migration.
type Schema struct {
	Database int      // 0: there are no tables
	Program  int      // of this program
	Usable   bool     // this program can use the database
	Pending  []string // migrations that an upgrade runs
}

// ProgramSchema is the schema of this program.
func ProgramSchema() int {
	files := migrationFiles(sqliteMigrations) // PostgreSQL has the same numbers
	return files[len(files)-1].number
}

// Open opens the database at an address, which is sqlite://FOLDER or postgres://…. It only reads.
func Open(ctx context.Context, address string) (*DB, error) {
	db, err := connect(ctx, address, false)
	if err != nil {
		return nil, err
	}
	if err := db.read(ctx, checkSchema); err != nil {
		return nil, errors.Join(fmt.Errorf("open database in %s: %w", db.name(), err), db.close())
	}
	return db, nil
}

// Create creates a database and opens it: in a folder, which it creates too if it is missing, or in an empty PostgreSQL
// database. It returns ErrExists, and changes nothing, if there is one.
func Create(ctx context.Context, address string) (*DB, error) {
	db, err := connect(ctx, address, true)
	if err != nil {
		return nil, err
	}
	if err := db.write(ctx, createTables); err != nil {
		return nil, errors.Join(fmt.Errorf("create a database in %s: %w", db.name(), err), db.close())
	}
	return db, nil
}

// Upgrade brings the tables of an earlier release up to date: completely, or not at all. It calls progress before each
// migration. The database is first copied to the file backup, unless that is empty.
func Upgrade(ctx context.Context, address, backup string, progress func(migration string, number, of int)) error {
	db, err := connect(ctx, address, false)
	if err != nil {
		return err
	}
	return db.upgrade(ctx, backup, progress)
}

// upgrade is Upgrade; it closes the database.
func (db *DB) upgrade(ctx context.Context, backup string, progress func(migration string, number, of int)) (err error) {
	defer func() { err = errors.Join(err, db.close()) }()
	if backup != "" {
		if err := db.Backup(ctx, backup); err != nil {
			return err
		}
	}
	err = db.write(ctx, func(tx *tx) error { return upgradeTables(tx, progress) })
	if err != nil {
		return fmt.Errorf("upgrade the database in %s: %w", db.name(), err)
	}
	return nil
}

// ReadSchema reads which schema a database has, whether or not this program can use it.
func ReadSchema(ctx context.Context, address string) (s Schema, err error) {
	db, err := connect(ctx, address, false)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	err = db.read(ctx, func(tx *tx) error {
		s, _, err = readSchema(tx)
		return err
	})
	if err != nil {
		return s, fmt.Errorf("read the schema of the database in %s: %w", db.name(), err)
	}
	return s, nil
}

// Schema reads which schema the database has.
func (db *DB) Schema(ctx context.Context) (number int, err error) {
	err = db.read(ctx, func(tx *tx) error {
		s, _, err := readSchema(tx)
		number = s.Database
		return err
	})
	return number, err
}

// connect connects to the database at an address, whatever is in it.
func connect(ctx context.Context, address string, create bool) (*DB, error) {
	e, err := openEngine(ctx, address, create)
	if err != nil {
		return nil, err
	}
	return newDB(e), nil
}

// checkSchema refuses tables that this program does not know.
func checkSchema(tx *tx) error {
	s, _, err := readSchema(tx)
	switch {
	case err != nil:
		return err
	case s.Database == 0:
		return ErrNoDatabase
	case !s.Usable:
		return &SchemaError{Database: s.Database, Program: s.Program}
	}
	return nil
}

func createTables(tx *tx) error {
	s, pending, err := readSchema(tx)
	if err != nil {
		return err
	}
	if s.Database > 0 {
		return ErrExists
	}
	if err := migrate(tx, pending, func(string, int, int) {}); err != nil {
		return err
	}
	return tx.exec(`INSERT INTO settings (name, value) VALUES ($1, $2)`, firstSchema, strconv.Itoa(s.Program))
}

// firstSchema is the setting with the schema that the database was created with.
const firstSchema = "first_schema"

// FirstSchema is the schema that the database was created with; 0 if that was before schema 30.
func (db *DB) FirstSchema(ctx context.Context) (int, error) {
	text, err := db.Setting(ctx, firstSchema)
	if err != nil || text == "" {
		return 0, err
	}
	schema, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%w: the setting %s is %q", ErrDamaged, firstSchema, text)
	}
	return schema, nil
}

func upgradeTables(tx *tx, progress func(migration string, number, of int)) error {
	s, pending, err := readSchema(tx)
	switch {
	case err != nil:
		return err
	case s.Database == 0:
		return ErrNoDatabase
	case !s.Usable && len(pending) == 0:
		return &SchemaError{Database: s.Database, Program: s.Program}
	}
	return migrate(tx, pending, progress)
}

// readSchema reads the schema, and lists the migrations that are missing.
func readSchema(tx *tx) (s Schema, pending []migration, err error) {
	files := migrationFiles(tx.engine.migrations())
	s.Program = files[len(files)-1].number
	applied, newer, err := readApplied(tx, s.Program)
	if err != nil {
		return s, nil, err
	}
	for _, file := range files {
		if applied[file.number] {
			s.Database = file.number
		} else {
			pending = append(pending, file)
			s.Pending = append(s.Pending, file.title())
		}
	}
	s.Usable = s.Database > 0 && len(pending) == 0
	if newer.number > 0 {
		s.Database, s.Usable = newer.number, s.Usable && newer.usableBy <= s.Program
	}
	return s, pending, nil
}

// laterSchema is a schema that the program does not know.
type laterSchema struct {
	number   int // 0: there is none
	usableBy int // the oldest schema whose programs can use it too
}

// readApplied reads which migrations have run, and sums up those that the program does not know.
func readApplied(tx *tx, program int) (applied map[int]bool, newer laterSchema, err error) {
	applied = map[int]bool{}
	exists, err := tx.engine.hasTable(tx, "migrations")
	if err != nil || !exists {
		return applied, newer, err
	}
	err = tx.each(`SELECT number FROM migrations ORDER BY number`, nil, func(scan scanFunc) error {
		var number int
		err := scan(&number)
		applied[number] = true
		newer.number = number
		return err
	})
	if err != nil || newer.number <= program {
		return applied, laterSchema{}, err
	}
	err = tx.QueryRowContext(tx.ctx, `SELECT max(usable_by) FROM migrations WHERE number > $1`, program).
		Scan(&newer.usableBy)
	return applied, newer, err
}
