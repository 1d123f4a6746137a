import type { IncomingMessage } from 'node:http';

/** So many chunks of a body may be of any size. */
const FREE_CHUNKS = 100;
/** What chunks beyond those must have on average: Node.js spends as long on a chunk of one byte as on thousands of bytes. */
const MIN_AVERAGE_BYTES = 16;

/** Cuts the connection of a request whose body comes in very many very small chunks. Call it when its head is there. */
export function refuseTinyChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  let chunks = 0;
  let bytes = 0;
  const push = request.push.bind(request);
  // Node.js hands each chunk over by this method while it still reads others: an event would come too late for those.
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (request.destroyed) return false;
    chunks += 1;
    bytes += chunk?.length ?? 0;
    if (chunks <= FREE_CHUNKS || bytes >= chunks * MIN_AVERAGE_BYTES) return push(chunk, encoding);
    request.destroy();
    return false;
  };
}
