-- As in SQLite's 009_passwords.sql.
ALTER TABLE accounts ADD COLUMN password_temporary BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN password_before TEXT COLLATE "C";
ALTER TABLE sessions ADD COLUMN restricted BIGINT NOT NULL DEFAULT 0;
