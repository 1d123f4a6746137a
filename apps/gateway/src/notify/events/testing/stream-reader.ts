/** One frame as it came. */
export interface Frame {
  id: string | null;
  event: string | null;
  data: string | null;
  comment: string | null;
}

/** A client of a stream of events that reads what comes, and nothing ahead of the test. */
export class StreamReader {
  readonly frames: Frame[] = [];
  readonly closed: Promise<void>;
  isClosed = false;

  private constructor(
    readonly status: number,
    readonly headers: Headers,
    private readonly abort: AbortController,
    body: ReadableStream<Uint8Array> | null,
    private readonly onFrame: (frame: Frame) => void,
  ) {
    this.closed = this.read(body).finally(() => {
      this.isClosed = true;
    });
  }

  static async open(
    url: string,
    headers: Record<string, string>,
    onFrame: (frame: Frame) => void = () => undefined,
  ): Promise<StreamReader> {
    const abort = new AbortController();
    const response = await fetch(url, { headers, signal: abort.signal });
    return new StreamReader(response.status, response.headers, abort, response.body, onFrame);
  }

  get lastId(): string | null {
    return this.frames.findLast(({ id }) => id !== null)?.id ?? null;
  }

  get eventIds(): string[] {
    return this.frames.flatMap(({ data }) => (data === null ? [] : [(JSON.parse(data) as { id: string }).id]));
  }

  close(): void {
    this.abort.abort();
  }

  /** Ends without an error when the connection does, however it does. */
  private async read(body: ReadableStream<Uint8Array> | null): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const piece of body ?? []) {
        const parts = (rest + decoder.decode(piece, { stream: true })).split('\n\n');
        rest = parts.pop() ?? '';
        for (const part of parts) {
          const frame = frameOf(part);
          this.frames.push(frame);
          this.onFrame(frame);
        }
      }
    } catch {
      // However the connection ended: what has come until then is there.
    }
  }
}

function frameOf(text: string): Frame {
  const lines = text.split('\n');
  const of = (name: string): string | null =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? null;
  return { id: of('id'), event: of('event'), data: of('data'), comment: of('') };
}
