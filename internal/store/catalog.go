package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/assaydata/assay"
)

// Catalog reads the operator's catalogs, without hidden entries.
func (db *DB) Catalog(ctx context.Context) (assay.Catalog, error) {
	all, hidden, err := db.CatalogWithHidden(ctx)
	return all.Without(hidden), err
}

// CatalogWithHidden reads the operator's catalogs, and which of their entries are hidden.
func (db *DB) CatalogWithHidden(ctx context.Context) (c assay.Catalog, hidden map[assay.CatalogEntry]bool, err error) {
	err = db.read(ctx, func(tx *tx) error {
		if c, err = readCatalog(tx); err != nil {
			return err
		}
		hidden = map[assay.CatalogEntry]bool{}
		return tx.each(`SELECT kind, name FROM hidden`, nil, func(scan scanFunc) error {
			var e assay.CatalogEntry
			err := scan(&e.Kind, &e.Name)
			hidden[e] = true
			return err
		})
	})
	return c, hidden, err
}

// Hide hides an entry: it is no longer listed, imported, published or served. What is stored stays.
func (db *DB) Hide(ctx context.Context, e assay.CatalogEntry) error {
	return db.changeHidden(ctx, e, "catalog.hide",
		`INSERT INTO hidden (kind, name) VALUES ($1, $2) ON CONFLICT DO NOTHING`)
}

// Unhide makes a hidden entry visible again.
func (db *DB) Unhide(ctx context.Context, e assay.CatalogEntry) error {
	return db.changeHidden(ctx, e, "catalog.unhide", `DELETE FROM hidden WHERE kind = $1 AND name = $2`)
}

func (db *DB) changeHidden(ctx context.Context, e assay.CatalogEntry, action, statement string) error {
	return db.changeCatalog(ctx, func(tx *tx, c assay.Catalog) error {
		if !c.Has(e) {
			return fmt.Errorf("there is no %s %q in the catalog: 'assay catalog list' shows what there is", e.Kind, e.Name)
		}
		result, err := tx.ExecContext(tx.ctx, statement, e.Kind, e.Name)
		if err != nil {
			return err
		}
		if changed, err := result.RowsAffected(); err != nil || changed == 0 {
			return cmp.Or(err, fmt.Errorf("%s %q: %w", e.Kind, e.Name, ErrNoChange))
		}
		return tx.audit(action, "catalog", detail{e.Kind: e.Name})
	})
}

// readCatalog reads all entries, also hidden ones.
func readCatalog(tx *tx) (c assay.Catalog, err error) {
	if c.GPUs, err = readGPUs(tx); err != nil {
		return c, err
	}
	if c.Regions, err = readRegions(tx); err != nil {
		return c, err
	}
	if c.Labs, err = readLabs(tx); err != nil {
		return c, err
	}
	if c.MemoryTypes, err = readMemoryTypes(tx); err != nil {
		return c, err
	}
	c.CodingProducts, err = readCodingProducts(tx)
	return c, err
}

func readGPUs(tx *tx) (list []assay.GPU, err error) {
	err = tx.each(`SELECT gpu_name, free FROM gpus ORDER BY gpu_id`, nil, func(scan scanFunc) error {
		var g assay.GPU
		err := scan(&g.Name, &g.Free)
		list = append(list, g)
		return err
	})
	return list, err
}

func readRegions(tx *tx) (list []string, err error) {
	err = tx.each(`SELECT region FROM regions ORDER BY region_id`, nil, func(scan scanFunc) error {
		var region string
		err := scan(&region)
		list = append(list, region)
		return err
	})
	return list, err
}

func readLabs(tx *tx) (list []assay.Lab, err error) {
	err = tx.each(`SELECT lab, label, free FROM labs ORDER BY lab_id`, nil, func(scan scanFunc) error {
		var l assay.Lab
		err := scan(&l.Lab, &l.Label, &l.Free)
		list = append(list, l)
		return err
	})
	return list, err
}

func readMemoryTypes(tx *tx) (list []assay.MemoryType, err error) {
	err = tx.each(`SELECT id, memory_type, category FROM memory_types ORDER BY position`, nil, func(scan scanFunc) error {
		var m assay.MemoryType
		err := scan(&m.ID, &m.MemoryType, &m.Category)
		list = append(list, m)
		return err
	})
	return list, err
}

func readCodingProducts(tx *tx) (list []assay.CodingProduct, err error) {
	err = tx.each(`SELECT id, label, category, kind, series_label, series_label2, tool, tool2 FROM coding_products
		ORDER BY position`, nil, func(scan scanFunc) error {
		var p assay.CodingProduct
		var label, label2 sql.NullString
		var tool, tool2 string
		err := scan(&p.ID, &p.Label, &p.Category, &p.Kind, &label, &label2, &tool, &tool2)
		p.Tools = []string{tool}
		if label.Valid && label2.Valid {
			p.Compare = true
			p.SeriesLabels = []string{label.String, label2.String}
			p.Tools = []string{tool, tool2}
		}
		list = append(list, p)
		return err
	})
	return list, err
}

// AddToCatalog adds entries after the existing ones. It adds all or none: an invalid or existing entry is an error.
func (db *DB) AddToCatalog(ctx context.Context, added assay.Catalog) error {
	return db.changeCatalog(ctx, func(tx *tx, c assay.Catalog) error {
		if _, err := c.With(added); err != nil {
			return err
		}
		if err := insertCatalog(tx, added); err != nil {
			return err
		}
		return tx.audit("catalog.add", "catalog", namesOf(added))
	})
}

// namesOf returns the names of new entries by catalog, for the audit log.
func namesOf(c assay.Catalog) detail {
	d := detail{}
	add := func(catalog string, names []string) {
		if len(names) > 0 {
			d[catalog] = names
		}
	}
	add("gpu", c.GPUNames())
	add("region", c.Regions)
	add("lab", c.LabNames())
	var types, products []string
	for _, m := range c.MemoryTypes {
		types = append(types, m.ID)
	}
	for _, p := range c.CodingProducts {
		products = append(products, p.ID)
	}
	add("memory-type", types)
	add("coding-product", products)
	return d
}

// SetGPUFree sets whether a GPU model is readable without a key.
func (db *DB) SetGPUFree(ctx context.Context, name string, free bool) error {
	return db.changeCatalog(ctx, func(tx *tx, c assay.Catalog) error {
		if _, ok := c.GPU(name); !ok {
			return fmt.Errorf("GPU %q is not in the catalog: allowed are %s", name, strings.Join(c.GPUNames(), ", "))
		}
		if err := tx.exec(`UPDATE gpus SET free = $1 WHERE gpu_name = $2`, boolInt(free), name); err != nil {
			return err
		}
		return tx.audit("catalog.set", "catalog", detail{"gpu": name, "free": free})
	})
}

// SetLabFree sets whether a lab is readable without a key.
func (db *DB) SetLabFree(ctx context.Context, lab string, free bool) error {
	return db.changeCatalog(ctx, func(tx *tx, c assay.Catalog) error {
		if names := c.LabNames(); !slices.Contains(names, lab) {
			return fmt.Errorf("lab %q is not in the catalog: allowed are %s", lab, strings.Join(names, ", "))
		}
		if err := tx.exec(`UPDATE labs SET free = $1 WHERE lab = $2`, boolInt(free), lab); err != nil {
			return err
		}
		return tx.audit("catalog.set", "catalog", detail{"lab": lab, "free": free})
	})
}

// changeCatalog changes the catalog and raises its counter.
func (db *DB) changeCatalog(ctx context.Context, change func(*tx, assay.Catalog) error) error {
	return db.write(ctx, func(tx *tx) error {
		c, err := readCatalog(tx)
		if err != nil {
			return err
		}
		if err := change(tx, c); err != nil {
			return err
		}
		_, err = tx.bump("catalog")
		return err
	})
}

func insertCatalog(tx *tx, c assay.Catalog) error {
	for _, g := range c.GPUs {
		if err := tx.exec(`INSERT INTO gpus (gpu_name, free) VALUES ($1, $2)`, g.Name, boolInt(g.Free)); err != nil {
			return err
		}
	}
	for _, r := range c.Regions {
		if err := tx.exec(`INSERT INTO regions (region) VALUES ($1)`, r); err != nil {
			return err
		}
	}
	for _, l := range c.Labs {
		err := tx.exec(`INSERT INTO labs (lab, label, free) VALUES ($1, $2, $3)`,
			l.Lab, l.Label, boolInt(l.Free))
		if err != nil {
			return err
		}
	}
	for _, m := range c.MemoryTypes {
		err := tx.exec(`INSERT INTO memory_types (id, memory_type, category) VALUES ($1, $2, $3)`,
			m.ID, m.MemoryType, m.Category)
		if err != nil {
			return err
		}
	}
	for _, p := range c.CodingProducts {
		var labels [2]sql.NullString
		for i, label := range p.SeriesLabels {
			labels[i] = sql.NullString{String: label, Valid: true}
		}
		tools := append(slices.Clone(p.Tools), "", "")
		err := tx.exec(`INSERT INTO coding_products (id, label, category, kind, series_label, series_label2, tool, tool2)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			p.ID, p.Label, p.Category, p.Kind, labels[0], labels[1], tools[0], tools[1])
		if err != nil {
			return err
		}
	}
	return nil
}

// names maps names to row ids and back, for a table that lists each name once.
type names struct {
	ids   map[string]int64
	texts map[int64]string
}

// readNames loads a list of names. These lists are short; loading one costs less than a commit.
func readNames(tx *tx, query string) (n names, err error) {
	n = names{ids: map[string]int64{}, texts: map[int64]string{}}
	err = tx.each(query, nil, func(scan scanFunc) error {
		var id int64
		var text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		n.ids[text], n.texts[id] = id, text
		return nil
	})
	return n, err
}

// dictionary has every list of names that rows refer to by id.
type dictionary struct {
	gpus, regions, sources, providers names
}

func readDictionary(tx *tx) (d dictionary, err error) {
	for _, list := range []struct {
		names *names
		query string
	}{
		{&d.gpus, `SELECT gpu_id, gpu_name FROM gpus`},
		{&d.regions, `SELECT region_id, region FROM regions`},
		{&d.sources, `SELECT source_id, source FROM sources`},
		{&d.providers, `SELECT provider_id, provider FROM providers`},
	} {
		if *list.names, err = readNames(tx, list.query); err != nil {
			return d, err
		}
	}
	return d, nil
}
