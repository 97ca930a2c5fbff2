-- Signatures of witnesses under checkpoints: lines of a signed note.
CREATE TABLE cosignatures (
    size        INTEGER NOT NULL, -- of the checkpoint
    witness     TEXT    NOT NULL,
    received_at INTEGER NOT NULL,
    line        TEXT    NOT NULL,
    PRIMARY KEY (size, witness)
) WITHOUT ROWID;
