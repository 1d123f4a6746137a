import { useNavigate } from '@tanstack/react-router';
import { useId, useMemo, useState, type KeyboardEvent, type ReactElement } from 'react';
import { useWords } from '../i18n/i18n.js';
import { useSession } from '../session/session-context.js';
import { Dialog } from '../ui/dialog.js';
import { receiptInHand } from './receipt-in-hand.js';
import { screensFor } from './screens.js';

interface Command {
  key: string;
  label: string;
  run: () => void;
}

const DEVICE_ID = /^dev_(?:test_)?[0-9a-z]{26}$/;

interface Props {
  open: boolean;
  onClose: () => void;
}

export function Palette({ open, onClose }: Props): ReactElement {
  const { palette } = useWords();
  return (
    <Dialog title={palette.title} open={open} onClose={onClose}>
      <Search onClose={onClose} />
    </Dialog>
  );
}

function Search({ onClose }: { onClose: () => void }): ReactElement {
  const { searchHint, search, palette } = useWords();
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const list = useId();
  const commands = useCommands(typed.trim());
  const chosen = Math.min(at, commands.length - 1);
  const run = (command: Command | undefined): void => {
    if (!command) return;
    onClose();
    command.run();
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setAt((chosen + step + commands.length) % Math.max(1, commands.length));
    else if (event.key === 'Enter') run(commands[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <div className="palette">
      <input
        className="input"
        role="combobox"
        aria-label={search}
        aria-expanded
        aria-controls={list}
        aria-activedescendant={commands[chosen] ? `${list}-${chosen}` : undefined}
        placeholder={searchHint}
        autoFocus
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <ul id={list} role="listbox" aria-label={palette.title} className="palette-list">
        {commands.map((command, index) => (
          <li
            key={command.key}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => run(command)}
          >
            {command.label}
          </li>
        ))}
      </ul>
      {commands.length === 0 && <p className="hint">{palette.none}</p>}
    </div>
  );
}

function useCommands(typed: string): Command[] {
  const { nav, palette } = useWords();
  const session = useSession();
  const navigate = useNavigate();
  return useMemo(() => {
    const found: Command[] = [];
    const inHand = receiptInHand(typed);
    if (inHand?.kind === 'receipt') {
      const run = (): void => void navigate({ to: '/receipts/$id', params: { id: inHand.id } });
      found.push({ key: 'receipt', label: palette.receiptById(inHand.id), run });
    } else if (DEVICE_ID.test(typed)) {
      const run = (): void => void navigate({ to: '/registers/$id', params: { id: typed } });
      found.push({ key: 'register', label: palette.registerById(typed), run });
    } else if (typed !== '') {
      if (inHand !== null) {
        const { kind: _kind, ...search } = inHand;
        const run = (): void => void navigate({ to: '/receipts', search });
        found.push({ key: 'document', label: palette.receiptByDocument(search.terminal_id, search.receipt_seq), run });
      }
      // Also what looks like a document: a shop may number its sales by terminal.
      const run = (): void => void navigate({ to: '/receipts', search: { external_id: typed } });
      found.push({ key: 'own-number', label: palette.receiptByOwnNumber(typed), run });
    }
    const wanted = typed.toLowerCase();
    const screens = screensFor(session)
      .filter(({ key }) => nav[key].toLowerCase().includes(wanted))
      .map(({ key, path }) => ({ key, label: palette.goTo(nav[key]), run: () => void navigate({ to: path }) }));
    return wanted !== '' && screens.length > 0 ? [...screens, ...found] : [...found, ...screens];
  }, [typed, session, nav, palette, navigate]);
}
