import type { ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { CallForm } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { RadioField, TextArea, TextField } from '../../ui/field.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';

type Body = Schema<'DocumentBody'>;

const DOCUMENTS: readonly Body['document'][] = ['sale', 'refund'];

/** What a provider has registered and not reported, as a person found it in its cabinet. */
export function PaymentDocument({ id, onDone }: { id: string; onDone: () => void }): ReactElement {
  const { payments: words } = useWords();
  const [draft, change, clear] = useDraft<Body>(`payment:document:${id}`, {
    document: 'sale',
    verification_url: '',
    reason: '',
  });
  const call = useChange(() => api('post', '/v1/operator/payments/{id}/document', { path: { id }, body: draft }), {
    clear,
    refreshes: [['payment', id], ['payments'], ['payments-differences']],
    onDone,
  });
  const field = draftFields(draft, change, call.error);
  return (
    <CallForm call={call} onSubmit={() => call.mutate()} label={words.document}>
      <p>{words.documentText}</p>
      <RadioField
        legend={words.documentOf}
        name="document"
        value={draft.document}
        options={DOCUMENTS.map((value) => ({ value, label: words.documents[value] }))}
        onValue={(document) => change({ document })}
      />
      <TextField label={words.link} type="url" required maxLength={1_000} {...field('verification_url')} />
      <TextArea label={words.why} required maxLength={500} {...field('reason')} />
    </CallForm>
  );
}
