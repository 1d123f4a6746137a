import { keepPreviousData } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { formatTime } from '../../format/time.js';
import { useWords, type Words } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { Dialog } from '../../ui/dialog.js';
import { draftFields } from '../../ui/draft-fields.js';
import { SelectField, TextArea, type Option } from '../../ui/field.js';
import { Badge } from '../../ui/shown.js';
import { faultAt, Loaded } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';

type Status = Schema<'ClassifierStatus'>;
type RegisterWords = Words['goods']['register'];

/** The register belongs to no merchant: only who runs the installation goes back. */
export function GoBack({ newestImport }: { newestImport: number | null }): ReactElement | null {
  const { canOverMerchants } = useSession();
  return canOverMerchants('platform:read') ? <Versions newestImport={newestImport} /> : null;
}

function Versions({ newestImport }: { newestImport: number | null }): ReactElement {
  // Anew as soon as another import is in force.
  const query = useGet(['classifier-versions', newestImport], '/v1/platform/classifier', {
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  });
  return <Loaded query={query}>{(status) => <Offer status={status} />}</Loaded>;
}

function Offer({ status }: { status: Status }): ReactElement {
  const { goods } = useWords();
  const { canOverMerchants } = useSession();
  const words = goods.register;
  const [open, setOpen] = useState<'back' | 'resume' | null>(null);
  const close = (): void => setOpen(null);
  const isHeld = status.fetching === 'held';
  return (
    <>
      {isHeld && (
        <p>
          <Badge tone="warn">{words.held}</Badge>
        </p>
      )}
      {canOverMerchants('platform:admin') && (
        <div className="row-actions">
          <Button onClick={() => setOpen('back')}>{words.goBack}</Button>
          {isHeld && <Button onClick={() => setOpen('resume')}>{words.resume}</Button>}
        </div>
      )}
      <Dialog title={open === 'resume' ? words.resume : words.goBack} open={open !== null} onClose={close}>
        {open === 'back' && <Back status={status} onDone={close} />}
        {open === 'resume' && <Resume onDone={close} />}
      </Dialog>
    </>
  );
}

const CHANGED = [['classifier-versions'], ['classifier-imports'], ['classifier'], ['affected']];

const NOTHING = { to: '', reason: '' };

function Back({ status, onDone }: { status: Status; onDone: () => void }): ReactElement {
  const { goods, action } = useWords();
  const words = goods.register;
  const [draft, change, clear] = useDraft('classifier-back', NOTHING);
  const call = useChange(
    () =>
      api('post', '/v1/platform/classifier/back', {
        body: { reason: draft.reason, ...(draft.to !== '' && { to: Number(draft.to) }) },
      }),
    { clear, refreshes: CHANGED },
  );
  if (call.isSuccess) {
    return (
      <div className="stack">
        <p role="status">{words.begun}</p>
        <Button onClick={onDone}>{action.close}</Button>
      </div>
    );
  }
  const field = draftFields(draft, change, call.error);
  return (
    <CallForm call={call} onSubmit={() => call.mutate()} label={words.goBack} tone="danger">
      <p>{words.goBackText}</p>
      <SelectField
        label={words.to}
        options={[{ value: '', label: words.previous }, ...optionsOf(status, words)]}
        {...field('to')}
      />
      <Reason value={draft.reason} problem={call.error} onValue={(reason) => change({ reason })} />
    </CallForm>
  );
}

/** Going back to what is in force would change nothing; what had gone back itself is named by what it restored. */
function optionsOf({ versions, version, content }: Status, words: RegisterWords): Option[] {
  return versions
    .filter((one) => one.version !== version && one.version !== content && one.restored_version === null)
    .map((one) => ({
      value: String(one.version),
      label: `${words.versionOf(one.version)}${one.at === null ? '' : ` · ${formatTime(one.at)}`}`,
    }));
}

function Resume({ onDone }: { onDone: () => void }): ReactElement {
  const { goods } = useWords();
  const [draft, change, clear] = useDraft('classifier-resume', { reason: '' });
  const call = useChange(() => api('post', '/v1/platform/classifier/resume', { body: draft }), {
    clear,
    refreshes: CHANGED,
    onDone,
  });
  return (
    <CallForm call={call} onSubmit={() => call.mutate()} label={goods.register.resume}>
      <Reason value={draft.reason} problem={call.error} onValue={(reason) => change({ reason })} />
    </CallForm>
  );
}

function Reason({
  value,
  problem,
  onValue,
}: {
  value: string;
  problem: unknown;
  onValue: (reason: string) => void;
}): ReactElement {
  const { goods } = useWords();
  return (
    <TextArea
      label={goods.register.reason}
      value={value}
      required
      maxLength={500}
      error={faultAt(problem, '/reason')}
      onValue={onValue}
    />
  );
}
