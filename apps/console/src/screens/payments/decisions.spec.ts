// Promise: a difference that is shown of a payment can be ended by a person in the console, whatever state the payment ended in.
import { decisionsAbout } from './decisions.js';

test('every payment can be decided on and read once more, and a document be given where the provider registers', () => {
  const ended = { status: 'expired', fiscalised_by: 'gateway' } as const;
  expect(decisionsAbout(ended)).toEqual(['retry', 'resolve']);
  expect(decisionsAbout({ ...ended, fiscalised_by: 'provider' })).toEqual(['retry', 'resolve', 'document']);
});
