import { useState, type FormEvent, type ReactElement } from 'react';
import { api } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Pages, usePages } from '../../ui/pages.js';
import { AuditVerification } from './audit-verification.js';
import { AuditRecords } from './audit-records.js';

/** What was changed and refused, the newest first. */
export function AuditTrail(): ReactElement {
  const { clients, action } = useWords();
  const [typed, setTyped] = useState('');
  const [filter, setFilter] = useState<string | undefined>(undefined);
  const { list, rows: records } = usePages(['audit', filter], ({ cursor, signal }) =>
    api('get', '/v1/audit', { signal, query: { action: filter, limit: 50, cursor } }),
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setFilter(typed.trim() === '' ? undefined : typed.trim());
  };
  return (
    <section className="card">
      <form className="search-form" role="search" onSubmit={submit}>
        <TextField label={clients.find} value={typed} maxLength={64} onValue={setTyped} />
        <Button type="submit">{action.apply}</Button>
      </form>
      <AuditVerification />
      <Pages list={list}>
        <AuditRecords records={records} />
      </Pages>
    </section>
  );
}
