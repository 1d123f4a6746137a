import Fastify from 'fastify';
import pg from 'pg';
import { newId } from '#runtime';

/**
 * What a receipt gateway can cost at the very least: one bare Fastify route, one INSERT of the body per request.
 * Started as a process of its own with DATABASE_URL and PORT.
 */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 32 });
const app = Fastify();

app.post('/receipts', async (request, reply) => {
  const id = newId('rcp');
  await pool.query({
    name: 'insert',
    text: 'INSERT INTO bench_receipts (id, body) VALUES ($1, $2)',
    values: [id, JSON.stringify(request.body)],
  });
  return reply.status(202).send({ id });
});
app.get('/ready', () => ({ ready: true }));

await app.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' });
