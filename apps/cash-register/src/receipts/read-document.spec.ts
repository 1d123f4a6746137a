// A register keeps the payment details that it receives; they do not make the sale a different one.
import { item, sale } from '../testing/samples.js';
import { readDocument, requestHash } from '#fiscal-module';

const extraInfo = { paymentId: '6551f0b8a1', paymentProvider: 141, phone: '998901234567' };

test('how the money came is part of the document', () => {
  expect(readDocument(sale({ extraInfo })).extraInfo).toEqual(extraInfo);
  expect(readDocument(sale()).extraInfo).toBeNull();
});

test('what is no such information is left out', () => {
  expect(readDocument(sale({ extraInfo: { paymentId: 'a b', phone: '1' } })).extraInfo).toBeNull();
});

test('the same sale under the same key is a replay, whatever its payment details are', () => {
  expect(requestHash({ ...sale({ extraInfo }) })).toBe(requestHash({ ...sale() }));
});

test('a document that says nothing beyond the specification has the digest that older registers kept', () => {
  const refundInfo = {
    ...{ terminalId: 'ZZ000000000001', receiptSeq: 7, dateTime: '20261120T111200', fiscalSign: '123456789012' },
  };
  const items = [item({ label: 'L1', labels: ['L1', 'L2'], discount: 5, barcode: '4780' })];
  const refund = sale({ type: 'refund', items, totalVAT: 7, refundInfo });
  // Written by the version before `commission`, `customer` and `paymentProvider` were read.
  expect([requestHash({ ...sale() }), requestHash({ ...refund })]).toEqual([
    'aa0f950015d27d3d4b9bda43b606f0152277e19be28b51fa2170b4a05d3f07ca',
    'ce9f3a721e9c65e9f5d12ecc7974ab8ef62b4f454fd923c4e74a04e3b3fbdf74',
  ]);
});

test('whatever was parsed has a digest', () => {
  const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
  for (const items of [null, 'x', [null, 1, 'x', [], { commission: deep }]])
    expect(requestHash({ items, customer: deep, paymentProvider: deep })).toMatch(/^[0-9a-f]{64}$/);
});
