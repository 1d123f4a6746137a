import type { ReactElement } from 'react';
import type { Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Json, Time } from '../../ui/shown.js';

/** Records of the trail, each with what was there before and after. */
export function AuditRecords({ records }: { records: readonly Schema<'AuditView'>[] }): ReactElement {
  const { clients } = useWords();
  return (
    <ol className="plain-list">
      {records.map((record) => (
        <li key={record.sequence} className="line-item">
          <span>
            <strong>{record.action}</strong> <Time at={record.at} />
            <small className="hint block wrap">
              {clients.actor}: {record.actor} · {clients.subject}: {record.subject_id}
              {record.address !== null && ` · ${clients.address}: ${record.address}`}
            </small>
          </span>
          <details className="whole-line">
            <summary>{clients.details}</summary>
            <Json value={{ before: record.before, after: record.after, hash: record.hash }} />
          </details>
        </li>
      ))}
    </ol>
  );
}
