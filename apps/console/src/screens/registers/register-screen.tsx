import { Link, useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Device } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { formatCount } from '../../format/money.js';
import { useLanguage, useWords, type Words } from '../../i18n/i18n.js';
import { named } from '../../i18n/named.js';
import { Badge, Card, Copyable, Facts, Money, PageHead, Time, type BadgeTone } from '../../ui/shown.js';
import { Empty, Loaded, withScope } from '../../ui/states.js';
import { usePlaces } from '../receipts/use-places.js';
import { CountdownBars } from './countdown-bars.js';
import { RegisterActions } from './register-actions.js';
import { reasonText } from './reason-text.js';
import { RegisterState } from './register-state.js';

export const RegisterScreen = withScope('devices:read', OneRegister);

function OneRegister(): ReactElement {
  const { id } = useParams({ from: '/app/registers/$id' });
  const query = useGet(['device', id], '/v1/devices/{id}', { path: { id }, refetchInterval: 5_000 });
  return <Loaded query={query}>{(device) => <Detail device={device} />}</Loaded>;
}

function Detail({ device }: { device: Device }): ReactElement {
  const { fleet } = useWords();
  const { language } = useLanguage();
  return (
    <div className="page">
      <PageHead
        title={
          <>
            {device.name} <RegisterState state={device.state} />
          </>
        }
      >
        <RegisterActions device={device} />
      </PageHead>
      {device.state_reason !== null && <p className="hint">{reasonText(device.state_reason, language)}</p>}
      <div className="columns">
        <div className="column-main">
          <Card title={fleet.register.countdowns}>
            <CountdownBars countdowns={device.countdowns} />
          </Card>
          <Attempts id={device.id} />
          <ZReports id={device.id} />
        </div>
        <div className="column-side">
          <Lane device={device} />
          <Identity device={device} />
        </div>
      </div>
    </div>
  );
}

function Lane({ device }: { device: Device }): ReactElement {
  const { lane, draining_since: draining } = device;
  const { fleet } = useWords();
  const { language } = useLanguage();
  const words = fleet.register;
  return (
    <Card title={words.lane}>
      <Facts
        rows={[
          [
            words.waiting,
            <Link to="/receipts" search={{ device_id: device.id, status: 'accepted' }}>
              {formatCount(lane.waiting)}
            </Link>,
          ],
          [words.oldest, lane.oldest_accepted_at && <Time at={lane.oldest_accepted_at} />],
          [words.due, lane.due_at && <Time at={lane.due_at} />],
          // The title has what the register or the connection to it said, as it is in the log.
          [
            words.dueWhy,
            lane.due_reason && <span title={lane.due_reason}>{reasonText(lane.due_reason, language)}</span>,
          ],
          [
            fleet.draining,
            draining && (
              <Badge tone="warn">
                <Time at={draining} />
              </Badge>
            ),
          ],
        ]}
      />
    </Card>
  );
}

function Identity({ device }: { device: Device }): ReactElement {
  const { fleet } = useWords();
  const words = fleet.register;
  const { names } = usePlaces();
  return (
    <Card title={words.facts}>
      <Facts
        rows={[
          ['ID', <Copyable text={device.id} />],
          [words.terminal, device.terminal_id && <Copyable text={device.terminal_id} />],
          [words.model, device.model],
          [words.branch, names.get(device.branch_id) ?? device.branch_id],
          [words.group, device.group_id === null ? null : <GroupName id={device.group_id} />],
          [words.transport, words.transports[device.transport]],
          [words.address, device.base_url],
          [words.since, <Time at={device.state_since} />],
          [words.seen, device.last_seen_at ? <Time at={device.last_seen_at} /> : words.never],
          [words.closeAt, device.close_at],
          [words.capabilities, device.capabilities.map((name) => named(words.can, name)).join(', ')],
          [
            words.sharing,
            device.profile.sharing === null ? null : named(words.sharings, String(device.profile.sharing)),
          ],
          ...Object.entries(device.business ?? {}).map(([key, value]) => [named(words.business, key), value] as const),
        ]}
      />
    </Card>
  );
}

function GroupName({ id }: { id: string }): ReactElement {
  const { data } = useGet(['group', id], '/v1/groups/{id}', { path: { id }, staleTime: 60_000 });
  return <>{data?.name ?? id}</>;
}

function Attempts({ id }: { id: string }): ReactElement {
  const { fleet } = useWords();
  const query = useGet(['device-attempts', id], '/v1/devices/{id}/attempts', {
    path: { id },
    query: { limit: 20 },
    refetchInterval: 10_000,
  });
  return (
    <Card title={fleet.register.attempts}>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty />
          ) : (
            <ul className="plain-list">
              {data.map((attempt) => (
                <li key={attempt.id} className="line-item line-columns">
                  <Link to="/receipts/$id" params={{ id: attempt.receipt_id }}>
                    <Time at={attempt.created_at} />
                  </Link>
                  <AttemptState state={attempt.state} />
                  <span className="hint">{attempt.http_status === null ? '—' : `HTTP ${attempt.http_status}`}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

type Known = keyof Words['fleet']['register']['attempt'];

const ATTEMPT_TONES: Record<Known, BadgeTone> = {
  open: 'busy',
  registered: 'good',
  rejected: 'bad',
  not_registered: 'neutral',
  unknown: 'warn',
};

/** A state that this page does not know yet is shown by its name. */
function AttemptState({ state }: { state: string }): ReactElement {
  const { attempt } = useWords().fleet.register;
  const known = (Object.keys(ATTEMPT_TONES) as Known[]).find((one) => one === state);
  return known ? <Badge tone={ATTEMPT_TONES[known]}>{attempt[known]}</Badge> : <code className="code">{state}</code>;
}

function ZReports({ id }: { id: string }): ReactElement {
  const { fleet, receipts } = useWords();
  const query = useGet(['device-z-reports', id], '/v1/devices/{id}/z-reports', { path: { id }, query: { limit: 20 } });
  return (
    <Card title={fleet.register.zReports}>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty />
          ) : (
            <ul className="plain-list">
              {data.map((report) => (
                <li key={report.id} className="line-item">
                  <span>
                    № {report.number} · <Time at={report.closed_at ?? report.opened_at} />
                  </span>
                  <ZTotal totals={report.totals} />
                  <Badge tone={report.ofd.status === 'sent' ? 'good' : 'busy'}>
                    {report.ofd.status === 'sent' ? receipts.ofd.sent : receipts.ofd.pending}
                  </Badge>
                  {report.difference !== null && report.difference !== undefined && (
                    <Badge tone="warn">{fleet.unknown.difference}</Badge>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

/** Totals are what the register gave; cash and card of sales where they are numbers. */
function ZTotal({ totals }: { totals: unknown }): ReactElement | null {
  if (typeof totals !== 'object' || totals === null) return null;
  const { saleCash, saleCard } = totals as Record<string, unknown>;
  if (typeof saleCash !== 'number' || typeof saleCard !== 'number') return null;
  return <Money tiyin={saleCash + saleCard} />;
}
