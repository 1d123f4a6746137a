// Promise: what an alert adds up is there from the start of a program, so that the first burst of it counts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fastify } from 'fastify';
import { Metrics } from '#runtime';
import { observeRequests } from './observe-requests.js';

const ALERTS = join(import.meta.dirname, '..', '..', '..', 'ops', 'prometheus', 'alerts.yml');

test('refusals whose increase is watched begin at 0', async () => {
  const metrics = new Metrics('test');
  observeRequests(fastify(), metrics);
  const { text } = await metrics.read();
  const sums = [...readFileSync(ALERTS, 'utf8').matchAll(/http_problems_total\{code=~?"([^"]+)"\}/g)];
  const codes = sums.flatMap(([, listed = '']) => listed.split('|'));
  expect(codes).toEqual(
    expect.arrayContaining(['signature_invalid', 'invalid_token', 'forbidden', 'too_many_requests']),
  );
  for (const code of codes) expect(text).toMatch(new RegExp(`^http_problems_total\\{code="${code}",.*\\} 0$`, 'm'));
});
