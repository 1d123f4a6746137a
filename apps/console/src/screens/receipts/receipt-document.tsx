import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState, type ReactElement } from 'react';
import type { Receipt } from '../../api/api.js';
import { fillPath, send } from '../../api/call.js';
import { useLanguage, useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { saveBlob } from '../../ui/save-blob.js';
import { Card } from '../../ui/shown.js';
import { Loading, ProblemNote } from '../../ui/states.js';
import { isWebAddress } from './fiscal-card.js';

const TYPES = { pdf: 'application/pdf', png: 'image/png', text: 'text/plain' } as const;

async function documentOf(id: string, format: keyof typeof TYPES, language: string): Promise<Response> {
  return send({
    method: 'GET',
    path: fillPath('/v1/receipts/{id}/document', { id }),
    query: { format, lang: language, columns: format === 'pdf' ? undefined : 42 },
    headers: { accept: TYPES[format] },
  });
}

/** What the buyer gets, as the gateway draws it. */
export function ReceiptDocument({ receipt }: { receipt: Receipt }): ReactElement {
  const words = useWords();
  const { language } = useLanguage();
  const pdf = useMutation({
    mutationFn: async () => {
      const response = await documentOf(receipt.id, 'pdf', language);
      saveBlob(await response.blob(), `${receipt.id}.pdf`);
    },
  });
  return (
    <Card title={words.receipts.document.title}>
      <Picture key={`${receipt.status}-${language}`} receipt={receipt} />
      <div className="row-actions">
        {isWebAddress(receipt.receipt_url) && (
          <a className="button button-plain" href={receipt.receipt_url} target="_blank" rel="noreferrer noopener">
            {words.receipts.document.page}
          </a>
        )}
        <Button onClick={() => pdf.mutate()} busy={pdf.isPending}>
          {words.receipts.document.pdf}
        </Button>
        <Button onClick={printPaper}>{words.action.print}</Button>
      </div>
      <ProblemNote problem={pdf.error} />
    </Card>
  );
}

/** Of the page only the paper is printed (styles/screens.css). */
function printPaper(): void {
  document.body.dataset['print'] = 'paper';
  addEventListener('afterprint', () => delete document.body.dataset['print'], { once: true });
  print();
}

function Picture({ receipt }: { receipt: Receipt }): ReactElement {
  const { receipts } = useWords();
  const { language } = useLanguage();
  const key = ['document', receipt.id, receipt.status, receipt.refunded.total, language];
  const picture = useQuery({
    queryKey: [...key, 'png'],
    queryFn: async () => (await documentOf(receipt.id, 'png', language)).blob(),
    retry: 1,
    staleTime: 60_000,
  });
  // Pictures are drawn one at a time and have a greatest height; the text always comes.
  const text = useQuery({
    queryKey: [...key, 'text'],
    queryFn: async () => (await documentOf(receipt.id, 'text', language)).text(),
    enabled: picture.error !== null,
  });
  const url = useBlobUrl(picture.data);
  if (url !== null) return <img className="paper" src={url} alt={receipts.document.alt} />;
  if (text.data !== undefined) {
    return (
      <>
        <p className="hint">{receipts.document.failed}</p>
        <pre className="paper paper-text" tabIndex={0}>
          {text.data}
        </pre>
      </>
    );
  }
  return text.error ? <ProblemNote problem={text.error} /> : <Loading />;
}

function useBlobUrl(blob: Blob | undefined): string | null {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!blob) return undefined;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}
