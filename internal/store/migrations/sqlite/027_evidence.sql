-- What transactions were verified by. Segments have it in their bodies.
ALTER TABLE verifications ADD COLUMN evidence TEXT NOT NULL DEFAULT ''; -- a class; empty if it is not stated
ALTER TABLE conflicts ADD COLUMN evidence TEXT NOT NULL DEFAULT '';     -- likewise
ALTER TABLE conflicts ADD COLUMN verified_by TEXT NOT NULL DEFAULT '';
