-- A server reads the keys that have changed, not all of them.
ALTER TABLE keys ADD COLUMN changed INTEGER NOT NULL DEFAULT 0; -- the counter of keys, as of the key's last change
UPDATE keys SET changed = (SELECT value FROM counters WHERE name = 'keys');
CREATE INDEX keys_by_change ON keys (changed);
CREATE INDEX keys_by_account ON keys (account_id);

-- The counter is raised later in the same transaction. A program that does not know the column sets it too, and a copy of the
-- database keeps it.
CREATE TRIGGER key_was_created AFTER INSERT ON keys WHEN NEW.changed = 0 BEGIN
    UPDATE keys SET changed = (SELECT value + 1 FROM counters WHERE name = 'keys') WHERE key_id = NEW.key_id;
END;
CREATE TRIGGER key_was_changed AFTER UPDATE OF expires_at, revoked_at ON keys BEGIN
    UPDATE keys SET changed = (SELECT value + 1 FROM counters WHERE name = 'keys') WHERE key_id = NEW.key_id;
END;
