-- A key may have a rate limit of its own.
ALTER TABLE keys ADD COLUMN rate_limit INTEGER NOT NULL DEFAULT 0; -- requests per minute; 0: that of its plan

DROP TRIGGER key_was_changed;
CREATE TRIGGER key_was_changed AFTER UPDATE OF expires_at, revoked_at, rate_limit ON keys BEGIN
    UPDATE keys SET changed = (SELECT value + 1 FROM counters WHERE name = 'keys') WHERE key_id = NEW.key_id;
END;
