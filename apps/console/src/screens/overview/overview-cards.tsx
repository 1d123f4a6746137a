import { Link } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import type { Schema } from '../../api/api.js';
import type { LiveEvent } from '../../api/live-events.js';
import { formatCount, formatTiyin } from '../../format/money.js';
import { formatDay, formatTime } from '../../format/time.js';
import { useLanguage, useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Bars } from '../../ui/bars.js';
import { NumberTable } from '../../ui/number-table.js';
import { Card, Facts, Meter, Money, Time } from '../../ui/shown.js';
import { toneOf } from '../registers/countdown-bars.js';

type Overview = Schema<'Overview'>;

const MINUTE_MS = 60_000;
const MINUTES = 60;

/** The last hour by minutes and the last thirty days; minutes without a receipt are empty bars. */
export function Charts({ now }: { now: Overview }): ReactElement {
  const { overview: words } = useWords();
  const { language } = useLanguage();
  const counted = new Map(now.latency.minutes.map(({ at, count }) => [new Date(at).getTime(), count]));
  const last = Math.floor(new Date(now.generated_at).getTime() / MINUTE_MS) * MINUTE_MS;
  const minutes = Array.from({ length: MINUTES }, (_, index) => last - (MINUTES - 1 - index) * MINUTE_MS).map((at) => {
    const value = counted.get(at) ?? 0;
    return { key: String(at), value, text: `${formatTime(new Date(at)).slice(11, 16)}: ${words.pieces(value)}` };
  });
  const days = now.days.map(({ day, registered: { count, total } }) => ({
    key: day,
    value: total,
    text: words.dayOf(formatDay(`${day}T12:00:00+05:00`), formatTiyin(total, language), words.pieces(count)),
  }));
  return (
    <>
      <Card title={words.perMinute}>
        <Bars label={words.perMinute} bars={minutes} />
      </Card>
      <Card title={words.turnover}>
        <Bars label={words.turnover} bars={days} />
        <p className="chart-foot hint">
          <span>{formatDay(`${now.days[0]?.day ?? ''}T12:00:00+05:00`)}</span>
          <span>{formatDay(`${now.days.at(-1)?.day ?? ''}T12:00:00+05:00`)}</span>
        </p>
      </Card>
    </>
  );
}

export function Speed({ latency }: { latency: Overview['latency'] }): ReactElement {
  const { overview: words } = useWords();
  const shown = (of: Schema<'Percentiles'>): ReactNode =>
    of.p50_ms === null || of.p95_ms === null || of.max_ms === null ? (
      words.noSpeed
    ) : (
      <ul className="plain-list">
        <li>
          {words.half} <strong>{words.ms(of.p50_ms)}</strong>
        </li>
        <li>
          {words.most} <strong>{words.ms(of.p95_ms)}</strong>
        </li>
        <li className="hint">
          {words.longest} {words.ms(of.max_ms)} · {words.pieces(of.count)}
        </li>
      </ul>
    );
  return (
    <Card title={words.speed}>
      <Facts
        rows={[
          [words.hour, shown(latency.last_hour)],
          [words.day, shown(latency.last_24_hours)],
        ]}
      />
    </Card>
  );
}

/** What ends first: how much of it is used up, and when it is over. */
export function RunsOut({ countdowns }: { countdowns: Overview['countdowns'] }): ReactElement {
  const { overview: words, fleet } = useWords();
  const { can } = useSession();
  const left = ({ kind, remaining }: Schema<'OverviewCountdown'>): string => {
    const { countdown } = fleet;
    if (kind === 'module_memory') return countdown.left(countdown.pieces(remaining));
    const hours = Math.max(0, Math.floor(remaining / 3_600));
    return countdown.left(hours >= 72 ? countdown.days(Math.floor(hours / 24)) : countdown.hours(hours));
  };
  return (
    <Card title={words.due}>
      {countdowns.length === 0 && <p className="hint">{words.noneDue}</p>}
      <ul className="plain-list bars">
        {countdowns.slice(0, 8).map((one) => {
          const used = one.limit === 0 ? 1 : 1 - Math.max(0, one.remaining) / one.limit;
          const title = `${words.kinds[one.kind]}: ${one.device_name}`;
          return (
            <li key={`${one.kind} ${one.device_id}`} className="bar">
              <div className="bar-head">
                <span className="wrap">
                  {words.kinds[one.kind]} ·{' '}
                  {can('devices:read') ? (
                    <Link to="/registers/$id" params={{ id: one.device_id }}>
                      {one.device_name}
                    </Link>
                  ) : (
                    one.device_name
                  )}
                </span>
                <span className="hint">{left(one)}</span>
              </div>
              <Meter used={used} label={title} tone={toneOf(used)} />
              {one.due_at !== null && (
                <small className="hint">
                  <Time at={one.due_at} />
                </small>
              )}
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

/** Where it was sold: the most first. */
export function Places({ now }: { now: Overview }): ReactElement {
  const { overview: words } = useWords();
  return (
    <div className="columns-even">
      <PlaceTable
        title={words.branches}
        rows={now.by_branch.map(({ branch_id: id, name, ...sums }) => ({ id, name, link: { branch_id: id }, ...sums }))}
      />
      <PlaceTable
        title={words.devices}
        rows={now.by_device.map(({ device_id: id, name, today, last_30_days }) => ({
          id,
          name,
          link: { device_id: id },
          today,
          last_30_days,
        }))}
      />
    </div>
  );
}

interface PlaceRow {
  id: string;
  name: string;
  link: { branch_id?: string; device_id?: string };
  today: Schema<'CountAndTotal'>;
  last_30_days: Schema<'CountAndTotal'>;
}

const PLACES_SHOWN = 10;

function PlaceTable({ title, rows }: { title: string; rows: readonly PlaceRow[] }): ReactElement {
  const { overview: words, state } = useWords();
  return (
    <Card title={title}>
      {rows.length === 0 && <p className="hint">{state.empty}</p>}
      {rows.length > 0 && (
        <NumberTable
          label={title}
          titles={[title, words.today, words.days30]}
          rows={rows.slice(0, PLACES_SHOWN).map(({ id, name, link, today, last_30_days: month }) => ({
            key: id,
            head: (
              <Link to="/receipts" search={link}>
                {name || id}
              </Link>
            ),
            cells: [<Sold of={today} />, <Sold of={month} />],
          }))}
        />
      )}
    </Card>
  );
}

function Sold({ of: { total, count } }: { of: Schema<'CountAndTotal'> }): ReactElement {
  return (
    <>
      <Money tiyin={total} />
      <small className="hint block">{formatCount(count)}</small>
    </>
  );
}

export function Happened({ events }: { events: readonly LiveEvent[] }): ReactElement {
  const { overview: words } = useWords();
  return (
    <Card title={words.happened}>
      {events.length === 0 && <p className="hint">{words.nothingYet}</p>}
      <ol className="plain-list" aria-live="polite">
        {events.map((event) => (
          <li key={event.id} className="line-item">
            <EventLink event={event} />
            <Time at={event.timestamp} />
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** To what it is about, where there is a screen of it. */
function EventLink({ event: { type, data } }: { event: LiveEvent }): ReactElement {
  const { can } = useSession();
  const text = (name: string): string | null => (typeof data[name] === 'string' ? data[name] : null);
  const receipt = text('receipt_id') ?? (type.startsWith('receipt.') || type.startsWith('refund.') ? text('id') : null);
  const device = text('device_id');
  const params = { id: receipt ?? device ?? '' };
  if (receipt !== null) return <Link {...{ to: '/receipts/$id', params }}>{type}</Link>;
  if (device !== null && can('devices:read')) return <Link {...{ to: '/registers/$id', params }}>{type}</Link>;
  return <span>{type}</span>;
}
