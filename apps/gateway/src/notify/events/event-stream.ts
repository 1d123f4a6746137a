import { Readable } from 'node:stream';
import { cursorOf, type EventPlace } from './event-cursor.js';
import { wants } from './event-patterns.js';
import { eventView, type EventRow } from './event-row.js';

/** What a client reads by, and how it is asked whether the client may still read. */
export interface StreamOptions {
  merchantId: string;
  place: EventPlace;
  patterns: readonly string[];
  subjectId: string | null;
  /** Whether the caller has the rights with which it began. */
  mayGoOn: () => Promise<boolean>;
}

/** How long a browser waits before it connects again, milliseconds. */
const RECONNECT_MS = 1_000;

/**
 * One client's server-sent events. At most one piece of the feed stands in memory: what follows is read when the client has taken it.
 * Each frame carries the cursor behind it, so that a client which connects again with it misses nothing and gets nothing twice.
 */
export class EventStream extends Readable {
  readonly merchantId: string;
  readonly openedAtMs = performance.now();
  readonly mayGoOn: () => Promise<boolean>;
  private place: EventPlace;
  private readonly patterns: readonly string[];
  private readonly subjectId: string | null;
  private isHungry = true;
  private writtenAtMs = performance.now();
  private takenAtMs = performance.now();
  /** Events were passed that the client does not want: its cursor is behind. */
  private isBehind = false;
  private isOver = false;

  constructor({ merchantId, place, patterns, subjectId, mayGoOn }: StreamOptions) {
    super({ highWaterMark: 64 * 1024 });
    this.merchantId = merchantId;
    this.place = place;
    this.patterns = patterns;
    this.subjectId = subjectId;
    this.mayGoOn = mayGoOn;
    this.write(`retry: ${RECONNECT_MS}\nid: ${cursorOf(place)}\n\n`);
  }

  get after(): bigint {
    return this.place.position;
  }

  /** Whether what follows may be given to it now. */
  get takesMore(): boolean {
    return this.isHungry && !this.isOver;
  }

  /** For how long the client has left what it was given. */
  get stalledMs(): number {
    return this.isHungry ? 0 : performance.now() - this.takenAtMs;
  }

  get silentMs(): number {
    return performance.now() - this.writtenAtMs;
  }

  /** @param rows what follows its place */
  give(rows: readonly EventRow[]): void {
    const last = rows.at(-1);
    if (!last || this.isOver) return;
    const frames = rows.filter((row) => this.isWanted(row)).map(frameOf);
    this.place = last;
    this.isBehind = frames.length === 0 || rows.findLast((row) => this.isWanted(row)) !== last;
    if (frames.length > 0) this.write(frames.join(''));
  }

  /** Keeps proxies from closing a silent connection, and the client's cursor at the place that was read. */
  beat(): void {
    if (!this.takesMore) return;
    this.write(this.isBehind ? `id: ${cursorOf(this.place)}\n\n` : ': heartbeat\n\n');
    this.isBehind = false;
  }

  /** The client connects again, here or at another gateway. */
  finish(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.push(null);
  }

  override _read(): void {
    this.isHungry = true;
    this.takenAtMs = performance.now();
  }

  private isWanted(row: EventRow): boolean {
    return (this.subjectId === null || row.subject_id === this.subjectId) && wants(this.patterns, row.type);
  }

  private write(text: string): void {
    this.writtenAtMs = performance.now();
    this.takenAtMs = this.writtenAtMs;
    this.isHungry = this.push(text);
  }
}

function frameOf(row: EventRow): string {
  return `id: ${cursorOf(row)}\nevent: ${row.type}\ndata: ${JSON.stringify(eventView(row))}\n\n`;
}
