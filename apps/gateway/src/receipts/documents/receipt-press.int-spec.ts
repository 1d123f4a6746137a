// Promise: an order that cannot be drawn costs no thread, and its merchant none of its places.
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
