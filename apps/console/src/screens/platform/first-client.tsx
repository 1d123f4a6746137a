import { useMutation } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { ProblemNote } from '../../ui/states.js';
import { ClientSecret, PROGRAM_SCOPES } from '../onboarding/client-secret.js';

/** A merchant that has no client yet, or has shut itself out, gets one by the platform. */
export function FirstClient({ merchantId, onDone }: { merchantId: string; onDone: () => void }): ReactElement {
  const { platform: words, onboarding } = useWords();
  const call = useMutation({
    mutationFn: () =>
      api('post', '/v1/platform/merchants/{id}/clients', {
        path: { id: merchantId },
        body: { name: 'first', scopes: [...PROGRAM_SCOPES, 'clients:admin'], ip_policy: 'any' },
      }),
  });
  if (call.data) return <ClientSecret client={call.data} onDone={onDone} />;
  return (
    <div className="stack">
      <p>{words.clientText}</p>
      <ProblemNote problem={call.error} />
      <Button tone="primary" onClick={() => call.mutate()} busy={call.isPending}>
        {onboarding.create}
      </Button>
    </div>
  );
}
