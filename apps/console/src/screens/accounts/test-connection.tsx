import { useMutation } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { CallForm } from '../../ui/call-form.js';
import { Badge, Facts, type BadgeTone } from '../../ui/shown.js';

type Result = Schema<'AccountTestView'>['result'];

const TONES: Record<Result, BadgeTone> = {
  answered: 'good',
  refused: 'bad',
  provider_error: 'warn',
  unreachable: 'bad',
  not_possible: 'neutral',
};

/** Asks the provider at once, and shows what came back. */
export function TestConnection({ id }: { id: string }): ReactElement {
  const { providerAccounts } = useWords();
  const words = providerAccounts.connection;
  const test = useMutation({ mutationFn: () => api('post', '/v1/provider-accounts/{id}/test', { path: { id } }) });
  const found = test.data;
  return (
    <CallForm call={test} onSubmit={() => test.mutate()} label={words.test}>
      <p className="hint">{words.text}</p>
      {found && (
        <div role="status">
          <p>
            <Badge tone={TONES[found.result]}>{words.result[found.result]}</Badge>
          </p>
          <Facts
            rows={[
              ['HTTP', found.http_status === null ? null : String(found.http_status)],
              [words.took, found.result === 'not_possible' ? null : `${found.duration_ms} ms`],
              [words.detail, found.detail],
              [words.answer, found.answer && <code className="code wrap">{found.answer}</code>],
            ]}
          />
        </div>
      )}
    </CallForm>
  );
}
