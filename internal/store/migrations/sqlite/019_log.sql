-- The log: a Merkle tree over entries about everything that must not be changed unnoticed. log.go writes it.
INSERT INTO counters VALUES ('log', 0), ('checkpoint', 0); -- how many entries it has; how many the last checkpoint has

CREATE TABLE log_tiles ( -- hashes of the tree, see package merkle
    level  INTEGER NOT NULL,
    tile   INTEGER NOT NULL,
    hashes BLOB    NOT NULL,
    PRIMARY KEY (level, tile)
);
CREATE TABLE log_bundles ( -- the entries below the full tiles of level 0
    bundle  INTEGER PRIMARY KEY,
    entries BLOB NOT NULL -- compressed
);
CREATE TABLE log_tail ( -- the entries after the last bundle
    leaf  INTEGER PRIMARY KEY,
    entry BLOB NOT NULL
);
CREATE TABLE log_records ( -- where the entries of determination records are
    prefix INTEGER NOT NULL, -- the first eight bytes of the record's hash
    leaf   INTEGER NOT NULL,
    PRIMARY KEY (prefix, leaf)
) WITHOUT ROWID;

-- What is in the log: of each kind, everything up to a number; of methodologies, which have none, those listed.
CREATE TABLE log_progress (
    kind   TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE log_methodologies (
    version TEXT PRIMARY KEY
) WITHOUT ROWID;

CREATE TABLE checkpoints (
    size       INTEGER PRIMARY KEY, -- how many entries of the log it signs
    signed_at  INTEGER NOT NULL,
    public_key BLOB    NOT NULL,
    note       TEXT    NOT NULL
);
