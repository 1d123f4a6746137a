import { useState, type ReactElement } from 'react';
import { api, type Receipt } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useLanguage, useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { CallForm } from '../../ui/call-form.js';
import { DialogButton } from '../../ui/dialog-button.js';
import { SelectField, TextField } from '../../ui/field.js';
import { Card } from '../../ui/shown.js';
import { faultAt, Loaded } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { MessageList } from '../messages/sent-messages.js';

const CHANNELS = ['email', 'sms', 'telegram'] as const;

/** What went to the buyer, and sending it once more. */
export function MessagesCard({ receipt: { id } }: { receipt: Receipt }): ReactElement {
  const { messages: words } = useWords();
  const { can } = useSession();
  const query = useGet(['receipt-messages', id], '/v1/receipts/{id}/messages', {
    path: { id },
    query: { limit: 50 },
    refetchInterval: ({ state }) =>
      state.data?.data.some((one) => one.state === 'pending' || one.state === 'sending') ? 3_000 : false,
  });
  return (
    <Card
      title={words.ofReceipt}
      actions={
        can('messages:write') && (
          <DialogButton label={words.send}>{(close) => <Send id={id} onDone={close} />}</DialogButton>
        )
      }
    >
      <Loaded query={query}>
        {({ data }) => (data.length === 0 ? <p className="hint">{words.none}</p> : <MessageList messages={data} />)}
      </Loaded>
    </Card>
  );
}

function Send({ id, onDone }: { id: string; onDone: () => void }): ReactElement {
  const { messages: words } = useWords();
  const { language } = useLanguage();
  const [channel, setChannel] = useState<(typeof CHANNELS)[number]>('email');
  const [to, setTo] = useState('');
  const send = useChange(
    () =>
      api('post', '/v1/receipts/{id}/messages', {
        path: { id },
        body: { channel, language, ...(to.trim() !== '' && { to: to.trim() }) },
      }),
    { refreshes: [['receipt-messages', id]], onDone },
  );
  return (
    <CallForm call={send} onSubmit={() => send.mutate()} label={words.send}>
      <SelectField
        label={words.channelLabel}
        value={channel}
        options={CHANNELS.map((value) => ({ value, label: words.channel[value] }))}
        error={faultAt(send.error, '/channel')}
        onValue={(value) => setChannel(CHANNELS.find((known) => known === value) ?? 'email')}
      />
      <TextField
        label={words.to}
        hint={words.toHint}
        maxLength={254}
        value={to}
        error={faultAt(send.error, '/to')}
        onValue={setTo}
      />
    </CallForm>
  );
}
