import Fastify from 'fastify';
import pg from 'pg';
import { Pool } from 'undici';
import { newId } from '#runtime';

/**
 * What fiscalising can cost at the very least: one INSERT per request, then a POST to the register, one after the other for each, and
 * one UPDATE. What waits is in memory alone. Started as a process of its own.
 */
interface Sale {
  register: number;
  document: unknown;
}

const TABLE = 'bench_fiscalised';
const database = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 32 });
const headers = { 'content-type': 'application/json', 'x-api-key': process.env['REGISTER_API_KEY'] ?? '' };
const registers = (JSON.parse(process.env['REGISTER_URLS'] ?? '[]') as string[]).map((url) => ({
  pool: new Pool(url, { connections: 1 }),
  last: Promise.resolve(),
}));
const app = Fastify();

app.post<{ Body: Sale }>('/receipts', async (request, reply) => {
  const id = newId('rcp');
  const body = JSON.stringify(request.body.document);
  const text = `INSERT INTO ${TABLE} (id, status, body) VALUES ($1, 'accepted', $2)`;
  await database.query({ name: 'insert', text, values: [id, body] });
  const register = registers[request.body.register];
  if (!register) throw new Error('no such register');
  register.last = register.last
    .then(() => forward(register.pool, id, body))
    .catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  return reply.status(202).send({ id });
});
app.get('/ready', () => ({ ready: true }));

async function forward(pool: Pool, id: string, body: string): Promise<void> {
  const { statusCode, body: answer } = await pool.request({ method: 'POST', path: '/receipts', headers, body });
  const registration = await answer.text();
  if (statusCode !== 200) throw new Error(`register answered ${statusCode}: ${registration}`);
  const { receipt } = JSON.parse(registration) as { receipt: unknown };
  const text = `UPDATE ${TABLE} SET status = 'registered', registration = $2 WHERE id = $1`;
  await database.query({ name: 'update', text, values: [id, JSON.stringify(receipt)] });
}

await app.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' });
