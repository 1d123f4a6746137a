import { useQuery } from '@tanstack/react-query';
import type { ReactElement, ReactNode } from 'react';
import type { Schema } from '../../api/api.js';
import { problemOf } from '../../api/problem.js';
import { useGet } from '../../api/use-get.js';
import { formatCount } from '../../format/money.js';
import { useWords, type Words } from '../../i18n/i18n.js';
import { named } from '../../i18n/named.js';
import { NumberTable } from '../../ui/number-table.js';
import { Badge, Card, Facts, Meter, Time, type BadgeTone } from '../../ui/shown.js';
import { Loaded } from '../../ui/states.js';

type Readiness = Schema<'Readiness'>;
type Health = Schema<'PlatformHealth'>;

const MIB = 1_048_576;
/** From here on a person should look. */
const SLOW_SECONDS = 60;
const FULL = 0.8;

/** What the installation runs on: the gateway that answers, and all programs as their database sees them. */
export function PlatformHealth(): ReactElement {
  const query = useGet(['platform-health'], '/v1/platform/health', { refetchInterval: 10_000 });
  return (
    <>
      <Loaded query={query}>
        {(health) => (
          <div className="columns-even">
            <Programs health={health} />
            <Queue queue={health.queue} />
            <Database database={health.database} />
            <Tables tables={health.tables} />
          </div>
        )}
      </Loaded>
      <OwnReadiness />
    </>
  );
}

interface Group {
  address: string | null;
  since: string;
  processes: number;
  lanes: number | null;
}

/** Processes of one machine stand in one line; it has been there since the oldest of them. */
function grouped(programs: readonly { address: string | null; since: string; lanes?: number }[]): Group[] {
  const groups = new Map<string | null, Group>();
  for (const { address, since, lanes } of programs) {
    const known = groups.get(address);
    if (!known) groups.set(address, { address, since, processes: 1, lanes: lanes ?? null });
    else {
      known.processes += 1;
      if (since < known.since) known.since = since;
      if (lanes !== undefined) known.lanes = (known.lanes ?? 0) + lanes;
    }
  }
  return [...groups.values()];
}

function Programs({ health }: { health: Health }): ReactElement {
  const { platform: words } = useWords();
  return (
    <Card title={words.programs}>
      <Machines title={words.gateways} groups={grouped(health.gateways)} none={words.noGateway} />
      <Machines title={words.relays} groups={grouped(health.relays)} none={words.noRelay} />
    </Card>
  );
}

function Machines({ title, groups, none }: { title: string; groups: Group[]; none: string }): ReactElement {
  const { platform: words } = useWords();
  return (
    <>
      <h3>{title}</h3>
      {groups.length === 0 ? (
        <p>
          <Badge tone="bad">{none}</Badge>
        </p>
      ) : (
        <ul className="plain-list">
          {groups.map(({ address, since, processes, lanes }) => (
            <li key={address ?? ''} className="line-item">
              <span className="wrap">
                <strong>{address ?? words.ownMachine}</strong>
                <small className="hint block">
                  {words.process(processes)} · {words.connected} <Time at={since} />
                </small>
              </span>
              {lanes !== null && <span className="hint">{words.lanes(lanes)}</span>}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Red from so many seconds on: what waits longer is found by no program. */
function Waiting({ seconds }: { seconds: number }): ReactElement {
  const { platform: words } = useWords();
  const text = words.seconds(seconds);
  return seconds >= SLOW_SECONDS ? <Badge tone="warn">{text}</Badge> : <>{text}</>;
}

function Queue({ queue }: { queue: Health['queue'] }): ReactElement {
  const { platform: words } = useWords();
  return (
    <Card title={words.queue}>
      <Facts
        rows={[
          [words.wakeUps, <Badge tone={queue.state === 'up' ? 'good' : 'bad'}>{words.checks[queue.state]}</Badge>],
          [words.lanesWithWork, formatCount(queue.lanes)],
          [words.waitingReceipts, formatCount(queue.receipts)],
          [words.oldestReceipt, <Waiting seconds={queue.oldest_receipt_seconds} />],
          [words.oldestAttempt, <Waiting seconds={queue.oldest_attempt_seconds} />],
          [words.forPerson, formatCount(queue.unknown)],
          [words.overdue, overdueText(queue.overdue, words)],
        ]}
      />
    </Card>
  );
}

function overdueText(overdue: Health['queue']['overdue'], words: Words['platform']): ReactNode {
  const late = (Object.keys(words.overdues) as (keyof typeof words.overdues)[])
    .filter((kind) => overdue[kind] > 0)
    .map((kind) => `${words.overdues[kind]}: ${formatCount(overdue[kind])}`);
  return late.length === 0 ? words.nothingOverdue : <Badge tone="warn">{late.join(' · ')}</Badge>;
}

function Database({ database }: { database: Health['database'] }): ReactElement {
  const { platform: words } = useWords();
  const used = database.connections / Math.max(1, database.max_connections);
  const tone: BadgeTone = used >= FULL ? 'bad' : 'good';
  const connections = `${formatCount(database.connections)} / ${formatCount(database.max_connections)}`;
  return (
    <Card title={words.database}>
      <Facts
        rows={[
          [words.version, database.version],
          [words.size, mib(database.size_bytes)],
          [
            words.connections,
            <>
              {connections} <Meter used={used} label={`${words.connections}: ${connections}`} tone={tone} />
            </>,
          ],
          [words.blocked, formatCount(database.blocked)],
          [words.oldestTransaction, <Waiting seconds={database.oldest_transaction_seconds} />],
          [words.standbys, formatCount(database.standbys)],
        ]}
      />
    </Card>
  );
}

function mib(bytes: number): string {
  return `${formatCount(Math.ceil(bytes / MIB))}\u00a0MiB`;
}

function Tables({ tables }: { tables: Health['tables'] }): ReactElement {
  const { platform: words } = useWords();
  return (
    <Card title={words.tables}>
      <NumberTable
        label={words.tables}
        titles={[words.table, words.size, words.rows, words.partitions]}
        rows={tables.map(({ name, bytes, rows, partitions }) => ({
          key: name,
          head: <code className="code">{name}</code>,
          cells: [mib(bytes), formatCount(rows), partitions === 0 ? words.notPartitioned : formatCount(partitions)],
        }))}
      />
    </Card>
  );
}

/** A gateway that is not ready answers 503, and names there what it lacks. */
async function readReadiness({ signal }: { signal: AbortSignal }): Promise<Readiness> {
  const response = await fetch('/readyz', { signal, cache: 'no-store' });
  const isNamed = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (!isNamed) throw await problemOf(response);
  return (await response.json()) as Readiness;
}

/** What the gateway that answers needs to work, as its orchestrator asks it. */
function OwnReadiness(): ReactElement {
  const { platform: words } = useWords();
  const query = useQuery({ queryKey: ['readiness'], queryFn: readReadiness, refetchInterval: 15_000 });
  return (
    <Card title={words.health}>
      <p className="hint">{words.healthText}</p>
      <Loaded query={query}>
        {({ checks }) => (
          <ul className="plain-list">
            {Object.entries(checks).map(([name, { state, took_ms: took }]) => (
              <li key={name} className="line-item line-columns">
                <span>{named(words.checkNames, name)}</span>
                <Badge tone={state === 'up' ? 'good' : 'bad'}>{words.checks[state]}</Badge>
                <span className="hint">{took} ms</span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
