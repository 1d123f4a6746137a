import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Device, type Schema } from '../../api/api.js';
import { everyPage, refreshAfter } from '../../api/every-page.js';
import { formatCount } from '../../format/money.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { CallForm } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextField } from '../../ui/field.js';
import { Card } from '../../ui/shown.js';
import { Empty, Loaded } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { RegisterState } from './register-state.js';
import { takesOver } from './takeover.js';

interface Fleet {
  groups: Schema<'PlaceView'>[];
  branches: Schema<'BranchView'>[];
  devices: Device[];
  /** False: there are more than were read, also of those that would take over. */
  isWhole: boolean;
}

/** All of them: who takes over is a statement about every register of the group. */
async function readFleet(): Promise<Fleet> {
  const [groups, branches, devices] = await Promise.all([
    everyPage((query) => api('get', '/v1/groups', { query })),
    everyPage((query) => api('get', '/v1/branches', { query })),
    everyPage((query) => api('get', '/v1/devices', { query })),
  ]);
  return {
    ...{ groups: groups.entries, branches: branches.entries, devices: devices.entries },
    isWhole: [groups, branches, devices].every(({ isWhole }) => isWhole),
  };
}

/** A page of each list, however many there are: a picture of 2 000 registers is read again after five minutes. */
const PAGE_EVERY_MS = 15_000;

function largest({ groups, branches, devices }: Fleet): number {
  return Math.max(groups.length, branches.length, devices.length);
}

/** Groups, their branches and registers, and which would take over from which. */
export function Groups(): ReactElement {
  const { can } = useSession();
  const query = useQuery({
    queryKey: ['fleet'],
    queryFn: readFleet,
    refetchInterval: ({ state }) => refreshAfter(state.data ? largest(state.data) : 0, PAGE_EVERY_MS),
  });
  return (
    <>
      <Loaded query={query}>{(fleet) => <Drawn fleet={fleet} />}</Loaded>
      {can('devices:admin') && <NewGroup />}
    </>
  );
}

function Drawn({ fleet }: { fleet: Fleet }): ReactElement {
  const { fleet: words } = useWords();
  const [chosenId, choose] = useState<string | null>(null);
  const { groups, devices } = fleet;
  const chosen = devices.find(({ id }) => id === chosenId) ?? null;
  const circles = chosen === null ? null : takesOver(chosen, devices);
  const circleOf = (device: Device): Circle => {
    if (device === chosen) return 'chosen';
    if (circles?.branch.includes(device)) return 'first';
    return circles?.group.includes(device) ? 'second' : null;
  };
  if (devices.length === 0) return <Empty />;
  const boxes = [
    ...groups.map(({ id, name }) => ({ id, title: `${words.register.group}: ${name}` })),
    { id: null, title: words.groups.none },
  ];
  return (
    <>
      <p className="hint">{words.groups.intro}</p>
      {!fleet.isWhole && (
        <p role="status" className="inline-note">
          {words.groups.cut(formatCount(devices.length))}
        </p>
      )}
      {boxes.map(({ id, title }) => {
        const own = devices.filter((device) => device.group_id === id);
        return own.length === 0 && id === null ? null : (
          <Card key={id ?? ''} title={title}>
            {own.length === 0 && <p className="hint">{words.groups.empty}</p>}
            <Branches devices={own} branches={fleet.branches} circleOf={circleOf} choose={choose} />
          </Card>
        );
      })}
      {chosen !== null && circles !== null && (
        <Card title={words.groups.ifAway(chosen.name)}>
          <ol className="plain-list">
            <li>
              <strong>{words.groups.first}:</strong> <Names devices={circles.branch} />
            </li>
            <li>
              <strong>{words.groups.second}:</strong> <Names devices={circles.group} />
            </li>
          </ol>
          <p className="hint">{words.groups.how}</p>
          <Link to="/registers/$id" params={{ id: chosen.id }}>
            {words.wizard.finish}
          </Link>
        </Card>
      )}
    </>
  );
}

function Names({ devices }: { devices: readonly Device[] }): ReactElement {
  const { fleet } = useWords();
  return <>{devices.length === 0 ? fleet.groups.noOne : devices.map(({ name }) => name).join(' · ')}</>;
}

type Circle = 'chosen' | 'first' | 'second' | null;

interface BranchesProps {
  devices: readonly Device[];
  branches: readonly Schema<'BranchView'>[];
  circleOf: (device: Device) => Circle;
  choose: (id: string) => void;
}

function Branches({ devices, branches, circleOf, choose }: BranchesProps): ReactElement {
  const { fleet } = useWords();
  const ids = [...new Set(devices.map(({ branch_id: id }) => id))];
  return (
    <div className="circles">
      {ids.map((id) => {
        const branch = branches.find((one) => one.id === id);
        return (
          <section key={id} className="circle" aria-label={branch?.name ?? id}>
            <h3>{branch?.name ?? id}</h3>
            {devices
              .filter(({ branch_id: of }) => of === id)
              .map((device) => {
                const circle = circleOf(device);
                return (
                  <button
                    key={device.id}
                    type="button"
                    className={circle === null ? 'circle-till' : `circle-till circle-${circle}`}
                    aria-pressed={circle === 'chosen'}
                    onClick={() => choose(device.id)}
                  >
                    <span className="wrap">{device.name}</span>
                    <RegisterState state={device.state} />
                    {branch?.default_device_id === device.id && <small>{fleet.groups.usual}</small>}
                    {circle === 'first' && <small>{fleet.groups.first}</small>}
                    {circle === 'second' && <small>{fleet.groups.second}</small>}
                  </button>
                );
              })}
          </section>
        );
      })}
    </div>
  );
}

function NewGroup(): ReactElement {
  const { fleet, onboarding } = useWords();
  const [draft, change, clear] = useDraft('new-group', { code: '', name: '' });
  const create = useChange(() => api('post', '/v1/groups', { body: draft }), {
    clear,
    refreshes: [['fleet']],
  });
  const field = draftFields(draft, change, create.error);
  return (
    <Card title={fleet.groups.add}>
      <CallForm call={create} onSubmit={() => create.mutate()} label={fleet.groups.add} tone="plain" beside={null}>
        <div className="form-row">
          <TextField label={onboarding.code} required maxLength={64} {...field('code')} />
          <TextField label={onboarding.name} required maxLength={128} {...field('name')} />
        </div>
        <p className="hint">{fleet.groups.addHint}</p>
      </CallForm>
    </Card>
  );
}
