-- Entries of the catalogs that are no longer offered. They stay in their tables, because stored data refers to them.
CREATE TABLE hidden (
    kind TEXT NOT NULL, -- as in assay catalog list
    name TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
