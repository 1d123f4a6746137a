import { LOCAL_RULES, type LocalRuleCode } from '#fiscal-domain';
import { withRegister, type TestRegister } from '../register-fixture.js';
import { BREAD, item, LAMP_NO_LONGER_VALID, sale, VODKA, WATER } from '../samples.js';
import type { Row } from './specification.js';

export type Proof = () => Promise<void>;

/** What a request is expected to be answered with; `ok` is a registration. */
type Expectation = readonly [request: unknown, expected: LocalRuleCode | 'ok'];

/** Every refusal names code and rule, and registers nothing. */
function proves(cases: () => readonly Expectation[], environment: Record<string, string> = {}): Proof {
  return () =>
    withRegister({ environment }, async (register) => {
      for (const [request, expected] of cases()) await expectAnswer(register, request, expected);
    });
}

async function expectAnswer(register: TestRegister, request: unknown, expected: LocalRuleCode | 'ok'): Promise<void> {
  const before = await sequence(register);
  const { status, body } = await register.sell(request);
  const shown = JSON.stringify(request);
  if (expected === 'ok') {
    expect({ shown, status, success: body.success }).toEqual({ shown, status: 200, success: true });
    return;
  }
  const { code, rule } = body.error ?? {};
  expect({ shown, status, code, rule }).toEqual({ shown, status: 400, code: expected, rule: LOCAL_RULES[expected] });
  expect(await sequence(register)).toBe(before);
}

async function sequence(register: TestRegister): Promise<number> {
  return (await register.call('GET', '/fm/info')).body.currentReceiptSeq as number;
}

const card = { cash: 0, card: 2_000_000 };
const marked = (changes: object): unknown =>
  sale({ items: [item({ ...WATER, packageCode: undefined, ...changes })], received: card });

/** Price 1 000 000, two pieces, discount 500 000: unit VAT 107 143, line VAT 214 286, net VAT 160 714. */
function vatCase(vat: number): unknown {
  return sale({
    items: [item({ price: 1_000_000, amount: 2000, discount: 500_000, vat })],
    received: { cash: 1_500_000, card: 0 },
  });
}

const vatBorders = (expected: number) => (): readonly Expectation[] => [
  [vatCase(expected), 'ok'],
  [vatCase(expected - 100), 'ok'],
  [vatCase(expected + 100), 'ok'],
  [vatCase(expected - 101), 'E-016'],
  [vatCase(expected + 101), 'E-016'],
];

export const RULE_PROOFS: Partial<Record<Row, Proof>> = {
  'rule: E-003 cash is not 0 although cashSale is 0': proves(() => {
    const vodka = item({ ...VODKA, packageCode: undefined, labels: ['label-1'] });
    return [
      [sale({ items: [vodka], received: card }), 'ok'],
      [sale({ items: [vodka] }), 'E-003'],
      [{ ...sale(), cashSale: 0 }, 'E-003'],
      [sale({ items: [item({ cashSale: 0 })] }), 'E-003'],
      [sale({ received: { cash: 1, card: 1_999_999, cashSale: 0 } }), 'E-003'],
      [sale({ items: [item({ cashSale: 0 })], received: card }), 'ok'],
    ];
  }),
  'rule: E-004 label missing for marked goods': proves(() => [
    [marked({}), 'E-004'],
    [marked({ label: '' }), 'E-004'],
    [marked({ label: '010460043993125621JgXJ5.T' }), 'ok'],
    [marked({ labels: ['010460043993125621JgXJ5.T\u001d8005112000'] }), 'ok'],
  ]),
  'rule: E-005 unknown type': proves(() => [
    [{ ...sale(), type: 'return' }, 'E-005'],
    [{ ...sale(), type: undefined }, 'E-005'],
    [{ ...sale(), type: 1 }, 'E-005'],
  ]),
  'rule: E-006 no items': proves(() => [
    [sale({ items: [] }), 'E-006'],
    [{ ...sale(), items: undefined }, 'E-006'],
    [{ ...sale(), items: 'bread' }, 'E-006'],
  ]),
  'rule: E-007 refund without refundInfo': proves(() => [
    [sale({ type: 'refund' }), 'E-007'],
    [{ ...sale({ type: 'refund' }), refundInfo: { terminalId: 'ZZ000000000001' } }, 'E-007'],
  ]),
  'rule: E-008 the paid sum is below 0': proves(() => [
    [sale({ received: { cash: -1, card: 0 } }), 'E-008'],
    [sale({ received: { cash: 2_000_001, card: -1 } }), 'E-008'],
    [{ ...sale(), received: undefined }, 'E-008'],
    [sale({ received: { cash: 0, card: 0 } }), 'ok'],
  ]),
  'rule: E-009 the paid sum exceeds the total by more than 100': proves(() => [
    [sale({ received: { cash: 2_000_100, card: 0 } }), 'ok'],
    [sale({ received: { cash: 2_000_101, card: 0 } }), 'E-009'],
    [sale({ received: { cash: 1_000_000, card: 1_000_100 } }), 'ok'],
    [sale({ received: { cash: 1_000_001, card: 1_000_100 } }), 'E-009'],
  ]),
  'rule: E-010 totalVAT differs from the sum of the items': proves(() => [
    [sale({ totalVAT: 214_286 }), 'ok'],
    [sale({ totalVAT: 214_287 }), 'E-010'],
    [{ ...sale(), totalVAT: '214286' }, 'E-010'],
  ]),
  'rule: E-011 the name is empty': proves(() => [
    [sale({ items: [item({ name: '' })] }), 'E-011'],
    [sale({ items: [item({ name: '   ' })] }), 'E-011'],
    [sale({ items: [item({ name: '\u001d\u0007' })] }), 'E-011'],
    [sale({ items: [item({ name: undefined })] }), 'E-011'],
  ]),
  'rule: E-012 the price is not > 0': proves(() => [
    [sale({ items: [item({ price: 0 })] }), 'E-012'],
    [sale({ items: [item({ price: -1 })] }), 'E-012'],
    [sale({ items: [item({ price: 100.5, vat: 11 })] }), 'E-012'],
    [sale({ items: [item({ price: 2 ** 53, vat: 0 })] }), 'E-012'],
    [sale({ items: [item({ price: 1, vat: 0 })], received: { cash: 1, card: 0 } }), 'ok'],
  ]),
  'rule: E-013 the spic is not in the register': proves(() => [
    [sale({ items: [item({ spic: '99999999999999999' })] }), 'E-013'],
    [sale({ items: [item({ spic: undefined })] }), 'E-013'],
    [sale({ items: [item({ ...LAMP_NO_LONGER_VALID, packageCode: undefined })] }), 'E-013'],
  ]),
  'rule: E-014 the packageCode is not among the packages': proves(() => [
    [sale({ items: [item({ packageCode: '1500003' })] }), 'E-014'],
    [sale({ items: [item({ packageCode: '1500002' })] }), 'ok'],
    [sale({ items: [item({ packageCode: undefined })] }), 'ok'],
  ]),
  'rule: E-015 vatPercent is neither 0 nor 12': proves(() => [
    [sale({ items: [item({ vatPercent: 15, vat: 0 })] }), 'E-015'],
    [sale({ items: [item({ vatPercent: '12' } as never)] }), 'E-015'],
    [sale({ items: [item({ vatPercent: 0, vat: 0 })] }), 'ok'],
  ]),
  'rule: E-016 vat differs by more than 100, VAT_RULE unit': proves(vatBorders(107_143)),
  'rule: E-016 vat differs by more than 100, VAT_RULE line': proves(vatBorders(214_286), { VAT_RULE: 'line' }),
  'rule: E-016 vat differs by more than 100, VAT_RULE line-net': proves(vatBorders(160_714), { VAT_RULE: 'line-net' }),
  'rule: E-017 number of labels differs from amount / 1000': proves(() => [
    [marked({ amount: 2000, price: 1_000_000, vat: 107_143, labels: ['a', 'b'] }), 'ok'],
    [marked({ amount: 2000, price: 1_000_000, vat: 107_143, labels: ['a'] }), 'E-017'],
    [marked({ amount: 2000, price: 1_000_000, vat: 107_143, label: 'a' }), 'E-017'],
    [marked({ labels: ['a', 'b'] }), 'E-017'],
    [marked({ labels: ['a', ''] }), 'E-017'],
    [marked({ amount: 1500, labels: ['a'] }), 'E-017'],
  ]),
  'rule: E-018 amount below 1000 for marked goods': proves(() => [
    [marked({ amount: 999, labels: ['a'] }), 'E-018'],
    [marked({ amount: 1000, labels: ['a'] }), 'ok'],
    [sale({ items: [item({ amount: 999 })], received: { cash: 1_998_000, card: 0 } }), 'ok'],
  ]),
  'rule: the first violation in the documented order is answered': proves(() => {
    const bad = { name: '', price: 0, spic: '1', vatPercent: 5 };
    return [
      [{ type: 'x', items: [], received: { cash: -1, card: 0 } }, 'E-005'],
      [{ type: 'sale', items: [], received: { cash: -1, card: 0 } }, 'E-006'],
      [sale({ items: [item(bad)], received: { cash: -1, card: 0 } }), 'E-011'],
      [sale({ items: [item({ ...bad, name: 'a' })] }), 'E-012'],
      [sale({ items: [item({ ...bad, name: 'a', price: 1 })] }), 'E-013'],
      [sale({ items: [item({ ...bad, name: 'a', price: 1, spic: BREAD.spic, packageCode: '0' })] }), 'E-014'],
      [sale({ items: [item({ vatPercent: 5 }), item({ name: '' })], received: { cash: -1, card: 0 } }), 'E-015'],
      [sale({ items: [item(), item({ vat: 0 })], received: { cash: -1, card: 0 } }), 'E-016'],
      [sale({ received: { cash: -1, card: 9_000_000 } }), 'E-008'],
    ];
  }),
};
