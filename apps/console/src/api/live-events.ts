import { send } from './call.js';
import { ApiProblem } from './problem.js';

/** What the stream carries, as GET /v1/events shows it. */
export interface LiveEvent {
  id: string;
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

interface Listener {
  onEvent: (event: LiveEvent) => void;
  /** Whether the stream is open now. */
  onState: (isOpen: boolean) => void;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** Longer than any frame that the gateway sends: an answer that never ends a frame is none of its. */
const MAX_FRAME = 1_000_000;

/**
 * Reads GET /v1/events/stream from now on, until the signal. `EventSource` cannot name the merchant, so it is read by `fetch`;
 * a stream that was cut off goes on behind the last frame that came.
 */
export async function followEvents(signal: AbortSignal, { onEvent, onState }: Listener): Promise<void> {
  let cursor: string | null = null;
  let waitMs = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      const headers = { accept: 'text/event-stream', ...(cursor !== null && { 'last-event-id': cursor }) };
      const response = await send({ method: 'GET', path: '/v1/events/stream', headers, signal });
      onState(true);
      waitMs = FIRST_WAIT_MS;
      for await (const frame of framesOf(response)) {
        cursor = frame.id ?? cursor;
        if (frame.data !== null) onEvent(JSON.parse(frame.data) as LiveEvent);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isFinal(error)) return onState(false);
      // A cursor of a log that is no longer there: from now on again.
      if (error instanceof ApiProblem && error.status === 422) cursor = null;
    }
    onState(false);
    await pause(waitMs, signal);
    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
  }
}

/** The person has no session, or not this right: asking again changes nothing. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiProblem && (error.status === 401 || error.status === 403);
}

interface Frame {
  id: string | null;
  data: string | null;
}

async function* framesOf({ body }: Response): AsyncGenerator<Frame> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      const frames = text.split('\n\n');
      text = frames.pop() ?? '';
      if (text.length > MAX_FRAME) throw new Error('a frame of the stream has no end');
      yield* frames.map(frameOf);
    }
  } finally {
    await reader.cancel();
  }
}

function frameOf(text: string): Frame {
  const field = (name: string): string | null =>
    text
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2) ?? null;
  return { id: field('id'), data: field('data') };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
