-- Nodes are upgraded one after another, so a program must tell whether it can use the tables of a later release.
ALTER TABLE migrations ADD COLUMN usable_by INTEGER NOT NULL DEFAULT 0; -- the oldest schema whose programs can use this one

-- A program of release 0.5.0 gives a session no id, and does not say when it was used.
CREATE TRIGGER session_of_an_earlier_release AFTER INSERT ON sessions WHEN NEW.session_id = '' BEGIN
    UPDATE sessions SET session_id = lower(hex(randomblob(6))), last_used_at = NEW.created_at WHERE hash = NEW.hash;
END;
