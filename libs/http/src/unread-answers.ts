import type { FastifyInstance } from 'fastify';

/** Longer than any piece of a stream takes to be made: what is cut off is what lies there, and not what is waited for. */
const UNREAD_MS = 120_000;

/**
 * Ends the connection of a client that takes nothing of its answer. As long as its machine says that it is there, Node.js would wait for ever, and with
 * it what stands behind the answer: the place of an export, a stop of the program. A slow client is not cut off: each byte that it takes counts.
 */
export function endUnreadAnswers(fastify: FastifyInstance, unreadMs = UNREAD_MS): void {
  fastify.addHook('onSend', (_request, { raw }, _payload, done) => {
    raw.setTimeout(unreadMs, () => {
      // Nothing lies there: the next piece is still being made.
      if (raw.writableLength > 0) raw.destroy();
    });
    done();
  });
}
