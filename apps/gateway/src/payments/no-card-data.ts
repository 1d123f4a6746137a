import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { Problem, type ProblemError } from '#problems';
import { holdsCardNumber } from '#secrets';
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
 * No card number and no CVC comes into the API, in whatever field it stands: it is refused before anything reads, stores or logs
 * the body, and the answer names the place and not the number. Calls of providers have forms of their own and are not searched.
 */
@Injectable()
export class NoCardData implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('preValidation', (request, _reply, done) => {
      const { url = '' } = request.routeOptions;
      const isSearched = url.startsWith(API_PATH) && !url.startsWith(PROVIDER_PATH);
      const faults = isSearched ? cardDataIn(request.body) : [];
      done(faults.length > 0 ? Problem.fromErrors(faults) : undefined);
    });
  }
}

/** @returns a fault for each place of a parsed body that holds card data, at most 20; none for a body that is still a stream */
export function cardDataIn(body: unknown): ProblemError[] {
  const faults: ProblemError[] = [];
  search(body, null, faults);
  return faults;
}

/** Where in the body; its pointer is only made when it has to be reported. */
interface Place {
  name: string;
  within: Place | null;
  depth: number;
}

function search(value: unknown, place: Place | null, faults: ProblemError[]): void {
  if (typeof value === 'string') {
    if (holdsCardNumber(value)) report(place, faults);
    return;
  }
  const depth = place?.depth ?? 0;
  if (!isParsed(value) || depth > MAX_DEPTH || faults.length >= MAX_FAULTS) return;
  for (const [name, item] of Object.entries(value)) {
    const inside = { name, within: place, depth: depth + 1 };
    if (CARD_FIELDS.test(name)) report(inside, faults);
    // A name that is a card number is not repeated either.
    else if (holdsCardNumber(name)) report(place, faults);
    else if (!OWN_NUMBERS.has(name)) search(item, inside, faults);
  }
}

/** A stream or its bytes are the business of the handler that reads them, and a stream leads to all of the server. */
function isParsed(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function report(place: Place | null, faults: ProblemError[]): void {
  const detail = 'This looks like card data; send a token of the provider instead.';
  faults.push({ pointer: pointerOf(place), code: 'card_data_refused', detail });
}

function pointerOf(place: Place | null): string {
  if (place === null) return '';
  return `${pointerOf(place.within)}/${place.name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
