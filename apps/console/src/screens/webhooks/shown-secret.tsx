import type { ReactElement } from 'react';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { Copyable } from '../../ui/shown.js';

/** Once, and nowhere kept by the console. */
export function ShownSecret({ secret, onDone }: { secret: string; onDone: () => void }): ReactElement {
  const { hooks, action } = useWords();
  return (
    <div className="stack">
      <p>{hooks.secretOnce}</p>
      <p>
        <strong>{hooks.secret}:</strong> <Copyable text={secret} />
      </p>
      <Button tone="primary" onClick={onDone}>
        {action.close}
      </Button>
    </div>
  );
}
