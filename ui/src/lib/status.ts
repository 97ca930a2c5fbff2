// Whether everything is current, from what any caller may read: the health of the node that responds, the newest publication,
// the signed log, and the messages of the operator.
import type { components } from '../../generated/api';
import { count, duration, instant, toSecond } from './format';

type Schemas = components['schemas'];
type Health = Schemas['Health'];
export type NodeHealth = Health | Schemas['HealthError'];
type Publication = Schemas['LatestPublication']['data'];
export type Message = Schemas['Notice'];
export type Family = keyof Health['datasets'];

/** The signed state of the log. */
export interface Checkpoint {
  log: string;
  size: number;
  root: string;
  /** When it was signed. */
  at: string | null;
  witnesses: string[];
}

/** What one look at the server has found. What could not be read is undefined; null is what does not exist yet. */
export interface Look {
  /** When, by the clock of the browser. */
  at: number;
  health: NodeHealth | undefined;
  ready: boolean;
  publication: Publication | null | undefined;
  checkpoint: Checkpoint | null | undefined;
  messages: Message[] | undefined;
}

const patience = 10_000;

async function read(url: string): Promise<Response> {
  return fetch(url, { cache: 'no-cache', credentials: 'same-origin', signal: AbortSignal.timeout(patience) });
}

/** Reads what a route has: null if it has nothing yet, undefined if it could not be read. */
async function readOne<T>(url: string, take: (text: string, headers: Headers) => T): Promise<T | null | undefined> {
  try {
    const response = await read(url);
    const text = await response.text(); // also of a refusal, or the request would not end
    return response.ok ? take(text, response.headers) : response.status === 404 ? null : undefined;
  } catch {
    return undefined;
  }
}

/** Looks at the server. It throws if the server cannot be reached. */
export async function look(): Promise<Look> {
  // A node that is not well says why, with another status.
  const [health, ready, publication, checkpoint, messages] = await Promise.all([
    read('/health').then(healthOf),
    readOne('/readyz', () => true),
    readOne('/api/publications/latest', (text) => (JSON.parse(text) as Schemas['LatestPublication']).data),
    readOne('/log/checkpoint', (text, headers) => checkpointOf(text, headers.get('Last-Modified'))),
    readOne('/api/notices?kind=message&limit=20', (text) => (JSON.parse(text) as Schemas['Notices']).data),
  ]);
  return {
    at: Date.now(),
    health,
    ready: ready === true,
    publication,
    checkpoint,
    messages: messages ?? undefined,
  };
}

/** The state of a node; undefined if the response is not one, for example that of a proxy. */
async function healthOf(response: Response): Promise<NodeHealth | undefined> {
  const body: unknown = await response.json().catch(() => null);
  return typeof body === 'object' && body !== null && 'status' in body && 'timestamp' in body
    ? (body as NodeHealth)
    : undefined;
}

/** Reads a checkpoint: the name of the log, its size and its root, an empty line, and a line for each signature. */
export function checkpointOf(text: string, modified: string | null): Checkpoint | null {
  const [log = '', size = '', root = '', empty, ...signatures] = text.trimEnd().split('\n');
  if (log === '' || !/^\d+$/.test(size) || empty !== '') return null;
  const signers = signatures.map((line) => line.split(' ')[1] ?? '').filter((name) => name !== '');
  const at = modified === null ? NaN : Date.parse(modified);
  return {
    log,
    size: Number(size),
    root,
    at: Number.isNaN(at) ? null : new Date(at).toISOString(),
    witnesses: signers.filter((name) => name !== log),
  };
}

const newYorkHour = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/New_York',
  hour: '2-digit',
  hourCycle: 'h23',
});
const hour = 3_600_000;

/** The fixing of a calendar day (UTC): the instant at which it is 16:00 in New York. */
function fixingOn(midnight: number): number {
  const early = midnight + 20 * hour; // in summer
  return newYorkHour.format(early) === '16' ? early : early + hour;
}

/** The last fixing at or before an instant, and the next one. */
export function fixingsAround(at: number): { last: number; next: number } {
  const midnight = Math.floor(at / (24 * hour)) * 24 * hour;
  const today = fixingOn(midnight);
  return today <= at
    ? { last: today, next: fixingOn(midnight + 24 * hour) }
    : { last: fixingOn(midnight - 24 * hour), next: today };
}

export const familyNames: Record<Family, string> = {
  gpu: 'GPU prices',
  memory: 'Memory',
  models: 'Tokens and workload',
  coding: 'Coding',
  sites: 'Sites',
};

interface Rhythm {
  /** How old the newest value may be before it is late, in seconds; sites are imported when there is something new. */
  most: number;
  text: string;
}

// An hour is published within a minute of its end, and the next follows an hour later. Memory has a value for each weekday, so it
// waits over a weekend and a holiday; the others have one for each day, which its source completes a day or two later.
export const rhythms: Record<Family, Rhythm> = {
  gpu: { most: 2 * 3600, text: 'each hour' },
  memory: { most: 4.5 * 86_400, text: 'each weekday' },
  models: { most: 4 * 86_400, text: 'each day, a day or two later' },
  coding: { most: 4 * 86_400, text: 'each day, a day or two later' },
  sites: { most: Infinity, text: 'when sites change' },
};

export type Tone = 'good' | 'late' | 'bad';

const isWell = (health: NodeHealth): health is Health => health.status === 'healthy';

/** The families whose newest value is older than it should be. */
export function lateFamilies(health: NodeHealth): Family[] {
  if (!isWell(health)) return [];
  return (Object.keys(rhythms) as Family[]).filter((family) => {
    const age = health.datasets?.[family]?.age_seconds;
    return age != null && age > rhythms[family].most;
  });
}

/** The state of everything in a sentence, and what explains it. */
export function verdictOf({ health, ready }: Pick<Look, 'health' | 'ready'>): {
  tone: Tone;
  text: string;
  why: string;
} {
  const say = (tone: Tone, text: string, why = '') => ({ tone, text, why });
  if (!health) return say('bad', 'The state of the server is unknown.', 'What responds at its address is not Assay.');
  if (health.status === 'starting')
    return say('late', 'This node is starting.', 'It has no data yet. Try again in a moment.');
  if (health.status === 'draining')
    return say('late', 'This node is shutting down.', 'It serves everything until then, and other nodes continue.');
  if (!isWell(health)) {
    const since = instant(Date.parse(health.timestamp) - health.age_seconds * 1000);
    return say(
      'bad',
      `The database has been unreachable since ${since}.`,
      'Published values are served as of then. Nothing new is published until it is back.',
    );
  }
  const { publishing = 'current', publishing_reason: reason = '' } = health;
  if (publishing !== 'current') {
    const newest = health.datasets?.gpu?.latest;
    const since = newest ? ` since ${instant(newest)}` : '';
    if (publishing === 'held') return say('late', `Publishing has been held back${since}.`, reason);
    if (publishing === 'failing') return say('bad', `Publishing has failed${since}.`, reason);
    return say('late', `GPU prices have been late${since}.`, reason);
  }
  const late = lateFamilies(health);
  if (late.length > 0) {
    const names = late.map((family, i) => (i === 0 ? familyNames[family] : lower(familyNames[family])));
    const oldest = late.map((family) => Date.parse(health.datasets[family].latest!)).sort((a, b) => a - b)[0]!;
    const listed = names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names[0]!;
    const verb = late.length === 1 && late[0] !== 'gpu' && late[0] !== 'models' ? 'has' : 'have';
    return say(
      'late',
      `${listed} ${verb} been late since ${instant(oldest)}.`,
      'Everything else is current. Published values stay valid.',
    );
  }
  if (!ready) return say('late', 'This node is not ready for requests.', 'Other nodes serve them meanwhile.');
  return say('good', 'Everything is current.');
}

const lower = (name: string) => (name.startsWith('GPU') ? name : name.toLowerCase());

/** A row of facts: its name and its text. */
type Fact = [name: string, text: string];

export function nodeFacts(health: NodeHealth): Fact[] {
  const roles: Record<string, string> = {
    all: 'publishes and serves',
    read: 'serves',
    publish: 'publishes',
  };
  const facts: Fact[] = [
    ['State', health.status],
    ['Role', roles[health.role] ?? health.role],
    [
      'Database',
      `${health.database}${health.age_seconds > 0 ? `, last response ${duration(health.age_seconds)} ago` : ''}`,
    ],
  ];
  if (!isWell(health)) return [...facts, ['Time of the server', toSecond(health.timestamp)]];
  const { mode, fallbacks } = health.limits;
  return [
    ...facts,
    ['Version', `${health.version}${health.commit ? ` (${health.commit.slice(0, 12)})` : ''}`],
    [
      'Limits',
      mode === 'shared'
        ? `counted by all nodes together${fallbacks > 0 ? `; alone ${count(fallbacks)} times since the start` : ''}`
        : 'counted by this node alone',
    ],
    ['Time of the server', toSecond(health.timestamp)],
  ];
}
