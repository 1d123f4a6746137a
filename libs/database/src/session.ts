import type pg from 'pg';
import { silenceAfter, type WatchedConfig } from './watched-client.js';

export interface SessionSettings {
  /** postgres:// URL of the program role (no ownership). */
  url: string;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** The server ends a statement that takes longer; 0: never. */
  statementTimeoutMs: number;
  /** How long one statement may wait for another transaction's lock; 0: as long as the statement may take. */
  lockTimeoutMs?: number;
  /** The server ends a session whose transaction does nothing for so long: its process stands still or is gone. */
  idleInTransactionMs?: number;
  /** How long a connection may take to be made, or a free one of a pool be waited for; else `connect_timeout` of the URL, else 3 s. */
  connectTimeoutMs?: number;
  /** Further parameters of the session, by name. */
  parameters?: Readonly<Record<string, string | number>>;
  /**
   * A pooler in transaction mode is in between: it takes no parameters of a session, which its own configuration gives
   * (docs/scale.md), and no statement stays prepared.
   */
  isPooled?: boolean;
}

const CONNECT_TIMEOUT_MS = 3_000;
const IDLE_IN_TRANSACTION_MS = 5_000;
/**
 * How the server notices that the client's host is gone: what it has sent is not acknowledged for eight seconds, or an idle
 * connection does not answer within 5 s + 3 × 2 s. Without the first, an answer under way keeps session and locks for a
 * quarter of an hour.
 */
const SERVER_SIDE = {
  tcp_user_timeout: 8_000,
  tcp_keepalives_idle: 5,
  tcp_keepalives_interval: 2,
  tcp_keepalives_count: 3,
} as const;

/** Whatever the database's own default is: locks that are waited for, and counts under them, are of what is there then. */
const SNAPSHOTS = { default_transaction_isolation: 'read committed' } as const;

/** How each session of a program of ours is opened, and when either side gives it up (docs/adr/0054-silent-connections.md). */
export function sessionConfig(settings: SessionSettings): pg.ClientConfig & WatchedConfig {
  const { statementTimeoutMs, isPooled = false } = settings;
  return {
    application_name: settings.applicationName,
    connectionTimeoutMillis: settings.connectTimeoutMs ?? connectTimeoutOf(settings.url),
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    silenceMs: silenceAfter(statementTimeoutMs),
    ...(isPooled ? { connectionString: settings.url, isPooled } : ownSession(settings)),
  };
}

function ownSession(settings: SessionSettings): pg.ClientConfig {
  const { statementTimeoutMs, lockTimeoutMs = 0, idleInTransactionMs = IDLE_IN_TRANSACTION_MS } = settings;
  return {
    connectionString: withParameters(settings.url, { ...SERVER_SIDE, ...SNAPSHOTS, ...settings.parameters }),
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
  };
}

/** As libpq has it: `connect_timeout` of the URL, in seconds. */
export function connectTimeoutOf(url: string): number {
  const seconds = Number(new URL(url).searchParams.get('connect_timeout') ?? 0);
  return seconds > 0 ? seconds * 1_000 : CONNECT_TIMEOUT_MS;
}

/** Parameters of the URL's own `options` come last and win. */
function withParameters(url: string, parameters: Readonly<Record<string, string | number>>): string {
  const target = new URL(url);
  const ours = Object.entries(parameters).map(([name, value]) => `-c ${name}=${String(value).replaceAll(' ', '\\ ')}`);
  const given = target.searchParams.get('options');
  target.searchParams.set('options', [...ours, ...(given === null ? [] : [given])].join(' '));
  return target.href;
}
