import type { ReactElement } from 'react';
import { api } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { CallForm } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextField } from '../../ui/field.js';
import { faultAt } from '../../ui/states.js';
import { listOf } from '../../ui/typed-list.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { ShownSecret } from './shown-secret.js';

export function NewWebhook({ onDone }: { onDone: () => void }): ReactElement {
  const { hooks, action } = useWords();
  const [draft, change, clear] = useDraft('new-webhook', { url: '', events: '*', description: '', batch: '1' });
  const create = useChange(
    () =>
      api('post', '/v1/webhooks', {
        body: {
          url: draft.url,
          events: listOf(draft.events),
          description: draft.description,
          batch_size: Number(draft.batch),
        },
      }),
    { clear, refreshes: [['webhooks']] },
  );
  const fault = (name: string): string | null => faultAt(create.error, `/${name}`);
  if (create.data) return <ShownSecret secret={create.data.secret} onDone={onDone} />;
  const field = draftFields(draft, change, create.error);
  return (
    <CallForm call={create} onSubmit={() => create.mutate()} label={action.add}>
      <TextField label={hooks.endpoint} type="url" required maxLength={2048} {...field('url')} />
      <TextField
        label={hooks.events}
        hint={hooks.eventsHint}
        required
        value={draft.events}
        error={fault('events') ?? fault('events/0')}
        onValue={(events) => change({ events })}
      />
      <TextField label={hooks.description} maxLength={256} {...field('description')} />
      <TextField label={hooks.batch} type="number" min={1} max={100} {...field('batch', '/batch_size')} />
    </CallForm>
  );
}
