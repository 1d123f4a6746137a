import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactElement, ReactNode } from 'react';
import { useWords } from '../i18n/i18n.js';

interface Props {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ReactNode;
  /** `wide` for tables, `drawer` for the navigation of a narrow screen. */
  shape?: 'plain' | 'wide' | 'drawer';
  /** A person must answer: neither Escape nor a click beside it closes it. */
  isFirm?: boolean;
}

export function Dialog({ title, open, onClose, children, shape = 'plain', isFirm = false }: Props): ReactElement {
  const { action } = useWords();
  return (
    <Base.Root
      open={open}
      onOpenChange={(next) => {
        if (!next && !isFirm) onClose();
      }}
      disablePointerDismissal={isFirm}
    >
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className={`dialog dialog-${shape}`}>
          <header className="dialog-head">
            <Base.Title className="dialog-title">{title}</Base.Title>
            {!isFirm && (
              <Base.Close className="button button-quiet" aria-label={action.close}>
                ✕
              </Base.Close>
            )}
          </header>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
