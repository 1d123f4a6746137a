import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { FormEvent, ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { ApiProblem } from '../../api/problem.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextArea } from '../../ui/field.js';
import { Card } from '../../ui/shown.js';
import { Loaded, ProblemNote } from '../../ui/states.js';
import { useDraft } from '../../ui/use-draft.js';

const MAX_LOGO_BYTES = 200 * 1024;

/** What stands above and below everything on page, picture, PDF and e-mail. */
export function Brand(): ReactElement {
  const { messages: words } = useWords();
  const query = useGet(['brand'], '/v1/merchant/brand');
  return (
    <Card title={words.views.brand}>
      <Loaded query={query}>{(brand) => <BrandForm brand={brand} />}</Loaded>
    </Card>
  );
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

function BrandForm({ brand }: { brand: Schema<'BrandView'> }): ReactElement {
  const { messages: words, action } = useWords();
  const client = useQueryClient();
  const [draft, change, clear] = useDraft('brand', { header: brand.header, footer: brand.footer });
  const save = useMutation({
    mutationFn: (logo: string | null | undefined) =>
      api('put', '/v1/merchant/brand', { body: { ...draft, ...(logo !== undefined && { logo }) } }),
    onSuccess: async (saved) => {
      clear({ header: saved.header, footer: saved.footer });
      await client.invalidateQueries({ queryKey: ['brand'] });
    },
  });
  const pick = useMutation({
    mutationFn: async (file: File) => {
      const isPng = file.type === 'image/png' && file.size <= MAX_LOGO_BYTES;
      if (!isPng) throw new ApiProblem(0, 'file_type', words.wrongLogo);
      await save.mutateAsync(await base64Of(file));
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(undefined);
  };
  const field = draftFields(draft, change, save.error);
  return (
    <form className="stack" onSubmit={submit}>
      <TextArea label={words.header} {...field('header')} />
      <TextArea label={words.footer} {...field('footer')} />
      <label className="drop">
        <span>
          {words.logo}
          {brand.logo_width !== null && ` · ${brand.logo_width} × ${brand.logo_height}`}
        </span>
        <input
          type="file"
          accept="image/png"
          disabled={pick.isPending}
          onChange={(event) => {
            const file = event.target.files?.[0];
            if (file) pick.mutate(file);
            event.target.value = '';
          }}
        />
      </label>
      <ProblemNote problem={save.error ?? pick.error} />
      {save.isSuccess && <p role="status">{words.saved}</p>}
      <div className="row-actions">
        <Button type="submit" tone="primary" busy={save.isPending}>
          {action.save}
        </Button>
        {brand.logo !== null && (
          <Button onClick={() => save.mutate(null)} disabled={save.isPending}>
            {words.removeLogo}
          </Button>
        )}
      </div>
    </form>
  );
}
