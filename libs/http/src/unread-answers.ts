import type { FastifyInstance } from 'fastify';

/** Longer than any piece of a stream takes to be made: what is cut off is what lies there, and not what is waited for. */
const UNREAD_MS = 120_000;

/**
 * Ends the connection of a client that takes nothing of its answer. As long as its machine says that it is there, Node.js would wait for ever, and with
 * it what stands behind the answer: the place of an export, a stop of the program. A slow client is not cut off, unless it is slower than what the
 * kernel keeps for it: Node.js learns that something was taken when there is room for some hundred kilobytes again.
 *
 * @param unreadMs the connection ends when nothing was taken for so long twice in a row: after a stop of this process its timers are there before the
 *   news of what was taken meanwhile
 */
export function endUnreadAnswers(fastify: FastifyInstance, unreadMs = UNREAD_MS): void {
  fastify.addHook('onSend', (_request, { raw }, _payload, done) => {
    let lyingBefore: string | null = null;
    raw.setTimeout(unreadMs, () => {
      const { socket, writableLength } = raw;
      if (!socket) return;
      // Nothing lies there: the next piece is still being made, and begins the time anew.
      const lying = writableLength === 0 ? null : `${writableLength} behind ${socket.bytesWritten}`;
      if (lying !== null && lying === lyingBefore) raw.destroy();
      else if (lying !== null) socket.setTimeout(unreadMs);
      lyingBefore = lying;
    });
    // An answer behind this one on the same connection may be made for longer. Before Node.js sets how long an idle connection is kept.
    raw.prependOnceListener('finish', () => raw.socket?.setTimeout(0));
    done();
  });
}
