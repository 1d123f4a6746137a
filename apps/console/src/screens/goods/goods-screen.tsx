import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type FormEvent, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useLanguage, useWords, type Words } from '../../i18n/i18n.js';
import type { Language } from '../../i18n/plural.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { DialogButton } from '../../ui/dialog-button.js';
import { CheckField, TextField } from '../../ui/field.js';
import { usePages } from '../../ui/pages.js';
import { Badge, Money, PageHead } from '../../ui/shown.js';
import { Empty, Loading, ProblemNote, withScope } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { VirtualList, type Column } from '../../ui/virtual-list.js';
import { Affected, Classifier } from './classifier.js';
import { ImportGoods } from './import-goods.js';

type Product = Schema<'ProductView'>;

export const GoodsScreen = withScope('catalog:read', Shown);

/** The products; those that the classification register has left behind; the register itself. */
function Shown(): ReactElement {
  const { nav } = useWords();
  const { view } = useSearch({ from: '/app/goods' });
  if (view !== 'affected' && view !== 'register') return <Goods />;
  return (
    <div className="page">
      <PageHead title={nav.goods} />
      <Views shown={view} />
      {view === 'affected' ? <Affected /> : <Classifier />}
    </div>
  );
}

function Views({ shown }: { shown: keyof Words['goods']['views'] }): ReactElement {
  const { nav, goods } = useWords();
  const tabs = (['list', 'affected', 'register'] as const).map((view) => ({ view, title: goods.views[view] }));
  return <Tabs label={nav.goods} to="/goods" tabs={tabs} shown={shown} />;
}

/** In the language of the console, else in one that there is. */
export function nameOf({ name, sku }: Pick<Product, 'name' | 'sku'>, language: Language): string {
  return name[language] ?? name.ru ?? name.uz ?? name.en ?? sku;
}

function columnsOf({ goods }: Words, language: Language): Column<Product>[] {
  return [
    {
      key: 'name',
      title: goods.name,
      width: 'minmax(14rem, 2fr)',
      cell: (product) => (
        <Link to="/goods/$id" params={{ id: product.sku }} className="row-link">
          {nameOf(product, language)}
        </Link>
      ),
    },
    { key: 'sku', title: goods.sku, width: 'minmax(8rem, 1fr)', cell: ({ sku }) => sku },
    {
      ...{ key: 'price', title: goods.price, width: '11.5rem', align: 'end' },
      cell: ({ price }) => (price === null ? '—' : <Money tiyin={price} />),
    },
    { key: 'vat', title: goods.vat, width: '5rem', align: 'end', cell: ({ vat_percent: percent }) => String(percent) },
    { key: 'spic', title: goods.spic, width: '11rem', cell: ({ spic }) => <code className="code">{spic}</code> },
    {
      key: 'marks',
      title: goods.marks,
      width: '10rem',
      cell: ({ marked, archived_at: archived }) => (
        <>
          {marked === true && <Badge tone="busy">{goods.marked}</Badge>}
          {archived !== null && <Badge tone="neutral">{goods.archived}</Badge>}
        </>
      ),
    },
  ];
}

function Goods(): ReactElement {
  const { nav, goods, action } = useWords();
  const { can } = useSession();
  const { view: _view, ...filters } = useSearch({ from: '/app/goods' });
  const navigate = useNavigate();
  const [typed, setTyped] = useState(filters.q ?? '');
  const apply = (next: { q?: string; archived?: string }): void => void navigate({ to: '/goods', search: next });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    apply({ ...filters, q: typed.trim() });
  };
  return (
    <div className="page page-list">
      <PageHead title={nav.goods}>
        {can('catalog:write') && (
          <DialogButton label={goods.import} tone="primary">
            {() => <ImportGoods />}
          </DialogButton>
        )}
      </PageHead>
      <Views shown="list" />
      <form className="search-form" role="search" onSubmit={submit}>
        <TextField label={goods.find} value={typed} maxLength={128} onValue={setTyped} />
        <Button type="submit">{action.apply}</Button>
        <CheckField
          label={goods.archived}
          checked={filters.archived === 'true'}
          onValue={(isArchived) => apply({ ...filters, archived: isArchived ? 'true' : '' })}
        />
      </form>
      <Found filters={filters} />
    </div>
  );
}

function Found({ filters }: { filters: { q?: string; archived?: string } }): ReactElement {
  const words = useWords();
  const { language } = useLanguage();
  const { list, rows } = usePages(['goods', filters], ({ cursor, signal }) =>
    api('get', '/v1/catalog/products', { query: { ...filters, limit: 100, cursor }, signal }),
  );
  if (list.isPending) return <Loading />;
  if (!list.data) return <ProblemNote problem={list.error} onRetry={() => void list.refetch()} />;
  if (rows.length === 0) {
    return <Empty>{Object.keys(filters).length > 0 ? words.state.emptyFiltered : words.state.empty}</Empty>;
  }
  return (
    <VirtualList
      label={words.nav.goods}
      rows={rows}
      columns={columnsOf(words, language)}
      keyOf={({ sku }) => sku}
      compact={(product) => (
        <div className="compact">
          <div className="compact-line">
            <Link to="/goods/$id" params={{ id: product.sku }} className="row-link">
              {nameOf(product, language)}
            </Link>
          </div>
          <div className="compact-line hint">
            <span>{product.sku}</span>
            <span>{product.price === null ? '' : <Money tiyin={product.price} />}</span>
          </div>
        </div>
      )}
      list={list}
    />
  );
}
