import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState, type FormEvent, type ReactElement } from 'react';
import { api, type Device } from '../../api/api.js';
import { formatCount } from '../../format/money.js';
import { useLanguage, useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { DialogButton } from '../../ui/dialog-button.js';
import { SelectField, TextField } from '../../ui/field.js';
import { Pages, usePages } from '../../ui/pages.js';
import { Badge, Meter, PageHead, Time } from '../../ui/shown.js';
import { Empty, NeedsScope } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { barsOf, toneOf } from './countdown-bars.js';
import { Groups } from './groups.js';
import { EnrolmentWizard } from './enrolment-wizard.js';
import { reasonText } from './reason-text.js';
import { ATTENTION, RegisterState, STATES } from './register-state.js';

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
  const { state, q } = useSearch({ from: '/app/registers' });
  const navigate = useNavigate();
  const { list, rows: devices } = usePages(
    ['devices', 'list', state, q],
    ({ cursor, signal }) => api('get', '/v1/devices', { signal, query: { limit: 50, cursor, q, ...inState(state) } }),
    15_000,
  );
  const filter = (part: { state?: string; q?: string }): void => {
    const next = { state, q, ...part };
    const given = Object.entries(next).filter(([, value]) => value !== undefined && value !== '');
    void navigate({ to: '/registers', search: Object.fromEntries(given) });
  };
  return (
    <div className="page">
      <PageHead title={nav.registers}>
        <Button onClick={() => void list.refetch()} busy={list.isRefetching}>
          {action.refresh}
        </Button>
        {can('devices:admin') && (
          <DialogButton label={fleet.register.add} title={fleet.wizard.title} tone="primary">
            {(close) => <EnrolmentWizard onDone={close} />}
          </DialogButton>
        )}
      </PageHead>
      <Views shown="list" />
      <div className="search-form">
        <Search shown={q ?? ''} onSearch={(text) => filter({ q: text })} />
        <SelectField
          label={fleet.register.state}
          value={state ?? ''}
          options={[
            { value: '', label: fleet.register.all },
            { value: ATTENTION, label: fleet.register.attention },
            ...STATES.map((value) => ({ value, label: fleet.state[value] })),
          ]}
          onValue={(value) => filter({ state: value })}
        />
      </div>
      <Pages
        list={list}
        empty={<Empty>{state === undefined && q === undefined ? texts.empty : texts.emptyFiltered}</Empty>}
      >
        <ul className="tiles">
          {devices.map((device) => (
            <RegisterTile key={device.id} device={device} />
          ))}
        </ul>
      </Pages>
    </div>
  );
}

/** What the address says of a state, as the gateway is asked. */
function inState(state: string | undefined): { state?: string; attention?: 'true' } {
  if (state === undefined) return {};
  return state === ATTENTION ? { attention: 'true' } : { state };
}

function Search({ shown, onSearch }: { shown: string; onSearch: (text: string) => void }): ReactElement {
  const { fleet, action } = useWords();
  const [typed, setTyped] = useState(shown);
  // The address may change beside the field. It stays the same field: who has searched by keyboard is still in it.
  useEffect(() => setTyped(shown), [shown]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSearch(typed.trim());
  };
  return (
    <form className="search-form" role="search" onSubmit={submit}>
      <TextField label={fleet.register.search} type="search" maxLength={128} value={typed} onValue={setTyped} />
      <Button type="submit">{action.apply}</Button>
    </form>
  );
}

/** A register in short: its state, its queue, and whatever of it runs out first. */
function RegisterTile({ device }: { device: Device }): ReactElement {
  const { fleet } = useWords();
  const { language } = useLanguage();
  const worst = barsOf(device.countdowns, fleet.countdown).toSorted((one, other) => other.used - one.used)[0];
  return (
    <li className="tile">
      <div className="tile-head">
        <Link to="/registers/$id" params={{ id: device.id }} className="tile-link">
          {device.name}
        </Link>
        <RegisterState state={device.state} />
      </div>
      {device.state_reason !== null && <p className="hint">{reasonText(device.state_reason, language)}</p>}
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
