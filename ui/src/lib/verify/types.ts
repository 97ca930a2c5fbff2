// What the verifier is given, and what it says.

/** Passed, failed, or not checked. */
export type State = 'passed' | 'failed' | 'open';

export const stepNames = ['record', 'entry', 'inclusion', 'signature', 'witnesses', 'consistency'] as const;

export interface Step {
  name: (typeof stepNames)[number];
  state: State;
  /** What was found, as a sentence; of a step that failed, also what was expected. */
  text: string;
  /** Whether the value counts as verified although this was not checked. */
  optional?: boolean;
  /** The signatures of witnesses, one each. */
  witnesses?: WitnessLine[];
  /** The two checkpoints that do not fit together. If both are signed, they are evidence for anyone. */
  contradiction?: string[];
}

export interface WitnessLine {
  name: string;
  state: State;
  text: string;
}

/** What a browser keeps of a log. */
export interface Kept {
  log: string;
  /** The first key that it saw, or that the reader has accepted later. */
  key: string;
  /** The newest checkpoint that it verified, with its signatures; empty if there is none yet. */
  checkpoint: string;
  /** How the key had changed by then: a server that leaves a change out could hide that a key was revoked. */
  events?: string;
}

/** What the server sent about a value, and what the reader knows. */
export interface Evidence {
  /** The response with the record, to the byte. */
  response: string;
  /** Fields that the record must have: it could be a true one of another value. */
  asked: Record<string, unknown>;
  /** The key of the log, of /log/vkey. */
  key: string;
  /** How it has changed, of /log/keys. */
  events: string;
  /** What the browser has kept of this log and of others that the server had. */
  kept: Kept[];
  /** The keys of the witnesses that the reader knows. */
  witnesses: string[];
  /** The hashes between the two checkpoints that consistencySizes names, or why the server refuses to send them. */
  consistency?: { hashes: string[] } | { refused: string };
}

/** What a step has found; it has passed unless it says otherwise. */
export type Outcome = Partial<Omit<Step, 'name'>> & { text: string };

export interface Verification {
  verdict: 'verified' | 'failed' | 'open';
  /** The verdict in a few words. */
  text: string;
  steps: Step[];
  /** What the browser should keep of the log from now on. */
  keep?: Kept;
  /** The key that the reader may accept after comparing it with what the operator publishes elsewhere. */
  newKey?: string;
}

/** What the browser has kept of a log. */
export const keptOf = (evidence: Pick<Evidence, 'kept'>, log: string): Kept | undefined =>
  evidence.kept.find((kept) => kept.log === log);
