package console

// What tests from outside the package need.
const (
	TicketCookie = ticketCookie
	LinkCookie   = linkCookie
)
