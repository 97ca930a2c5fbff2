// Why something is locked, in the API's own words where it has them.

/** What the API tells a Premium key that asks for hourly or real-time data. */
export const fullOnly = 'Premium access is daily-grain only. Hourly and real-time data require a full subscription.';

/** The same for who has no access at all. */
export const hourlyIsFull = 'Hourly and real-time data require a full subscription.';

/** How far back the free tier reaches. */
export const freeWindow = 'Without a key the last three months are shown.';
