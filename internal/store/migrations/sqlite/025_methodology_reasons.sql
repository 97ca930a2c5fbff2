-- Why a version of the methodology was adopted, and who has approved it.
ALTER TABLE methodologies ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE methodologies ADD COLUMN approver TEXT NOT NULL DEFAULT '';
