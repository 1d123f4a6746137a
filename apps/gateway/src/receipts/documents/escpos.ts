import type { PaperColumns, PaperLine } from './paper.js';

const [ESC, GS] = [0x1b, 0x1d];
const INITIALISE = [ESC, 0x40];
/** Page 17 is PC866 on printers of Epson's set, and on those that follow it. */
const CYRILLIC = [ESC, 0x74, 17];
/** Without it some printers take pairs of bytes for Chinese signs. */
const SINGLE_BYTES = [0x1c, 0x2e];
const CENTRE = [ESC, 0x61, 1];
const LEFT = [ESC, 0x61, 0];
const FEED_AND_CUT = [ESC, 0x64, 4, GS, 0x56, 66, 0];
const LINE_END = 0x0a;

/** The upper half of PC866. */
const UPPER =
  'АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмноп░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀рстуфхцчшщъыьэюяЁёЄєЇїЎў°∙·√№¤■\u00a0';
const BYTES = new Map([...UPPER].map((character, index) => [character, 0x80 + index]));
/** Letters that PC866 does not have, as those that are read for them. */
const NEAREST: Readonly<Record<string, string>> = {
  ...{ Қ: 'К', қ: 'к', Ғ: 'Г', ғ: 'г', Ҳ: 'Х', ҳ: 'х', Ө: 'О', ө: 'о', Ү: 'У', ү: 'у', Ә: 'А', ә: 'а', Ң: 'Н', ң: 'н' },
  ...{ '‘': "'", '’': "'", ʻ: "'", ʼ: "'", '“': '"', '”': '"', '„': '"', '«': '"', '»': '"' },
  ...{ '–': '-', '—': '-', '−': '-', '…': '.', '×': 'x', '\u202f': ' ', '\u2009': ' ', '•': '*' },
};

/** Dots a module of the QR code has: it stays within the paper. */
const QR_MODULE: Readonly<Record<PaperColumns, number>> = { 32: 5, 42: 7, 48: 8 };

/** A receipt as bytes for a printer at the till (ESC/POS): text in PC866, the QR code drawn by the printer, then the cut. */
export function escPos(lines: readonly PaperLine[], columns: PaperColumns): Buffer {
  const parts = lines.map((line) => {
    switch (line.kind) {
      // Printers differ in how they draw pictures, and a till's own logo lies in its printer.
      case 'picture':
        return Buffer.alloc(0);
      case 'rule':
        return textLine('-'.repeat(columns), false);
      case 'qr':
        return Buffer.concat([
          Buffer.from(CENTRE),
          qrCodeOf(line.link, QR_MODULE[columns]),
          Buffer.from([LINE_END, ...LEFT]),
        ]);
      case 'text':
        return textLine(line.text.trimEnd(), line.isBold);
    }
  });
  return Buffer.concat([
    Buffer.from([...INITIALISE, ...SINGLE_BYTES, ...CYRILLIC, ...LEFT]),
    ...parts,
    Buffer.from(FEED_AND_CUT),
  ]);
}

function textLine(text: string, isBold: boolean): Buffer {
  const bytes = [...text].map(byteOf);
  const line = isBold ? [ESC, 0x45, 1, ...bytes, ESC, 0x45, 0] : bytes;
  return Buffer.from([...line, LINE_END]);
}

/** One byte for each character: nothing that a goods' name holds becomes a command. */
function byteOf(character: string): number {
  const nearest = NEAREST[character] ?? character;
  const code = nearest.codePointAt(0) ?? 0x3f;
  if (code >= 0x20 && code < 0x7f) return code;
  return BYTES.get(nearest) ?? 0x3f;
}

/** GS ( k: model 2, size of a module, correction M, the data, and print. */
function qrCodeOf(link: string, moduleDots: number): Buffer {
  const data = Buffer.from(link, 'latin1');
  const stored = data.length + 3;
  return Buffer.concat([
    Buffer.from([GS, 0x28, 0x6b, 4, 0, 0x31, 0x41, 0x32, 0]),
    Buffer.from([GS, 0x28, 0x6b, 3, 0, 0x31, 0x43, moduleDots]),
    Buffer.from([GS, 0x28, 0x6b, 3, 0, 0x31, 0x45, 0x31]),
    Buffer.from([GS, 0x28, 0x6b, stored % 256, Math.floor(stored / 256), 0x31, 0x50, 0x30]),
    data,
    Buffer.from([GS, 0x28, 0x6b, 3, 0, 0x31, 0x51, 0x30]),
  ]);
}
