import { useNavigate, useParams } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { parseSom, tiyinToInput } from '../../format/money.js';
import { useLanguage, useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { Dialog } from '../../ui/dialog.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextField } from '../../ui/field.js';
import { Badge, Card, Facts, Money, PageHead, Time } from '../../ui/shown.js';
import { Loaded, ProblemNote, withScope } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { AuditRecords } from '../access/audit-records.js';
import { nameOf } from './goods-screen.js';

type Product = Schema<'ProductView'>;

export const ProductScreen = withScope('catalog:read', OneProduct);

function OneProduct(): ReactElement {
  const { id: sku } = useParams({ from: '/app/goods/$id' });
  const query = useGet(['product', sku], '/v1/catalog/products/{sku}', { path: { sku } });
  return <Loaded query={query}>{(product) => <Detail product={product} />}</Loaded>;
}

function Detail({ product }: { product: Product }): ReactElement {
  const { goods } = useWords();
  const { language } = useLanguage();
  const { can } = useSession();
  const [open, setOpen] = useState<'edit' | 'archive' | null>(null);
  const close = (): void => setOpen(null);
  return (
    <div className="page">
      <PageHead
        title={
          <>
            {nameOf(product, language)} {product.archived_at !== null && <Badge tone="neutral">{goods.archived}</Badge>}
          </>
        }
      >
        {can('catalog:write') && product.archived_at === null && (
          <>
            <Button tone="primary" onClick={() => setOpen('edit')}>
              {goods.edit}
            </Button>
            <Button onClick={() => setOpen('archive')}>{goods.archive}</Button>
          </>
        )}
      </PageHead>
      <Card title={product.sku}>
        <Facts
          rows={[
            [goods.names.ru, product.name.ru],
            [goods.names.uz, product.name.uz],
            [goods.names.en, product.name.en],
            [goods.price, product.price === null ? null : <Money tiyin={product.price} />],
            [goods.vat, String(product.vat_percent)],
            [goods.spic, <code className="code">{product.spic}</code>],
            [goods.package, product.package_code],
            [goods.units, String(product.units)],
            [goods.barcodes, product.barcodes.join(', ')],
            [goods.marked, product.marked === true ? '✓' : null],
            [goods.changed, <Time at={product.updated_at} />],
            ...Object.entries(product.attributes).map(([key, value]) => [key, value] as const),
          ]}
        />
      </Card>
      {can('clients:read') && <History sku={product.sku} />}
      <Dialog title={goods.edit} open={open === 'edit'} onClose={close}>
        <EditProduct product={product} onDone={close} />
      </Dialog>
      <Dialog title={goods.archive} open={open === 'archive'} onClose={close}>
        <ArchiveProduct sku={product.sku} />
      </Dialog>
    </div>
  );
}

/** Changes of this product alone, from the audit trail. */
function History({ sku }: { sku: string }): ReactElement {
  const { goods } = useWords();
  const query = useGet(['audit', 'of', sku], '/v1/audit', { query: { subject_id: sku, limit: 50 } });
  return (
    <Card title={goods.history}>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? <p className="hint">{goods.noHistory}</p> : <AuditRecords records={data} />
        }
      </Loaded>
    </Card>
  );
}

/** What has changed meanwhile elsewhere is not overwritten: the gateway compares the version that was shown. */
function EditProduct({ product: newest, onDone }: { product: Product; onDone: () => void }): ReactElement {
  // What is read meanwhile must not lend its version to the values that are typed here.
  const [product] = useState(newest);
  const { language: spoken, words } = useLanguage();
  const { goods, action } = words;
  const [draft, change, clear] = useDraft(`product:${product.sku}:${product.etag}`, {
    ru: product.name.ru ?? '',
    uz: product.name.uz ?? '',
    en: product.name.en ?? '',
    price: product.price === null ? '' : tiyinToInput(product.price, spoken),
    spic: product.spic,
    packageCode: product.package_code,
  });
  const price = draft.price.trim() === '' ? null : parseSom(draft.price);
  const isPriceWrong = draft.price.trim() !== '' && price === null;
  const save = useChange(
    () =>
      api('patch', '/v1/catalog/products/{sku}', {
        path: { sku: product.sku },
        headers: { 'if-match': product.etag },
        body: {
          name: { ru: draft.ru || null, uz: draft.uz || null, en: draft.en || null },
          price,
          spic: draft.spic,
          package_code: draft.packageCode,
        },
      }),
    { clear, refreshes: [['product', product.sku], ['goods'], ['audit', 'of', product.sku]], onDone },
  );
  const field = draftFields(draft, change, save.error);
  return (
    <CallForm
      call={save}
      onSubmit={() => {
        if (!isPriceWrong) save.mutate();
      }}
      label={action.save}
      disabled={isPriceWrong}
    >
      {(['ru', 'uz', 'en'] as const).map((language) => (
        <TextField key={language} label={goods.names[language]} {...field(language, `/name/${language}`)} />
      ))}
      <TextField
        label={goods.price}
        inputMode="decimal"
        {...field('price')}
        {...(isPriceWrong && { error: goods.price })}
      />
      <TextField label={goods.spic} {...field('spic')} />
      <TextField label={goods.package} {...field('packageCode', '/package_code')} />
    </CallForm>
  );
}

function ArchiveProduct({ sku }: { sku: string }): ReactElement {
  const { goods } = useWords();
  const navigate = useNavigate();
  const archive = useChange(() => api('delete', '/v1/catalog/products/{sku}', { path: { sku } }), {
    refreshes: [['goods'], ['product', sku]],
    onDone: () => navigate({ to: '/goods' }),
  });
  return (
    <div className="stack">
      <p>{goods.archiveText}</p>
      <ProblemNote problem={archive.error} />
      <Button tone="danger" onClick={() => archive.mutate()} busy={archive.isPending}>
        {goods.archive}
      </Button>
    </div>
  );
}
