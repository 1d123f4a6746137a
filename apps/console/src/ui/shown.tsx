import { useState, type ReactElement, type ReactNode } from 'react';
import { formatQuantity, formatTiyin } from '../format/money.js';
import { formatTime, ZONE_LABEL } from '../format/time.js';
import { useLanguage, useWords } from '../i18n/i18n.js';

export function Money({ tiyin }: { tiyin: number }): ReactElement {
  const { language } = useLanguage();
  return <span className="money">{formatTiyin(tiyin, language)}</span>;
}

export function Quantity({ of }: { of: number | string }): ReactElement {
  const { language } = useLanguage();
  return <>{formatQuantity(of, language)}</>;
}

/** Time of Tashkent; the title names the zone and the instant itself. */
export function Time({ at }: { at: string | null | undefined }): ReactElement {
  if (!at) return <span className="hint">—</span>;
  return (
    <time dateTime={at} title={`${ZONE_LABEL} · ${at}`} className="time">
      {formatTime(at)}
    </time>
  );
}

export type BadgeTone = 'good' | 'busy' | 'warn' | 'bad' | 'neutral';

export function Badge({ tone, children }: { tone: BadgeTone; children: ReactNode }): ReactElement {
  return <span className={`badge badge-${tone}`}>{children}</span>;
}

/** Names and values; what is null, false or empty is left out. */
export function Facts({ rows }: { rows: readonly (readonly [string, ReactNode] | null)[] }): ReactElement {
  return (
    <dl className="facts">
      {rows.map((row) =>
        row === null || isNothing(row[1]) ? null : (
          <div key={row[0]} className="fact">
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

function isNothing(value: ReactNode): boolean {
  return value === null || value === undefined || value === false || value === '';
}

export function Copyable({ text }: { text: string }): ReactElement {
  const { action } = useWords();
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 2_000);
    });
  };
  return (
    <span className="copyable">
      <code className="code">{text}</code>
      <button type="button" className="copy" onClick={copy} aria-label={`${action.copy}: ${text}`}>
        <span aria-live="polite">{isCopied ? action.copied : action.copy}</span>
      </button>
    </span>
  );
}

export function Card({
  title,
  children,
  actions,
}: {
  title: string;
  children: ReactNode;
  actions?: ReactNode;
}): ReactElement {
  return (
    <section className="card">
      <header className="card-head">
        <h2>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}

export function PageHead({ title, children }: { title: ReactNode; children?: ReactNode }): ReactElement {
  return (
    <header className="page-head">
      <h1>{title}</h1>
      {children !== undefined && <div className="page-actions">{children}</div>}
    </header>
  );
}

/** How much of something is used up; red from `alarm` on. */
export function Meter({ used, label, tone }: { used: number; label: string; tone: BadgeTone }): ReactElement {
  const percent = Math.round(Math.min(1, Math.max(0, used)) * 100);
  return (
    <span
      className={`meter meter-${tone}`}
      role="meter"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect className="meter-back" width="100" height="8" rx="2" />
        <rect className="meter-fill" width={percent} height="8" rx="2" />
      </svg>
    </span>
  );
}

/** JSON that came from elsewhere, as text. */
export function Json({ value }: { value: unknown }): ReactElement {
  return (
    <pre className="json" tabIndex={0}>
      {JSON.stringify(value, null, 2)}
    </pre>
  );
}
