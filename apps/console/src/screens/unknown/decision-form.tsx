import type { FormEvent, ReactElement } from 'react';
import { api, type UnknownCase } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { draftFields } from '../../ui/draft-fields.js';
import { CheckField, RadioField, TextArea, TextField } from '../../ui/field.js';
import { faultAt, ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import {
  decisionBody,
  EMPTY_DECISION,
  ENDED_DECISIONS,
  endedDraft,
  type Decision,
  type DecisionDraft,
} from './decision-body.js';

const DECISIONS: readonly Decision[] = ['registered', 'not_registered', 'duplicate'];

/** What a person decides about one receipt. The form is a draft until the gateway has taken it. */
export function DecisionForm({ one }: { one: UnknownCase }): ReactElement {
  const { fleet } = useWords();
  const words = fleet.unknown;
  const [typed, change, clear] = useDraft<DecisionDraft>(`decision:${one.attempt.id}`, EMPTY_DECISION);
  const isOver = one.receipt.status === 'rejected' || one.receipt.status === 'cancelled';
  const draft = isOver ? endedDraft(typed, one.evidence) : typed;
  const decide = useChange(
    () =>
      api('post', '/v1/operator/attempts/{id}/resolve', {
        path: { id: one.attempt.id },
        body: decisionBody(draft),
      }),
    { clear, refreshes: [['unknown'], ['receipt', one.receipt.id], ['timeline', one.receipt.id]] },
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    decide.mutate();
  };
  const field = draftFields(typed, change, decide.error);
  return (
    <form className="stack decision" onSubmit={submit}>
      <RadioField
        legend={words.decide}
        name={`decision-${one.attempt.id}`}
        value={draft.decision}
        options={
          isOver
            ? ENDED_DECISIONS.map((value) => ({ value, label: words.decision[value], hint: words.endedEffect[value] }))
            : DECISIONS.map((value) => ({ value, label: words.decision[value], hint: words.effect[value] }))
        }
        onValue={(decision) => change({ decision })}
      />
      {draft.decision !== 'not_registered' && (
        <RegistrationFields draft={draft} change={change} problem={decide.error} hasSign={isSigned(one)} />
      )}
      {draft.decision !== 'not_registered' && mayBeForgotten(draft, decide.error) && (
        <CheckField
          label={words.forgottenTerminal}
          checked={draft.confirmTerminal}
          onValue={(confirmTerminal) => change({ confirmTerminal })}
        />
      )}
      {draft.decision === 'duplicate' && !isOver && isSigned(one) && (
        <SurplusFields draft={draft} change={change} problem={decide.error} />
      )}
      {draft.decision === 'not_registered' && !isOver && <AbsentFields one={one} draft={draft} change={change} />}
      <TextArea label={words.reason} required rows={2} maxLength={500} {...field('reason')} />
      <ProblemNote problem={decide.error} />
      <div className="row-actions">
        <Button type="submit" tone="primary" busy={decide.isPending}>
          {words.decide}
        </Button>
      </div>
    </form>
  );
}

/** Of what the register does not have. */
function AbsentFields({
  one,
  draft,
  change,
}: Pick<FieldsProps, 'draft' | 'change'> & { one: UnknownCase }): ReactElement {
  const words = useWords().fleet.unknown;
  return (
    <>
      <CheckField
        label={words.ended}
        checked={draft.isEnded}
        onValue={(isEnded) => change({ isEnded, confirmUnsettled: false })}
      />
      {(one.attempt.unsettled || draft.isEnded) && (
        <CheckField
          label={words.unsettled}
          checked={draft.confirmUnsettled}
          onValue={(confirmUnsettled) => change({ confirmUnsettled })}
        />
      )}
    </>
  );
}

/** The gateway names the field where it can help: after a restore alone. */
function mayBeForgotten({ confirmTerminal }: DecisionDraft, problem: unknown): boolean {
  const places = ['/verification_url', '/terminal_id', '/surplus/verification_url'];
  return confirmTerminal || places.some((pointer) => faultAt(problem, pointer)?.includes('confirm_terminal') === true);
}

/** An advance or credit has neither sign nor link: only its terminal can be named. */
function isSigned({ receipt: { type } }: UnknownCase): boolean {
  return type !== 'advance' && type !== 'credit';
}

interface FieldsProps {
  draft: DecisionDraft;
  change: (part: Partial<DecisionDraft>) => void;
  problem: unknown;
}

function RegistrationFields({ draft, change, problem, hasSign }: FieldsProps & { hasSign: boolean }): ReactElement {
  const words = useWords().fleet.unknown;
  const field = draftFields(draft, change, problem);
  return (
    <div className="form-row">
      <TextField label={words.seq} inputMode="numeric" {...field('seq', '/receipt_seq')} />
      {hasSign ? (
        <>
          <TextField label={words.sign} inputMode="numeric" {...field('sign', '/fiscal_sign')} />
          <TextField label={words.link} {...field('link', '/verification_url')} />
        </>
      ) : (
        <TextField label={words.terminal} {...field('terminal', '/terminal_id')} />
      )}
      <TextField label={words.at} type="datetime-local" {...field('at', '/registered_at')} />
    </div>
  );
}

function SurplusFields({ draft, change, problem }: FieldsProps): ReactElement {
  const words = useWords().fleet.unknown;
  const field = draftFields(draft, change, problem);
  return (
    <fieldset className="radios">
      <legend>{words.surplus}</legend>
      <div className="form-row">
        <TextField label={words.seq} inputMode="numeric" required {...field('surplusSeq', '/surplus/receipt_seq')} />
        <TextField label={words.sign} inputMode="numeric" required {...field('surplusSign', '/surplus/fiscal_sign')} />
        <TextField label={words.link} required {...field('surplusLink', '/surplus/verification_url')} />
      </div>
    </fieldset>
  );
}
