// Package secondverifier holds verify_bundle.py, a verifier of bundles in another language. It was written from
// docs/proof.md and shares no code with assay, so that a mistake in one of them shows. The tests let it judge the test
// vectors in docs/proof-vectors, as they are and after forgeries; a test of the command lets it judge the demo.
package secondverifier
