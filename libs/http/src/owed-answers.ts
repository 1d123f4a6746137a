import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Requests that came whole and are not answered yet, by connection. Bytes behind one of them that are not HTTP (a body longer
 * than its Content-Length says, a second request that breaks) are no reason to answer it with an error: what is written to the
 * connection next is read as its answer, and a caller that reads "refused" for what was registered sends it again.
 */
export class OwedAnswers {
  private readonly bySocket = new WeakMap<Socket, Set<ServerResponse>>();
  private readonly ending = new WeakSet<Socket>();

  /** Call before the server listens. */
  watch(server: Server): void {
    // First in line: a handler may answer at once.
    server.prependListener('request', ({ socket }, response) => {
      const owed = this.bySocket.get(socket) ?? new Set();
      this.bySocket.set(socket, owed.add(response));
      response.once('close', () => owed.delete(response));
    });
  }

  /**
   * Call when a connection brings what is not HTTP. Answers that are owed go out, the last of them ends the connection.
   * @returns false when none is owed: the error itself is the answer
   */
  endAfterThem(socket: Socket): boolean {
    if (this.ending.has(socket)) return true;
    const last = [...(this.bySocket.get(socket) ?? [])].findLast(({ req }) => req.complete);
    if (!last) return false;
    this.ending.add(socket);
    last.shouldKeepAlive = false;
    last.once('close', () => socket.destroySoon());
    return true;
  }
}
