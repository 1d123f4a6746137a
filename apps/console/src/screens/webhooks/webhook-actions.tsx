import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { inputToInstant, instantToInput, startOfDay } from '../../format/time.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { CallForm, SureCall } from '../../ui/call-form.js';
import { Dialog } from '../../ui/dialog.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextField } from '../../ui/field.js';
import { Menu } from '../../ui/menu.js';
import { ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useTyped } from '../../ui/use-typed.js';
import { ShownSecret } from './shown-secret.js';

type Webhook = Schema<'WebhookView'>;
type Open = 'test' | 'rotate' | 'recover' | 'replay' | 'switch' | 'remove' | null;

interface Props {
  webhook: Webhook;
  onDone: () => void;
}

export function WebhookActions({ webhook }: { webhook: Webhook }): ReactElement {
  const { hooks } = useWords();
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const labels = {
    test: hooks.test,
    rotate: hooks.rotate,
    recover: hooks.recover,
    replay: hooks.replay,
    switch: webhook.enabled ? hooks.disable : hooks.enable,
    remove: hooks.remove,
  };
  return (
    <>
      <Menu
        label={hooks.endpoint}
        entries={(Object.keys(labels) as (keyof typeof labels)[]).map((key) => ({
          key,
          label: labels[key],
          onSelect: () => setOpen(key),
          ...(key === 'remove' && { tone: 'danger' as const }),
        }))}
      />
      <Dialog title={open === null ? '' : labels[open]} open={open !== null} onClose={close}>
        {open === 'test' && <Test webhook={webhook} onDone={close} />}
        {open === 'rotate' && <Rotate webhook={webhook} onDone={close} />}
        {(open === 'replay' || open === 'recover') && <Again key={open} webhook={webhook} what={open} onDone={close} />}
        {open === 'switch' && <Switch webhook={webhook} onDone={close} />}
        {open === 'remove' && <Remove webhook={webhook} onDone={close} />}
      </Dialog>
    </>
  );
}

function keysOf(id: string): string[][] {
  return [['webhook', id], ['webhooks'], ['deliveries', id]];
}

function Test({ webhook: { id }, onDone }: Props): ReactElement {
  const { hooks, action } = useWords();
  const call = useChange(() => api('post', '/v1/webhooks/{id}/test', { path: { id } }), { refreshes: keysOf(id) });
  return (
    <div className="stack">
      {call.isSuccess ? <p role="status">{hooks.tested}</p> : <ProblemNote problem={call.error} />}
      <div className="row-actions">
        {!call.isSuccess && (
          <Button tone="primary" onClick={() => call.mutate()} busy={call.isPending}>
            {hooks.test}
          </Button>
        )}
        <Button onClick={onDone}>{action.close}</Button>
      </div>
    </div>
  );
}

function Rotate({ webhook: { id }, onDone }: Props): ReactElement {
  const { hooks } = useWords();
  const [typed, change] = useTyped({ hours: '24' });
  const call = useMutation({
    mutationFn: () =>
      api('post', '/v1/webhooks/{id}/rotate-secret', { path: { id }, body: { overlap_hours: Number(typed.hours) } }),
  });
  if (call.data) return <ShownSecret secret={call.data.secret} onDone={onDone} />;
  const field = draftFields(typed, change, call.error);
  return (
    <CallForm call={call} onSubmit={() => call.mutate()} label={hooks.rotate} tone="danger">
      <p>{hooks.rotateText}</p>
      <TextField label={hooks.overlap} type="number" min={0} {...field('hours', '/overlap_hours')} />
    </CallForm>
  );
}

/** Everything of a time once more, or only what was given up in it and has not been delivered since. */
function Again({ webhook: { id }, what, onDone }: Props & { what: 'replay' | 'recover' }): ReactElement {
  const { hooks, action } = useWords();
  const [typed, change] = useTyped({
    from: what === 'recover' ? instantToInput(startOfDay(0)) : '',
    to: what === 'recover' ? instantToInput(startOfDay(-1)) : '',
  });
  const call = useChange(
    () => {
      const { from, to } = typed;
      const given = { path: { id }, body: { from: inputToInstant(from) ?? from, to: inputToInstant(to) ?? to } };
      return what === 'replay'
        ? api('post', '/v1/webhooks/{id}/replay', given)
        : api('post', '/v1/webhooks/{id}/recover', given);
    },
    { refreshes: keysOf(id) },
  );
  const field = draftFields(typed, change, call.error);
  return (
    <CallForm
      call={call}
      onSubmit={() => call.mutate()}
      label={hooks[what]}
      beside={<Button onClick={onDone}>{action.close}</Button>}
    >
      <p>{what === 'replay' ? hooks.replayText : hooks.recoverText}</p>
      <div className="form-row">
        <TextField label={hooks.from} type="datetime-local" required {...field('from')} />
        <TextField label={hooks.to} type="datetime-local" required {...field('to')} />
      </div>
      {call.data && <p role="status">{hooks.replayed(call.data.deliveries)}</p>}
    </CallForm>
  );
}

function Switch({ webhook: { id, enabled }, onDone }: Props): ReactElement {
  const { hooks } = useWords();
  const call = useChange(() => api('patch', '/v1/webhooks/{id}', { path: { id }, body: { enabled: !enabled } }), {
    refreshes: keysOf(id),
    onDone,
  });
  return <SureCall call={call} label={enabled ? hooks.disable : hooks.enable} onBack={onDone} />;
}

function Remove({ webhook: { id }, onDone }: Props): ReactElement {
  const { hooks } = useWords();
  const navigate = useNavigate();
  const call = useChange(() => api('delete', '/v1/webhooks/{id}', { path: { id } }), {
    refreshes: [['webhooks']],
    onDone: () => navigate({ to: '/webhooks' }),
  });
  return (
    <SureCall call={call} label={hooks.remove} tone="danger" onBack={onDone}>
      <p>{hooks.removeText}</p>
    </SureCall>
  );
}
