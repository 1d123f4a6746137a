// Promise: a worker's own port announces only what it speaks, and answers from the moment on from which it accepts.
import Fastify from 'fastify';
import { OwnPort } from './own-port.js';
import { loadSettings, type RelaySettings } from './settings.js';

function settingsWith(more: Readonly<Record<string, string>>): RelaySettings {
  const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');
  return loadSettings({ DATABASE_URL: 'postgresql://u:p@127.0.0.1/fiscal', SECRETS_KEY, ...more });
}

test('https and several workers: refused, because the ports of workers have no TLS', () => {
  const https = { RELAY_URL: 'HTTPS://relay.example.uz:8081' };
  expect(() => settingsWith({ ...https, RELAY_WORKERS: '2' })).toThrow(/RELAY_URL.*RELAY_WORKERS/s);
  expect(settingsWith(https).RELAY_WORKERS).toBe(1);
  expect(settingsWith({ RELAY_URL: 'http://relay.example.uz:8081', RELAY_WORKERS: '2' }).RELAY_WORKERS).toBe(2);
});

test('503 before the program is built, its own answers afterwards', async () => {
  const loaded = settingsWith({ RELAY_URL: 'http://127.0.0.1:8081', RELAY_WORKERS: '2' });
  const port = await OwnPort.open(1, loaded);
  const app = Fastify().get('/healthz', () => ({ status: 'up' }));
  try {
    const url = `${port!.settingsOf(loaded).RELAY_URL!}/healthz`;
    const early = await fetch(url, { signal: AbortSignal.timeout(30_000) });
    expect([early.status, early.headers.get('retry-after'), early.headers.get('connection')]).toEqual([
      503,
      '1',
      'close',
    ]);
    await app.ready();
    port!.serve(app);
    const answer = await fetch(url, { signal: AbortSignal.timeout(30_000) });
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'up' }]);
  } finally {
    port!.close();
    await app.close();
  }
});
