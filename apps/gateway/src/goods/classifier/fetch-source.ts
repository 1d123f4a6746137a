import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { UnreadableFile } from '../sheets/sheet-row.js';

/** A source did not give what was asked for; the message is for the operator. */
export class SourceFailed extends Error {
  override readonly name = 'SourceFailed';
}

export const DEFAULT_PAUSES_MS: readonly number[] = [1_000, 5_000, 30_000];
const MAX_FILE_BYTES = 1024 ** 3;
const MAX_PAGE_BYTES = 64 * 1024 ** 2;
const FILE_TIMEOUT_MS = 15 * 60_000;
const PAGE_TIMEOUT_MS = 60_000;

/** Downloads to a file, again after each pause. @throws SourceFailed */
export async function fetchFile(url: string, path: string, pausesMs = DEFAULT_PAUSES_MS): Promise<void> {
  await withRetries(pausesMs, async () => {
    const response = await get(url, FILE_TIMEOUT_MS);
    if (!response.body) throw new SourceFailed(`${shown(url)} answered nothing.`);
    await pipeline(Readable.fromWeb(response.body), bounded(MAX_FILE_BYTES, url), createWriteStream(path));
  });
}

/** A page of JSON, again after each pause. @throws SourceFailed */
export async function fetchJson(url: string, pausesMs = DEFAULT_PAUSES_MS): Promise<unknown> {
  return withRetries(pausesMs, async () => {
    const response = await get(url, PAGE_TIMEOUT_MS);
    if (!response.body) throw new SourceFailed(`${shown(url)} answered nothing.`);
    const chunks: Buffer[] = [];
    const bytes = Readable.fromWeb(response.body).compose(bounded(MAX_PAGE_BYTES, url)) as AsyncIterable<Buffer>;
    for await (const chunk of bytes) chunks.push(chunk);
    try {
      return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw new SourceFailed(`${shown(url)} answered something else than JSON.`, { cause: error });
    }
  });
}

async function withRetries<T>(pausesMs: readonly number[], get: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await get();
    } catch (error) {
      const pauseMs = pausesMs[tries];
      if (error instanceof UnreadableFile) throw error;
      if (pauseMs === undefined) throw failed(error);
      await delay(pauseMs);
    }
  }
}

async function get(url: string, timeoutMs: number): Promise<Response> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (response.ok) return response;
  await response.body?.cancel();
  throw new SourceFailed(`${shown(url)} answered ${response.status}.`);
}

function bounded(maxBytes: number, url: string): (source: AsyncIterable<Buffer>) => AsyncGenerator<Buffer> {
  return async function* (source) {
    let bytes = 0;
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new SourceFailed(`${shown(url)} answers more than ${maxBytes} bytes.`);
      yield chunk;
    }
  };
}

function failed(error: unknown): SourceFailed {
  if (error instanceof SourceFailed) return error;
  return new SourceFailed(`The source cannot be reached: ${error instanceof Error ? error.message : String(error)}`, {
    cause: error,
  });
}

/** Without what may be secret. */
function shown(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
