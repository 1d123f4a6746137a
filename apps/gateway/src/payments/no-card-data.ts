import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { holdsCardNumber, Problem, type ProblemError } from '#runtime';
import { PROVIDER_PATH } from './inbound/provider-bodies.js';

const API_PATH = '/v1/';
/** Fields of a card, whatever they hold. */
const CARD_FIELDS = /^(card_?number|pan|cvc2?|cvv2?)$/i;
/** Numbers of another kind, with forms of their own. */
const OWN_NUMBERS: ReadonlySet<string> = new Set(['spic', 'barcode', 'labels', 'package_code']);
const MAX_DEPTH = 12;
/** So many are named; one would be enough. */
const MAX_FAULTS = 20;

/**
 * No card number and no CVC comes into the API, in whatever field somebody puts it: it is refused before anything reads, stores or logs
 * the body, and the answer names the place and not the number. Calls of providers have forms of their own and are not looked
 * through.
 */
@Injectable()
export class NoCardData implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('preValidation', (request, _reply, done) => {
      const isLookedAt = request.url.startsWith(API_PATH) && !request.url.startsWith(PROVIDER_PATH);
      const faults: ProblemError[] = [];
      if (isLookedAt) look(request.body, '', { depth: 0, faults });
      done(faults.length > 0 ? Problem.fromErrors(faults) : undefined);
    });
  }
}

function look(value: unknown, pointer: string, at: { depth: number; faults: ProblemError[] }): void {
  if (typeof value === 'string') {
    if (holdsCardNumber(value)) tell(pointer, at.faults);
    return;
  }
  if (typeof value !== 'object' || value === null || at.depth > MAX_DEPTH || at.faults.length >= MAX_FAULTS) return;
  const deeper = { depth: at.depth + 1, faults: at.faults };
  for (const [name, item] of Object.entries(value)) {
    const place = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (CARD_FIELDS.test(name)) tell(place, at.faults);
    // A name that is a card number is not repeated either.
    else if (holdsCardNumber(name)) tell(pointer, at.faults);
    else if (!OWN_NUMBERS.has(name)) look(item, place, deeper);
  }
}

function tell(pointer: string, faults: ProblemError[]): void {
  const detail = 'This looks like card data; send a token of the provider instead.';
  faults.push({ pointer, code: 'card_data_refused', detail });
}
