// Package assay is the vocabulary of the Assay market-data server: GPUs, prices, series, tiers and errors, spelled
// exactly as the API's contract spells them.
//
// Assay takes verified compute transactions, turns them into published price indices and serves them over a read-only
// REST API. The work is split into rooms, each a package that hides one subject:
//
//	internal/index     transactions to index values; pure, exact integers
//	internal/family    what a data family is: one value that import, storage, snapshot and health work from
//	internal/registry  the list of data families
//	internal/appendonly a list that only grows, for snapshots
//	internal/memory    readings of memory prices to daily points; pure
//	internal/coding    what coding tools did to the values of products; pure
//	internal/tokens    token prices and the workload cost index; pure
//	internal/proof     record hashes, their chain, signed manifests; pure
//	internal/access    who may see what; pure
//	internal/limit     an exact sliding-window limiter; pure, time is an argument; sharedlimit in it counts in Redis for all nodes
//	internal/snapshot  the immutable read model that answers every request
//	internal/sites     where GPUs stand: regions, distances, countries, chips; pure
//	internal/store     the database
//	internal/ingest    files and feeds to the store
//	internal/publish   the writer's loop: compute what is due and publish a version
//	internal/verify    recomputes published values and proves them
//	internal/backtest  compares another methodology with what was published
//	internal/live      the reader's loop: keep the snapshot current
//	internal/keys      API keys: minting, hashing, the keyring in memory
//	internal/account   who signs in, what they were given, and the keys they make of it
//	internal/oidc      sign-in through a provider of OpenID Connect
//	internal/usage     requests counted by key, route, status and day
//	internal/dashboard the web pages, embedded; they read the API like any other program
//	internal/httpapi   routes, parameters, answers
//	internal/demo      a synthetic market that goes through ingest like any other feed
//	cmd/assay          the command; the only place that knows all rooms
//	tools/bench        measures the program beside nginx, sqlite3 and psql
//	tools/drill        breaks the servers a cluster depends on, and counts what that costs
//	tools/relay        delays, silences or resets connections between a program and a server, for tests and drills
//	tools/process      starts and stops other programs, for tools and tests
//	tools/report       writes measured figures into the documents
//	tools/testenv      which servers the tests may use
//
// Arrows point towards this package, which imports only the standard library. The arrow that matters most is the one
// that is missing: httpapi does not import store, so a read never waits for the database. arch_test.go keeps the map.
package assay
