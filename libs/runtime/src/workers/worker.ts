import cluster from 'node:cluster';
import type { Metrics, MetricsText } from '../metrics.js';
import { isWorkerMessage, type WorkerMessage } from './worker-messages.js';

const ARGUMENT = '--worker=';
const READ_TIMEOUT_MS = 8_000;

/** How a supervisor says which of its workers a process is. */
export function workerArgument(index: number): string {
  return `${ARGUMENT}${index}`;
}

/** From 1 on; null in a program of one process. */
export function workerIndex(): number | null {
  if (!cluster.isWorker) return null;
  const given = process.argv.find((argument) => argument.startsWith(ARGUMENT));
  return Number(given?.slice(ARGUMENT.length));
}

/**
 * Answers what its supervisor asks. A scrape of one worker is answered with the metrics of all of them, which the supervisor
 * adds up.
 */
export function answerSupervisor(metrics: Metrics): void {
  const waiting = new Map<number, (text: MetricsText) => void>();
  let lastId = 0;
  const send = (message: WorkerMessage): void => void process.send?.(message);
  process.on('message', (message: unknown) => {
    if (!isWorkerMessage(message)) return;
    const { id } = message;
    if (message.fiscal === 'all') waiting.get(id)?.({ contentType: message.contentType, text: message.text });
    if (message.fiscal === 'are-you-there') send({ fiscal: 'here', id });
    if (message.fiscal !== 'read-own') return;
    metrics.registry.getMetricsAsJSON().then(
      (own) => send({ fiscal: 'own', id, metrics: own }),
      (error: unknown) => send({ fiscal: 'failed', id, reason: String(error) }),
    );
  });
  metrics.readFrom(
    () =>
      new Promise((resolve, reject) => {
        lastId += 1;
        const id = lastId;
        const timer = setTimeout(() => {
          waiting.delete(id);
          reject(new Error('the supervisor of the workers did not answer'));
        }, READ_TIMEOUT_MS);
        waiting.set(id, (text) => {
          clearTimeout(timer);
          waiting.delete(id);
          resolve(text);
        });
        send({ fiscal: 'read-all', id });
      }),
  );
}
