import { appendFile, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { PrismaService } from '#database';
import type { Logger } from '#runtime';
import { PLATFORM } from '../http/roles.js';
import type { GatewaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import type { AuditHead } from './verify-audit-trail.js';

/** The first soon after the start, so that a short life leaves a trace too. */
const FIRST_AFTER_MS = 30_000;
const EVERY_MS = 3_600_000;
const PAGE = 500;

/** One line of AUDIT_HEAD_FILE, and the fields of the log line `audit head`. */
interface HeadLine {
  at: string;
  merchant_id: string;
  sequence: string;
  /** Hex. */
  hash: string;
}

/**
 * Publishes once an hour, outside the database, where each merchant's trail ends: as log lines, and appended to AUDIT_HEAD_FILE
 * when it is set. Nothing in a chain shows that its end was cut off; a head that was seen before does. Only heads that have
 * moved since this process published them last.
 */
@Injectable()
export class AuditHeads implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly published = new Map<string, string>();
  private readonly stopping = new AbortController();
  private running: Promise<void> | null = null;
  /** A head is evidence, no message: whatever LOG_LEVEL leaves out, the log has it. */
  private readonly evidence: Logger;

  constructor(
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'AUDIT_HEAD_FILE'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.evidence = logger.child({}, { level: 'info' });
  }

  onApplicationBootstrap(): void {
    this.running = this.run();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** @returns how many heads were published */
  async publish(): Promise<number> {
    let published = 0;
    for (let after = ''; ;) {
      const page = await this.readPage(after);
      const moved = page.filter(({ merchant_id, hash }) => this.published.get(merchant_id) !== hash);
      if (moved.length > 0) await this.write(moved);
      published += moved.length;
      const last = page.at(-1);
      if (!last || page.length < PAGE) return published;
      after = last.merchant_id;
    }
  }

  private async write(heads: readonly HeadLine[]): Promise<void> {
    const { AUDIT_HEAD_FILE: file } = this.settings;
    if (file !== undefined) await appendFile(file, heads.map((head) => `${JSON.stringify(head)}\n`).join(''));
    for (const head of heads) {
      this.evidence.info({ ...head }, 'audit head');
      this.published.set(head.merchant_id, head.hash);
    }
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    for (let pauseMs = FIRST_AFTER_MS; ; pauseMs = EVERY_MS) {
      await delay(pauseMs * (0.9 + Math.random() / 5), undefined, { signal, ref: false }).catch(() => 'stopped');
      if (signal.aborted) return;
      // A full disk or a database that is away: published again with the next hour's.
      await this.publish().catch((error: unknown) =>
        this.logger.error({ err: error }, 'audit heads could not be published'),
      );
    }
  }

  private readPage(after: string): Promise<HeadLine[]> {
    return this.prisma.$queryRaw<HeadLine[]>`
      SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS at, m.id AS merchant_id,
             head.sequence::text AS sequence, encode(head.hash, 'hex') AS hash
        FROM (SELECT id FROM merchants UNION ALL SELECT ${PLATFORM}) AS m
       CROSS JOIN LATERAL (SELECT sequence, hash FROM audit_records WHERE merchant_id = m.id
                            ORDER BY sequence DESC LIMIT 1) AS head
       WHERE m.id > ${after} ORDER BY m.id LIMIT ${PAGE}`;
  }
}

/**
 * The heads in a file of AUDIT_HEAD_FILE, by merchant.
 * @throws Error naming the line that is none; a last line without its end was cut off by a crash and is left out
 */
export async function readHeadFile(file: string): Promise<Map<string, AuditHead[]>> {
  const heads = new Map<string, AuditHead[]>();
  const lines = (await readFile(file, 'utf8')).split('\n');
  lines.pop();
  for (const [index, line] of lines.entries()) {
    const head = parseHead(line);
    if (head === null) throw new Error(`${file}, line ${index + 1}: not an audit head`);
    heads.set(head.merchantId, [...(heads.get(head.merchantId) ?? []), head]);
  }
  return heads;
}

function parseHead(line: string): (AuditHead & { merchantId: string }) | null {
  let parsed: Partial<Record<keyof HeadLine, unknown>> | null;
  try {
    parsed = JSON.parse(line) as typeof parsed;
  } catch {
    return null; // said by the caller, with the number of the line
  }
  const { merchant_id: merchantId, sequence, hash } = parsed ?? {};
  if (typeof merchantId !== 'string' || typeof sequence !== 'string' || typeof hash !== 'string') return null;
  if (!/^\d{1,18}$/.test(sequence) || !/^[0-9a-f]{64}$/.test(hash)) return null;
  return { merchantId, sequence: BigInt(sequence), hash: Buffer.from(hash, 'hex') };
}
