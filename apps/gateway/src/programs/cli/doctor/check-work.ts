import { apiKeyOwner, type PrismaService } from '#database';
import { OFD_FUSE_HOURS, OFD_WARNING_HOURS } from '#fiscal-domain';
import { countUnknown } from '#ledger';
import { open, type Keyring } from '#secrets';
import { countForPerson, MOST_FOR_PERSON } from '../../../payments/repository/payments-for-person.js';
import { judged, well, type Finding } from './finding.js';

interface WorkRow {
  states: Record<string, number> | null;
  lanes: number;
  oldest: number | null;
  unsent: number;
  held: boolean;
  disabled: number;
}

/** Counted no further: what is examined must stay cheap at a hundred million receipts. */
const MAX_COUNTED = 1_000;

async function readWork(database: PrismaService): Promise<WorkRow> {
  const [row] = await database.$queryRaw<WorkRow[]>`
    SELECT (SELECT jsonb_object_agg(state, count) FROM (
              SELECT state::text, count(*)::int4 FROM devices WHERE deleted_at IS NULL AND registered_at IS NOT NULL
               GROUP BY state) s) AS states,
           (SELECT count(*)::int4 FROM waiting_lanes()) AS lanes,
           (SELECT extract(epoch FROM now() - min(created_at))::float8 FROM waiting_lanes()
             WHERE NOT starts_with(device_id, 'dev_test_')) AS oldest,
           unsent_of_live(now() + make_interval(hours => ${OFD_FUSE_HOURS - OFD_WARNING_HOURS}::int), ${MAX_COUNTED}::int) AS unsent,
           EXISTS (SELECT FROM database_identity WHERE lanes_held_at IS NOT NULL) AS held,
           (SELECT count(*)::int4 FROM webhook_endpoints WHERE disabled_at IS NOT NULL AND deleted_at IS NULL
               AND disabled_at > now() - interval '7 days') AS disabled`;
  if (!row) throw new Error('the database returned nothing');
  return row;
}

/** What stands still or waits for a person. */
export async function checkWork(database: PrismaService, keyring: Keyring): Promise<Finding[]> {
  const row = await readWork(database);
  const unknown = await countUnknown(database, MAX_COUNTED);
  const payments = await countForPerson(database);
  return [
    registersFinding(row.states ?? {}),
    row.held
      ? {
          check: 'lanes',
          state: 'bad',
          found: 'held by restore begin',
          do: 'Nothing goes to any register. `restore status` says what is left to do.',
        }
      : judged(
          {
            check: 'lanes',
            found: `${String(row.lanes)} with receipts, the oldest waits ${(row.oldest ?? 0).toFixed(0)} s`,
            advice: 'docs/runbook.md, "What to watch": the second query says which lanes, and why they wait.',
          },
          row.oldest ?? 0,
          { warn: 60, bad: 600 },
        ),
    judged(
      {
        check: 'unknown receipts',
        found: String(unknown),
        advice: 'docs/runbook.md, "A receipt is unknown": a person decides each, with evidence.',
      },
      unknown,
      { warn: 1, bad: 1 },
    ),
    judged(
      {
        check: 'OFD',
        found: `${String(row.unsent)} documents have not reached it for ${String(OFD_WARNING_HOURS)} hours`,
        advice: `docs/runbook.md, "Documents that do not reach the OFD": after ${String(OFD_FUSE_HOURS)} hours their registers stop.`,
      },
      row.unsent,
      { warn: 1, bad: MAX_COUNTED },
    ),
    judged(
      {
        check: 'payments',
        found: `${String(payments)} wait for a person`,
        advice: 'docs/alarms.md, "PaymentsForPerson": each is decided on, after a comparison with its provider.',
      },
      payments,
      { warn: 1, bad: MOST_FOR_PERSON },
    ),
    judged(
      {
        check: 'webhooks',
        found: `${String(row.disabled)} endpoints were disabled this week`,
        advice: 'Inform their owners: events wait until they are enabled again.',
      },
      row.disabled,
      { warn: 1, bad: MAX_COUNTED },
    ),
    await secretsFinding(database, keyring),
  ];
}

function registersFinding(states: Readonly<Record<string, number>>): Finding {
  const all = Object.values(states).reduce((sum, count) => sum + count, 0) - (states['disabled'] ?? 0);
  const up = (states['online'] ?? 0) + (states['degraded'] ?? 0);
  const found =
    Object.entries(states)
      .map(([state, count]) => `${String(count)} ${state}`)
      .join(', ') || 'none';
  if (all <= 0 || up === all) return well('registers', found);
  const advice =
    'docs/runbook.md, "A register does not take receipts": by state; `devices.state_reason` names the cause.';
  return { check: 'registers', state: up < all / 2 ? 'bad' : 'warn', found, do: advice };
}

/** Whether SECRETS_KEY opens what this database keeps: a wrong one is noticed only when a register is called. */
async function secretsFinding(database: PrismaService, keyring: Keyring): Promise<Finding> {
  const [device] = await database.$queryRaw<{ id: string; sealed: Uint8Array }[]>`
    SELECT id, api_key_sealed AS sealed FROM devices WHERE deleted_at IS NULL ORDER BY id DESC LIMIT 1`;
  if (!device) return well('secrets', 'there is no register yet, so nothing to open');
  try {
    open(Buffer.from(device.sealed), apiKeyOwner(device.id), keyring);
    return well('secrets', 'SECRETS_KEY opens what is kept');
  } catch (error) {
    const found = `the key of ${device.id} cannot be opened (${error instanceof Error ? error.name : 'error'})`;
    return {
      check: 'secrets',
      state: 'bad',
      found,
      do: 'SECRETS_KEY is not that of this database: take the right one from its backup.',
    };
  }
}
