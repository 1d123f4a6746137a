// Breaks if the register differs from the interface specification, or if a row of it has no proof.
import { withRegister, type TestRegister } from '../register-fixture.js';
import { sale } from '../samples.js';
import { CALL_PROOFS } from './call-proofs.js';
import { LIFE_PROOFS } from './life-proofs.js';
import { RULE_PROOFS, type Proof } from './rule-proofs.js';
import { ENDPOINTS, FIELDS, ROWS, type Row } from './specification.js';

const PROOFS: Partial<Record<Row, Proof>> = { ...RULE_PROOFS, ...CALL_PROOFS, ...LIFE_PROOFS };

describe('conformance: rows', () => {
  test.each(ROWS)('%s', async (row) => {
    const proof = PROOFS[row];
    if (!proof) throw new Error('this row of the specification has no proof');
    await proof();
  });
});

describe('conformance: every endpoint is there', () => {
  test.each(ENDPOINTS)('%s', (endpoint) =>
    withRegister({}, async (register) => {
      const [method = '', path = ''] = endpoint.split(' ');
      const body = endpoint === 'POST /receipts' ? sale() : undefined;
      if (endpoint === 'POST /z-report/close') await register.sell(sale());
      if (endpoint === 'POST /z-report/open') {
        await register.sell(sale());
        await register.call('POST', '/z-report/close');
      }
      expect((await register.call(method, path, body)).status).toBe(200);
    }),
  );
});

describe('conformance: every field has the name and type of the specification', () => {
  const answers = new Map<string, unknown>();
  beforeAll(() => withRegister({}, (register) => collectAnswers(register, answers)));

  test.each(FIELDS)('%s: %s is a %s', (answer, path, type) => {
    expect(typeOf(valueAt(answers.get(answer), path))).toBe(type);
  });

  test('no answer has a field that no row names, but for the documented extensions', () => {
    const documented = new Set(FIELDS.map(([answer, path]) => `${answer}: ${path}`));
    // An unsent sale has the fields of a sale besides its own.
    for (const [answer, path] of FIELDS) if (answer === 'sale') documented.add(`unsent sale: ${path}`);
    for (const extension of ['capabilities', 'journalId']) documented.add(`status: ${extension}`);
    for (const extension of ['recordedFields', 'shiftNumber'])
      for (const answer of ['sale', 'unsent sale']) documented.add(`${answer}: ${extension}`);
    for (const detail of ['field', 'value']) documented.add(`refusal: error.details.${detail}`);
    documented.add('close: ofdError');
    const found = [...answers].flatMap(([answer, value]) => paths(value).map((path) => `${answer}: ${path}`));
    expect(found.filter((name) => !documented.has(name))).toEqual([]);
  });
});

async function collectAnswers(register: TestRegister, answers: Map<string, unknown>): Promise<void> {
  const keep = async (name: string, call: Promise<{ body: unknown }>): Promise<void> => {
    answers.set(name, (await call).body);
  };
  await keep('sale', register.sell(sale()));
  await register.ofd('/faults', { mode: 'error', next: 1 });
  await keep('unsent sale', register.sell(sale()));
  await keep('receipt resend', register.call('POST', '/receipts/send-unsent'));
  await keep('status', register.call('GET', '/status'));
  await keep('fm info', register.call('GET', '/fm/info'));
  await keep('business', register.call('GET', '/business'));
  await keep('branch', register.call('GET', '/branch'));
  await keep('current z-report', register.call('GET', '/z-report/current'));
  await keep('close', register.call('POST', '/z-report/close'));
  await keep('z-report stats', register.call('GET', '/z-report/stats'));
  await keep('z-report resend', register.call('POST', '/z-report/send-unsent'));
  await keep('open', register.call('POST', '/z-report/open'));
  await keep('refusal', register.sell(sale({ items: [{ ...sale().items[0], name: 'Non', price: 0 } as never] })));
}

function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce((at, name) => (at as Record<string, unknown> | undefined)?.[name], value);
}

function typeOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Paths of all leaves. */
function paths(value: unknown, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [prefix];
  return Object.entries(value).flatMap(([name, inner]) => paths(inner, prefix === '' ? name : `${prefix}.${name}`));
}
