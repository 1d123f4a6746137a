/** One frame of a stream of server-sent events. */
export interface EventFrame {
  /** The cursor behind it; null: the frame has none. */
  id: string | null;
  /** Null: it only moves the cursor, or keeps the connection alive. */
  data: string | null;
}

/** A connection on which nothing comes for so long is lost: a heartbeat is due every 15 s. */
const SILENT_MS = 45_000;

/** The frames of an answer until it ends, is lost, or says nothing any more. A frame that was cut off is none. */
export async function* eventFrames({
  body,
}: {
  body: ReadableStream<Uint8Array> | null;
}): AsyncGenerator<EventFrame, void, undefined> {
  if (body === null) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const timer = setTimeout(() => void reader.cancel().catch(() => undefined), SILENT_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = parts.pop() ?? '';
      yield* parts.map(frameOf);
    }
  } finally {
    // The reader may be gone already; there is nothing left to say to it.
    await reader.cancel().catch(() => undefined);
  }
}

function frameOf(text: string): EventFrame {
  const frame: EventFrame = { id: null, data: null };
  for (const line of text.split('\n')) {
    const at = line.indexOf(': ');
    const [name, value] = [line.slice(0, at), line.slice(at + 2)];
    if (at > 0 && name === 'id') frame.id = value;
    if (at > 0 && name === 'data') frame.data = value;
  }
  return frame;
}
