import { UsageError } from './errors.js';
import { DEFAULT_RETRY, type RetryOptions } from './retry.js';
import type { PrivateKey, SigningOptions } from './signing/signing-key.js';

export interface AccessToken {
  accessToken: string;
  /** Seconds from now. */
  expiresIn: number;
  /** What it may be used for. */
  scopes?: readonly string[];
}

/** How the client proves who it is. A function brings a token from elsewhere, so that a program needs no secret. */
export type Credentials =
  | { clientId: string; clientSecret: string; scope?: string }
  | { clientId: string; privateKey: PrivateKey; /** Default: the token endpoint. */ audience?: string; scope?: string }
  | (() => Promise<AccessToken>);

export interface RequestInfo {
  method: string;
  /** With the query. */
  path: string;
  /** From 1; the retries of one call share their key. */
  attempt: number;
  idempotencyKey: string | null;
  traceparent: string | null;
}

export interface ResponseInfo extends RequestInfo {
  /** Null when there was no complete answer. */
  status: number | null;
  requestId: string | null;
  durationMs: number;
  error: unknown;
}

export interface RetryInfo extends ResponseInfo {
  waitMs: number;
}

/** For logs and metrics. They are called in the middle of a call; what they throw is printed and changes nothing. */
export interface Hooks {
  onRequest?: (info: RequestInfo) => unknown;
  onResponse?: (info: ResponseInfo) => unknown;
  onRetry?: (info: RetryInfo) => unknown;
}

export interface ClientOptions {
  /** `https://fiscal.example.uz`, with a path if the gateway stands below one. */
  baseUrl: string;
  /** Left out: only what is public can be called. */
  credentials?: Credentials;
  signing?: SigningOptions;
  retry?: Partial<RetryOptions>;
  /** For one attempt, without the time that a sale waits for its register (30 s by default). */
  attemptTimeoutMs?: number;
  hooks?: Hooks;
  /** Asked before each attempt; what it returns goes out as `traceparent` (W3C Trace Context). */
  traceparent?: () => string | undefined;
  /** In place of the runtime's own. */
  fetch?: typeof globalThis.fetch;
}

export interface Settings {
  baseUrl: string;
  credentials: Credentials | null;
  signing: SigningOptions | null;
  retry: RetryOptions;
  attemptTimeoutMs: number;
  hooks: Hooks;
  traceparent: () => string | undefined;
  fetch: typeof globalThis.fetch;
}

const ATTEMPT_TIMEOUT_MS = 30_000;

export function readOptions(options: ClientOptions): Settings {
  const { credentials = null, signing = null, hooks = {}, traceparent = () => undefined } = options;
  const { retry, attemptTimeoutMs = ATTEMPT_TIMEOUT_MS } = options;
  if (!/^https?:/.test(options.baseUrl) || !URL.canParse(options.baseUrl))
    throw new UsageError('baseUrl must be an http or https address.');
  const hasSecret = signing !== null || (credentials !== null && typeof credentials !== 'function');
  if (hasSecret && 'document' in globalThis) {
    throw new UsageError('A page in a browser must hold no secret: pass a function that brings a token.');
  }
  return {
    baseUrl: withoutTrailingSlashes(options.baseUrl),
    credentials,
    signing,
    retry: { ...DEFAULT_RETRY, ...retry },
    attemptTimeoutMs,
    hooks,
    traceparent,
    // Called as a method of something else, the browser's own refuses to work.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
  };
}

function withoutTrailingSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end -= 1;
  return url.slice(0, end);
}
