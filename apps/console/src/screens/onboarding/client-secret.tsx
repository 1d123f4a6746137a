import type { ReactElement } from 'react';
import type { Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { Copyable, Facts } from '../../ui/shown.js';

/** What a program that sells and refunds needs. */
export const PROGRAM_SCOPES = ['receipts:write', 'receipts:read', 'refunds:write', 'catalog:read'] as const;

type Client = Pick<Schema<'ClientWithSecretView'>, 'id' | 'client_secret'>;

/** Once, and nowhere kept by the console. */
export function ClientSecret({ client, onDone }: { client: Client; onDone?: () => void }): ReactElement {
  const { onboarding: words, action } = useWords();
  return (
    <div className="stack">
      <p>{words.secret}</p>
      <Facts
        rows={[
          [words.clientId, <Copyable text={client.id} />],
          ['Secret', <Copyable text={client.client_secret} />],
        ]}
      />
      {onDone && (
        <Button tone="primary" onClick={onDone}>
          {action.close}
        </Button>
      )}
    </div>
  );
}
