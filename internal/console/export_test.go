package console

// What tests from outside the package need.
const (
	GuessesPerAccount = guessesAccount
	GuessesPerAddress = guessesAddress
	GuessWindow       = guessWindow
	TicketCookie      = ticketCookie
)
