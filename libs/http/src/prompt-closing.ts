import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** How long a connection that has not been used yet may still bring its first request while the server closes. */
const FIRST_REQUEST_MS = 1_000;

/**
 * Lets a server close as soon as the requests in hand are answered. Node alone waits for three kinds of connections: one whose
 * answer was promised to be kept alive just before, until it times out; one that was opened ahead of its first request, for
 * ever; and one whose request was answered before its body came, until that is given up. Call it before routes are added.
 */
export function closePromptly(fastify: FastifyInstance): { isClosing(): boolean } {
  let closing = false;
  const unused = new Set<Socket>();
  fastify.server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  const unread = new Set<Socket>();
  fastify.server.on('request', (request, response) => {
    const { socket } = request;
    unused.delete(socket);
    response.once('finish', () => {
      if (request.complete) return;
      unread.add(socket);
      request.once('close', () => unread.delete(socket));
    });
  });
  fastify.addHook('preClose', (done) => {
    closing = true;
    const endUnused = (): void => {
      for (const socket of unused) if (socket.bytesWritten === 0) socket.destroy();
      for (const socket of unread) socket.destroy();
      // Those whose answer was on its way when the server searched for idle ones.
      fastify.server.closeIdleConnections();
    };
    const timer = setTimeout(endUnused, FIRST_REQUEST_MS);
    fastify.server.once('close', () => clearTimeout(timer));
    done();
  });
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) void reply.header('connection', 'close');
    done();
  });
  return { isClosing: () => closing };
}
