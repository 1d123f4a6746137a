import { Worker } from 'node:worker_threads';

export interface FloodRequest {
  url: string;
  method: 'GET' | 'POST';
  headers: Readonly<Record<string, string>>;
  body?: string;
}

/** What one party does with all its connections at once. */
export type Flood = { connections: number } & (
  | { kind: 'calls' | 'unread answers' | 'endless uploads'; requests: readonly FloodRequest[] }
  | { kind: 'idle handshakes'; url: string; headers: Readonly<Record<string, string>> }
);

/** Until its bounds are full. */
const SETTLE_MS = 1_500;

/** @returns what the work gives while the flood goes on, and how many requests a second the flood made meanwhile */
export async function during<T>(flood: Flood, work: () => Promise<T>): Promise<{ given: T; perSecond: number }> {
  const made = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL('./flood-worker.js', import.meta.url), { workerData: { flood, made } });
  const failed = new Promise<never>((_resolve, reject) => worker.once('error', reject));
  try {
    await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, SETTLE_MS))]);
    const [before, begunMs] = [Atomics.load(made, 0), performance.now()];
    const given = await Promise.race([failed, work()]);
    const seconds = (performance.now() - begunMs) / 1_000;
    return { given, perSecond: (Atomics.load(made, 0) - before) / seconds };
  } finally {
    await worker.terminate();
  }
}

/** What the server says to the first of them: a flood that is refused for a mistake of ours floods nothing. */
export async function probe({ url, method, headers, body }: FloodRequest): Promise<number> {
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
  await response.body?.cancel();
  return response.status;
}
