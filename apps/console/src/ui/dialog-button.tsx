import { useState, type ReactElement, type ReactNode } from 'react';
import { Button, type Tone } from './button.js';
import { Dialog } from './dialog.js';

interface Props {
  /** On the button. */
  label: string;
  /** Of the dialog, where it is another than the label. */
  title?: string;
  tone?: Tone;
  children: (close: () => void) => ReactNode;
}

/** A button with the dialog that it opens. */
export function DialogButton({ label, title = label, tone = 'plain', children }: Props): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <Button tone={tone} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog title={title} open={isOpen} onClose={close}>
        {children(close)}
      </Dialog>
    </>
  );
}
