package ingest

// Schema describes the files of a family for who writes them.
type Schema struct {
	Family  string
	About   string // one line: what a row is
	Columns []Column
	Example [][]string // rows that import cleanly into a new database
}

// Column is one column of a file.
type Column struct {
	Name     string
	About    string
	Optional bool // a file may lack it
}

// Schemas are all families, in the order in which help lists them.
var Schemas = []*Schema{transactionSchema, utilizationSchema, memorySchema, modelSchema, codingSchema, siteSchema}

// names are the columns of the family's files, in the order in which parse takes them.
func (s *Schema) names() (names []string) {
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	return names
}

// optional are the columns that a file may lack.
func (s *Schema) optional() (names []string) {
	for _, c := range s.Columns {
		if c.Optional {
			names = append(names, c.Name)
		}
	}
	return names
}
