import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { CallForm } from '../../ui/call-form.js';
import { DialogButton } from '../../ui/dialog-button.js';
import { draftFields } from '../../ui/draft-fields.js';
import { CheckField, RadioField, SelectField, TextField } from '../../ui/field.js';
import { Pages, usePages } from '../../ui/pages.js';
import { Badge, PageHead, Time } from '../../ui/shown.js';
import { Empty, withPlatformScope } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { PlatformHealth } from './platform-health.js';
import { PlatformNumbers } from './platform-numbers.js';

type Merchant = Schema<'PlatformMerchantView'>;
type Mode = Merchant['mode'];

const MODES: readonly Mode[] = ['live', 'sandbox'];

export const PlatformScreen = withPlatformScope('platform:read', Merchants);

/** All merchants of the installation. */
function Merchants(): ReactElement {
  const { nav, platform: words, state } = useWords();
  const { canOverMerchants } = useSession();
  const { mode, suspended } = useSearch({ from: '/app/platform' });
  const navigate = useNavigate();
  const query = {
    mode: MODES.find((known) => known === mode),
    suspended: suspended === 'true' ? ('true' as const) : undefined,
  };
  const { list, rows: merchants } = usePages(['platform-merchants', query], ({ cursor, signal }) =>
    api('get', '/v1/platform/merchants', { signal, query: { ...query, limit: 50, cursor } }),
  );
  const filter = (next: { mode?: string; suspended?: string }): void =>
    void navigate({ to: '/platform', search: { mode: mode ?? '', suspended: suspended ?? '', ...next } });
  return (
    <div className="page">
      <PageHead title={nav.platform}>
        {canOverMerchants('platform:admin') && (
          <DialogButton label={words.add} tone="primary">
            {() => <AddMerchant />}
          </DialogButton>
        )}
      </PageHead>
      <PlatformNumbers />
      <div className="form-row">
        <SelectField
          label={words.mode}
          value={mode ?? ''}
          options={[
            { value: '', label: words.anyMode },
            ...MODES.map((value) => ({ value, label: words.modes[value] })),
          ]}
          onValue={(next) => filter({ mode: next })}
        />
        <CheckField
          label={words.onlySuspended}
          checked={suspended === 'true'}
          onValue={(isOnly) => filter({ suspended: isOnly ? 'true' : '' })}
        />
      </div>
      <Pages list={list} empty={<Empty>{state.emptyFiltered}</Empty>}>
        <ul className="tiles">
          {merchants.map((merchant) => (
            <MerchantTile key={merchant.id} merchant={merchant} />
          ))}
        </ul>
      </Pages>
      <PlatformHealth />
    </div>
  );
}

function MerchantTile({ merchant }: { merchant: Merchant }): ReactElement {
  const { platform: words } = useWords();
  return (
    <li className="tile">
      <div className="tile-head">
        <Link to="/platform/$id" params={{ id: merchant.id }} className="tile-link">
          {merchant.name}
        </Link>
        {merchant.suspended_at === null ? (
          <Badge tone={merchant.mode === 'live' ? 'good' : 'neutral'}>{words.modes[merchant.mode]}</Badge>
        ) : (
          <Badge tone="bad">{words.suspended}</Badge>
        )}
      </div>
      <p className="hint wrap">
        {merchant.code} · {words.tin} {merchant.tin}
      </p>
      <p className="hint">
        {words.since} <Time at={merchant.created_at} />
      </p>
    </li>
  );
}

type MerchantDraft = Pick<Merchant, 'code' | 'name' | 'tin' | 'mode'>;

const NO_MERCHANT: MerchantDraft = { code: '', name: '', tin: '', mode: 'live' };

function AddMerchant(): ReactElement {
  const { platform: words } = useWords();
  const navigate = useNavigate();
  const [draft, change, clear] = useDraft<MerchantDraft>('new-merchant', NO_MERCHANT);
  const create = useChange(() => api('post', '/v1/platform/merchants', { body: draft }), {
    clear,
    refreshes: [['platform-merchants']],
    onDone: ({ id }) => navigate({ to: '/platform/$id', params: { id } }),
  });
  const field = draftFields(draft, change, create.error);
  return (
    <CallForm call={create} onSubmit={() => create.mutate()} label={words.add}>
      <TextField label={words.code} required maxLength={64} {...field('code')} />
      <TextField label={words.name} required maxLength={200} {...field('name')} />
      <TextField label={words.tin} required inputMode="numeric" maxLength={14} {...field('tin')} />
      <RadioField
        legend={words.mode}
        name="mode"
        value={draft.mode}
        options={MODES.map((value) => ({ value, label: words.modes[value] }))}
        onValue={(mode) => change({ mode })}
      />
      <p className="hint">{words.modeHint}</p>
    </CallForm>
  );
}
