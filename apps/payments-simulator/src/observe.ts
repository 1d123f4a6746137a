import type { FastifyInstance } from 'fastify';
import type { ProviderCode } from '#payments';

/** A call of the providers' protocols as it went over the wire, for tests to hold against the published documents. */
export interface SimExchange {
  provider: ProviderCode;
  by: 'us' | 'provider';
  method: string;
  /** Below the API's base. */
  path: string;
  request: unknown;
  status: number;
  answer: unknown;
}

export type Observe = (exchange: SimExchange) => void;

const BASES: readonly (readonly [ProviderCode, RegExp])[] = [
  ['payme', /^\/payme\/api/],
  ['click', /^\/click\/v2\/merchant/],
  ['multicard', /^\/multicard(?=\/(auth|payment))/],
  ['atmos', /^\/atmos/],
  ['octo', /^\/octo\/api/],
  ['stripe', /^\/stripe/],
  ['uzum', /^\/uzum\/(checkout(?=\/api)|fastpay|ofd)/],
];

/** What Stripe is to show beside an object is asked for in the query. */
function pathOf(provider: ProviderCode, path: string): string {
  return provider === 'stripe' ? path.split('?', 1).join('') : path;
}

/** Shows what merchants' servers asked and were answered: before a fault of the simulator's spoils the answer. */
export function observeCalls(server: FastifyInstance, observe: Observe, isSpoilt: (request: object) => boolean): void {
  server.addHook('preSerialization', (request, reply, answer, done) => {
    const [provider, base] = BASES.find(([, pattern]) => pattern.test(request.url)) ?? [];
    const method = (request.body as { method?: unknown } | null)?.method;
    // The merchant's page asks for its cards itself.
    const isOfPage = provider === 'payme' && typeof method === 'string' && method.startsWith('cards.');
    if (provider && base && !isOfPage && !isSpoilt(request))
      observe({
        ...{ provider, by: 'us', method: request.method, path: pathOf(provider, request.url.replace(base, '')) },
        ...{ request: request.body ?? null, status: reply.statusCode, answer },
      });
    done(null, answer);
  });
}
