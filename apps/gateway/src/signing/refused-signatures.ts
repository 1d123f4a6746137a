import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { systemClock, type Clock, type Logger, type Problem } from '#runtime';
import { AuditedChange } from '../audit/audited-change.js';
import type { AuthenticatedClient } from '../http/current-client.js';
import { LOGGER } from '../tokens.js';

const KINDS = 10_000;
/** One record per client, code and gateway within the time; the rest are counted. */
const WINDOW_MS = 600_000;

interface Refusals {
  sinceMs: number;
  untold: number;
}

/** Puts on the trail that a good token came with a bad signature: a stolen token looks like this. */
@Injectable()
export class RefusedSignatures {
  private readonly refusals = new LRUCache<string, Refusals>({ max: KINDS });
  private readonly clock: Clock = systemClock;

  constructor(
    private readonly changes: AuditedChange,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** A flood of refusals does not become a flood of records. Never rejects: the refusal stands all the same. */
  async record(
    { clientId, merchantId }: Pick<AuthenticatedClient, 'clientId' | 'merchantId'>,
    request: FastifyRequest,
    { code }: Problem,
  ): Promise<void> {
    const now = this.clock.monotonicMs();
    const kind = `${clientId} ${code}`;
    const known = this.refusals.get(kind);
    if (known && now - known.sinceMs < WINDOW_MS) {
      known.untold += 1;
      return;
    }
    this.refusals.set(kind, { sinceMs: now, untold: 0 });
    const address = isIP(request.ip) === 0 ? null : request.ip;
    const route = `${request.method} ${request.routeOptions.url ?? ''}`;
    const after = { refused: code, route, refused_before_without_record: known?.untold ?? 0 };
    const trail = { merchantId, actor: clientId, address, requestId: request.id };
    const record = { result: null, action: 'client.refuse_signature', targetId: clientId, before: null, after };
    try {
      await this.changes.execute(trail, () => Promise.resolve(record));
    } catch (error) {
      const at = { err: error, client_id: clientId, request_id: request.id };
      this.logger.error(at, 'a refused signature is not on the trail');
    }
  }
}
