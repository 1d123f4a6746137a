// Promise: the description of the API allows the idempotency keys that the gateway takes, and no others.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readIdempotencyKey } from './idempotency-key.js';

interface Described {
  paths: Record<string, { post?: { parameters?: { name: string; schema: { pattern: string; maxLength: number } }[] } }>;
}

const client = { clientId: 'cli_1', merchantId: 'mer_1', scopes: [], requireIdempotencyKey: false };
const document = JSON.parse(readFileSync(join(process.cwd(), 'docs', 'openapi.json'), 'utf8')) as Described;

test.each(['/v1/receipts', '/v1/receipts/{id}/refunds', '/v1/payments'])('%s: every character', (path) => {
  const described = document.paths[path]?.post?.parameters?.find(({ name }) => name === 'Idempotency-Key');
  const allows = (key: string): boolean =>
    described !== undefined &&
    new RegExp(described.schema.pattern).test(key) &&
    key.length <= described.schema.maxLength;
  const keys = Array.from({ length: 0x100 }, (_, code) => `sale${String.fromCharCode(code)}1`);
  const different = [...keys, '', 'k'.repeat(255), 'k'.repeat(256)].filter((key) => allows(key) !== takes(key));
  expect(different).toEqual([]);
});

function takes(key: string): boolean {
  try {
    return readIdempotencyKey(key, client) === key;
  } catch {
    return false;
  }
}
