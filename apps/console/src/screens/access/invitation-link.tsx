import type { ReactElement } from 'react';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { Copyable } from '../../ui/shown.js';

/** The link of an invitation that was made: it is shown once. */
export function InvitationLink({ url, onDone }: { url: string; onDone: () => void }): ReactElement {
  const { access, action } = useWords();
  return (
    <div className="stack">
      <p>{access.link}</p>
      <Copyable text={url} />
      <Button tone="primary" onClick={onDone}>
        {action.close}
      </Button>
    </div>
  );
}
