import { createServer } from 'node:http';
import { Worker } from 'bullmq';
import { Pool } from 'undici';
import { OBVIOUS_QUEUE, obviousDatabase, redisConnection } from './table.js';

/** Takes one job per receipt: reads it, POSTs it to its register, writes the result. As many at a time as there are registers. */
const prisma = obviousDatabase();
const registers = new Map<string, Pool>();

interface Answer {
  receipt: { terminalId: string; receiptSeq: number; fiscalSign: string; qrUrl: string };
}

async function fiscalise(id: string): Promise<void> {
  const { registerUrl, document } = await prisma.receipt.findUniqueOrThrow({ where: { id } });
  const { statusCode, body } = await registerOf(registerUrl).request({
    method: 'POST',
    path: '/receipts',
    headers: { 'content-type': 'application/json', 'x-api-key': process.env['REGISTER_API_KEY'] ?? '' },
    body: JSON.stringify(document),
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`register answered ${statusCode}: ${text}`);
  const { terminalId, receiptSeq, fiscalSign, qrUrl } = (JSON.parse(text) as Answer).receipt;
  const registration = { terminalId, receiptSeq, fiscalSign, verificationUrl: qrUrl };
  await prisma.receipt.update({
    where: { id },
    data: { status: 'registered', registeredAt: new Date(), ...registration },
  });
}

/** Kept-alive connections to each register. */
function registerOf(url: string): Pool {
  const known = registers.get(url);
  if (known) return known;
  const pool = new Pool(url, { connections: 1 });
  registers.set(url, pool);
  return pool;
}

const worker = new Worker<{ id: string }>(OBVIOUS_QUEUE, ({ data }) => fiscalise(data.id), {
  connection: redisConnection(),
  concurrency: 100,
});
worker.on('failed', (_, error) => console.error(error.message));
createServer((_, response) => response.end('ready')).listen(Number(process.env['PORT']), '127.0.0.1');
