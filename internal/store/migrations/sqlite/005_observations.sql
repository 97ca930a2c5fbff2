-- What sources report in the other families: memory readings, model days, coding days, sites. A family and a key identify an
-- observation. Other content under a known key is a new revision; nothing is overwritten.
CREATE TABLE observations (
    observation INTEGER PRIMARY KEY,
    family      TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    revision    INTEGER NOT NULL,
    received_at INTEGER NOT NULL, -- rises with each batch of a family, even if the clock does not
    body        TEXT    NOT NULL, -- JSON
    checksum    INTEGER NOT NULL, -- of the whole row
    UNIQUE (family, key, revision)
);
CREATE INDEX observations_by_time ON observations (family, received_at);

-- The received_at of the newest observation, not counts of changes: a reader continues from the value it read last.
INSERT INTO counters (name, value) VALUES ('memory', 0), ('models', 0), ('coding', 0), ('sites', 0);

-- The tools of a coding product: one, or the two that it compares.
ALTER TABLE coding_products ADD COLUMN tool TEXT NOT NULL DEFAULT '';
ALTER TABLE coding_products ADD COLUMN tool2 TEXT NOT NULL DEFAULT '';
UPDATE coding_products SET tool = substr(id, 1, instr(id, '-') - 1);
UPDATE coding_products SET tool2 = 'codex' WHERE id IN ('cc-vs-codex', 'cc-vs-codex-merge');
