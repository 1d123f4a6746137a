import { useMutation } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { formatCount } from '../../format/money.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { Badge, Copyable } from '../../ui/shown.js';
import { ProblemNote } from '../../ui/states.js';

type Part = Schema<'AuditVerificationView'>;

/** So many calls of a thousand records follow one press; a longer trail goes on with the next. */
const PARTS = 20;

/** Walks the trail from its beginning, or from where the last press ended, until it ends or is broken. */
async function verify(from: Part | null, onPart: (part: Part) => void): Promise<void> {
  let cursor = from?.cursor;
  for (let count = 0; count < PARTS; count += 1) {
    const part = await api('get', '/v1/audit/verification', { query: { limit: 1_000, cursor } });
    onPart(part);
    if (part.broken !== null || !part.has_more) return;
    ({ cursor } = part);
  }
}

export function AuditVerification(): ReactElement {
  const { clients } = useWords();
  const [part, setPart] = useState<Part | null>(null);
  const isPartial = part !== null && part.has_more && part.broken === null;
  const run = useMutation({ mutationFn: () => verify(isPartial ? part : null, setPart) });
  return (
    <div className="stack">
      <div className="row-actions">
        <Button onClick={() => run.mutate()} busy={run.isPending}>
          {isPartial ? clients.verifyRest : clients.verify}
        </Button>
      </div>
      <ProblemNote problem={run.error} />
      {part && (
        <div role="status">
          {part.broken === null ? (
            <Badge tone="good">{clients.intact(formatCount(part.head.sequence))}</Badge>
          ) : (
            <>
              <Badge tone="bad">{clients.broken(part.broken.sequence)}</Badge> {clients.fault[part.broken.fault]}
            </>
          )}
          <p className="hint">{clients.head}</p>
          <p>
            {part.head.sequence} <Copyable text={part.head.hash} />
          </p>
        </div>
      )}
    </div>
  );
}
