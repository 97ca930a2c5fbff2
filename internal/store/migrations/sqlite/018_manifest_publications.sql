-- A manifest says up to which publication it lists the records of its day. 0 in manifests that were signed before.
ALTER TABLE manifests ADD COLUMN publication INTEGER NOT NULL DEFAULT 0;
ALTER TABLE manifests ADD COLUMN receipt     INTEGER NOT NULL DEFAULT 0; -- that this publication knew
ALTER TABLE manifests ADD COLUMN revisions   INTEGER NOT NULL DEFAULT 0; -- how many of the records replace others
