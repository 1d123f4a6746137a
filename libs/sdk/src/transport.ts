import { accessTokensOf, type AccessTokens, type TokenRequest } from './access-tokens.js';
import { bytesOf, type Bytes } from './bytes.js';
import { sleep } from './clock.js';
import { ConnectionError, OAuthError, ProblemError } from './errors.js';
import { exchange, type OneRequest, type Outcome } from './exchange.js';
import type { AccessToken, Hooks, RequestInfo, ResponseInfo, Settings } from './options.js';
import { mayRetry, pauseMs, type RetryOptions } from './retry.js';
import { signRequest } from './signing/sign-request.js';
import { openSigningKey, type SigningKey } from './signing/signing-key.js';
import { VERSION } from './version.js';

export interface CallOptions {
  /** Ends the call and its retries. Of a write that was under way it is then not known whether it was done. */
  signal?: AbortSignal | undefined;
  /** In place of the client's. */
  retry?: Partial<RetryOptions> | undefined;
  attemptTimeoutMs?: number | undefined;
}

export interface Call {
  method: string;
  /** From the base address, with the query. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: Bytes | null;
  /** Twice has the effect of once. */
  isRepeatable: boolean;
  idempotencyKey?: string | null;
  /** Seconds for which the gateway may hold the answer back. */
  waitS?: number | undefined;
  read: OneRequest['read'];
  /** Without a token, and so unsigned: what is public. */
  isPublic?: boolean;
  options?: CallOptions | undefined;
}

/** What one attempt sends. */
interface Prepared {
  headers: Record<string, string>;
  body: Bytes | null;
  token: string | null;
}

type Failed = Exclude<Outcome, { kind: 'done' }>;
type Unanswered = Omit<Extract<Outcome, { kind: 'no_answer' }>, 'kind'>;
type Answered = Omit<Extract<Outcome, { kind: 'done' }>, 'kind'>;

const REFUSED_TOKEN = new Set(['invalid_token', 'unauthenticated']);
const IS_READ = /^(GET|HEAD)$/;

/** Carries a call through attempts until it is answered, refused for good, or given up. */
export class Transport {
  readonly tokens: AccessTokens;
  readonly #settings: Settings;
  #signingKey: Promise<SigningKey> | null = null;

  constructor(settings: Settings) {
    this.#settings = settings;
    const { credentials, baseUrl } = settings;
    this.tokens = accessTokensOf(credentials, `${baseUrl}/oauth/token`, (make) => this.#fetchToken(make));
  }

  /** The answer's JSON, or the answer itself where the call wants to read it. */
  readonly send = async (call: Call): Promise<unknown> => {
    const url = new URL(this.#settings.baseUrl + call.path);
    const outcome = await this.#repeat(call, url, () => this.#prepare(call, url));
    if (outcome.kind === 'done') return outcome.value;
    throw this.#errorOf(outcome, call);
  };

  /**
   * @param prepare makes what an attempt sends: each one is signed anew, because a nonce counts once
   * @returns the last attempt's outcome
   */
  async #repeat(call: Call, url: URL, prepare: () => Promise<Prepared>): Promise<Outcome & { attempts: number }> {
    const settings = this.#settings;
    const retry = { ...settings.retry, ...call.options?.retry };
    const timeoutMs = (call.options?.attemptTimeoutMs ?? settings.attemptTimeoutMs) + (call.waitS ?? 0) * 1000;
    const signal = call.options?.signal;
    const begunMs = performance.now();
    let hasNewToken = false;
    let isLost = false;
    for (let attempts = 1; ; attempts += 1) {
      let prepared: Prepared;
      try {
        prepared = await prepare();
      } catch (cause) {
        signal?.throwIfAborted();
        // Without a token nothing is sent, and what was sent before may have been done: both are the call's own fate.
        if (isLost || cause instanceof ConnectionError) return { kind: 'no_answer', cause, attempts };
        throw cause;
      }
      const { token, headers } = prepared;
      const info = this.#begin(call, url, attempts);
      if (info.traceparent !== null) headers['traceparent'] = info.traceparent;
      const sentMs = performance.now();
      const { method, read } = call;
      const outcome = await exchange(settings.fetch, { ...prepared, method, url, timeoutMs, signal, read });
      const response = responseInfo(info, outcome, performance.now() - sentMs);
      this.#notify('onResponse', response);
      if (outcome.kind === 'done') return { ...outcome, attempts };
      isLost ||= outcome.kind === 'no_answer';
      if (!hasNewToken && token !== null && isTokenRefused(outcome)) {
        this.tokens.forget(token);
        hasNewToken = true;
        continue;
      }
      const waitMs = pauseBefore(outcome, call.isRepeatable, {
        retry,
        attempts,
        elapsedMs: performance.now() - begunMs,
      });
      if (waitMs === null) return { ...outcome, attempts };
      this.#notify('onRetry', { ...response, waitMs });
      await sleep(waitMs, signal);
    }
  }

  async #prepare(call: Call, url: URL): Promise<Prepared> {
    const { method, idempotencyKey = null, body = null } = call;
    const headers: Record<string, string> = {
      accept: 'application/json',
      // Pages in browsers name themselves.
      ...(!('document' in globalThis) && { 'user-agent': `fiscal-gateway-sdk/${VERSION}` }),
      ...call.headers,
    };
    if (idempotencyKey !== null) headers['idempotency-key'] = idempotencyKey;
    if (call.isPublic) return { headers, body, token: null };
    const token = await this.tokens.get(call.options?.signal);
    headers['authorization'] = `Bearer ${token}`;
    const { signing } = this.#settings;
    if (signing !== null && (signing.requests === 'all' || !IS_READ.test(method))) {
      this.#signingKey ??= openSigningKey(signing);
      Object.assign(headers, await signRequest({ method, url, headers, body }, signing.keyId, await this.#signingKey));
    }
    return { headers, body, token };
  }

  async #fetchToken(make: () => Promise<TokenRequest>): Promise<AccessToken> {
    const path = '/oauth/token';
    const call: Call = { method: 'POST', path, isRepeatable: true, read: 'json', isPublic: true };
    const url = new URL(this.#settings.baseUrl + path);
    const outcome = await this.#repeat(call, url, async () => {
      const { form, headers } = await make();
      const body = bytesOf(new URLSearchParams(form).toString());
      const type = { 'content-type': 'application/x-www-form-urlencoded' };
      return this.#prepare({ ...call, body, headers: { ...type, ...headers } }, url);
    });
    if (outcome.kind !== 'done') throw oauthErrorOf(outcome) ?? this.#errorOf(outcome, call);
    const { access_token: accessToken, expires_in: expiresIn, scope } = outcome.value as Record<string, string>;
    return { accessToken: String(accessToken), expiresIn: Number(expiresIn), scopes: scope?.split(' ') ?? [] };
  }

  #begin(call: Call, url: URL, attempt: number): RequestInfo {
    const traceparent = this.#settings.traceparent() ?? null;
    const path = url.pathname + url.search;
    const info = { method: call.method, path, attempt, idempotencyKey: call.idempotencyKey ?? null, traceparent };
    this.#notify('onRequest', info);
    return info;
  }

  /** A hook must not turn a sale that was made into an error. */
  #notify<Name extends keyof Hooks>(name: Name, info: Parameters<NonNullable<Hooks[Name]>>[0]): void {
    (async () => await this.#settings.hooks[name]?.(info as never))().catch((error: unknown) => {
      // eslint-disable-next-line no-console -- the caller's own code failed, and there is no other way to report it
      console.error(`fiscal-gateway: the hook ${name} failed`, error);
    });
  }

  #errorOf(outcome: Failed & { attempts: number }, { method, path, idempotencyKey = null }: Call): Error {
    const what = `${method} ${path.split('?')[0]}`;
    if (outcome.kind === 'refused') return new ProblemError({ ...outcome, what, idempotencyKey });
    const { attempts, cause } = outcome;
    return new ConnectionError(`${what} brought no answer: ${reasonOf(cause)}`, { attempts, idempotencyKey, cause });
  }
}

/** `fetch failed` says nothing; the code of its cause does. */
function reasonOf(cause: unknown): string {
  const { message = String(cause), cause: inner } = (cause ?? {}) as Error & { cause?: { code?: string } | null };
  return inner?.code ? `${message} (${inner.code})` : message;
}

function isTokenRefused(outcome: Failed): boolean {
  return outcome.kind === 'refused' && outcome.status === 401 && REFUSED_TOKEN.has(outcome.problem?.code ?? '');
}

/** @returns null when no further attempt is made */
function pauseBefore(
  outcome: Failed,
  isRepeatable: boolean,
  { retry, attempts, elapsedMs }: { retry: RetryOptions; attempts: number; elapsedMs: number },
): number | null {
  if (attempts >= retry.attempts || !mayRetry(outcome, isRepeatable)) return null;
  const waitMs = pauseMs(retry, attempts, outcome.kind === 'refused' ? outcome.retryAfterMs : null);
  return elapsedMs + waitMs > retry.maxElapsedMs ? null : waitMs;
}

function responseInfo(info: RequestInfo, outcome: Outcome, durationMs: number): ResponseInfo {
  const { status = null, requestId = null, cause: error = null } = outcome as Partial<Answered & Unanswered>;
  return { ...info, status, requestId, durationMs, error };
}

function oauthErrorOf(outcome: Failed): OAuthError | null {
  if (outcome.kind !== 'refused') return null;
  const { error, error_description: description = '' } = (outcome.body ?? {}) as Record<string, unknown>;
  return typeof error === 'string' ? new OAuthError(error, outcome.status, String(description)) : null;
}
