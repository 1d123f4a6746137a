import { useState, type FormEvent, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { parseSom, tiyinToInput } from '../../format/money.js';
import { useLanguage, useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { CheckField, SelectField, TextField } from '../../ui/field.js';
import { Pages, usePages } from '../../ui/pages.js';
import { Badge, Card, Facts, Json, Time, type BadgeTone } from '../../ui/shown.js';
import { Empty, faultAt, Loaded, ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';

type Approval = Schema<'ApprovalView'>;
type State = Approval['state'];

const STATES: readonly State[] = ['pending', 'approved', 'refused', 'used', 'expired'];
const TONES: Record<State, BadgeTone> = {
  pending: 'warn',
  approved: 'good',
  refused: 'bad',
  used: 'neutral',
  expired: 'neutral',
};

/** Requests that need a second user, and what needs one at all. */
export function Approvals(): ReactElement {
  const { access } = useWords();
  const { can } = useSession();
  const [state, setState] = useState<State | ''>('pending');
  const { list, rows: approvals } = usePages(
    ['approvals', state],
    ({ cursor, signal }) =>
      api('get', '/v1/approvals', { signal, query: { state: state || undefined, limit: 50, cursor } }),
    15_000,
  );
  return (
    <>
      <p className="hint">{access.repeat}</p>
      <div className="form-row">
        <SelectField
          label={access.stateLabel}
          value={state}
          options={[
            ...STATES.map((value) => ({ value, label: access.state[value] })),
            { value: '', label: access.anyState },
          ]}
          onValue={(value) => setState(STATES.find((known) => known === value) ?? '')}
        />
      </div>
      <Pages list={list} empty={<Empty>{access.noApprovals}</Empty>}>
        {approvals.map((approval) => (
          <OneApproval key={approval.id} approval={approval} />
        ))}
      </Pages>
      {can('devices:read') && <FourEyes />}
    </>
  );
}

function OneApproval({ approval }: { approval: Approval }): ReactElement {
  const { access } = useWords();
  const { me } = useSession();
  const decide = useChange(
    (isApproved: boolean) =>
      isApproved
        ? api('post', '/v1/approvals/{id}/approve', { path: { id: approval.id } })
        : api('post', '/v1/approvals/{id}/refuse', { path: { id: approval.id } }),
    { refreshes: [['approvals']] },
  );
  return (
    <article className="card" aria-label={approval.id}>
      <header className="card-head">
        <h2>{approval.action}</h2>
        <Badge tone={TONES[approval.state]}>{access.state[approval.state]}</Badge>
      </header>
      <Facts
        rows={[
          [access.by, approval.requested_by],
          [access.subject, approval.subject_id],
          [access.expires, <Time at={approval.expires_at} />],
          [access.decidedBy, approval.decided_by],
        ]}
      />
      <details open={approval.state === 'pending'}>
        <summary>{access.request}</summary>
        <Json value={approval.request} />
      </details>
      <ProblemNote problem={decide.error} />
      {approval.state === 'pending' && me.user?.id !== approval.requested_by && (
        <div className="row-actions">
          <Button tone="primary" onClick={() => decide.mutate(true)} busy={decide.isPending}>
            {access.approve}
          </Button>
          <Button onClick={() => decide.mutate(false)} disabled={decide.isPending}>
            {access.refuse}
          </Button>
        </div>
      )}
    </article>
  );
}

function FourEyes(): ReactElement {
  const { access } = useWords();
  const query = useGet(['merchant'], '/v1/merchant');
  return (
    <Card title={access.fourEyes}>
      <p className="hint">{access.fourEyesText}</p>
      <Loaded query={query}>{(merchant) => <FourEyesForm now={merchant} />}</Loaded>
    </Card>
  );
}

function FourEyesForm({ now: { four_eyes: now } }: { now: Schema<'MerchantView'> }): ReactElement {
  const { language, words } = useLanguage();
  const { access, action, problem } = words;
  const { can, me } = useSession();
  const [above, setAbove] = useState(now.unknown_above === null ? '' : tiyinToInput(now.unknown_above, language));
  const [accounts, setAccounts] = useState(now.provider_accounts);
  const sum = above.trim() === '' ? null : parseSom(above);
  const isWrong = above.trim() !== '' && sum === null;
  const save = useChange(
    () => api('patch', '/v1/merchant', { body: { four_eyes: { unknown_above: sum, provider_accounts: accounts } } }),
    { refreshes: [['merchant']] },
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isWrong) save.mutate();
  };
  const mayChange = can('devices:admin') && me.kind === 'user';
  return (
    <form className="stack" onSubmit={submit}>
      <TextField
        label={access.above}
        inputMode="decimal"
        value={above}
        readOnly={!mayChange}
        error={isWrong ? problem.noSum : faultAt(save.error, '/four_eyes/unknown_above')}
        onValue={setAbove}
      />
      <CheckField label={access.accounts} checked={accounts} onValue={setAccounts} disabled={!mayChange} />
      <ProblemNote problem={save.error} />
      {save.isSuccess && <p role="status">{access.saved}</p>}
      {mayChange && (
        <div className="row-actions">
          <Button type="submit" tone="primary" busy={save.isPending}>
            {action.save}
          </Button>
        </div>
      )}
    </form>
  );
}
