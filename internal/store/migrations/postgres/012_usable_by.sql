-- Nodes are upgraded one after another, so a program must tell whether it can use the tables of a later release.
ALTER TABLE migrations ADD COLUMN usable_by BIGINT NOT NULL DEFAULT 0; -- the oldest schema whose programs can use this one

-- A program of release 0.5.0 gives a session no id, and does not say when it was used.
CREATE FUNCTION complete_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.session_id := right(gen_random_uuid()::text, 12);
    NEW.last_used_at := NEW.created_at;
    RETURN NEW;
END
$$;
CREATE TRIGGER session_of_an_earlier_release BEFORE INSERT ON sessions FOR EACH ROW WHEN (NEW.session_id = '')
    EXECUTE FUNCTION complete_session();
