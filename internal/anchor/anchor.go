// Package anchor fixes when the log was what it is, so that no one can make up history later and date it back.
//
// A checkpoint says what the log contains, and witnesses see to it that there is only one history. Neither says when
// that was: every time in the log is the operator's word. An authority for timestamps (RFC 3161) is someone else who
// gets the SHA-256 of a text, adds the time, and signs both. The result is a token. The authority learns nothing about
// the text, and there are many such authorities, for contracts and for software. With a token for the text of a
// checkpoint, anyone can check that the checkpoint was there at that time, and so was every entry below it, because the
// checkpoint has the hash of the tree over all of them.
//
// Request asks an authority for a token, and Open checks one (token.go). Neither judges whether the authority is
// honest: each reader decides that, from the certificates in the token. Keeper (keeper.go) gets a token each day.
package anchor
