// Package assay is the vocabulary of the Assay market-data server: GPU models, prices, series, tiers and errors,
// spelled exactly as the API spells them.
//
// Assay takes verified compute transactions, turns them into published price indices and serves them over a read-only
// REST API. Each package in internal hides one subject, and dependencies point toward this package, which imports only
// the standard library. docs/architecture.md is the map of the packages; arch_test.go enforces it.
package assay
