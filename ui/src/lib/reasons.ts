// Why something is locked, in the words of the API where it has a message.

/** The API's message for a Premium key that requests hourly or real-time data. */
export const fullOnly = 'Premium access is daily-grain only. Hourly and real-time data require a full subscription.';

/** The same for readers without Premium access. */
export const hourlyIsFull = 'Hourly and real-time data require a full subscription.';

/** How far back the free tier reaches. */
export const freeWindow = 'Without a key, only the last three months are available.';
