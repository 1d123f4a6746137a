import { PROBLEMS, isProblemCode } from '#problems';
import type { RawAnswer } from './raw-http.js';

/** What a refusal must say; `faults` are its errors as "pointer code", all of them and no others. */
export interface ExpectedProblem {
  status: number;
  code: string;
  faults?: readonly string[];
}

const FIELDS = ['type', 'title', 'status', 'detail', 'code', 'retryable', 'request_id', 'errors'];
const POINTER = /^(\/([^~/]|~[01])*)*$/;

/** The exact shape of docs/errors.md, whatever the refusal is about. */
export function expectProblem(answer: RawAnswer, expected: ExpectedProblem): void {
  const document = JSON.parse(answer.text) as Record<string, unknown>;
  const { code, errors } = document;
  expect({ status: answer.status, code, faults: faultsOf(errors), text: answer.text }).toEqual({
    ...{ status: expected.status, code: expected.code, text: answer.text },
    faults: [...(expected.faults ?? faultsOf(errors))].sort(),
  });
  expect(answer.headers['content-type']).toMatch(/^application\/problem\+json(; charset=utf-8)?$/);
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(Object.keys(document).sort()).toEqual([...FIELDS].sort());
  if (!isProblemCode(expected.code)) throw new Error(`${expected.code} is not in the catalogue of problems`);
  const kind: { status: number; title: string; retryable: boolean; retryAfterSeconds?: number } =
    PROBLEMS[expected.code];
  expect(document).toMatchObject({
    type: `/docs/problems/${expected.code}`,
    title: kind.title,
    status: answer.status,
    retryable: kind.retryable,
    detail: expect.stringMatching(/./),
    request_id: answer.headers['x-request-id'],
  });
  expect(kind.status).toBe(answer.status);
  if (kind.retryAfterSeconds !== undefined) expect(answer.headers['retry-after']).toMatch(/^\d+$/);
  expectFaults(errors, expected.code);
}

function expectFaults(errors: unknown, code: string): void {
  if (!Array.isArray(errors)) throw new Error('errors is no list');
  for (const error of errors as Record<string, unknown>[]) {
    expect(
      Object.keys(error)
        .filter((field) => field !== 'rule')
        .sort(),
    ).toEqual(['code', 'detail', 'pointer']);
    expect(error['pointer']).toMatch(POINTER);
    expect(error['detail']).toMatch(/./);
    if (/^E-/.test(String(error['code']))) expect(error['rule']).toMatch(/^[A-Z_]+$/);
  }
  // Top-level `code` = the first one.
  if (errors.length > 0) expect((errors[0] as { code: unknown }).code).toBe(code);
}

export function faultsOf(errors: unknown): string[] {
  return (errors as { pointer: string; code: string }[]).map(({ pointer, code }) => `${pointer} ${code}`).sort();
}
