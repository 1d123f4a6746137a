import { connect, type Socket } from 'node:net';
import { guardedRequest, OutgoingGuard, parseCidr } from '#outgoing';
import type { Reach } from '../exchange.js';

/** As the gateway reaches out, with loopback allowed. */
export function loopbackReach(timeoutMs = 1_500): Reach {
  const parse = parseCidr('127.0.0.0/8');
  if (parse.kind === 'invalid') throw new Error(parse.reason);
  const guard = OutgoingGuard.forProviders([parse.cidr]);
  return {
    http: async (request) => {
      const answer = await guardedRequest(guard, { ...request, timeoutMs });
      switch (answer.kind) {
        case 'refused':
        case 'not_sent':
          return { kind: 'unsent', detail: answer.reason };
        case 'failed':
          return { kind: 'unknown', detail: answer.reason };
        case 'answered':
          return { kind: 'answered', status: answer.status, text: answer.body.toString('utf8') };
      }
    },
    socket: ({ port }) =>
      new Promise<Socket>((resolve, reject) => {
        const socket = connect({ host: '127.0.0.1', port });
        socket.once('connect', () => resolve(socket)).once('error', reject);
      }),
  };
}
