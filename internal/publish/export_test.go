package publish

// For the tests of the other package.
var AdoptPrompt = adoptPrompt
