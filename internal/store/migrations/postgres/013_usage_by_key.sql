-- The usage of a key or an account is read without that of all others.
CREATE INDEX usage_by_key ON usage (key_id, day);
