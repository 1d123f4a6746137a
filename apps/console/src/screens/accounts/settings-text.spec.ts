// Promise: settings that a person typed reach the gateway as they are, and a line that is none is named.
import { readSettings, writeSettings } from './settings-text.js';

test('what is shown is read back', () => {
  const settings = { host: 'smtp.example.uz', password: 'a=b = c', ca: '-----BEGIN\nMII\n-----END' };
  expect(readSettings(`${writeSettings(settings)}\n\n`)).toEqual({ kind: 'ok', settings });
});

test('a line without a name is refused', () => {
  expect(readSettings('host = a\nnonsense')).toEqual({ kind: 'wrong', line: 'nonsense' });
  expect(readSettings('__proto__ = a')).toEqual({ kind: 'wrong', line: '__proto__ = a' });
});
