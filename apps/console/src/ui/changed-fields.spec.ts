// Promise: a form sends what was changed in it and nothing else.
import { changedFields } from './changed-fields.js';

interface Form {
  name: string;
  scopes: string[];
  limits: { day: number | null };
  own: boolean;
}

test('what is as it was shown is left out, lists and objects too', () => {
  const shown: Form = { name: 'erp', scopes: ['a', 'b'], limits: { day: null }, own: true };
  expect(changedFields<Form>(shown, { ...shown, scopes: ['a', 'b'], limits: { day: null } })).toEqual({});
  expect(changedFields<Form>(shown, { ...shown, name: 'erp-2' })).toEqual({ name: 'erp-2' });
  expect(changedFields<Form>(shown, { ...shown, scopes: ['a'], limits: { day: 5 } })).toEqual({
    scopes: ['a'],
    limits: { day: 5 },
  });
});

test('what was not there is new, null included', () => {
  expect(changedFields<Record<string, string | null>>({}, { key: 'x', none: null })).toEqual({ key: 'x', none: null });
});
