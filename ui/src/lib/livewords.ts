// What the page says about how live it is.
import type { LiveStatus } from './live.svelte';
import type { Tier } from './session.svelte';

interface Words {
  /** One or two words, next to the dot. */
  short: string;
  /** A sentence that explains them. */
  long: string;
}

// Only what a reader's access includes is sent, so the page says what that is.
const sent: Record<Tier, string> = {
  anonymous: 'New daily values and hourly current prices of the free GPU models appear here by themselves.',
  premium: 'New daily values and hourly current prices appear here by themselves.',
  full: 'New daily and hourly values, and on the page of a GPU model one print a minute, appear here by themselves.',
};

const later = 'The page is loaded again every few minutes instead.';

export function liveWords(status: LiveStatus, tier: Tier): Words {
  switch (status) {
    case 'live':
      return { short: 'Live', long: sent[tier] };
    case 'connecting':
      return { short: 'Connecting', long: 'Connecting to the stream of new values.' };
    case 'reconnecting':
      return { short: 'Reconnecting', long: 'The connection was lost. New values appear when it is back.' };
    case 'refused':
      return {
        short: 'Not live',
        long: `The server, or a proxy on the way, does not let the stream through. ${later}`,
      };
    case 'ended':
      return { short: 'Not live', long: 'Your access has ended or changed. Reload the page to continue.' };
    case 'paused':
      return { short: 'Paused', long: 'Nothing is sent while the page is hidden.' };
    case 'off':
      return { short: 'Not live', long: 'Nothing on this page is updated by itself.' };
  }
}
