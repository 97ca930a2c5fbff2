package storetest

// BeforeLog undoes the migrations since the one that added the log, except that migrations still lists them. A new
// migration undoes itself here.
var BeforeLog = []string{
	`DROP TABLE log_tiles`,
	`DROP TABLE log_bundles`,
	`DROP TABLE log_tail`,
	`DROP TABLE log_records`,
	`DROP TABLE log_progress`,
	`DROP TABLE log_methodologies`,
	`DROP TABLE checkpoints`,
	`DROP TABLE cosignatures`,
	`DROP TABLE key_events`,
	`DROP TABLE imports`,
	`DROP TABLE anchors`,
	`DROP TABLE complaint_events`,
	`DROP TABLE notices`,
	`DROP TABLE restatements`,
	`DROP TABLE value_records`,
	`DROP TABLE packed_points`,
	`ALTER TABLE verifications DROP COLUMN evidence`,
	`ALTER TABLE conflicts DROP COLUMN evidence`,
	`ALTER TABLE conflicts DROP COLUMN verified_by`,
	`ALTER TABLE methodologies DROP COLUMN reason`,
	`ALTER TABLE methodologies DROP COLUMN approver`,
	`DELETE FROM counters WHERE name IN ('log', 'checkpoint', 'notices', 'restatements')`,
	`DELETE FROM counters WHERE name IN ('value_records', 'values_known_at')`,
	`DELETE FROM settings WHERE name LIKE 'log%'`,
	`DROP INDEX conflicts_by_receipt`,
	`DROP INDEX utilization_by_receipt`,
}
