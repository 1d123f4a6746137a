import { parsed, url } from '../settings.js';

/** Of every program. */
export const TRACING_SETTINGS = {
  /** Where spans are sent, by OTLP over HTTP. Unset: nothing is traced, and nothing of it is loaded. */
  TRACES_URL: url(['http', 'https']).optional(),
  TRACES_SAMPLE: parsed(readShare).default(0.01),
  TRACES_HEADERS: parsed(readHeaders).default({}),
};

function readShare(raw: string): number {
  const share = Number(raw);
  if (!/^\d+(?:\.\d+)?$/.test(raw) || share > 1) throw new Error('a share from 0 to 1');
  return share;
}

function readHeaders(raw: string): Readonly<Record<string, string>> {
  const headers = raw.split(',').map((pair) => /^\s*([A-Za-z0-9-]+)=([\u0021-\u007e]+)\s*$/.exec(pair));
  if (headers.some((match) => match === null)) throw new Error('a list such as authorization=…,x-tenant=…');
  return Object.fromEntries(headers.map((match) => [match?.[1]?.toLowerCase() ?? '', match?.[2] ?? '']));
}
