// Why something is locked, in the words of the API where it has a message.

/** The API's message for a Premium key that requests hourly or real-time data. */
export const fullOnly = 'Premium access is daily-grain only. Hourly and real-time data require a full subscription.';

/** The same for readers without Premium access. */
export const hourlyIsFull = 'Hourly and real-time data require a full subscription.';

/** How far back the free tier reaches. */
export const freeWindow = 'Without a key, only the last three months are available.';

/** What Premium adds to the page of a GPU model that is not free. */
export const gpuGets = [
  'The current price, a new one each hour, and the daily value of every GPU model',
  'The complete history by region, with volatility and utilization',
  'The proof of every daily value, and the same data from the API',
];
