// Promise: what a person writes beside a decision arrives with it, from either form of the file; nothing of it is left out in silence.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readDecision } from '../../operator/decision.js';
import { ResolveBody } from '../../operator/operator-bodies.js';
import { checked } from './checked.js';
import { readDecisions } from './decision-file.js';

const FLAGS = { confirm_unsettled: true, send_again: false };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'decisions-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function fieldsOf(name: string, text: string): Promise<Record<string, unknown>[]> {
  const file = join(folder, name);
  await writeFile(file, text);
  const found: Record<string, unknown>[] = [];
  for await (const { fields } of readDecisions(file)) found.push(fields);
  return found;
}

test.each([
  ['lines of JSON', 'a.jsonl', JSON.stringify({ attempt_id: 'att_1', decision: 'not_registered', ...FLAGS })],
  ['CSV', 'a.csv', 'attempt_id;decision;confirm_unsettled;send_again\natt_1;not_registered;true;false\n'],
])('%s: not registered, and not sent again either', async (_what, name, text) => {
  const [fields] = await fieldsOf(name, text);
  expect(fields).toEqual({ decision: 'not_registered', ...FLAGS });
  const decision = readDecision(checked(ResolveBody, { ...fields, reason: 'burnt; not at the OFD' }));
  expect(decision).toMatchObject({ kind: 'not_registered', sendsAgain: false, confirmUnsettled: true });
});

test('what is neither true nor false is refused, and not taken for either', async () => {
  const [fields] = await fieldsOf('b.csv', 'attempt_id;decision;send_again\natt_1;not_registered;no\n');
  expect(() => checked(ResolveBody, { ...fields, reason: 'burnt; not at the OFD' })).toThrow();
});
