// Promise: a refund whose COMMIT got no answer is there once or not at all, and a repeated request gets the true outcome.
import 'reflect-metadata';
import { SalesFixture, type SalesAnswer } from '../testing/sales-fixture.js';
import { CommitCutter, type Cut } from './testing/commit-cutter.js';

let fixture: SalesFixture;
let cutter: CommitCutter;

beforeAll(async () => {
  const through = async (databaseUrl: string): Promise<string> => {
    cutter = await CommitCutter.start(databaseUrl);
    return cutter.url;
  };
  fixture = await SalesFixture.start({}, through);
});
afterAll(async () => {
  await fixture?.stop();
  await cutter?.stop();
});

const outcome = ({ status, body }: SalesAnswer): string => `${status} ${body.code ?? body.status}`;

async function stored(saleId: string): Promise<string[]> {
  const rows = await fixture.gateway.prisma.receipt.findMany({ where: { refundOf: saleId }, orderBy: { id: 'asc' } });
  return rows.map(({ id }) => id);
}

test.each<[cuts: Cut[], first: string]>([
  [['after'], '202 accepted'],
  [['before'], '202 accepted'],
  [['after', 'after'], '202 accepted'],
  // Both tries of the gateway die: no caller is answered 2xx, and what is on disk is found by the next call.
  [['before', 'before'], '503 outcome_unclear'],
  [['before', 'after'], '503 outcome_unclear'],
])('the connection dies %p the commit', async (cuts, first) => {
  const saleId = await fixture.sell([fixture.item('bread', 1_000, '1.5'), fixture.item('bread', 104, '0.3')]);
  const key = `lost-commit-${cuts.join('-')}`;
  const ask = (): Promise<SalesAnswer> =>
    fixture.refund(saleId, { lines: [{ line: 1, qty: 1 }] }, { 'idempotency-key': key });
  cutter.cutCommitsOf(key, cuts);
  const answers = [await ask()];
  expect(outcome(answers[0]!)).toBe(first);
  // The second try of one that was committed meets its own row: it never comes to a second COMMIT.
  expect(cutter.pending).toBe(cuts[0] === 'after' ? cuts.length - 1 : 0);
  cutter.cutCommitsOf(key, []);
  answers.push(await ask(), await ask());
  expect(answers.slice(1).map(outcome)).toEqual(['202 accepted', '202 accepted']);
  const ids = new Set(answers.filter(({ status }) => status === 202).map(({ body }) => body.id));
  expect(await stored(saleId)).toEqual([...ids]);
  expect((await fixture.gateway.events([...ids][0]!)).map(({ type }) => type)).toEqual(['refund.accepted']);
  expect(await fixture.left(saleId)).toMatchObject({ total: 531, lines: [{ qty: 0.5 }, { qty: 0.3 }] });
  // The rest, and nothing more.
  expect((await fixture.refund(saleId)).body.total).toBe(531);
  expect(outcome(await fixture.refund(saleId))).toBe('409 nothing_left');
});
