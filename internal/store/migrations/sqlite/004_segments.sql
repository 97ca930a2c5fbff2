-- A row holds many transactions: those of one receipt that were executed in one hour. Reading a row costs more than
-- checking a transaction. The program moves the rows of the old table here and drops that table.
ALTER TABLE transactions RENAME TO transactions_3;
CREATE TABLE segments (
    segment  INTEGER PRIMARY KEY, -- the number of the hour since 1970 and, in the lower 32 bits, the receipt
    rows     INTEGER NOT NULL,
    checksum INTEGER NOT NULL, -- of the whole segment, including names
    body     BLOB    NOT NULL  -- see segments.go for its encoding
);

-- The body of a record now holds all fields that are only read together.
ALTER TABLE records RENAME TO records_3;
CREATE TABLE records ( -- how the value of a point was computed
    series_id INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    revision  INTEGER NOT NULL,
    sequence  INTEGER NOT NULL, -- position in the chain of the series, from 1
    body      BLOB    NOT NULL, -- see records.go for its encoding
    PRIMARY KEY (series_id, at, revision)
) WITHOUT ROWID;

DROP TABLE transaction_ids;
CREATE TABLE transaction_ids ( -- the segment of a transaction, by a hash of its source and id
    hash    INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL
);
