// Promise: an order that cannot be drawn costs no thread, and its merchant none of its places; every logo that is taken can be drawn.
import { crc32, deflateSync } from 'node:zlib';
import { logoSize, readLogo } from '../../fleet/merchants/logo.js';
import { ReceiptPress, type PrintOrder } from './receipt-press.js';

const noLogger = { error: () => undefined } as unknown as ConstructorParameters<typeof ReceiptPress>[0];

const orderOf = (link: string): PrintOrder => ({
  ...{ merchantId: 'mer_1', format: 'png', language: 'uz', title: 'Chek', createdAt: new Date(0), columns: 48 },
  lines: [{ kind: 'qr', link }],
});

test('orders that no QR code can hold leave no thread behind', async () => {
  const press = new ReceiptPress(noLogger);
  const threads = (press as unknown as { threads: ReadonlySet<unknown> }).threads;
  for (let order = 0; order < 10; order += 1)
    await expect(press.print(orderOf('x'.repeat(4_000)))).rejects.toThrow('too big');
  expect(threads.size).toBe(0);
  expect((await press.print(orderOf('https://ofd.example/check'))).subarray(1, 4).toString()).toBe('PNG');
  expect(threads.size).toBe(1);
  await press.onApplicationShutdown();
});

function chunk(type: string, data: Buffer): Buffer {
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

const SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

interface Oddness {
  colour: number;
  compression?: number;
  filter?: number;
  palette?: number;
  transparency?: number;
}

/** Eight dots by eight, with a palette and a transparency of so many bytes. */
function picture({ colour, compression = 0, filter = 0, palette, transparency }: Oddness): Buffer {
  const head = Buffer.from([0, 0, 0, 8, 0, 0, 0, 8, 8, colour, compression, filter, 0]);
  const rows = Buffer.alloc((8 * (SAMPLES[colour] ?? 0) + 1) * 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    ...(palette === undefined ? [] : [chunk('PLTE', Buffer.alloc(palette))]),
    ...(transparency === undefined ? [] : [chunk('tRNS', Buffer.alloc(transparency))]),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const ODD: Oddness[] = [0, 2, 3, 4, 6].flatMap((colour) =>
  [undefined, 0, 1, 2, 3, 6, 7, 255, 256].map((transparency) => ({
    ...{ colour, ...(transparency !== undefined && { transparency }) },
    ...(colour === 3 && { palette: 6 }),
  })),
);

test('every logo that is taken is drawn, whatever stands in it; a transparency that means nothing is left out', async () => {
  const press = new ReceiptPress(noLogger);
  for (const odd of ODD) {
    const reading = readLogo(picture(odd));
    if (reading.kind !== 'ok') throw new Error(`${JSON.stringify(odd)}: ${reading.reason}`);
    const lines = [{ kind: 'picture', png: reading.png.toString('base64'), ...logoSize(reading.png) }] as const;
    const drawn = await press.print({ ...orderOf(''), format: 'pdf', lines });
    expect([odd, drawn.subarray(0, 4).toString()]).toEqual([odd, '%PDF']);
  }
  await press.onApplicationShutdown();
});

test.each<[string, Oddness]>([
  ['another compression', { colour: 2, compression: 1 }],
  ['another filter', { colour: 2, filter: 1 }],
  ['a palette without colours', { colour: 3, palette: 0 }],
])('a logo with %s is refused', (_what, odd) => {
  expect(readLogo(picture(odd))).toMatchObject({ kind: 'invalid' });
});
