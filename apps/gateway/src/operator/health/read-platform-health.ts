import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { LANE_LOCK_SESSIONS, onBehalfOfAll, PrismaService } from '#database';
import { readBacklog } from '#ledger';
import { LaneBell } from '#queue';
import { GATEWAY_SESSIONS } from '../../notice-receiver.js';
import { shared } from '../overview/shared-reading.js';
import type { HealthProgram, HealthQueue, HealthRelay, PlatformHealth } from './platform-health-view.js';
import { PlatformHealthRepository, type SessionRow } from './platform-health.repository.js';

/** However many people keep the screen open, it is read once in so long. */
const KEPT_MS = 5_000;

/**
 * GET /v1/platform/health. Who runs is read from the sessions at the database, not from what programs last wrote about themselves: a
 * program that has ended has none.
 */
@Injectable()
export class ReadPlatformHealth {
  private readonly kept = new LRUCache<string, Promise<PlatformHealth>>({ max: 1, ttl: KEPT_MS });

  constructor(
    private readonly prisma: PrismaService,
    private readonly repository: PlatformHealthRepository,
    private readonly bell: LaneBell,
  ) {}

  execute(): Promise<PlatformHealth> {
    return shared(this.kept, 'now', () => onBehalfOfAll(() => this.read()));
  }

  /** One statement after the other: a screen takes one connection, not six. */
  private async read(): Promise<PlatformHealth> {
    const gateways = await this.repository.sessions(GATEWAY_SESSIONS);
    const relays = await this.repository.sessions(LANE_LOCK_SESSIONS);
    return {
      generated_at: new Date().toISOString(),
      gateways: gateways.map(programOf),
      relays: relays.map((row): HealthRelay => ({ ...programOf(row), lanes: row.lanes })),
      queue: await this.queue(),
      database: await this.repository.database(),
      tables: await this.repository.tables(),
    };
  }

  private async queue(): Promise<HealthQueue> {
    const backlog = await readBacklog(this.prisma);
    return {
      state: this.bell.state,
      lanes: backlog.lanes,
      receipts: backlog.waiting,
      oldest_receipt_seconds: Math.round(backlog.oldestSeconds),
      oldest_attempt_seconds: Math.round(backlog.oldestAttemptSeconds),
      unknown: backlog.unknown,
      overdue: await this.repository.overdue(),
    };
  }
}

function programOf({ address, since }: SessionRow): HealthProgram {
  return { address, since: since.toISOString() };
}
