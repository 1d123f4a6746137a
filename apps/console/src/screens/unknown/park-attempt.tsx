import type { ReactElement } from 'react';
import { api } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { CallForm } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextField } from '../../ui/field.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';

/** The register is still being asked about it; a person may let the lane go on without the answer. */
export function ParkAttempt({ attemptId }: { attemptId: string }): ReactElement {
  const { fleet } = useWords();
  const { can } = useSession();
  const [draft, change, clear] = useDraft(`park:${attemptId}`, { reason: '' });
  const park = useChange(
    () => api('post', '/v1/operator/attempts/{id}/park', { path: { id: attemptId }, body: draft }),
    { clear, refreshes: [['unknown']] },
  );
  if (!can('operator:resolve')) return <p className="hint">{fleet.unknown.open}</p>;
  const field = draftFields(draft, change, park.error);
  return (
    <CallForm call={park} onSubmit={() => park.mutate()} label={fleet.unknown.park} tone="plain" beside={null}>
      <p className="hint">{fleet.unknown.open}</p>
      <TextField label={fleet.unknown.reason} required minLength={5} maxLength={500} {...field('reason')} />
    </CallForm>
  );
}
