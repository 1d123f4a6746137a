import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Device } from '../../api/api.js';
import { formatCount } from '../../format/money.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { SelectField } from '../../ui/field.js';
import { Badge, Meter, PageHead, Time } from '../../ui/shown.js';
import { Empty, Loading, NeedsScope, ProblemNote } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { barsOf, toneOf } from './countdown-bars.js';
import { Groups } from './groups.js';
import { EnrolmentWizard } from './enrolment-wizard.js';
import { RegisterState, STATES } from './register-state.js';

export function RegistersScreen(): ReactElement {
  const { view = 'list' } = useSearch({ from: '/app/registers' });
  return <NeedsScope scope="devices:read">{view === 'groups' ? <Failover /> : <Registers />}</NeedsScope>;
}

function Views({ shown }: { shown: 'list' | 'groups' }): ReactElement {
  const { nav, fleet } = useWords();
  const tabs = [
    { view: 'list', title: fleet.groups.list },
    { view: 'groups', title: fleet.groups.title },
  ];
  return <Tabs label={nav.registers} to="/registers" tabs={tabs} shown={shown} />;
}

function Failover(): ReactElement {
  const { nav } = useWords();
  return (
    <div className="page">
      <PageHead title={nav.registers} />
      <Views shown="groups" />
      <Groups />
    </div>
  );
}

function Registers(): ReactElement {
  const { nav, fleet, state: texts, action } = useWords();
  const { can } = useSession();
  const { state } = useSearch({ from: '/app/registers' });
  const navigate = useNavigate();
  const [isAdding, setAdding] = useState(false);
  const list = useInfiniteQuery({
    queryKey: ['devices', 'list', state],
    queryFn: ({ pageParam, signal }) =>
      api('get', '/v1/devices', { signal, query: { limit: 50, cursor: pageParam, state } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: 15_000,
  });
  const devices = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const filter = (next: string): void =>
    void navigate({ to: '/registers', search: next === '' ? {} : { state: next } });
  return (
    <div className="page">
      <PageHead title={nav.registers}>
        <Button onClick={() => void list.refetch()} busy={list.isRefetching}>
          {action.refresh}
        </Button>
        {can('devices:admin') && (
          <Button tone="primary" onClick={() => setAdding(true)}>
            {fleet.register.add}
          </Button>
        )}
      </PageHead>
      <Views shown="list" />
      <div className="form-row">
        <SelectField
          label={nav.registers}
          value={state ?? ''}
          options={[
            { value: '', label: fleet.register.all },
            ...STATES.map((value) => ({ value, label: fleet.state[value] })),
          ]}
          onValue={filter}
        />
      </div>
      {list.isPending && <Loading />}
      {list.error && <ProblemNote problem={list.error} onRetry={() => void list.refetch()} />}
      {list.data && devices.length === 0 && <Empty>{state === undefined ? texts.empty : texts.emptyFiltered}</Empty>}
      <ul className="tiles">
        {devices.map((device) => (
          <RegisterTile key={device.id} device={device} />
        ))}
      </ul>
      {list.hasNextPage && (
        <Button onClick={() => void list.fetchNextPage()} busy={list.isFetchingNextPage}>
          {texts.more}
        </Button>
      )}
      <Dialog title={fleet.wizard.title} open={isAdding} onClose={() => setAdding(false)}>
        <EnrolmentWizard onDone={() => setAdding(false)} />
      </Dialog>
    </div>
  );
}

/** A register in short: its state, its queue, and whatever of it runs out first. */
function RegisterTile({ device }: { device: Device }): ReactElement {
  const { fleet } = useWords();
  const worst = barsOf(device.countdowns, fleet.countdown).toSorted((one, other) => other.used - one.used)[0];
  return (
    <li className="tile">
      <div className="tile-head">
        <Link to="/registers/$id" params={{ id: device.id }} className="tile-link">
          {device.name}
        </Link>
        <RegisterState state={device.state} />
      </div>
      {device.state_reason !== null && <p className="hint">{device.state_reason}</p>}
      <p className="hint">
        {fleet.register.waiting}: <strong>{formatCount(device.lane.waiting)}</strong> · {device.terminal_id ?? '—'}
        {device.draining_since !== null && (
          <>
            {' '}
            <Badge tone="warn">{fleet.draining}</Badge>
          </>
        )}
      </p>
      <p className="hint">
        {fleet.register.seen}: {device.last_seen_at === null ? fleet.register.never : <Time at={device.last_seen_at} />}
      </p>
      {worst && (
        <>
          <div className="bar-head">
            <span>{worst.title}</span>
            <span className="hint">{worst.text}</span>
          </div>
          <Meter used={worst.used} label={worst.title} tone={toneOf(worst.used)} />
        </>
      )}
    </li>
  );
}
