-- A password that the operator has set must be changed at the first sign-in, and the one before cannot be used again.
ALTER TABLE accounts ADD COLUMN password_temporary INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN password_before TEXT; -- argon2id; NULL for none

-- A session that began with a temporary password can do nothing but change it.
ALTER TABLE sessions ADD COLUMN restricted INTEGER NOT NULL DEFAULT 0;
