import { Link, useNavigate } from '@tanstack/react-router';
import { useRef, useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { send } from '../../api/call.js';
import { ApiProblem } from '../../api/problem.js';
import { useGet } from '../../api/use-get.js';
import { tashkentDay } from '../../format/time.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { CallForm } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { SelectField, TextField } from '../../ui/field.js';
import { More, usePages } from '../../ui/pages.js';
import { Badge, Card, Time } from '../../ui/shown.js';
import { Empty, faultAt, Loaded, Loading, ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useTyped } from '../../ui/use-typed.js';

type Settlement = Schema<'SettlementView'>;

const MEDIA_TYPES: Record<string, string> = {
  csv: 'text/csv',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};
const DAY_MS = 86_400_000;

/** Registers of providers, held against our payments and receipts. */
export function Settlements(): ReactElement {
  const { can } = useSession();
  return (
    <>
      {can('payments:write') && can('clients:read') && <Compare />}
      <Compared />
    </>
  );
}

/** What is chosen to be compared. */
interface Wanted {
  account: string;
  from: string;
  to: string;
  file: File;
}

async function compare({ account, from, to, file }: Wanted, wrongType: string): Promise<Settlement> {
  const type = MEDIA_TYPES[file.name.split('.').at(-1)?.toLowerCase() ?? ''];
  if (type === undefined) throw new ApiProblem(0, 'file_type', wrongType);
  const call = { method: 'POST', path: '/v1/settlements', query: { account_id: account, from, to }, body: file };
  return (await (await send({ ...call, headers: { 'content-type': type } })).json()) as Settlement;
}

function Compare(): ReactElement {
  const { settlements: words } = useWords();
  const query = useGet(['provider-accounts'], '/v1/provider-accounts');
  return (
    <Card title={words.compare}>
      <p className="hint">{words.text}</p>
      <Loaded query={query}>
        {({ data }) => (data.length === 0 ? <Empty>{words.noAccounts}</Empty> : <CompareForm accounts={data} />)}
      </Loaded>
    </Card>
  );
}

function CompareForm({ accounts }: { accounts: Schema<'AccountView'>[] }): ReactElement {
  const { settlements: words } = useWords();
  const navigate = useNavigate();
  const input = useRef<HTMLInputElement>(null);
  const yesterday = tashkentDay(new Date(Date.now() - DAY_MS));
  const [account, setAccount] = useState(accounts[0]?.id ?? '');
  const [days, setDays] = useTyped({ from: yesterday, to: yesterday });
  const [file, setFile] = useState<File | null>(null);
  const start = useChange((wanted: Wanted) => compare(wanted, words.wrongType), {
    refreshes: [['settlements']],
    onDone: ({ id }) => navigate({ to: '/settlements/$id', params: { id } }),
  });
  const field = draftFields(days, setDays, start.error);
  return (
    <CallForm
      call={start}
      onSubmit={() => file && start.mutate({ account, ...days, file })}
      label={words.compare}
      disabled={file === null}
    >
      <div className="form-row">
        <SelectField
          label={words.account}
          value={account}
          options={accounts.map(({ id, provider, name }) => ({ value: id, label: `${provider} · ${name}` }))}
          error={faultAt(start.error, '/account_id')}
          onValue={setAccount}
        />
        <TextField label={words.from} type="date" {...field('from')} />
        <TextField label={words.to} type="date" {...field('to')} />
      </div>
      <label className="drop">
        <span>{file?.name ?? words.file}</span>
        <input
          ref={input}
          type="file"
          aria-label={words.file}
          accept=".csv,.xlsx"
          onChange={(event) => setFile(event.target.files?.[0] ?? null)}
        />
      </label>
    </CallForm>
  );
}

function Compared(): ReactElement {
  const { settlements: words } = useWords();
  const { list, rows } = usePages(['settlements'], ({ cursor, signal }) =>
    api('get', '/v1/settlements', { signal, query: { limit: 50, cursor } }),
  );
  if (list.isPending) return <Loading />;
  if (list.error) return <ProblemNote problem={list.error} onRetry={() => void list.refetch()} />;
  if (rows.length === 0) return <Empty>{words.none}</Empty>;
  return (
    <>
      <ul className="tiles">
        {rows.map((one) => (
          <SettlementTile key={one.id} settlement={one} />
        ))}
      </ul>
      <More list={list} isCounted />
    </>
  );
}

function SettlementTile({
  settlement: { id, provider, from, to, rows, ...more },
}: {
  settlement: Settlement;
}): ReactElement {
  const { settlements: words } = useWords();
  return (
    <li className="tile">
      <div className="tile-head">
        <Link to="/settlements/$id" params={{ id }} className="tile-link">
          {provider} · {from === to ? from : `${from} – ${to}`}
        </Link>
        <DifferencesBadge differences={more.differences} />
      </div>
      <p className="hint">{words.rowsOf(rows)}</p>
      <p className="hint">
        <Time at={more.created_at} />
      </p>
    </li>
  );
}

export function DifferencesBadge({ differences }: Pick<Settlement, 'differences'>): ReactElement {
  const { settlements: words } = useWords();
  const found = Object.values(differences).reduce((sum, number) => sum + number, 0);
  return found === 0 ? <Badge tone="good">{words.agree}</Badge> : <Badge tone="bad">{words.found(found)}</Badge>;
}
