-- What sources report in the families beside GPU transactions: memory readings, model days, coding days, sites. Each is known
-- by a key of its family; other content under a known key is a new revision, and nothing is overwritten.
CREATE TABLE observations (
    observation INTEGER PRIMARY KEY,
    family      TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    revision    INTEGER NOT NULL,
    received_at INTEGER NOT NULL, -- rises from batch to batch of a family, even when the clock does not
    body        TEXT    NOT NULL, -- JSON
    checksum    INTEGER NOT NULL, -- of all of it
    UNIQUE (family, key, revision)
);
CREATE INDEX observations_by_time ON observations (family, received_at);

-- Not counts of changes but the received_at of the newest observation: a reader goes on from the value it saw.
INSERT INTO counters (name, value) VALUES ('memory', 0), ('models', 0), ('coding', 0), ('sites', 0);

-- Which tools a coding product is about: one, or the two that it compares.
ALTER TABLE coding_products ADD COLUMN tool TEXT NOT NULL DEFAULT '';
ALTER TABLE coding_products ADD COLUMN tool2 TEXT NOT NULL DEFAULT '';
UPDATE coding_products SET tool = substr(id, 1, instr(id, '-') - 1);
UPDATE coding_products SET tool2 = 'codex' WHERE id IN ('cc-vs-codex', 'cc-vs-codex-merge');
