import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { FormEvent, ReactElement } from 'react';
import { api, type Receipt, type Schema } from '../../api/api.js';
import { ApiProblem } from '../../api/problem.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { CheckField, RadioField, SelectField, TextField } from '../../ui/field.js';
import { Facts, Money, Quantity } from '../../ui/shown.js';
import { Loaded, ProblemNote } from '../../ui/states.js';
import { useDraft } from '../../ui/use-draft.js';
import { EMPTY_REFUND, refundableLines, refundBody, type Left, type RefundDraft } from './refund-body.js';

interface Props {
  receipt: Receipt;
  onDone: () => void;
}

/** What is left is what the gateway says now, not what the screen showed before. */
export function RefundDialog({ receipt, onDone }: Props): ReactElement {
  const { id } = receipt;
  const query = useGet(['refunds-left', id], '/v1/receipts/{id}/refunds', {
    path: { id },
    query: { limit: 1 },
    staleTime: 0,
    gcTime: 0,
  });
  return <Loaded query={query}>{({ left }) => <RefundForm receipt={receipt} left={left} onDone={onDone} />}</Loaded>;
}

function RefundForm({ receipt, left, onDone }: Props & { left: Left }): ReactElement {
  const { receipts, action } = useWords();
  const words = receipts.refund;
  const [draft, change, clear] = useDraft<RefundDraft>(`refund:${receipt.id}`, EMPTY_REFUND);
  const judged = refundBody(draft, left);
  const refund = useRefund(receipt.id, () => {
    clear();
    onDone();
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (judged.body) refund.mutate(judged.body);
  };
  return (
    <form className="stack" onSubmit={submit}>
      <RadioField
        legend={words.preview}
        name="mode"
        value={draft.mode}
        options={[
          { value: 'whole', label: words.whole },
          { value: 'qty', label: words.byLines },
          { value: 'sum', label: words.bySum },
        ]}
        onValue={(mode) => change({ mode, parts: {} })}
      />
      {draft.mode === 'whole' ? (
        <Facts
          rows={[
            [receipts.refunds.left, <Money tiyin={left.total} />],
            [words.vat, <Money tiyin={left.vat_total} />],
          ]}
        />
      ) : (
        <Lines receipt={receipt} left={left} draft={draft} change={change} />
      )}
      <div className="form-row">
        <SelectField
          label={words.method}
          value={draft.method}
          options={[
            { value: '', label: words.asPaid },
            ...(['cash', 'card', 'wallet'] as const).map((value) => ({ value, label: receipts.method[value] })),
          ]}
          onValue={(method) => change({ method: method as RefundDraft['method'] })}
        />
        <TextField
          label={words.ownNumber}
          value={draft.externalId}
          maxLength={128}
          onValue={(externalId) => change({ externalId })}
        />
      </div>
      <ProblemNote problem={refund.error} />
      <div className="row-actions">
        <Button type="submit" tone="danger" disabled={judged.body === null} busy={refund.isPending}>
          {words.submit}
        </Button>
        <Button onClick={onDone}>{action.back}</Button>
        {judged.body === null && <span className="hint">{words.nothing}</span>}
      </div>
    </form>
  );
}

interface SentRefund {
  body: string;
  key: string;
}

/**
 * One key for one attempt to refund, kept in the tab: a repeat after a lost answer, also after a reload, finds the
 * refund that was made instead of making a second one. Once it is known that none was made, the next one is another attempt: what the
 * register has refused is kept under its key as refused.
 */
function useRefund(id: string, onDone: () => void) {
  const client = useQueryClient();
  const [sent, keep, forget] = useDraft<SentRefund>(`refund-key:${id}`, NOT_SENT);
  return useMutation({
    mutationFn: (body: Schema<'RefundBody'>) => {
      const text = JSON.stringify(body);
      const key = sent.body === text ? sent.key : crypto.randomUUID();
      keep({ body: text, key });
      return api('post', '/v1/receipts/{id}/refunds', {
        path: { id },
        body,
        headers: { 'idempotency-key': key, prefer: 'wait=10' },
      });
    },
    onError: (error) => {
      if (error instanceof ApiProblem && error.status === 422) forget();
    },
    onSuccess: () => {
      forget();
      onDone();
      for (const key of ['receipt', 'refunds', 'timeline']) void client.invalidateQueries({ queryKey: [key, id] });
      void client.invalidateQueries({ queryKey: ['receipts'] });
    },
  });
}

const NOT_SENT: SentRefund = { body: '', key: '' };

interface LinesProps {
  receipt: Receipt;
  left: Left;
  draft: RefundDraft;
  change: (part: Partial<RefundDraft>) => void;
}

function Lines({ receipt, left, draft, change }: LinesProps): ReactElement {
  const { receipts } = useWords();
  const words = receipts.refund;
  const { faults } = refundBody(draft, left);
  const set = (line: number, text: string): void => change({ parts: { ...draft.parts, [line]: text } });
  return (
    <ul className="plain-list refund-lines">
      {refundableLines(receipt, left).map(({ item, left: rest }) => (
        <li key={item.line} className="refund-line">
          <div>
            <strong>{item.name}</strong>
            <small className="hint block">
              {receipts.line.left}: <Quantity of={rest.qty} /> · <Money tiyin={rest.total} />
            </small>
          </div>
          <TextField
            label={draft.mode === 'qty' ? words.qty : words.sum}
            inputMode="decimal"
            value={draft.parts[item.line] ?? ''}
            error={faults[item.line] ? words[faults[item.line] ?? 'badQty'] : null}
            onValue={(text) => set(item.line, text)}
          />
          {draft.mode === 'qty' && rest.labels.length > 0 && (
            <Labels
              labels={rest.labels}
              chosen={draft.labels[item.line] ?? []}
              onValue={(labels) => {
                change({
                  labels: { ...draft.labels, [item.line]: labels },
                  parts: { ...draft.parts, [item.line]: labels.length > 0 ? String(labels.length) : '' },
                });
              }}
            />
          )}
        </li>
      ))}
    </ul>
  );
}

interface LabelsProps {
  labels: readonly string[];
  chosen: readonly string[];
  onValue: (labels: string[]) => void;
}

/** Marked goods come back by the piece: each by its own code. */
function Labels({ labels, chosen, onValue }: LabelsProps): ReactElement {
  const { receipts } = useWords();
  return (
    <fieldset className="radios">
      <legend>{receipts.refund.labels}</legend>
      {labels.map((label) => (
        <CheckField
          key={label}
          label={<code className="code">{label}</code>}
          checked={chosen.includes(label)}
          onValue={(isChosen) => onValue(isChosen ? [...chosen, label] : chosen.filter((one) => one !== label))}
        />
      ))}
    </fieldset>
  );
}
