import { useMutation } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { CallForm } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextField } from '../../ui/field.js';
import { useTyped } from '../../ui/use-typed.js';
import { InvitationLink } from '../access/invitation-link.js';

/** The first person of a merchant; it invites the others. */
export function InviteOwner({ merchantId, onDone }: { merchantId: string; onDone: () => void }): ReactElement {
  const { platform: words, account } = useWords();
  const [typed, change] = useTyped({ email: '' });
  const invite = useMutation({
    mutationFn: () => api('post', '/v1/platform/merchants/{id}/invitations', { path: { id: merchantId }, body: typed }),
  });
  if (invite.data) return <InvitationLink url={invite.data.url} onDone={onDone} />;
  const field = draftFields(typed, change, invite.error);
  return (
    <CallForm call={invite} onSubmit={() => invite.mutate()} label={words.inviteOwner}>
      <TextField label={account.email} type="email" required maxLength={254} {...field('email')} />
    </CallForm>
  );
}
