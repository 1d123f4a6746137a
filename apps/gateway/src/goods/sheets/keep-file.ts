import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isDiskFull } from './scratch-folders.js';
import { Problem } from '#problems';

/** @returns its bytes @throws Problem payload_too_large, service_unavailable */
export async function keepFile(body: Readable, path: string, maxBytes: number): Promise<number> {
  const file = createWriteStream(path);
  try {
    await pipeline(body, bounded(maxBytes), file);
    return file.bytesWritten;
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    throw new Problem('service_unavailable', 'There is no space left for the file.', { cause: error });
  }
}

function bounded(maxBytes: number): (source: AsyncIterable<Buffer>) => AsyncGenerator<Buffer> {
  return async function* (source) {
    let bytes = 0;
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new Problem('payload_too_large', `A file may have ${maxBytes} bytes at most.`);
      yield chunk;
    }
  };
}
