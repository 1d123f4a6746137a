/** Addresses of the database among a program's settings (docs/adr/0190-a-pooler-in-between.md). */
export interface DatabaseAddresses {
  DATABASE_URL: string;
  /** Set where `DATABASE_URL` names a pooler in transaction mode: PostgreSQL itself. */
  DIRECT_DATABASE_URL?: string | undefined;
}

/** Where a session goes that keeps something between its transactions: locks of lanes, LISTEN, pages of an export, a queue. */
export function sessionsAt({ DATABASE_URL, DIRECT_DATABASE_URL }: DatabaseAddresses): string {
  return DIRECT_DATABASE_URL ?? DATABASE_URL;
}

/** Where transactions go, and whether each may find another session behind its connection. */
export function transactionsAt({ DATABASE_URL, DIRECT_DATABASE_URL }: DatabaseAddresses): {
  url: string;
  isPooled: boolean;
} {
  return { url: DATABASE_URL, isPooled: DIRECT_DATABASE_URL !== undefined };
}
