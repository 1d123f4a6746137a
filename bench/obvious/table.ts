import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from './generated/client.js';

export const OBVIOUS_QUEUE = 'obvious-receipts';

/** What schema.prisma says, made by the bench as the database's owner. */
const TABLE = `
  CREATE TABLE obvious_receipts (
    id text PRIMARY KEY, client_key text UNIQUE, merchant_id text NOT NULL, register_url text NOT NULL,
    status text NOT NULL DEFAULT 'accepted', document jsonb NOT NULL, total_tiyin bigint NOT NULL, terminal_id text,
    receipt_seq bigint, fiscal_sign text, verification_url text, error text,
    created_at timestamptz(3) NOT NULL DEFAULT now(), updated_at timestamptz(3) NOT NULL, registered_at timestamptz(3));
  CREATE INDEX ON obvious_receipts (merchant_id, created_at);
  CREATE INDEX ON obvious_receipts (status);
  GRANT SELECT, INSERT, UPDATE ON obvious_receipts TO fiscal_app`;

export async function createObviousTable(ownerUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  await client.query(TABLE);
  await client.end();
}

/** A pool of a size that the documentation of Prisma recommends for a machine like this. */
export function obviousDatabase(): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'], max: 10 }) });
}

/** Of REDIS_URL, as BullMQ takes it. */
export function redisConnection(): { host: string; port: number; maxRetriesPerRequest: null } {
  const { hostname, port } = new URL(process.env['REDIS_URL'] ?? '');
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null };
}
