// Only the provider can report that money came: each signature is the one that its documentation gives.
import { atmosSign } from './atmos/atmos.signature.js';
import { basicAuthorization, isBasicCaller } from './basic-auth.js';
import { clickAuth, clickSignature, isClickSigned } from './click/click.signature.js';
import { multicardScheme, multicardSuccessSign, multicardWebhookSign } from './multicard/multicard.signature.js';
import { isOctoSigned, octoSignatures } from './octo/octo.signature.js';
import { paymeCheckoutLink } from './payme/payme-checkout-link.js';
import { uzumFastPayAuth } from './uzum/uzum.signature.js';

describe('Payme', () => {
  it('makes the header of the vector and knows it again', () => {
    const header = 'Basic UGF5Y29tOlRFU1RLRVkwMTIzNDU2Nzg5';
    expect(basicAuthorization('Paycom', 'TESTKEY0123456789')).toBe(header);
    expect(isBasicCaller(header, 'Paycom', ['other', 'TESTKEY0123456789'])).toBe(true);
    expect(isBasicCaller(header, 'Paycom', ['other'])).toBe(false);
    expect(isBasicCaller(undefined, 'Paycom', ['TESTKEY0123456789'])).toBe(false);
    expect(isBasicCaller(header, 'Paycom', [])).toBe(false);
  });

  const checkout = {
    ...{ host: 'https://checkout.paycom.uz', cashboxId: '587f72c72cac0d162c722ae2', accountField: 'order_id' },
    ...{ account: '197', amountTiyin: 500, returnUrl: null },
  };

  it('makes the checkout link of the vector', () => {
    expect(paymeCheckoutLink(checkout)).toBe(
      'https://checkout.paycom.uz/bT01ODdmNzJjNzJjYWMwZDE2MmM3MjJhZTI7YWMub3JkZXJfaWQ9MTk3O2E9NTAw',
    );
  });

  it.each(['1', '12', '123'])('needs no padding for any length of account (%s)', (account) => {
    const link = paymeCheckoutLink({ ...checkout, account });
    expect(link).not.toContain('=');
    expect(Buffer.from(link.split('/').at(-1) ?? '', 'base64').toString()).toContain(`ac.order_id=${account};a=500`);
  });
});

describe('Click', () => {
  const prepare = {
    ...{ clickTransId: '3737503', serviceId: '12345', merchantTransId: 'order_9001', merchantPrepareId: null },
    ...{ amount: '1000.00', action: '0', signTime: '2026-08-22 14:03:11' },
  };

  it('signs Prepare and Complete as in the vectors', () => {
    expect(clickSignature(prepare, 'SECRET123')).toBe('9f73df6a589039c3afde3e2039720e46');
    const complete = { ...prepare, merchantPrepareId: '778', action: '1', signTime: '2026-08-22 14:03:19' };
    expect(clickSignature(complete, 'SECRET123')).toBe('a55a9138d88a9f9ee6fa86bece724e0b');
  });

  it('signs the amount as it came, not as it might be written', () => {
    expect(isClickSigned({ ...prepare, amount: '1000.0' }, clickSignature(prepare, 'SECRET123'), 'SECRET123')).toBe(
      false,
    );
  });

  it('authenticates our own calls as in the vector', () => {
    expect(clickAuth('3333', 'SECRET123', 1_712_345_678)).toBe(
      '3333:4d3f62489dbc19114297581bcfa0d906f84df0cd:1712345678',
    );
  });
});

describe('Multicard', () => {
  const signed = {
    ...{ uuid: 'e60d8ebc-b9fe-11ef-b159-005056b4367d', storeId: '6', invoiceId: '2024864028760', amount: '20000' },
  };

  it('signs both schemes as in the vectors and distinguishes them', () => {
    const success = multicardSuccessSign(signed, 'SECRET123');
    const webhook = multicardWebhookSign(signed, 'SECRET123');
    expect(success).toBe('e3958442902981dd796a3b0ccdc61f08');
    expect(webhook).toBe('26679a3574b09237a37cd366aa0a178d58933b12');
    expect(multicardScheme(signed, success, 'SECRET123')).toBe('success');
    expect(multicardScheme(signed, webhook, 'SECRET123')).toBe('webhook');
    expect(multicardScheme({ ...signed, amount: '20001' }, success, 'SECRET123')).toBeNull();
  });
});

describe('Uzum Fast Pay', () => {
  it('authenticates our calls as in the vector: with milliseconds', () => {
    expect(uzumFastPayAuth('8461', 'SECRET123', 1_712_345_678_901)).toBe(
      '8461:97a106b1b20d34d8b4a4e673c0395760065baa7b:1712345678901',
    );
  });
});

describe('Octo', () => {
  const signed = { uuid: 'f47ac10b-58cc-4372-a567-0e02b2c3d479', status: 'succeeded', hashKey: 'any' };

  it('signs flat as in the vector, and takes either case', () => {
    const by = { kind: 'flat', uniqueKey: 'UNIQ123' } as const;
    const signature = '0b5461b2e4bd2d55798311ee79a3e1f500008e91';
    expect(octoSignatures(signed, by)).toEqual([signature]);
    expect(isOctoSigned(signed, signature.toUpperCase(), by)).toBe(true);
  });

  it('signs nested by secret, hash key, payment and status: another of them is another signature', () => {
    const by = { kind: 'nested', secret: 'secret' } as const;
    const [signature = ''] = octoSignatures(signed, by);
    expect(isOctoSigned(signed, signature, by)).toBe(true);
    for (const other of [{ uuid: 'x' }, { status: 'canceled' }, { hashKey: 'x' }])
      expect(isOctoSigned({ ...signed, ...other }, signature, by)).toBe(false);
    expect(isOctoSigned(signed, signature, { kind: 'nested', secret: 'x' })).toBe(false);
    expect(isOctoSigned(signed, '', by)).toBe(false);
  });
});

describe('ATMOS', () => {
  it('signs callbacks as in the vector', () => {
    const signed = { storeId: '1', transactionId: '200', invoice: 'inv-1', amount: '500000' };
    expect(atmosSign(signed, 'APIKEY')).toBe('99759af96647245a50404a4bc2e4e6cb');
  });
});
