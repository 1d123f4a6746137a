// Promise: a field by which money is collected is never overlooked beside money that has moved already.
import 'reflect-metadata';
import { getMetadataStorage } from 'class-validator';
import { ONLINE_FIELDS } from './online-field-faults.js';
import { PaymentBody } from './receipt-body.js';

test('every field of a payment but those of its sums and label belongs to collecting', () => {
  const fields = getMetadataStorage()
    .getTargetValidationMetadatas(PaymentBody, '', true, false)
    .map(({ propertyName }) => propertyName);
  expect([...new Set(fields)].sort()).toEqual([...ONLINE_FIELDS, 'method', 'provider', 'cash', 'card'].sort());
});
