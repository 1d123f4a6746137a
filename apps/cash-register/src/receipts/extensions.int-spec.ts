// Breaks if the printed receipt would name a seller, a buyer or a wallet that the signed document does not hold.
import { startTestRegister, withRegister, type TestRegister } from '../testing/register-fixture.js';
import { item, sale } from '../testing/samples.js';

const TIN = '301234567';
const PINFL = '31234567890123';

function extended(): object {
  const items = [
    item({ commission: { tin: TIN } }),
    item({ commission: { pinfl: PINFL } }),
    item(),
    item({ commission: { tin: TIN, pinfl: PINFL } }),
  ];
  const received = { cash: 0, card: 8_000_000 };
  return sale({ items, received, customer: { tin: '309999999', pinfl: PINFL }, paymentProvider: 'payme' });
}

describe('seller, buyer and wallet', () => {
  let register: TestRegister;
  beforeEach(async () => {
    register = await startTestRegister({ environment: { RECEIPT_LANGUAGE: 'en' } });
  });
  afterEach(() => register.close());

  test('are announced', async () => {
    const { capabilities } = (await register.call('GET', '/status')).body;
    expect(capabilities).toEqual(['idempotency', 'journal', 'commission', 'customer', 'payment_provider']);
  });

  test('are journalled, signed and delivered, and the answer says so', async () => {
    const { status, body } = await register.sell(extended(), 'key-1');
    expect([status, body.recordedFields, body.shiftNumber]).toEqual([
      ...[200, ['commission', 'customer', 'payment_provider'], 1],
    ]);
    const { data } = await register.ofd('/documents');
    expect(data).toMatchObject([
      {
        ...{ customer: { tin: '309999999', pinfl: PINFL }, payment_provider: 'payme', card: 8_000_000 },
        items: [
          { commission: { tin: TIN, pinfl: null } },
          { commission: { tin: null, pinfl: PINFL } },
          expect.not.objectContaining({ commission: expect.anything() }),
          { commission: { tin: TIN, pinfl: PINFL } },
        ],
      },
    ]);
    const found = await register.call('GET', '/receipts?key=key-1');
    expect(found.body).toEqual(body);
    await register.restart({ RECEIPT_LANGUAGE: 'en' });
    expect((await register.call('GET', '/status')).body.fmInitialized).toBe(true);
    await register.tamper(`UPDATE documents SET payload = replace(payload, '${TIN}', '300000001') WHERE seq = 1`);
    expect(register.register.module.fault()).toMatchObject({ reason: 'chain_broken', details: { receiptSeq: 1 } });
  });

  test('stand on the printed receipt, numbers of persons by their last digits', async () => {
    const html = String((await register.sell(extended())).body.receiptHtml);
    for (const shown of [`Principal’s TIN: ${TIN}`, 'Principal’s PINFL: **********0123', 'Wallet (payme)'])
      expect(html).toContain(shown);
    expect(html).toContain('<td>Buyer’s TIN</td><td>309999999</td>');
    expect(html).not.toContain(PINFL);
    expect(html).not.toContain('<td>Card</td>');
  });

  test('leave no trace in a document without them', async () => {
    const { body } = await register.sell(sale());
    expect(body.recordedFields).toEqual([]);
    const [document] = (await register.ofd('/documents')).data;
    expect(Object.keys(document).sort()).toEqual(
      'card cash deliveries digest fiscal_sign items prev_digest refund_info seq shift terminal_id time type vat'.split(
        ' ',
      ),
    );
    expect(Object.keys(document.items[0]).sort()).toEqual(
      'amount barcode discount labels name package_code price spic total units vat vat_percent'.split(' '),
    );
  });

  test('are part of what a key stands for', async () => {
    const first = await register.sell(extended(), 'key-1');
    expect((await register.sell(extended(), 'key-1')).body).toEqual(first.body);
    const changes = [
      { customer: { tin: '300000002' } },
      { customer: undefined },
      { paymentProvider: 'click' },
      { items: [item({ commission: { tin: '300000003' } }), item(), item(), item()] },
    ];
    for (const change of changes) {
      const other = await register.sell({ ...extended(), ...change }, 'key-1');
      expect(other).toMatchObject({ status: 409, body: { error: { code: 'S-005' } } });
    }
    expect((await register.call('GET', '/fm/info')).body.currentReceiptSeq).toBe(1);
  });

  test.each([
    ['a seller without a number', { items: [item({ commission: {} })] }, 'commission'],
    ['a number of another length', { items: [item(), item({ commission: { tin: '30123456' } })] }, 'commission'],
    ['a number as a number', { items: [item({ commission: { tin: 301234567 } as never })] }, 'commission'],
    ['a list of sellers', { items: [item({ commission: [{ tin: TIN }] as never })] }, 'commission'],
    ['a buyer by name', { customer: { name: 'Ali' } }, 'customer'],
    ['a good and a bad number', { customer: { tin: TIN, pinfl: '1' } }, 'customer'],
    ['an empty wallet', { paymentProvider: ' ' }, 'paymentProvider'],
    ['a long wallet', { paymentProvider: 'ў'.repeat(65) }, 'paymentProvider'],
    ['a wallet with a line break', { paymentProvider: 'pay\nme' }, 'paymentProvider'],
    ['a wallet that is no text', { paymentProvider: { name: 'payme' } }, 'paymentProvider'],
  ])('%s is S-003, and nothing is registered', async (_name, change, field) => {
    const refused = await register.sell({ ...sale(), ...change }, 'key-1');
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'S-003', details: { field } } } });
    expect((await register.call('GET', '/fm/info')).body.currentReceiptSeq).toBe(0);
  });

  test('null is as good as none', async () => {
    const nothing = { ...sale(), customer: null, paymentProvider: null, items: [{ ...item(), commission: null }] };
    const { status, body } = await register.sell(nothing);
    expect([status, body.recordedFields]).toEqual([200, []]);
  });
});

test('a specification-only register ignores them, whatever they hold', () =>
  withRegister({ environment: { REGISTER_EXTENSIONS: 'off' } }, async (register) => {
    const answers = [
      await register.sell({ ...extended(), extraInfo: { paymentId: 'P-1', cardType: 2 } }),
      await register.sell({ ...sale(), paymentProvider: 7, customer: 'x' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    for (const { body } of answers) {
      expect(body).not.toHaveProperty('recordedFields');
      expect(body).not.toHaveProperty('shiftNumber');
    }
    for (const document of (await register.ofd('/documents')).data) {
      expect(document).not.toHaveProperty('customer');
      expect(document).not.toHaveProperty('payment_provider');
      expect(document).not.toHaveProperty('extra_info');
      for (const line of document.items) expect(line).not.toHaveProperty('commission');
    }
  }));
