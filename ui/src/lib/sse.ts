// Server-sent events as text: https://html.spec.whatwg.org/multipage/server-sent-events.html. The browser's own EventSource
// hides heartbeats and the status of a refusal, so it can tell neither a dead connection nor why there is none.

/** An event. Its id is that of the newest event with one. */
export interface ServerEvent {
  name: string;
  id: string;
  data: string;
}

// The longest text without an end of line. What is longer is no stream of ours.
const longestLine = 1 << 20;

/** Puts events together from the text of a stream, however it is cut. */
export class EventReader {
  /** The pause before the next connection that the server asks for, in milliseconds; 0 if it asks for none. */
  retry = 0;
  #rest = '';
  #id = '';
  #name = '';
  #data: string[] = [];

  /** Takes the next piece of text and returns the events that it completes. */
  push(text: string): ServerEvent[] {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!;
    if (this.#rest.length > longestLine) throw new Error('a line of the stream is too long');
    const events: ServerEvent[] = [];
    for (const line of lines) {
      const event = this.#take(line.endsWith('\r') ? line.slice(0, -1) : line);
      if (event) events.push(event);
    }
    return events;
  }

  #take(line: string): ServerEvent | undefined {
    if (line === '') return this.#finish();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'event') this.#name = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) this.retry = Number(value);
    return undefined;
  }

  #finish(): ServerEvent | undefined {
    const event = { name: this.#name || 'message', id: this.#id, data: this.#data.join('\n') };
    const empty = this.#data.length === 0;
    this.#name = '';
    this.#data = [];
    return empty ? undefined : event;
  }
}
