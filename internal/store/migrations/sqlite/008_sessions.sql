-- What people see of their sessions. The program sets last_used_at of the sessions that exist.
ALTER TABLE sessions ADD COLUMN session_id TEXT NOT NULL DEFAULT '';       -- public: not the token, nor a hash of it
ALTER TABLE sessions ADD COLUMN last_used_at INTEGER NOT NULL DEFAULT 0;   -- give or take minutes; raises no counter
ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';          -- of the client that signed in
ALTER TABLE sessions ADD COLUMN user_agent TEXT NOT NULL DEFAULT '';       -- in short, such as Firefox on Linux
UPDATE sessions SET session_id = lower(hex(randomblob(6)));
CREATE UNIQUE INDEX sessions_by_id ON sessions (session_id);
