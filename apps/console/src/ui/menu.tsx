import { Menu as Base } from '@base-ui/react/menu';
import type { ReactElement, ReactNode } from 'react';

export interface MenuEntry {
  key: string;
  label: ReactNode;
  onSelect: () => void;
  tone?: 'danger';
}

export function Menu({
  label,
  entries,
  name,
}: {
  label: ReactNode;
  entries: readonly MenuEntry[];
  name?: string;
}): ReactElement {
  return (
    <Base.Root>
      <Base.Trigger className="button button-plain" aria-label={name}>
        {label} <span aria-hidden="true">▾</span>
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner className="menu-place" sideOffset={4} align="end">
          <Base.Popup className="menu">
            {entries.map(({ key, label: text, onSelect, tone }) => (
              <Base.Item key={key} className={`menu-item${tone ? ` menu-${tone}` : ''}`} onClick={onSelect}>
                {text}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
