import type { ReactElement } from 'react';
import { api } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { SelectField, TextField } from '../../ui/field.js';
import { More, usePages } from '../../ui/pages.js';
import { Time } from '../../ui/shown.js';
import { Empty, Loading, ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';

type Channel = 'email' | 'sms';

/** Addresses to which nothing is sent, masked as the gateway keeps them. */
export function Suppressions(): ReactElement {
  const { messages: words } = useWords();
  const { list, rows } = usePages(['suppressions'], ({ cursor, signal }) =>
    api('get', '/v1/suppressions', { signal, query: { limit: 50, cursor } }),
  );
  const release = useChange((id: string) => api('delete', '/v1/suppressions/{id}', { path: { id } }), {
    refreshes: [['suppressions']],
  });
  return (
    <section className="card">
      <Suppress />
      {list.isPending && <Loading />}
      <ProblemNote problem={list.error ?? release.error} />
      {list.data && rows.length === 0 && <Empty />}
      <ul className="plain-list">
        {rows.map(({ id, channel, address, reason, created_at: at }) => (
          <li key={id} className="line-item">
            <span className="wrap">
              <strong>{address}</strong>
              <small className="hint block">
                {words.channel[channel]} · {words.reason[reason]} · <Time at={at} />
              </small>
            </span>
            <Button onClick={() => release.mutate(id)} disabled={release.isPending}>
              {words.release}
            </Button>
          </li>
        ))}
      </ul>
      <More list={list} />
    </section>
  );
}

interface Typed {
  channel: Channel;
  address: string;
}

const NONE: Typed = { channel: 'email', address: '' };

function Suppress(): ReactElement {
  const { messages: words } = useWords();
  const [draft, change, clear] = useDraft('suppress', NONE);
  const { channel, address } = draft;
  const suppress = useChange(() => api('post', '/v1/suppressions', { body: { channel, address } }), {
    clear,
    refreshes: [['suppressions']],
  });
  const field = draftFields(draft, change, suppress.error);
  return (
    <CallForm call={suppress} onSubmit={() => suppress.mutate()} label={words.suppress} tone="plain" beside={null}>
      <div className="form-row">
        <SelectField
          label={words.channelLabel}
          value={channel}
          options={(['email', 'sms'] as const).map((value) => ({ value, label: words.channel[value] }))}
          onValue={(value) => change({ channel: value === 'sms' ? 'sms' : 'email' })}
        />
        <TextField label={words.address} required maxLength={254} {...field('address')} />
      </div>
    </CallForm>
  );
}
