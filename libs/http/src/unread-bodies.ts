import type { IncomingMessage } from 'node:http';
import { Writable } from 'node:stream';
import type { FastifyInstance } from 'fastify';

/** An unread body of no more than this is taken from the connection, which stays open. */
const DISCARDED_BYTES = 64 * 1024;
/** How long a client that still sends has to read the answer. */
const LINGER_MS = 1_000;

/**
 * Bounds what a refused request costs after its answer. Node.js would read an unread body to its end, whatever its length, to keep
 * the connection; here a long one, or one of unknown length, is not read any further. The answer says that its connection ends
 * (RFC 9112, section 9.6): a client that keeps connections would else send its next call on it, and see that one cut.
 */
export function leaveUnreadBodies(fastify: FastifyInstance): void {
  fastify.addHook('onSend', ({ raw }, reply, _payload, done) => {
    if (!raw.complete && !isShort(raw)) {
      // A reader is attached that never asks for more: what Node.js would otherwise do at the end of the answer.
      if (raw.readableFlowing === null) raw.pipe(neverReady());
      void reply.header('connection', 'close');
      endLater(raw);
    }
    done();
  });
}

function isShort({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] === undefined && Number(length ?? 0) <= DISCARDED_BYTES;
}

/** Takes one piece, and does not say that it is done with it. */
function neverReady(): Writable {
  return new Writable({ highWaterMark: 1, write: () => undefined });
}

/**
 * Node.js calls this method after the last byte of an answer that ends its connection. By itself it closes at once: with bytes of the
 * client unread that is a reset, which may take the answer away from a client that has not read it yet.
 */
function endLater({ socket }: IncomingMessage): void {
  socket.destroySoon = (): void => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    timer.unref();
    socket.once('close', () => clearTimeout(timer));
  };
}
