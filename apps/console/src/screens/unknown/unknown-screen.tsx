import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, type UnknownCase } from '../../api/api.js';
import { formatCount } from '../../format/money.js';
import { useLanguage, useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { Pages, usePages } from '../../ui/pages.js';
import { Badge, Facts, Json, Money, PageHead, Quantity, Time } from '../../ui/shown.js';
import { Empty, withScope } from '../../ui/states.js';
import { TableHead } from '../../ui/table-head.js';
import { reasonText } from '../registers/reason-text.js';
import { DecisionForm } from './decision-form.js';
import { ParkAttempt } from './park-attempt.js';

export const UnknownScreen = withScope('operator:read', Cases);

function Cases(): ReactElement {
  const { nav, fleet, action } = useWords();
  const { list, rows: cases } = usePages(
    ['unknown'],
    ({ cursor, signal }) => api('get', '/v1/operator/unknown', { signal, query: { limit: 20, cursor } }),
    15_000,
  );
  return (
    <div className="page">
      <PageHead title={nav.unknown}>
        <Button onClick={() => void list.refetch()} busy={list.isRefetching}>
          {action.refresh}
        </Button>
      </PageHead>
      <p className="hint">{fleet.unknown.intro}</p>
      <Pages list={list} empty={<Empty>{fleet.unknown.none}</Empty>}>
        {cases.map((one) => (
          <CaseCard key={one.attempt.id} one={one} />
        ))}
      </Pages>
    </div>
  );
}

/** One case: what was sent, what came back, what the counters say, and what each decision will do. */
function CaseCard({ one }: { one: UnknownCase }): ReactElement {
  const { fleet, receipts } = useWords();
  const { can } = useSession();
  const { receipt, device, attempt } = one;
  return (
    <article className="card case" aria-label={receipt.id}>
      <header className="card-head">
        <h2>
          <Link to="/receipts/$id" params={{ id: receipt.id }}>
            {receipts.type[receipt.type]} <Money tiyin={receipt.total} />
          </Link>{' '}
          <Badge tone="warn">{receipts.status[receipt.status]}</Badge>
        </h2>
        <span className="hint">
          {fleet.unknown.since} <Time at={one.blocked_since} />
        </span>
      </header>
      <div className="case-facts">
        <section>
          <h3>{fleet.unknown.sent}</h3>
          <Facts
            rows={[
              [receipts.column.external_id, receipt.external_id],
              [
                receipts.column.device,
                <Link to="/registers/$id" params={{ id: device.id }}>
                  {device.name}
                </Link>,
              ],
              [fleet.register.terminal, one.baseline.terminal_id ?? device.terminal_id],
              [receipts.method.cash, receipt.payment.cash > 0 ? <Money tiyin={receipt.payment.cash} /> : null],
              [receipts.method.card, receipt.payment.card > 0 ? <Money tiyin={receipt.payment.card} /> : null],
              [receipts.vatTotal, <Money tiyin={receipt.vat_total} />],
              [receipts.timeline.attempt_opened(String(attempt.number)), <Time at={attempt.created_at} />],
            ]}
          />
          <ul className="plain-list hint">
            {receipt.items.slice(0, 5).map((item) => (
              <li key={item.line}>
                <Quantity of={item.qty} /> × {item.name}
              </li>
            ))}
            {receipt.items.length > 5 && <li>… {formatCount(receipt.items.length)}</li>}
          </ul>
        </section>
        <Answered one={one} />
        <Counters one={one} />
      </div>
      {one.queue > 0 && <p className="hint">{fleet.unknown.queue(one.queue)}</p>}
      {attempt.state === 'open' ? (
        <ParkAttempt attemptId={attempt.id} />
      ) : (
        can('operator:resolve') && <DecisionForm one={one} />
      )}
    </article>
  );
}

function Answered({
  one: { attempt, evidence, explanation, last_registered: last },
}: {
  one: UnknownCase;
}): ReactElement {
  const { fleet, receipts } = useWords();
  const { language } = useLanguage();
  return (
    <section>
      <h3>{fleet.unknown.answered}</h3>
      <p>{attempt.http_status === null ? fleet.unknown.noAnswer : `HTTP ${attempt.http_status}`}</p>
      {explanation !== null && (
        <p>
          <strong>{fleet.unknown.explanation}:</strong> {reasonText(explanation, language)}
        </p>
      )}
      {last && (
        <p className="hint">
          {fleet.unknown.last}: {last.receipt_seq} · <Time at={last.registered_at} />
        </p>
      )}
      {evidence && (
        <details>
          <summary>{receipts.timeline.evidence}</summary>
          <Json value={evidence} />
        </details>
      )}
    </section>
  );
}

type Reading = NonNullable<UnknownCase['reading']>;
type Counter = Exclude<keyof Reading, 'terminal_id'>;
const COUNTERS: readonly Counter[] = [
  'sequence',
  'sale_cash',
  'sale_card',
  'refund_cash',
  'refund_card',
  'sale_vat',
  'refund_vat',
];

/** Before and after, side by side; what has moved stands out. */
function Counters({ one: { baseline, reading, difference } }: { one: UnknownCase }): ReactElement | null {
  const { fleet } = useWords();
  const words = fleet.unknown;
  const before = baseline.reading;
  if (!before && !reading && difference === null) return null;
  const shown = (of: Reading | null, name: Counter): ReactElement | string => {
    if (of === null) return '—';
    return name === 'sequence' ? String(of.sequence) : <Money tiyin={of[name]} />;
  };
  return (
    <section>
      <table className="table table-small">
        <TableHead
          names={[<span className="visually-hidden">{words.difference}</span>]}
          numbers={[words.before, words.after]}
        />
        <tbody>
          {COUNTERS.map((name) => (
            <tr key={name} className={before && reading && before[name] !== reading[name] ? 'moved' : undefined}>
              <th scope="row">{words.counter[name]}</th>
              <td className="end">{shown(before, name)}</td>
              <td className="end">{shown(reading, name)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {difference !== null && (
        <p>
          <strong>{words.difference}:</strong> {difference}
        </p>
      )}
    </section>
  );
}
