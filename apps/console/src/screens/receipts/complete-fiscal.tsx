import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api, type Receipt } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { CallForm } from '../../ui/call-form.js';
import { TextArea, TextField } from '../../ui/field.js';
import { faultAt } from '../../ui/states.js';
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
  return (
    <CallForm call={save} onSubmit={() => save.mutate()} label={action.save}>
      <TextField
        label={fleet.unknown.sign}
        value={given.fiscal_sign}
        required
        inputMode="numeric"
        error={faultAt(save.error, '/fiscal_sign')}
        onValue={(value) => change({ fiscal_sign: value })}
      />
      <TextField
        label={fleet.unknown.link}
        type="url"
        value={given.verification_url}
        required
        error={faultAt(save.error, '/verification_url')}
        onValue={(value) => change({ verification_url: value })}
      />
      <TextArea
        label={fleet.unknown.reason}
        value={given.reason}
        required
        maxLength={500}
        error={faultAt(save.error, '/reason')}
        onValue={(reason) => change({ reason })}
      />
    </CallForm>
  );
}
