import type { Exchange } from './transport.js';

/** The formats of a table. */
export type TableFormat = 'csv' | 'ndjson' | 'parquet';

/** Their media types, and what they end with. */
export const mediaTypes: Record<TableFormat, string> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

/**
 * The rows of a route as a file. Read it once, with `bytes`, `text` or `body`, and begin within the client's `timeout`.
 * To leave it, call `body.cancel()`.
 */
export class Table {
  /** A name for the file, such as `h100-sxm-daily.csv`. It has no folder in it. */
  readonly filename: string;
  /** The media type. */
  readonly contentType: string;
  readonly #exchange: Exchange;
  readonly #timeout: number;
  #body: ReadableStream<Uint8Array> | undefined;

  /** @internal */
  constructor(exchange: Exchange, format: TableFormat, timeout: number) {
    this.filename = safeName(exchange.headers.get('content-disposition')) ?? `table.${format}`;
    this.contentType = exchange.headers.get('content-type') ?? mediaTypes[format];
    this.#exchange = exchange;
    this.#timeout = timeout;
  }

  /** The bytes as they arrive. Nothing is read ahead, so a table of any size needs little memory. */
  get body(): ReadableStream<Uint8Array> {
    this.#body ??= toStream(this.#exchange, this.#timeout);
    return this.#body;
  }

  /** The whole table. */
  async bytes(): Promise<Uint8Array> {
    return new Uint8Array(await new Response(this.body).arrayBuffer());
  }

  /** The whole table as text, which CSV and NDJSON are. */
  text(): Promise<string> {
    return new Response(this.body).text();
  }
}

function toStream(exchange: Exchange, timeout: number): ReadableStream<Uint8Array> {
  const chunks = exchange.chunks(() => timeout);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return();
        await exchange.discard(); // if nothing was read
      },
    },
    { highWaterMark: 0 },
  );
}

/** The file name that the server proposes, if it is nothing but the name of a file. */
function safeName(disposition: string | null): string | undefined {
  const name = /\bfilename="?([^";]*)"?/i.exec(disposition ?? '')?.[1]?.trim();
  return name && /^[A-Za-z0-9_][A-Za-z0-9 ._+-]{0,199}$/.test(name) ? name : undefined;
}
