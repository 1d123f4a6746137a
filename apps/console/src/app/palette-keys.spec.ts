// Promise: the search opens by its keys, whatever alphabet the keyboard writes, and never out of a field or a shortcut of the browser.
import { asksForPalette } from './palette-keys.js';

const press = (key: string, code: string, more: Partial<KeyboardEvent> = {}): Parameters<typeof asksForPalette>[0] => ({
  ...{ key, code, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false },
  ...more,
});

test.each([
  ['Ctrl-K', press('k', 'KeyK', { ctrlKey: true })],
  ['Cmd-K with capitals', press('K', 'KeyK', { metaKey: true })],
  ['Ctrl-K of a Russian keyboard', press('л', 'KeyK', { ctrlKey: true })],
  ['Ctrl-K of a Dvorak keyboard', press('k', 'KeyV', { ctrlKey: true })],
  ['/', press('/', 'Slash')],
  ['/ of a Russian keyboard', press('.', 'Slash')],
  ['/ of a German keyboard', press('/', 'Digit7', { shiftKey: true })],
])('%s opens it', (_name, pressed) => {
  expect(asksForPalette(pressed, false)).toBe(true);
});

test.each([
  ['a letter', press('л', 'KeyK')],
  ['a dot', press('.', 'Period')],
  ['the key of the K on a Dvorak keyboard', press('t', 'KeyK', { ctrlKey: true })],
  ['Ctrl-/', press('/', 'Slash', { ctrlKey: true })],
  ['AltGr-K', press('к', 'KeyK', { ctrlKey: true, altKey: true })],
])('%s does not', (_name, pressed) => {
  expect(asksForPalette(pressed, false)).toBe(false);
});

test('in a field only Ctrl-K does', () => {
  expect(asksForPalette(press('/', 'Slash'), true)).toBe(false);
  expect(asksForPalette(press('.', 'Slash'), true)).toBe(false);
  expect(asksForPalette(press('л', 'KeyK', { ctrlKey: true }), true)).toBe(true);
});
