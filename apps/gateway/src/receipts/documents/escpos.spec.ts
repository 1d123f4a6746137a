// Promise: a printer at the till is given its own commands and the receipt's text, and no text of a receipt becomes a command.
import { escPos } from './escpos.js';
import { receiptLines } from './receipt-lines.js';
import { receiptRows } from './receipt-rows.js';
import { RECEIPT_LANGUAGES } from '#paper';
import { PAPER_COLUMNS, type PaperLine } from './paper.js';
import { shown } from './testing/documents.js';

const text = (value: string, isBold = false): PaperLine => ({ kind: 'text', text: value, isBold, href: null });

test('letters of Uzbek and Russian are bytes of PC866, what it has not is the nearest or a question mark', () => {
  const bytes = escPos([text('Чек №1 Ўў Қғ o‘g‘ 漢')], 48);
  const line = bytes.subarray(bytes.indexOf(0x97));
  expect([...line.subarray(0, 3)]).toEqual([0x97, 0xa5, 0xaa]);
  expect(line.includes(Buffer.from([0xfc, 0x31, 0x20, 0xf6, 0xf7, 0x20, 0x8a, 0xa3]))).toBe(true);
  expect(line.includes(Buffer.from("o'g' ?"))).toBe(true);
});

test('the bytes begin with a reset and end with the cut', () => {
  const bytes = escPos([], 32);
  expect([...bytes.subarray(0, 2)]).toEqual([0x1b, 0x40]);
  expect([...bytes.subarray(-4)]).toEqual([0x1d, 0x56, 66, 0]);
});

test('a QR code holds the whole link, with its length', () => {
  const link = `https://ofd.soliq.uz/check?${'x'.repeat(300)}`;
  const bytes = escPos([{ kind: 'qr', link }], 48);
  const at = bytes.indexOf(Buffer.from([0x31, 0x50, 0x30]));
  expect(bytes.readUInt16LE(at - 2)).toBe(link.length + 3);
  expect(bytes.subarray(at + 3, at + 3 + link.length).toString('latin1')).toBe(link);
});

test('a name of goods that holds commands prints question marks', () => {
  const bytes = escPos([text('\u001b@\u001dV\u0000Non')], 48);
  const commands = [...bytes].filter((byte) => byte === 0x1b || byte === 0x1d).length;
  const without = [...escPos([text('Non')], 48)].filter((byte) => byte === 0x1b || byte === 0x1d).length;
  expect(commands).toBe(without);
  expect(bytes.includes(Buffer.from('?@?V?Non'))).toBe(true);
});

test.each(PAPER_COLUMNS)('a receipt of every language fits paper of %s characters', (columns) => {
  for (const language of RECEIPT_LANGUAGES) {
    const lines = receiptLines(receiptRows(shown(), language), columns);
    const printed = escPos(lines, columns);
    for (const line of lines)
      if (line.kind === 'text') expect([...line.text.trimEnd()].length).toBeLessThanOrEqual(columns);
    expect(printed.length).toBeGreaterThan(200);
  }
});
