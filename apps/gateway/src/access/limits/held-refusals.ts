import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addressGroup } from '#outgoing';
import { FairSlots, systemClock, type FairSlotsOptions } from '#runtime';
import { clientOf } from '../../http/current-client.js';
import type { Rate } from '../../http/rate.js';
import { MemoryBuckets } from './token-bucket.js';

/** Refusals that are answered at once; a caller that heeds `Retry-After` never has more. */
const AT_ONCE: Rate = { requests: 20, seconds: 10 };
/** Every further one is answered after this time. */
const HELD_MS = 500;
/** Held at the same time, by client or address; beyond them a refusal is answered at once. About 10 KiB each. */
const HELD: FairSlotsOptions = { total: 2_048, perKey: 256, reserved: 256 };

/**
 * A refusal costs the gateway nearly as much as a small answer, and a caller that heeds none of them asks again at once: with few
 * connections it takes the processor from all others. Each connection of such a caller gets two refusals a second.
 */
@Injectable()
export class HeldRefusals implements OnModuleInit {
  private readonly refused = new MemoryBuckets(AT_ONCE, systemClock);
  private readonly held = new FairSlots(HELD);

  constructor(private readonly server: HttpAdapterHost) {}

  onModuleInit(): void {
    const fastify = this.server.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('onSend', (request, reply, payload, done) => {
      if (reply.statusCode === 429) this.hold(request, () => done(null, payload));
      else done(null, payload);
    });
  }

  private hold(request: FastifyRequest, answer: () => void): void {
    const key = clientOf(request)?.clientId ?? addressGroup(request.ip) ?? 'none';
    const release = this.refused.take(key).isAllowed ? null : this.held.tryTake(key);
    if (!release) {
      answer();
      return;
    }
    setTimeout(() => {
      release();
      answer();
    }, HELD_MS);
  }
}
