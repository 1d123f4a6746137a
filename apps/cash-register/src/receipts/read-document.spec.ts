// A register keeps what it is told about a payment, and takes the sale for no other one because of it.
import { sale } from '../testing/samples.js';
import { readDocument, requestHash } from './read-document.js';

const extraInfo = { paymentId: '6551f0b8a1', paymentProvider: 141, phone: '998901234567' };

test('how the money came is part of the document', () => {
  expect(readDocument(sale({ extraInfo })).extraInfo).toEqual(extraInfo);
  expect(readDocument(sale()).extraInfo).toBeNull();
});

test('what is no such information is left out', () => {
  expect(readDocument(sale({ extraInfo: { paymentId: 'a b', phone: '1' } })).extraInfo).toBeNull();
});

test('the same sale under the same key is a replay, whatever is told about its payment', () => {
  expect(requestHash({ ...sale({ extraInfo }) })).toBe(requestHash({ ...sale() }));
});
