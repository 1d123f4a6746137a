import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api, type Receipt } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { CallForm } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextArea, TextField } from '../../ui/field.js';
import { useDraft } from '../../ui/use-draft.js';

/** A registration that the counters proved has no sign yet: a person reads it from the register or the OFD. */
export function CompleteFiscal({ receipt, onDone }: { receipt: Receipt; onDone: () => void }): ReactElement {
  const { fleet, action } = useWords();
  const client = useQueryClient();
  const [given, change, clear] = useDraft(`fiscal:${receipt.id}`, {
    fiscal_sign: '',
    verification_url: '',
    reason: '',
  });
  const save = useMutation({
    mutationFn: () => api('post', '/v1/receipts/{id}/fiscal', { path: { id: receipt.id }, body: given }),
    onSuccess: async () => {
      clear();
      onDone();
      await client.invalidateQueries({ queryKey: ['receipt', receipt.id] });
    },
  });
  const field = draftFields(given, change, save.error);
  return (
    <CallForm call={save} onSubmit={() => save.mutate()} label={action.save}>
      <TextField label={fleet.unknown.sign} required inputMode="numeric" {...field('fiscal_sign')} />
      <TextField label={fleet.unknown.link} type="url" required {...field('verification_url')} />
      <TextArea label={fleet.unknown.reason} required maxLength={500} {...field('reason')} />
    </CallForm>
  );
}
