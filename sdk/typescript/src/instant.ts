import { invalidArgument } from './error.js';

const day = /^\d{4}-\d{2}-\d{2}$/;
const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * The `Date` of a day (`2026-10-31`, its beginning in UTC) or an instant (`2026-10-31T20:00:00.000Z`) of a response.
 * Any other text is an error: `new Date` alone takes some for local time, and others for an invalid date.
 */
export function toDate(text: string): Date {
  const date = day.test(text) || instant.test(text) ? new Date(text) : new Date(NaN);
  if (Number.isNaN(date.getTime()) || !isInCalendar(text.slice(0, 10))) {
    throw invalidArgument('text', `${JSON.stringify(text)} is neither a day nor an instant of the API.`);
  }
  return date;
}

/** Some engines take 30 February for 2 March. */
function isInCalendar(text: string): boolean {
  return new Date(text).toISOString().startsWith(text);
}
