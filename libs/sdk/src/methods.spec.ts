// Promise: the README names every method of the client, and none that there is not.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FiscalGateway } from './index.js';

const README = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8');

function methodsOf(value: object): string[] {
  const prototype: unknown = Object.getPrototypeOf(value);
  const inherited = prototype === Object.prototype ? [] : Object.getOwnPropertyNames(prototype);
  const own = Object.entries(value).flatMap(([name, each]) => (typeof each === 'function' ? [name] : []));
  return [...own, ...inherited.filter((name) => name !== 'constructor')].sort();
}

test('the table of methods is that of the client', () => {
  const fgw = new FiscalGateway({
    baseUrl: 'https://fiscal.example',
    credentials: { clientId: 'c', clientSecret: 's' },
  });
  const resources = Object.entries(fgw).filter(
    (entry): entry is [string, object] => typeof entry[1] === 'object' && entry[1] !== null && entry[0] !== 'api',
  );
  const named = [...README.matchAll(/^\| `(\w+)` \| (`\w+`(?:, `\w+`)*) \|$/gm)].map(
    ([, resource = '', methods = '']) => [resource, methods.replaceAll('`', '').split(', ').sort()],
  );
  expect(Object.fromEntries(named)).toEqual(
    Object.fromEntries(resources.map(([name, resource]) => [name, methodsOf(resource)])),
  );
});
