-- As in SQLite's 008_sessions.sql.
ALTER TABLE sessions ADD COLUMN session_id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN last_used_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN address TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN user_agent TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE sessions SET session_id = right(gen_random_uuid()::text, 12);
CREATE UNIQUE INDEX sessions_by_id ON sessions (session_id);
