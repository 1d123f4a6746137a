import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry, type MetricObject } from 'prom-client';
import type { Logger } from '../logger.js';
import { readRegistry, type Metrics, type MetricsText } from '../metrics.js';
import { serveMetrics, type METRICS_SETTINGS } from '../metrics-server.js';
import type { Settings } from '../settings.js';
import { STOP_GRACE_MS, stopOnSignals } from '../shutdown.js';
import { workerArgument } from './worker.js';
import { isGauge, WorkerCounts } from './worker-counts.js';
import { isWorkerMessage, type WorkerMessage } from './worker-messages.js';

/** Between the death of a worker and the next one in its place; doubled with each that lived only for a short while. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
const LIVED_LONG_MS = 60_000;
/** Of a worker that does not answer within this time a scrape has what it counted before, and no gauges. */
const READ_TIMEOUT_MS = 5_000;
/** For the workers, which end themselves by their own deadline. */
const MORE_GRACE_MS = 2_000;
/** What has not ended by then is ended: a relay's worker left behind would keep the locks of its lanes. */
const ENDED_AFTER_MS = STOP_GRACE_MS + MORE_GRACE_MS / 2;
const BEAT_MS = 5_000;
/** Questions, not time: where the whole machine stood still for a minute, nothing was asked meanwhile. */
const MOST_UNANSWERED = 12;

export interface Supervision {
  workers: number;
  settings: Settings<typeof METRICS_SETTINGS> & { STOP_DEADLINE_MS: number };
  metrics: Metrics;
  logger: Logger;
  /** Between two questions whether a worker is still there, 5 s unless set. */
  beatMs?: number;
}

interface Place {
  index: number;
  worker: Worker | null;
  startedMs: number;
  isListening: boolean;
  /** How often in a row the worker was asked whether it is there, without an answer. */
  unanswered: number;
  /** Short lives, one after the other. */
  failures: number;
  timer: NodeJS.Timeout | null;
}

/** Whether this process is to run no program but others: several are wanted, and it is the first. */
export function isSupervisor(workers: number): boolean {
  return workers > 1 && cluster.isPrimary;
}

/**
 * Several processes of one program behind its port (node:cluster). A worker that dies is replaced; a signal stops all of them, each
 * as it would stop alone. A supervisor that dies takes its workers with it: they see that it is gone.
 */
export async function superviseWorkers({
  workers,
  settings,
  metrics,
  logger,
  beatMs = BEAT_MS,
}: Supervision): Promise<void> {
  const supervisor = new Supervisor(workers, metrics, logger);
  stopOnSignals({
    logger,
    stop: (signal) => supervisor.stop(signal, settings.STOP_DEADLINE_MS + ENDED_AFTER_MS),
    timeoutMs: settings.STOP_DEADLINE_MS + STOP_GRACE_MS + MORE_GRACE_MS,
  });
  await serveMetrics(() => supervisor.readMetrics(), settings, logger);
  supervisor.start(beatMs);
}

class Supervisor {
  private readonly places: Place[];
  private isStopping = false;
  /** Before the first one listens, a worker that ends by itself has said what is wrong with the settings. */
  private hasListened = false;
  private lastId = 0;
  private readonly counts = new WorkerCounts();
  private reading: Promise<MetricsText> | null = null;
  private beat: NodeJS.Timeout | null = null;

  constructor(
    workers: number,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {
    this.places = Array.from({ length: workers }, (_, at) => ({
      ...{ index: at + 1, worker: null, startedMs: 0, isListening: false, unanswered: 0, failures: 0, timer: null },
    }));
    metrics.gauge({ name: 'program_workers', help: 'Processes of this program that run' }, (gauge) =>
      gauge.set(this.running.length),
    );
  }

  private get running(): Worker[] {
    return this.places.flatMap(({ worker }) => (worker ? [worker] : []));
  }

  start(beatMs: number): void {
    for (const place of this.places) this.fork(place);
    this.beat = setInterval(() => this.askAll(), beatMs);
    this.logger.info({ workers: this.places.length }, 'workers were started');
  }

  /** @throws when a worker did not end as it should */
  async stop(signal: NodeJS.Signals, withinMs: number): Promise<void> {
    this.isStopping = true;
    for (const { timer } of this.places) clearTimeout(timer ?? undefined);
    clearInterval(this.beat ?? undefined);
    const ends = this.places.flatMap(({ worker, isListening }) =>
      worker ? [isListening ? codeOf(worker) : endOf(worker)] : [],
    );
    for (const worker of this.running) worker.process.kill(signal);
    const late = setTimeout(() => this.endLate(), withinMs);
    const codes = await Promise.all(ends);
    clearTimeout(late);
    if (codes.some((code) => code !== 0)) throw new Error(`workers ended with ${codes.join(', ')}`);
  }

  private endLate(): void {
    for (const worker of this.running) {
      this.logger.error({ pid: worker.process.pid }, 'a worker did not stop in time, it is ended');
      worker.process.kill('SIGKILL');
    }
  }

  /**
   * A worker that stands still (a loop without an end, a stopped process) dies by itself no more than it answers: those who are connected to
   * it would wait for ever.
   */
  private askAll(): void {
    for (const place of this.places) {
      const { worker } = place;
      if (!worker || !place.isListening) continue;
      if (place.unanswered < MOST_UNANSWERED) {
        place.unanswered += 1;
        if (worker.isConnected()) worker.send({ fiscal: 'are-you-there', id: 0 } satisfies WorkerMessage);
        continue;
      }
      this.logger.error({ worker: place.index, unanswered: place.unanswered }, 'a worker stands still, it is ended');
      worker.process.kill('SIGKILL');
    }
  }

  /** What all workers count, and this process itself, added up (or the largest or smallest, where a metric says so). */
  readMetrics(): Promise<MetricsText> {
    // Scrapes that come together share one reading: however many ask, the workers are asked once at a time.
    this.reading ??= this.addUp().finally(() => (this.reading = null));
    return this.reading;
  }

  private async addUp(): Promise<MetricsText> {
    const answers = await Promise.all(this.running.map((worker) => this.readOne(worker)));
    const own = await this.metrics.registry.getMetricsAsJSON();
    const gauges = answers.map((answer) => answer?.filter(isGauge) ?? []);
    return readRegistry(AggregatorRegistry.aggregate([...gauges, ...(await this.counts.parts()), own]));
  }

  private fork(place: Place): void {
    cluster.setupPrimary({ args: [workerArgument(place.index)] });
    const worker = cluster.fork();
    place.worker = worker;
    place.startedMs = performance.now();
    place.timer = null;
    place.isListening = false;
    place.unanswered = 0;
    worker.once('listening', () => {
      this.hasListened = true;
      place.isListening = true;
    });
    worker.on('message', (message: unknown) => {
      place.unanswered = 0;
      this.answer(worker, message);
    });
    worker.on('error', (error) =>
      this.logger.warn({ err: error, worker: place.index }, 'a worker could not be reached'),
    );
    worker.once('exit', (code: number | null, signal: string | null) => {
      this.counts.end(worker.id);
      this.ended(place, code, signal);
    });
  }

  private ended(place: Place, code: number | null, signal: string | null): void {
    place.worker = null;
    if (this.isStopping) return;
    if (!this.hasListened && code === 1) process.exit(1);
    const livedMs = performance.now() - place.startedMs;
    place.failures = livedMs > LIVED_LONG_MS ? 0 : place.failures + 1;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, place.failures - 1));
    this.logger.error({ worker: place.index, code, signal, pause_ms: pauseMs }, 'a worker died, another one follows');
    this.metrics.workerRestarts.inc();
    place.timer = setTimeout(() => this.fork(place), pauseMs);
  }

  private answer(worker: Worker, message: unknown): void {
    if (!isWorkerMessage(message) || message.fiscal !== 'read-all') return;
    const { id } = message;
    this.readMetrics().then(
      (all) => worker.isConnected() && worker.send({ fiscal: 'all', id, ...all } satisfies WorkerMessage),
      (error: unknown) => this.logger.warn({ err: error }, 'the metrics of the workers were not added up'),
    );
  }

  /** Null: it does not answer in time, or has gone. */
  private readOne(worker: Worker): Promise<MetricObject[] | null> {
    this.lastId += 1;
    const id = this.lastId;
    return new Promise((resolve) => {
      const end = (metrics: MetricObject[] | null): void => {
        clearTimeout(timer);
        worker.off('message', onMessage);
        worker.off('exit', onExit);
        resolve(metrics);
      };
      const onMessage = (message: unknown): void => {
        if (!isWorkerMessage(message) || message.id !== id) return;
        if (message.fiscal === 'own') {
          this.counts.keep(worker.id, message.metrics);
          end(message.metrics);
        }
        if (message.fiscal !== 'failed') return;
        this.logger.warn({ reason: message.reason }, 'the metrics of a worker were not read');
        end(null);
      };
      const onExit = (): void => end(null);
      const timer = setTimeout(() => end(null), READ_TIMEOUT_MS);
      worker.on('message', onMessage);
      worker.once('exit', onExit);
      if (!worker.isConnected()) return end(null);
      worker.send({ fiscal: 'read-own', id } satisfies WorkerMessage);
    });
  }
}

/** Null: a signal has ended it. Not by `once`, which an error of the channel to the worker would end early. */
function codeOf(worker: Worker): Promise<number | null> {
  return new Promise((resolve) => worker.once('exit', (code: number | null) => resolve(code)));
}

/** Of one that does not listen yet: the signal itself may have ended it, which is well, too. */
async function endOf(worker: Worker): Promise<number> {
  return (await codeOf(worker)) ?? 0;
}
