import pg from 'pg';
import { Prisma } from '../generated/client.js';
import type { PrismaService } from '../prisma.service.js';

/** The statement that a repository sends, as it sends it. */
export function recorded(send: (prisma: PrismaService) => Promise<unknown>): Prisma.Sql {
  const { prisma, sent } = recorder();
  // What it makes of no rows is of no interest.
  send(prisma).catch(() => undefined);
  return firstOf(sent);
}

/** The same of one that is sent later, together with others. */
export async function recordedInGroup(send: (prisma: PrismaService) => Promise<unknown>): Promise<Prisma.Sql> {
  const { prisma, sent } = recorder();
  await send(prisma);
  return firstOf(sent);
}

function recorder(): { prisma: PrismaService; sent: Prisma.Sql[] } {
  const sent: Prisma.Sql[] = [];
  const recordAs =
    <Answer>(answer: Answer) =>
    (texts: readonly string[], ...values: unknown[]): Promise<Answer> => {
      sent.push(Prisma.sql(texts, ...values));
      return Promise.resolve(answer);
    };
  const queryHot = (statement: Prisma.Sql): Promise<unknown[]> => {
    sent.push(statement);
    return Promise.resolve([]);
  };
  const prisma = { $queryRaw: recordAs([]), $executeRaw: recordAs(0), queryHot };
  return { prisma: prisma as unknown as PrismaService, sent };
}

function firstOf([statement]: readonly Prisma.Sql[]): Prisma.Sql {
  if (!statement) throw new Error('no statement was sent');
  return statement;
}

/** How an index of a partition is called in its table. */
export async function indexNames(client: pg.Client): Promise<(name: string) => string> {
  const { rows } = await client.query<{ name: string; of: string }>(
    `SELECT c.relname AS name, p.relname AS of FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
      WHERE c.relkind = 'i'`,
  );
  const names = new Map(rows.map(({ name, of }) => [name, of]));
  return (name) => names.get(name) ?? name;
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: Plan[];
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];
export interface ShownPlan {
  /** Tables that were read from one end to the other. */
  wholeTables: string[];
  /** Tables, and of those in partitions the partitions, of which anything was read. */
  visited: string[];
  /** The most rows that any of its steps had in hand, those that it dropped among them. */
  largest: number;
  /** Pages of tables and indexes that were read: what a condition on a later column of an index costs shows here alone. */
  pages: number;
}

/**
 * What `LOAD 'auto_explain'` says of the statements inside a function. The sixth plan of a session is the one for all values.
 * @param adminUrl of a superuser
 */
export async function plansInside(adminUrl: string, call: string, times = 1): Promise<string> {
  const session = new pg.Client({ connectionString: adminUrl });
  const plans: string[] = [];
  session.on('notice', ({ message = '' }) => plans.push(message));
  await session.connect();
  try {
    await session.query(`LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on;
                         SET auto_explain.log_level = notice; SET auto_explain.log_verbose = on`);
    for (let round = 0; round < times; round += 1) await session.query(call);
  } finally {
    await session.end();
  }
  return plans.filter((plan) => !plan.includes(call)).join('\n');
}

/** How PostgreSQL answers a statement, which is run. */
export async function planOf(client: pg.Client, statement: Prisma.Sql): Promise<ShownPlan> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `EXPLAIN (FORMAT JSON, ANALYZE, BUFFERS) ${statement.text}`,
    [...statement.values],
  );
  const plan = rows[0]!['QUERY PLAN'][0].Plan;
  const found = nodes(plan);
  return {
    wholeTables: found.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name'] ?? ''),
    visited: [
      ...new Set(
        found.flatMap((node) =>
          node['Relation Name'] !== undefined && node['Actual Loops'] !== 0 ? [node['Relation Name']] : [],
        ),
      ),
    ],
    largest: Math.max(...found.map((node) => (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0))),
    pages: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
  };
}
