/** An event as the stream has it. */
export interface RawEvent {
  event: string;
  data: string;
  /** The id that a reader continues after: of this event, or of the last one before it that had an id. */
  id: string;
}

/** What the parser calls. */
export interface EventHandler {
  event(event: RawEvent): void;
  /** A comment: the server sends them so that a quiet connection stays open. */
  comment(): void;
  /** How many milliseconds to wait before the next connection. */
  retry(milliseconds: number): void;
}

// Events of the API have some hundred characters. More means that this is no event stream.
const longestEvent = 1024 * 1024;

/**
 * Parses an event stream (text/event-stream) from pieces of bytes, which may end anywhere: inside of a line, between CR
 * and LF, inside of a character.
 */
export class EventParser {
  readonly #handler: EventHandler;
  readonly #decoder = new TextDecoder(); // drops a byte order mark at the beginning, as the format says
  #rest = ''; // the beginning of a line
  #afterCR = false;
  #event = '';
  #data: string[] = [];
  #length = 0; // of #data
  #id: string;

  constructor(handler: EventHandler, id = '') {
    this.#handler = handler;
    this.#id = id;
  }

  /** Takes the next bytes. An event that is too long is a RangeError. */
  push(bytes: Uint8Array): void {
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === '') return;
    if (this.#afterCR && text.startsWith('\n')) text = text.slice(1);
    this.#afterCR = text === '' ? false : text.endsWith('\r');
    const lines = text.split(/\r\n|\r|\n/);
    const last = lines.pop() ?? '';
    for (const line of lines) {
      this.#line(this.#rest + line);
      this.#rest = '';
    }
    this.#rest += last;
    this.#checkLength(this.#rest.length);
  }

  #line(line: string): void {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return this.#handler.comment();
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    this.#field(name, value);
  }

  #field(name: string, value: string): void {
    if (name === 'event') this.#event = value;
    else if (name === 'data') this.#addData(value);
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) this.#handler.retry(Number(value));
  }

  #addData(value: string): void {
    this.#checkLength(value.length);
    this.#data.push(value);
    this.#length += value.length + 1;
  }

  #checkLength(added: number): void {
    if (this.#length + added > longestEvent) throw new RangeError(`an event has more than ${longestEvent} characters`);
  }

  #dispatch(): void {
    const event = { event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id };
    const hasData = this.#data.length > 0;
    this.#event = '';
    this.#data = [];
    this.#length = 0;
    if (hasData) this.#handler.event(event);
  }
}
