import { Link } from '@tanstack/react-router';
import { useState, type FormEvent, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { formatCount } from '../../format/money.js';
import { useLanguage, useWords } from '../../i18n/i18n.js';
import { named } from '../../i18n/named.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Pages, usePages } from '../../ui/pages.js';
import { Badge, Card, Facts, Json, Time, type BadgeTone } from '../../ui/shown.js';
import { Empty } from '../../ui/states.js';
import { GoBack } from './go-back.js';

type Import = Schema<'ClassifierImportView'>;

const TONES: Record<Import['state'], BadgeTone> = { loading: 'busy', applied: 'good', failed: 'bad' };

/** The classification register: its entries, and how it came to be as it is. */
export function Classifier(): ReactElement {
  return (
    <>
      <Imports />
      <Entries />
    </>
  );
}

function Imports(): ReactElement {
  const { goods } = useWords();
  const words = goods.register;
  const { list, rows: imports } = usePages(
    ['classifier-imports'],
    ({ cursor, signal }) => api('get', '/v1/classifier/imports', { signal, query: { limit: 20, cursor } }),
    (pages) => (isLoading(pages) ? 2_000 : 15_000),
  );
  const newest = imports.find((one) => one.state === 'applied');
  return (
    <Card title={words.imports}>
      {newest && (
        <p>
          {words.version}: <strong>{newest.version ?? newest.restored_version}</strong>
          {newest.restored_version !== null && ` ${words.content} ${newest.restored_version}`} ·{' '}
          <Time at={newest.finished_at} />
        </p>
      )}
      <GoBack newestImport={newest?.id ?? null} />
      <Pages list={list}>
        <ol className="plain-list">
          {imports.map((one) => (
            <OneImport key={one.id} one={one} />
          ))}
        </ol>
      </Pages>
    </Card>
  );
}

/** What is under way ends within seconds, as a rule. */
function isLoading(pages: readonly { data: readonly Import[] }[] = []): boolean {
  return pages.some(({ data }) => data.some((one) => one.state === 'loading'));
}

function OneImport({ one }: { one: Import }): ReactElement {
  const { goods } = useWords();
  const words = goods.register;
  const { result, progress } = one;
  return (
    <li className="line-item">
      <span className="wrap">
        <strong>{one.source}</strong> <Time at={one.started_at} />
        <small className="hint block">
          {one.kind} · {goods.rows}: {formatCount(progress.rows)} · {goods.rejected}: {formatCount(progress.rejected)}
          {result !== null &&
            ` · ${words.added}: ${formatCount(result.added)} · ${words.changed}: ${formatCount(result.changed)} · ${words.ended}: ${formatCount(result.ended)}`}
        </small>
        {one.error !== null && <small className="block error">{one.error}</small>}
      </span>
      <Badge tone={TONES[one.state]}>{words.states[one.state]}</Badge>
      {progress.samples.length > 0 && (
        <details className="whole-line">
          <summary>{goods.rejected}</summary>
          <Json value={progress.samples} />
        </details>
      )}
    </li>
  );
}

function Entries(): ReactElement {
  const { goods, action } = useWords();
  const [typed, setTyped] = useState('');
  const [query, setQuery] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setQuery(typed.trim());
  };
  return (
    <Card title={goods.register.search}>
      <form className="search-form" role="search" onSubmit={submit}>
        <TextField label={goods.register.find} value={typed} maxLength={128} onValue={setTyped} />
        <Button type="submit">{action.apply}</Button>
      </form>
      {query !== '' && <FoundEntries query={query} />}
    </Card>
  );
}

function FoundEntries({ query }: { query: string }): ReactElement {
  const { goods, state } = useWords();
  const { language } = useLanguage();
  const { list, rows: entries } = usePages(['classifier', query], ({ cursor, signal }) =>
    api('get', '/v1/classifier', { signal, query: { q: query, limit: 50, cursor } }),
  );
  return (
    <Pages list={list} empty={<Empty>{state.emptyFiltered}</Empty>}>
      <ul className="plain-list">
        {entries.map((entry) => (
          <li key={entry.spic}>
            <details>
              <summary>
                {entry.spic} · {entry.name[language]}
              </summary>
              <Facts
                rows={[
                  [goods.vat, entry.vat_percents.join(', ')],
                  [goods.units, String(entry.units)],
                  [goods.package, entry.packages.map(({ code, name }) => `${code} ${name}`).join(' · ')],
                  [goods.marked, entry.marked ? '✓' : null],
                  [goods.archived, entry.active ? null : '✓'],
                ]}
              />
            </details>
          </li>
        ))}
      </ul>
    </Pages>
  );
}

/** Products that the newest register does not fit any more. */
export function Affected(): ReactElement {
  const { goods } = useWords();
  const { list, rows } = usePages(['affected'], ({ cursor, signal }) =>
    api('get', '/v1/catalog/affected', { signal, query: { limit: 50, cursor } }),
  );
  return (
    <Card title={goods.affected}>
      <Pages list={list} empty={<Empty>{goods.noneAffected}</Empty>}>
        <ul className="plain-list">
          {rows.map((row) => (
            <li key={`${row.sku} ${row.classifier_version}`} className="line-item">
              <span className="wrap">
                <Link to="/goods/$id" params={{ id: row.sku }}>
                  {row.sku}
                </Link>{' '}
                <code className="code">{row.spic}</code>
                <small className="hint block">
                  {goods.reasons}: {row.reasons.map((reason) => named(goods.reasonNames, reason)).join(', ')} ·{' '}
                  <Time at={row.at} />
                </small>
              </span>
            </li>
          ))}
        </ul>
      </Pages>
    </Card>
  );
}
