import { ApiProblem, problemOf } from './problem.js';

export type QueryValue = string | number | boolean | null | undefined;

export interface Call {
  method: string;
  /** Already filled in: ids are encoded by `fillPath`. */
  path: string;
  query?: object | undefined;
  /** JSON, unless it is a Blob. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** What the application does when a call needs a person: each answers whether the call should be repeated. */
export interface CallHooks {
  /** The session has ended: the person logs in again, over the screen that stays as it is. */
  logIn: () => Promise<boolean>;
  /** A fresh second factor is asked for. */
  stepUp: () => Promise<boolean>;
}

interface CallState {
  hooks: CallHooks | null;
  language: string;
  merchantId: string | null;
}

/** What every call carries; set by the session and the language switch. */
export const callState: CallState = { hooks: null, language: 'en', merchantId: null };

const SAFE = new Set(['GET', 'HEAD']);
/** Without a key or a pointer for so long, what the screens read by themselves does not keep a session alive. */
const AWAY_AFTER_MS = 60_000;
let lastActivity = Date.now();

/** Called once, by the page. */
export function watchActivity(): void {
  for (const type of ['pointerdown', 'keydown', 'wheel'] as const) {
    addEventListener(type, () => (lastActivity = Date.now()), { passive: true, capture: true });
  }
}

/**
 * Sends one call and answers with a 2xx. A session that has ended and a second factor that has grown old are asked for, once each,
 * and the call is repeated as it was: nothing has been done by a call that was refused so.
 * @throws ApiProblem for everything else
 */
export async function send(call: Call): Promise<Response> {
  const asked = { logIn: false, stepUp: false };
  for (;;) {
    const response = await exchange(call);
    if (response.ok) return response;
    const problem = await problemOf(response);
    const wanted = wantedOf(problem);
    if (wanted === null || asked[wanted] || callState.hooks === null) throw problem;
    asked[wanted] = true;
    if (!(await callState.hooks[wanted]())) throw problem;
  }
}

/** The JSON of the answer; `undefined` for 204. */
export async function sendForJson<T>(call: Call): Promise<T> {
  const response = await send(call);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

/** Paths of the session itself: their 401 is an answer, not the end of a session. */
export async function sendBare(call: Call): Promise<Response> {
  const response = await exchange(call);
  if (response.ok) return response;
  throw await problemOf(response);
}

/** `/v1/devices/{id}` and its names, each encoded. */
export function fillPath(template: string, names: Readonly<Record<string, string>> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = names[name];
    if (value === undefined || value === '') throw new Error(`no ${name} for ${template}`);
    return encodeURIComponent(value);
  });
}

function wantedOf({ status, code }: ApiProblem): keyof CallHooks | null {
  if (status === 401) return 'logIn';
  return status === 403 && code === 'step_up_needed' ? 'stepUp' : null;
}

async function exchange({ method, path, query, body, headers, signal }: Call): Promise<Response> {
  try {
    return await fetch(path + queryText(query), {
      method,
      headers: { ...ownHeaders(method, path), ...bodyHeaders(body), ...headers },
      body: body === undefined ? null : body instanceof Blob ? body : JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiProblem(0, 'network', error instanceof Error ? error.message : String(error), { retryable: true });
  }
}

function ownHeaders(method: string, path: string): Record<string, string> {
  const { language, merchantId } = callState;
  return {
    accept: 'application/json',
    'accept-language': language,
    ...(merchantId !== null && path.startsWith('/v1/') && { 'fgw-merchant': merchantId }),
    ...(!SAFE.has(method) && { 'fgw-console': '1' }),
    ...(Date.now() - lastActivity > AWAY_AFTER_MS && { 'fgw-background': '1' }),
  };
}

function bodyHeaders(body: unknown): Record<string, string> {
  if (body === undefined || body instanceof Blob) return {};
  return { 'content-type': 'application/json' };
}

function queryText(query: object | undefined): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}) as [string, QueryValue][]) {
    if (value !== undefined && value !== null && value !== '') given.set(name, String(value));
  }
  return given.size === 0 ? '' : `?${given.toString()}`;
}
