import { useParams } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { formatCount } from '../../format/money.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { CallForm, SureCall } from '../../ui/call-form.js';
import { changedFields } from '../../ui/changed-fields.js';
import { DialogButton } from '../../ui/dialog-button.js';
import { Dialog } from '../../ui/dialog.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextArea, TextField } from '../../ui/field.js';
import { Badge, Card, Copyable, Facts, PageHead, Time } from '../../ui/shown.js';
import { Empty, faultAt, Loaded, withPlatformScope } from '../../ui/states.js';
import { TableHead } from '../../ui/table-head.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { FirstClient } from './first-client.js';
import { InviteOwner } from './invite-owner.js';

type Merchant = Schema<'PlatformMerchantView'>;
type Quota = keyof Schema<'Quotas'>;

const QUOTAS: readonly Quota[] = ['receipts_per_day', 'devices', 'clients', 'storage_bytes'];

export const PlatformMerchantScreen = withPlatformScope('platform:read', OneMerchant);

function OneMerchant(): ReactElement {
  const { id } = useParams({ from: '/app/platform/$id' });
  const query = useGet(['platform-merchant', id], '/v1/platform/merchants/{id}', { path: { id } });
  return <Loaded query={query}>{(merchant) => <Detail merchant={merchant} />}</Loaded>;
}

function keysOf(id: string): string[][] {
  return [['platform-merchant', id], ['platform-merchants']];
}

type Open = 'suspend' | 'resume' | null;

function Detail({ merchant }: { merchant: Merchant }): ReactElement {
  const { platform: words } = useWords();
  const { me, canOverMerchants, chooseMerchant } = useSession();
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const isSuspended = merchant.suspended_at !== null;
  return (
    <div className="page">
      <PageHead
        title={
          <>
            {merchant.name}{' '}
            <Badge tone={isSuspended ? 'bad' : 'good'}>{isSuspended ? words.suspended : words.active}</Badge>
          </>
        }
      >
        {me.kind === 'user' && <Button onClick={() => chooseMerchant(merchant.id)}>{words.show}</Button>}
        {canOverMerchants('platform:admin') && (
          <>
            <DialogButton label={words.inviteOwner} tone="primary">
              {(done) => <InviteOwner merchantId={merchant.id} onDone={done} />}
            </DialogButton>
            <DialogButton label={words.invite}>
              {(done) => <FirstClient merchantId={merchant.id} onDone={done} />}
            </DialogButton>
            <DialogButton label={words.quotas}>{(done) => <Quotas merchant={merchant} onDone={done} />}</DialogButton>
            <Button onClick={() => setOpen(isSuspended ? 'resume' : 'suspend')}>
              {isSuspended ? words.resume : words.suspend}
            </Button>
          </>
        )}
      </PageHead>
      <div className="columns-even">
        <MerchantFacts merchant={merchant} />
        <Usage id={merchant.id} />
      </div>
      <Dialog title={words.suspend} open={open === 'suspend'} onClose={close}>
        <Suspend merchant={merchant} onDone={close} />
      </Dialog>
      <Dialog title={words.resume} open={open === 'resume'} onClose={close}>
        <Resume merchant={merchant} onDone={close} />
      </Dialog>
    </div>
  );
}

function MerchantFacts({ merchant }: { merchant: Merchant }): ReactElement {
  const { platform: words } = useWords();
  return (
    <Card title={words.merchants}>
      <Facts
        rows={[
          ['ID', <Copyable text={merchant.id} />],
          [words.code, merchant.code],
          [words.tin, merchant.tin],
          [words.mode, words.modes[merchant.mode]],
          [words.since, <Time at={merchant.created_at} />],
          [words.suspended, merchant.suspended_at && <Time at={merchant.suspended_at} />],
          [words.reason, merchant.suspended_reason],
          ...QUOTAS.map((name) => {
            const limit = merchant.quotas[name];
            return [words.quota[name], limit === null ? words.unlimited : formatCount(limit)] as const;
          }),
        ]}
      />
    </Card>
  );
}

function Usage({ id }: { id: string }): ReactElement {
  const { platform: words } = useWords();
  const query = useGet(['platform-usage', id], '/v1/platform/merchants/{id}/usage', { path: { id } });
  return (
    <Card title={words.usage}>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>{words.noUsage}</Empty>
          ) : (
            <table className="table">
              <TableHead names={[words.month]} numbers={[words.receipts, words.storage]} />
              <tbody>
                {data.map(({ month, receipts, storage_bytes: bytes }) => (
                  <tr key={month}>
                    <th scope="row">{month}</th>
                    <td className="end">{formatCount(receipts)}</td>
                    <td className="end">{formatCount(Math.ceil(bytes / 1_024))} KiB</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </Card>
  );
}

interface PartProps {
  merchant: Merchant;
  onDone: () => void;
}

function Suspend({ merchant: { id, name }, onDone }: PartProps): ReactElement {
  const { platform: words } = useWords();
  const [draft, change, clear] = useDraft(`suspend:${id}`, { reason: '' });
  const call = useChange(() => api('post', '/v1/platform/merchants/{id}/suspend', { path: { id }, body: draft }), {
    clear,
    refreshes: keysOf(id),
    onDone,
  });
  const field = draftFields(draft, change, call.error);
  return (
    <CallForm call={call} onSubmit={() => call.mutate()} label={words.suspend} tone="danger">
      <p>
        <strong>{name}</strong>
      </p>
      <p>{words.suspendText}</p>
      <TextArea label={words.reason} required maxLength={500} {...field('reason')} />
    </CallForm>
  );
}

function Resume({ merchant: { id, name }, onDone }: PartProps): ReactElement {
  const { platform: words } = useWords();
  const call = useChange(() => api('post', '/v1/platform/merchants/{id}/resume', { path: { id } }), {
    refreshes: keysOf(id),
    onDone,
  });
  return (
    <SureCall call={call} label={words.resume} onBack={onDone}>
      <p>
        <strong>{name}</strong>
      </p>
    </SureCall>
  );
}

/** Name and limits together, of which only what is changed is sent; an empty field takes a limit away. */
function Quotas({ merchant: newest, onDone }: PartProps): ReactElement {
  const { platform: words, action } = useWords();
  const [merchant] = useState(newest);
  const [name, setName] = useState(merchant.name);
  const [typed, setTyped] = useState<Record<Quota, string>>(() => {
    const shown = (quota: Quota): string => String(merchant.quotas[quota] ?? '');
    return {
      receipts_per_day: shown('receipts_per_day'),
      devices: shown('devices'),
      clients: shown('clients'),
      storage_bytes: shown('storage_bytes'),
    };
  });
  const isWrong = (quota: Quota): boolean => !/^\d{0,15}$/.test(typed[quota].trim());
  const call = useChange(
    () => {
      const quotas = Object.fromEntries(
        QUOTAS.map((quota) => [quota, typed[quota].trim() === '' ? null : Number(typed[quota])]),
      );
      const body = {
        ...changedFields({ name: merchant.name }, { name }),
        quotas: changedFields(merchant.quotas, quotas),
      };
      return api('patch', '/v1/platform/merchants/{id}', { path: { id: merchant.id }, body });
    },
    { refreshes: keysOf(merchant.id), onDone },
  );
  return (
    <CallForm
      call={call}
      onSubmit={() => {
        if (!QUOTAS.some(isWrong)) call.mutate();
      }}
      label={action.save}
    >
      <TextField
        label={words.name}
        required
        maxLength={200}
        value={name}
        error={faultAt(call.error, '/name')}
        onValue={setName}
      />
      {QUOTAS.map((quota) => (
        <TextField
          key={quota}
          label={words.quota[quota]}
          hint={words.quotaHint}
          inputMode="numeric"
          value={typed[quota]}
          error={isWrong(quota) ? words.notANumber : faultAt(call.error, `/quotas/${quota}`)}
          onValue={(value) => setTyped((before) => ({ ...before, [quota]: value }))}
        />
      ))}
    </CallForm>
  );
}
