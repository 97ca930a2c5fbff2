-- Transactions are kept many to a row: those that came with one receipt and were executed in one hour. A row of the
-- database costs more to hand over than a transaction costs to check. The program moves the rows of the table before over
-- and drops it.
ALTER TABLE transactions RENAME TO transactions_3;
CREATE TABLE segments (
    segment  INTEGER PRIMARY KEY, -- the number of the hour since 1970 and, in the lower 32 bits, the receipt
    rows     INTEGER NOT NULL,
    checksum INTEGER NOT NULL, -- of everything here, names included
    body     BLOB    NOT NULL  -- see segments.go for its form
);

-- Of a record, everything that is read whole or not at all is in its body now.
ALTER TABLE records RENAME TO records_3;
CREATE TABLE records ( -- beside its point: how the value came to be
    series_id INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    revision  INTEGER NOT NULL,
    sequence  INTEGER NOT NULL, -- place in the chain of the series, from 1
    body      BLOB    NOT NULL, -- see records.go for its form
    PRIMARY KEY (series_id, at, revision)
) WITHOUT ROWID;

DROP TABLE transaction_ids;
CREATE TABLE transaction_ids ( -- where a transaction is, by a hash of its source and id
    hash    INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL
);
