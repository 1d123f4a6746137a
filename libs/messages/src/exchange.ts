import type { Socket } from 'node:net';
import { storableJson, truncateText, isObject } from '#fiscal-domain';

export interface WireRequest {
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
}

export type WireAnswer =
  | { kind: 'answered'; status: number; text: string }
  /** No byte of the request left this machine. */
  | { kind: 'unsent'; detail: string }
  /** The request may have been read and done. */
  | { kind: 'unknown'; detail: string };

export interface SocketRequest {
  host: string;
  port: number;
  /** Whether the connection is going to be encrypted: others may only lead to listed networks. */
  isEncrypted: boolean;
}

/** How a provider's client reaches out; the caller bounds where to, for how long and how much. */
export interface Reach {
  /** One request, once, no redirects. */
  http(request: WireRequest): Promise<WireAnswer>;
  /** @throws Error when no connection came about */
  socket(request: SocketRequest): Promise<Socket>;
}

/** JSON of an answer; undefined for what is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(storableJson(text)) as unknown;
  } catch {
    // What cannot be read is an outcome of its own, not an error of ours.
    return undefined;
  }
}

export function textAt(value: unknown, key: string): string | null {
  const found = isObject(value) ? value[key] : undefined;
  if (typeof found === 'number') return String(found);
  return typeof found === 'string' && found !== '' ? found : null;
}

export function numberAt(value: unknown, key: string): number | null {
  const found = isObject(value) ? value[key] : undefined;
  if (typeof found === 'number' && Number.isFinite(found)) return found;
  return typeof found === 'string' && /^\d{1,9}$/.test(found) ? Number(found) : null;
}

const MAX_DETAIL = 200;

/** The beginning of what came back, in one line. */
export function briefly(text: string): string {
  return truncateText(text.replaceAll(/[\u0000-\u001f\u007f]+/g, ' ').trim(), MAX_DETAIL);
}
