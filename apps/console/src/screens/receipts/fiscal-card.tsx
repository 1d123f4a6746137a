import { lazy, Suspense, type ReactElement } from 'react';
import type { Receipt } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Badge, Card, Copyable, Facts, Time } from '../../ui/shown.js';
import { Empty } from '../../ui/states.js';

const QrCode = lazy(async () => ({ default: (await import('../../ui/qr.js')).QrCode }));

export function FiscalCard({ receipt: { fiscal, ofd } }: { receipt: Receipt }): ReactElement {
  const { receipts } = useWords();
  const words = receipts.fiscal;
  if (!fiscal) {
    return (
      <Card title={words.title}>
        <Empty>{words.none}</Empty>
      </Card>
    );
  }
  const { verification_url: url, evidence } = fiscal;
  return (
    <Card title={words.title}>
      <Facts
        rows={[
          [words.terminal, fiscal.terminal_id && <Copyable text={fiscal.terminal_id} />],
          [words.seq, String(fiscal.receipt_seq)],
          [words.sign, fiscal.fiscal_sign ? <Copyable text={fiscal.fiscal_sign} /> : words.noSign],
          [words.at, <Time at={fiscal.registered_at} />],
          [words.shift, fiscal.shift_number === null ? null : String(fiscal.shift_number)],
          [words.evidence, evidence ? words.evidences[evidence] : null],
          ofd && [
            receipts.ofd.title,
            <Badge tone={ofd.status === 'sent' ? 'good' : 'busy'}>{receipts.ofd[ofd.status]}</Badge>,
          ],
          ofd?.status === 'pending' ? [receipts.ofd.deadline, <Time at={ofd.deadline_at} />] : null,
          ofd?.sent_at ? [receipts.ofd.sentAt, <Time at={ofd.sent_at} />] : null,
          ofd?.error ? [receipts.ofd.error, ofd.error] : null,
        ]}
      />
      {url !== null && isWebAddress(url) && (
        <div className="qr-place">
          <Suspense fallback={null}>
            <QrCode text={url} label={words.qr} />
          </Suspense>
          <a href={url} target="_blank" rel="noreferrer noopener">
            {words.check}
          </a>
        </div>
      )}
    </Card>
  );
}

/** A register's answer gave it: only a web address becomes a link. */
export function isWebAddress(url: string): boolean {
  return /^https?:\/\//i.test(url);
}
