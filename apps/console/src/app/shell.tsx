import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactElement } from 'react';
import { ZONE_LABEL } from '../format/time.js';
import { useWords } from '../i18n/i18n.js';
import { useSession } from '../session/session-context.js';
import { WHOLE_PLATFORM } from '../session/sign-in.js';
import { Dialog } from '../ui/dialog.js';
import { Menu } from '../ui/menu.js';
import { LanguageSwitch, ThemeSwitch } from './preferences.js';
import { Palette } from './palette.js';
import { asksForPalette } from './palette-keys.js';
import { screensFor } from './screens.js';

/** The frame of every screen: navigation, search, merchant, language, theme. */
export function Shell(): ReactElement {
  const words = useWords();
  const [isNavigationOpen, setNavigationOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  usePaletteKeys(() => setPaletteOpen(true));
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {words.skipToContent}
      </a>
      <aside className="side">
        <Brand />
        <Navigation onGo={() => undefined} />
        <Preferences />
      </aside>
      <header className="top">
        <button type="button" className="button button-quiet top-menu" onClick={() => setNavigationOpen(true)}>
          <span aria-hidden="true">☰</span> {words.menu}
        </button>
        <MerchantName />
        <button type="button" className="search" onClick={() => setPaletteOpen(true)}>
          <span aria-hidden="true">⌕</span> <span className="search-word">{words.search}</span> <kbd>/</kbd>
        </button>
        <PersonMenu />
      </header>
      <main id="content" className="content" tabIndex={-1}>
        <Outlet />
      </main>
      <Dialog title={words.menu} open={isNavigationOpen} onClose={() => setNavigationOpen(false)} shape="drawer">
        <Navigation onGo={() => setNavigationOpen(false)} />
        <Preferences />
      </Dialog>
      <Palette open={isPaletteOpen} onClose={() => setPaletteOpen(false)} />
    </div>
  );
}

function usePaletteKeys(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (!asksForPalette(event, isTyping)) return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
    // `open` only sets a state
  }, []);
}

function Brand(): ReactElement {
  const { product } = useWords();
  return (
    <p className="brand">
      <span className="brand-mark" aria-hidden="true" /> {product}
    </p>
  );
}

function Navigation({ onGo }: { onGo: () => void }): ReactElement {
  const { nav, menu } = useWords();
  const session = useSession();
  return (
    <nav aria-label={menu}>
      <ul className="nav">
        {screensFor(session).map(({ key, path }) => (
          <li key={key}>
            <Link to={path} className="nav-link" activeProps={{ 'aria-current': 'page' }} onClick={onGo}>
              {nav[key]}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Preferences(): ReactElement {
  const words = useWords();
  return (
    <div className="preferences">
      <LanguageSwitch />
      <ThemeSwitch />
      <p className="hint">{words.zone(ZONE_LABEL)}</p>
    </div>
  );
}

/** Where the person acts: one of its merchants, one that the platform let it look into, or the whole platform. */
function MerchantName(): ReactElement | null {
  const words = useWords();
  const { me, chooseMerchant } = useSession();
  const own = (me.memberships ?? []).map(({ merchant }) => merchant);
  const known = me.merchant && !own.some(({ id }) => id === me.merchant?.id) ? [...own, me.merchant] : own;
  const isOfPlatform = (me.platform_roles ?? []).length > 0;
  if (known.length + (isOfPlatform ? 1 : 0) > 1) {
    return (
      <select
        className="input input-small merchant"
        aria-label={words.merchant}
        value={me.merchant?.id ?? WHOLE_PLATFORM}
        onChange={(event) => chooseMerchant(event.target.value)}
      >
        {known.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
        {isOfPlatform && <option value={WHOLE_PLATFORM}>{words.wholePlatform}</option>}
      </select>
    );
  }
  return <span className="merchant">{me.merchant?.name ?? (isOfPlatform ? words.wholePlatform : '')}</span>;
}

function PersonMenu(): ReactElement | null {
  const { nav, logOut: logOutText } = useWords();
  const { me, logOut } = useSession();
  const navigate = useNavigate();
  if (me.kind !== 'user') return null;
  return (
    <Menu
      label={<span className="person">{me.user?.name ?? ''}</span>}
      name={me.user?.name ?? nav.account}
      entries={[
        { key: 'account', label: nav.account, onSelect: () => void navigate({ to: '/account' }) },
        { key: 'out', label: logOutText, onSelect: () => void logOut() },
      ]}
    />
  );
}
