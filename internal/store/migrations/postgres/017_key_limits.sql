-- As in SQLite's 017_key_limits.sql.
ALTER TABLE keys ADD COLUMN rate_limit BIGINT NOT NULL DEFAULT 0;

DROP TRIGGER key_was_changed ON keys;
CREATE TRIGGER key_was_changed BEFORE UPDATE OF expires_at, revoked_at, rate_limit ON keys
    FOR EACH ROW EXECUTE FUNCTION note_key_change();
