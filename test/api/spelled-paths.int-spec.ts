// Promise: what holds for a route holds however its path is spelled: card numbers are refused, tokens asked for, answers not kept.
import 'reflect-metadata';
import { rawCall } from '../system/raw-http.js';
import { ApiWorld } from './api-world.js';
import { apiDescription } from './api-document.js';

const CARD = '8600495473316478';

/** Each spells the same path; which of them the router takes for it is the router's business. */
const SPELLINGS: Readonly<Record<string, (path: string) => string>> = {
  'an escaped letter of the version': (path) => path.replace('/v1', '/%761'),
  'an escaped digit of the version': (path) => path.replace('/v1', '/v%31'),
  'all letters escaped': (path) => path.replaceAll(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  'escapes in upper case': (path) =>
    path.replaceAll(/[n-o]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`),
  'a doubled slash in front': (path) => `/${path}`,
  'a doubled slash inside': (path) => path.replace('/v1/', '/v1//'),
  'a dot segment': (path) => path.replace('/v1/', '/v1/./'),
  'two dots': (path) => `/x/..${path}`,
  'escaped dots': (path) => `/x/%2e%2e${path}`,
  'an escaped slash': (path) => path.replace('/v1/', '/v1%2F'),
  'capital letters': (path) => path.toUpperCase(),
  'a slash at the end': (path) => `${path}/`,
  'a semicolon': (path) => `${path};v=1`,
  'a query': (path) => `${path}?a=/healthz`,
  'a fragment': (path) => `${path}#/healthz`,
  'a back slash': (path) => path.replace('/v1/', '/v1\\'),
  'the absolute form': (path) => `http://gateway.test${path}`,
};

let world: ApiWorld;
beforeAll(async () => {
  world = await ApiWorld.start();
});
afterAll(() => world?.stop());

const json = ['content-type', 'application/json'];
const authorised = (): string[] => [...json, 'authorization', `Bearer ${world.allScopes}`];

describe.each(Object.entries(SPELLINGS))('%s', (_name, spell) => {
  test('a route with a body refuses a card number, or is not there', async () => {
    const bodied = apiDescription()
      .endpoints()
      .filter(({ scopes, operation }) => scopes !== null && operation.requestBody?.content['application/json']);
    expect(bodied.length).toBeGreaterThan(25);
    for (const { method, path } of bodied) {
      const spelled = spell(path.replaceAll(/\{\w+\}/g, 'x'));
      const answer = await rawCall(world.gateway.base, {
        ...{ method, path: spelled, headers: authorised(), body: JSON.stringify({ surprise: CARD }) },
      });
      const { code } = JSON.parse(answer.text) as { code: string };
      expect([spelled, ['card_data_refused', 'not_found', 'method_not_allowed', 'malformed_request']]).toEqual([
        spelled,
        expect.arrayContaining([code]),
      ]);
      expect(answer.text).not.toContain(CARD);
      expect(answer.headers['cache-control']).toBe('no-store');
    }
  });

  test('an answer of the API is kept by no cache, and needs a token', async () => {
    const path = spell('/v1/merchant');
    const own = await rawCall(world.gateway.base, { method: 'GET', path, headers: authorised() });
    expect([200, 400, 404]).toContain(own.status);
    expect(own.headers['cache-control']).toBe('no-store');
    const stranger = await rawCall(world.gateway.base, { method: 'GET', path, headers: [] });
    expect(stranger.status).toBe(own.status === 200 ? 401 : own.status);
  });

  test('a call of a provider is answered in its words whatever its body is, or has no path', async () => {
    const path = spell(`/v1/providers/payme/${world.ids.get('provider-accounts') ?? ''}`);
    const answer = await rawCall(world.gateway.base, {
      ...{ method: 'POST', path, headers: ['content-type', 'text/json'], body: '{"id":1' },
    });
    const { code, error } = JSON.parse(answer.text) as { code?: string; error?: { code: number } };
    expect([path, answer.status, code ?? error?.code]).toEqual([
      path,
      ...(answer.status === 200 ? [200, -32_504] : [404, 'not_found']),
    ]);
  });
});
