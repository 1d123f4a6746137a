import type { MetricObject } from 'prom-client';

/** Between a supervisor and its workers, either way: what the one asks the other has an id, and its answer has the same. */
export type WorkerMessage =
  /** Worker to supervisor: the metrics of all. */
  | { fiscal: 'read-all'; id: number }
  | { fiscal: 'all'; id: number; contentType: string; text: string }
  /** Supervisor to worker: yours. */
  | { fiscal: 'read-own'; id: number }
  | { fiscal: 'own'; id: number; metrics: MetricObject[] }
  | { fiscal: 'failed'; id: number; reason: string }
  /** Supervisor to worker: whatever it says shows that its event loop turns. */
  | { fiscal: 'are-you-there'; id: number }
  | { fiscal: 'here'; id: number };

/** Other libraries may speak over the same channel. */
export function isWorkerMessage(message: unknown): message is WorkerMessage {
  return typeof message === 'object' && message !== null && 'fiscal' in message && 'id' in message;
}
