import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Device, type Schema } from '../../api/api.js';
import { ApiProblem } from '../../api/problem.js';
import { useGet } from '../../api/use-get.js';
import { parseSom } from '../../format/money.js';
import { useLanguage, useWords } from '../../i18n/i18n.js';
import { CallForm } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { SelectField, TextField } from '../../ui/field.js';
import { Empty, faultAt, Loaded } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { nameOf } from '../goods/goods-screen.js';
import { usePlaces } from '../receipts/use-places.js';
import { EnrolmentCode, NewRegister } from '../registers/enrolment-wizard.js';
import { PROGRAM_SCOPES } from './client-secret.js';

/** What a step has made is seen by the wizard and by the lists that offer it. */
const MADE = [['branches'], ['cashiers'], ['onboarding']];

function useDone(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    for (const queryKey of MADE) await client.invalidateQueries({ queryKey });
  };
}

export function NewBranch(): ReactElement {
  const { onboarding: words } = useWords();
  const [draft, change, clear] = useDraft('new-branch', { code: '', name: '', address: '' });
  const create = useChange(() => api('post', '/v1/branches', { body: draft }), { clear, refreshes: MADE });
  const field = draftFields(draft, change, create.error);
  return (
    <CallForm call={create} onSubmit={() => create.mutate()} label={words.create}>
      <div className="form-row">
        <TextField label={words.code} required maxLength={64} {...field('code')} />
        <TextField label={words.name} required maxLength={128} {...field('name')} />
        <TextField label={words.address} required maxLength={256} {...field('address')} />
      </div>
    </CallForm>
  );
}

export function NewCashier(): ReactElement {
  const { onboarding: words } = useWords();
  const { branches, devices } = usePlaces();
  const [draft, change, clear] = useDraft('new-cashier', { code: '', name: '', branch: '', device: '' });
  const body = {
    code: draft.code,
    name: draft.name,
    branch_id: draft.branch || (branches[0]?.value ?? null),
    default_device_id: draft.device || null,
  };
  const create = useChange(() => api('post', '/v1/cashiers', { body }), { clear, refreshes: MADE });
  const field = draftFields(draft, change, create.error);
  return (
    <CallForm call={create} onSubmit={() => create.mutate()} label={words.create}>
      <div className="form-row">
        <TextField label={words.code} required maxLength={64} {...field('code')} />
        <TextField label={words.name} required maxLength={128} {...field('name')} />
        <SelectField
          label={words.branch}
          value={draft.branch || (branches[0]?.value ?? '')}
          options={branches}
          error={faultAt(create.error, '/branch_id')}
          onValue={(branch) => change({ branch })}
        />
        <SelectField
          label={words.register}
          options={[{ value: '', label: words.anyRegister }, ...devices]}
          {...field('device', '/default_device_id')}
        />
      </div>
    </CallForm>
  );
}

/** A register that dials in is made first, and then shows the code with which it does. */
export function DeviceStep({ enrolsId }: { enrolsId: string | null }): ReactElement {
  const done = useDone();
  const [made, setMade] = useState<Device | null>(null);
  const waits = made?.transport === 'link' ? made.id : enrolsId;
  if (waits !== null) return <EnrolmentCode deviceId={waits} wasEnrolled={false} onDone={() => void done()} />;
  return (
    <NewRegister
      onMade={(device) => {
        setMade(device);
        void done();
      }}
    />
  );
}

export function NewClient({ onMade }: { onMade: (client: Schema<'ClientWithSecretView'>) => void }): ReactElement {
  const { onboarding: words } = useWords();
  const done = useDone();
  const [draft, change, clear] = useDraft('new-client', { name: '' });
  const create = useMutation({
    mutationFn: () =>
      api('post', '/v1/clients', { body: { name: draft.name, scopes: [...PROGRAM_SCOPES], ip_policy: 'any' } }),
    onSuccess: async (client) => {
      clear();
      onMade(client);
      await done();
    },
  });
  const field = draftFields(draft, change, create.error);
  return (
    <CallForm call={create} onSubmit={() => create.mutate()} label={words.create}>
      <TextField label={words.name} required maxLength={128} {...field('name')} />
      <p className="hint">
        {words.rights}: {PROGRAM_SCOPES.join(', ')}
      </p>
    </CallForm>
  );
}

/** One piece of one of the merchant's goods, sold by its first cashier. */
export function TestReceipt(): ReactElement {
  const goods = useGet(['goods', 'first'], '/v1/catalog/products', { query: { limit: 50 } });
  return <Loaded query={goods}>{({ data }) => (data.length === 0 ? <NoGoods /> : <SellOne goods={data} />)}</Loaded>;
}

function NoGoods(): ReactElement {
  const { state, goods } = useWords();
  return (
    <Empty>
      {state.empty}{' '}
      <Link to="/goods" search={{}}>
        {goods.import}
      </Link>
    </Empty>
  );
}

function SellOne({ goods }: { goods: readonly Schema<'ProductView'>[] }): ReactElement {
  const { onboarding: words, problem } = useWords();
  const { language } = useLanguage();
  const { cashiers } = usePlaces();
  const done = useDone();
  const [sku, setSku] = useState(goods[0]?.sku ?? '');
  const [price, setPrice] = useState('1000');
  // The same sale, however often it is sent: a lost answer sells nothing twice. One that was refused was none, and the next is another.
  const [key, setKey] = useState(() => crypto.randomUUID());
  const tiyin = parseSom(price);
  const product = goods.find((one) => one.sku === sku);
  const [cashier] = cashiers;
  const sell = useMutation({
    mutationFn: () =>
      api('post', '/v1/receipts', {
        headers: { 'idempotency-key': key },
        body: {
          items: [{ name: product ? nameOf(product, language) : '', sku, price: tiyin ?? 0, qty: 1 }],
          payment: { method: 'cash' },
          cashier_id: cashier?.value ?? '',
        },
      }),
    onError: (error) => {
      if (error instanceof ApiProblem && error.status === 422) setKey(crypto.randomUUID());
    },
    onSettled: done,
  });
  return (
    <CallForm
      call={sell}
      onSubmit={() => {
        if (tiyin !== null) sell.mutate();
      }}
      label={words.sell}
      // Until the cashier that was just made is read: a sale without one would be refused, and stay so.
      disabled={cashier === undefined}
    >
      <div className="form-row">
        <SelectField
          label={words.product}
          value={sku}
          options={goods.map((one) => ({ value: one.sku, label: nameOf(one, language) }))}
          error={faultAt(sell.error, '/items/0/sku')}
          onValue={setSku}
        />
        <TextField
          label={words.price}
          inputMode="decimal"
          required
          value={price}
          error={tiyin === null ? problem.noSum : faultAt(sell.error, '/items/0/price')}
          onValue={setPrice}
        />
      </div>
    </CallForm>
  );
}
