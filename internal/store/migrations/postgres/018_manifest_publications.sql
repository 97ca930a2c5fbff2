-- As in SQLite's 018_manifest_publications.sql.
ALTER TABLE manifests ADD COLUMN publication BIGINT NOT NULL DEFAULT 0;
ALTER TABLE manifests ADD COLUMN receipt     BIGINT NOT NULL DEFAULT 0;
ALTER TABLE manifests ADD COLUMN revisions   BIGINT NOT NULL DEFAULT 0;
