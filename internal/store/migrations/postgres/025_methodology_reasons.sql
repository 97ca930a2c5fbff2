-- As in SQLite's 025_methodology_reasons.sql.
ALTER TABLE methodologies ADD COLUMN reason TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE methodologies ADD COLUMN approver TEXT COLLATE "C" NOT NULL DEFAULT '';
