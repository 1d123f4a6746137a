/** One fault of a body or a query, with the field that it is about. */
export interface Fault {
  pointer: string;
  code: string;
  detail: string;
}

/** What the gateway refused, or could not do (RFC 9457); `network` and `unreadable` when there was no such answer. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';

  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly more: {
      faults?: readonly Fault[];
      requestId?: string | null;
      retryAfterSeconds?: number | null;
      approvalId?: string | null;
      retryable?: boolean;
    } = {},
  ) {
    super(`${status} ${code}: ${detail}`);
  }

  get faults(): readonly Fault[] {
    return this.more.faults ?? [];
  }
}

/** The problem document of an answer; a proxy's page and the like become a problem of the same kind. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const retryAfter = Number(response.headers.get('retry-after') ?? '');
  const retryAfterSeconds = Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : null;
  const body = await readObject(response);
  const text = (key: string): string | null => (typeof body[key] === 'string' ? body[key] : null);
  return new ApiProblem(response.status, text('code') ?? 'unreadable', text('detail') ?? text('title') ?? '', {
    faults: Array.isArray(body['errors']) ? body['errors'].flatMap(faultOf) : [],
    requestId: text('request_id'),
    approvalId: /^\/v1\/approvals\/(apr_[0-9a-z]+)$/.exec(response.headers.get('location') ?? '')?.[1] ?? null,
    retryable: body['retryable'] === true || response.status >= 500,
    retryAfterSeconds,
  });
}

async function readObject(response: Response): Promise<Record<string, unknown>> {
  try {
    const body: unknown = await response.json();
    return isObject(body) ? body : {};
  } catch {
    // Not ours: a proxy in between, or an answer that was cut off. The status says what is known.
    return {};
  }
}

function faultOf(entry: unknown): Fault[] {
  if (!isObject(entry)) return [];
  const { pointer, code, detail } = entry;
  if (typeof pointer !== 'string' || typeof detail !== 'string') return [];
  return [{ pointer, code: typeof code === 'string' ? code : '', detail }];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
