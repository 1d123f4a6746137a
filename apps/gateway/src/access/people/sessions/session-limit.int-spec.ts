// Promise: how often a person who proves itself gets a session or a second factor is bounded: each stands on the platform's trail for ever.
import 'reflect-metadata';
import { createHash, randomBytes } from 'node:crypto';
import { PeopleRig, type RigAnswer } from '../testing/people-rig.js';

const LIMIT = { requests: 8, seconds: 600 };
let rig: PeopleRig;
let merchantId: string;

beforeAll(async () => {
  rig = await PeopleRig.start(1, { TOKEN_LIMIT: LIMIT });
  merchantId = await rig.createMerchant();
});
afterAll(() => rig?.stop());

test('sessions of a command line, one after the other without an end', async () => {
  const person = await rig.join('busy', ['owner'], merchantId);
  const another = await rig.join('another', ['owner'], merchantId);
  const answers: RigAnswer[] = [];
  for (let index = 0; index < LIMIT.requests + 2; index += 1) {
    const verifier = randomBytes(32).toString('base64url');
    const code_challenge = createHash('sha256').update(verifier).digest('base64url');
    const { body } = await person.post('/v1/session/terminal', { code_challenge });
    const { code } = body as unknown as { code: string };
    answers.push(await rig.browser().post('/auth/terminal/token', { code, code_verifier: verifier }, { page: {} }));
  }
  expect(answers[0]?.status).toBe(200);
  const last = answers.at(-1);
  expect([last?.status, last?.code]).toEqual([429, 'too_many_requests']);
  expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await person.stepUp()).code).toBe('too_many_requests');
  expect((await person.get('/v1/me')).status).toBe(200);
  expect((await another.stepUp()).status).toBe(200);
});
