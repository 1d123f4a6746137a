// Promise: every operation below /v1 has a method of its own in the SDK, and every list is one that `for await` goes through.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FiscalGateway } from '../index.js';
import { operationOf } from './resource.js';
import { RESOURCES } from './tables.js';

interface Operation {
  requestBody?: unknown;
  parameters?: { in: string }[];
  security?: Record<string, unknown>[];
  responses: Record<string, { content?: Record<string, { schema?: { $ref?: string; properties?: object } }> }>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties?: object }> };
}

const description = JSON.parse(readFileSync(join(process.cwd(), 'docs', 'openapi.json'), 'utf8')) as Description;
const folder = import.meta.dirname;
const sources = readdirSync(folder)
  .filter((file) => !file.endsWith('.spec.ts'))
  .map((file) => readFileSync(join(folder, file), 'utf8'))
  .join('\n');

const KINDS: Record<string, string> = { READ: 'GET', LIST: 'GET', FILE: 'GET', DO: 'POST' };
const CALLS: Record<string, string> = { list: 'LIST', download: 'FILE', upload: 'POST', repeat: 'POST' };

/** As `kind path`: from the tables, and from the methods that are written out. */
const lines = [
  ...Object.entries(RESOURCES).flatMap(([name, table]) =>
    Object.values<string>(table).map((line) => {
      const [kind, path] = operationOf(name, line);
      return { kind, path };
    }),
  ),
  ...[...sources.matchAll(/\.request\(\s*'([A-Z]+)',\s*'([^']+)'/g)].map(([, kind = '', path = '']) => ({
    kind,
    path,
  })),
  ...[...sources.matchAll(/\.(list|download|upload|repeat)\(\s*'([^']+)'/g)].map(([, call = '', path = '']) => ({
    kind: CALLS[call] ?? '',
    path,
  })),
];
const has = (method: string, path: string) =>
  lines.filter((line) => (KINDS[line.kind] ?? line.kind) === method && line.path === path);

/** Where payment providers call is not for us, nor what only a person in a browser may do. */
const operations = Object.entries(description.paths)
  .filter(([path]) => path.startsWith('/v1/') && !path.startsWith('/v1/providers/'))
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  .filter(({ operation }) => operation.security?.some((way) => 'oauth2' in way) === true);

function isList({ responses }: Operation): boolean {
  const schema = responses['200']?.content?.['application/json']?.schema;
  const name = schema?.$ref?.split('/').at(-1) ?? '';
  const properties = schema?.properties ?? description.components.schemas[name]?.properties ?? {};
  return 'data' in properties && 'next_cursor' in properties;
}

test('there are operations to check', () => {
  expect(operations.length).toBeGreaterThan(100);
  expect(operations.filter(({ operation }) => isList(operation)).length).toBeGreaterThan(20);
});

test('each operation has its method', () => {
  const missing = operations.filter(({ method, path }) => has(method, path).length === 0);
  expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});

test('each method calls an operation that there is', () => {
  const known = new Set(operations.map(({ method, path }) => `${method} ${path}`));
  expect(lines.filter(({ kind, path }) => !known.has(`${KINDS[kind] ?? kind} ${path}`))).toEqual([]);
});

test('each list is a list, and each line takes what its operation takes', () => {
  const wrong = operations.flatMap(({ method, path, operation }) =>
    has(method, path)
      .filter(({ kind }) => {
        if (isList(operation) !== (kind === 'LIST')) return true;
        if (kind === 'DO') return operation.requestBody !== undefined;
        return kind === 'GET' && (operation.parameters ?? []).some((one) => one.in === 'query');
      })
      .map(({ kind }) => `${kind} ${path}`),
  );
  expect(wrong).toEqual([]);
});

test('a line calls its operation with its names, its input and its options', async () => {
  const sent: string[] = [];
  const fetch = async (
    input: unknown,
    { method, body, signal }: { method: string; body?: Uint8Array; signal: AbortSignal },
  ) => {
    signal.throwIfAborted();
    const text = body ? new TextDecoder().decode(body) : '';
    sent.push(`${method} ${String(input).replace('https://gateway.test', '')} ${text}`.trimEnd());
    return Promise.resolve(Response.json({ data: [{ id: 'one' }], next_cursor: null }));
  };
  const credentials = () => Promise.resolve({ accessToken: 't', expiresIn: 900 });
  const fgw = new FiscalGateway({ baseUrl: 'https://gateway.test', credentials, fetch: fetch as never });
  for await (const one of fgw.clients.keys('cli/1', { limit: 2 })) expect(one).toEqual({ id: 'one' });
  await fgw.devices.task('dev_1', 'tsk_1');
  await fgw.devices.drain('dev_1');
  await fgw.clients.disableKey('cli_1', 'key_1');
  await fgw.branches.create({ code: 'north', name: 'North' });
  await fgw.reports.turnover({ by: 'day' }).first();
  await fgw.catalog.export({ format: 'csv' });
  await fgw.audit.verification({ limit: 5 });
  await fgw.catalog.import({ content: 'sku\n', contentType: 'text/csv' }, 'full');
  await expect(fgw.devices.get('dev_1', { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
  expect(sent.slice(0, 9)).toEqual([
    'GET /v1/clients/cli%2F1/keys?limit=2',
    'GET /v1/devices/dev_1/tasks/tsk_1',
    'POST /v1/devices/dev_1/drain',
    'DELETE /v1/clients/cli_1/keys/key_1',
    'POST /v1/branches {"code":"north","name":"North"}',
    'GET /v1/reports/turnover?by=day',
    'GET /v1/catalog/export?format=csv',
    'GET /v1/audit/verification?limit=5',
    'POST /v1/catalog/imports?mode=full sku',
  ]);
});
