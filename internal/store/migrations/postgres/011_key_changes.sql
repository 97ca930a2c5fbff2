-- A server reads the keys that have changed, not all of them.
ALTER TABLE keys ADD COLUMN changed BIGINT NOT NULL DEFAULT 0; -- the counter of keys, as of the key's last change
UPDATE keys SET changed = (SELECT value FROM counters WHERE name = 'keys');
CREATE INDEX keys_by_change ON keys (changed);
CREATE INDEX keys_by_account ON keys (account_id);

-- The counter is raised later in the same transaction. A program that does not know the column sets it too, and a copy of the
-- database keeps it.
CREATE FUNCTION note_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed := (SELECT value + 1 FROM counters WHERE name = 'keys');
    RETURN NEW;
END
$$;
CREATE TRIGGER key_was_created BEFORE INSERT ON keys FOR EACH ROW WHEN (NEW.changed = 0) EXECUTE FUNCTION note_key_change();
CREATE TRIGGER key_was_changed BEFORE UPDATE OF expires_at, revoked_at ON keys FOR EACH ROW EXECUTE FUNCTION note_key_change();
