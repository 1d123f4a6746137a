import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Device, type Schema } from '../../api/api.js';
import { useWords, type Words } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { Dialog } from '../../ui/dialog.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextArea } from '../../ui/field.js';
import { Menu } from '../../ui/menu.js';
import { ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { EnrolmentCode } from './enrolment-wizard.js';

type Plain = 'drain' | 'resume' | 'disable' | 'enable';
type Called = 'check' | 'openShift' | 'closeShift';
type Reasoned = 'adopt' | 'unblock';
export type RegisterAction = Plain | Called | Reasoned | 'enrol';

/** What is offered depends on the state: the others would be refused. */
export function actionsOf(device: Device, can: (scope: string) => boolean): RegisterAction[] {
  const found: RegisterAction[] = [];
  if (can('devices:admin')) {
    found.push('check');
    found.push(device.countdowns.shift ? 'closeShift' : 'openShift');
    found.push(device.draining_since === null ? 'drain' : 'resume');
    found.push(device.state === 'disabled' ? 'enable' : 'disable');
    if (device.transport === 'link') found.push('enrol');
  }
  if (can('operator:resolve')) {
    if (device.state === 'replaced') found.push('adopt');
    if (device.state === 'blocked') found.push('unblock');
  }
  return found;
}

export function RegisterActions({ device }: { device: Device }): ReactElement | null {
  const { fleet } = useWords();
  const { can } = useSession();
  const [open, setOpen] = useState<RegisterAction | null>(null);
  const actions = actionsOf(device, can);
  if (actions.length === 0) return null;
  const close = (): void => setOpen(null);
  return (
    <>
      <Menu
        label={fleet.register.facts}
        entries={actions.map((action) => ({
          key: action,
          label: fleet.action[action],
          onSelect: () => setOpen(action),
          ...(['disable', 'adopt', 'closeShift'].includes(action) && { tone: 'danger' as const }),
        }))}
      />
      <Dialog title={open === null ? '' : fleet.action[open]} open={open !== null} onClose={close}>
        {open === 'enrol' && (
          <EnrolmentCode deviceId={device.id} wasEnrolled={device.last_seen_at !== null} onDone={close} />
        )}
        {(open === 'adopt' || open === 'unblock') && <WithReason device={device} action={open} onDone={close} />}
        {open !== null && open !== 'enrol' && open !== 'adopt' && open !== 'unblock' && (
          <Confirmed device={device} action={open} onDone={close} />
        )}
      </Dialog>
    </>
  );
}

interface ActionProps<Action> {
  device: Device;
  action: Action;
  onDone: () => void;
}

function keysOf(id: string): string[][] {
  return [['device', id], ['devices'], ['device-z-reports', id]];
}

/** A call to the register may take longer than a request waits: it is followed until it is done. */
async function run(action: Plain | Called, id: string): Promise<void> {
  const path = { id };
  switch (action) {
    case 'drain':
      return void (await api('post', '/v1/devices/{id}/drain', { path }));
    case 'resume':
      return void (await api('post', '/v1/devices/{id}/resume', { path }));
    case 'disable':
      return void (await api('post', '/v1/devices/{id}/disable', { path }));
    case 'enable':
      return void (await api('post', '/v1/devices/{id}/enable', { path }));
    case 'check':
      return untilDone(id, await api('post', '/v1/devices/{id}/check', { path }));
    case 'openShift':
      return untilDone(id, await api('post', '/v1/devices/{id}/shift/open', { path }));
    case 'closeShift':
      return untilDone(id, await api('post', '/v1/devices/{id}/shift/close', { path }));
  }
}

async function untilDone(id: string, first: Schema<'CallView'>): Promise<void> {
  const path = { id, taskId: first.task_id };
  for (let state: unknown = first.state; state === 'pending';) {
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    ({ state } = await api('get', '/v1/devices/{id}/tasks/{taskId}', { path }));
  }
}

function Confirmed({ device, action, onDone }: ActionProps<Plain | Called>): ReactElement {
  const { fleet, action: texts } = useWords();
  const client = useQueryClient();
  const call = useMutation({
    mutationFn: () => run(action, device.id),
    onSettled: async () => {
      for (const queryKey of keysOf(device.id)) await client.invalidateQueries({ queryKey });
    },
  });
  const sure = sureText(action, fleet.action);
  return (
    <div className="stack">
      <p>
        <strong>{device.name}</strong>
      </p>
      {sure !== null && <p>{sure}</p>}
      {call.isPending && <p role="status">{fleet.action.running}</p>}
      {call.isSuccess && <p role="status">{fleet.action.done}</p>}
      <ProblemNote problem={call.error} />
      <div className="row-actions">
        {!call.isSuccess && (
          <Button tone="primary" onClick={() => call.mutate()} busy={call.isPending}>
            {fleet.action[action]}
          </Button>
        )}
        <Button onClick={onDone}>{call.isSuccess ? texts.close : texts.back}</Button>
      </div>
    </div>
  );
}

function sureText(action: string, { sure }: Words['fleet']['action']): string | null {
  return Object.entries(sure).find(([name]) => name === action)?.[1] ?? null;
}

function WithReason({ device, action, onDone }: ActionProps<Reasoned>): ReactElement {
  const { fleet } = useWords();
  const [draft, change, clear] = useDraft(`${action}:${device.id}`, { reason: '' });
  const given = { path: { id: device.id }, body: draft };
  const call = useChange(
    () =>
      action === 'adopt'
        ? api('post', '/v1/operator/devices/{id}/adopt', given)
        : api('post', '/v1/operator/devices/{id}/unblock', given),
    { clear, refreshes: keysOf(device.id), onDone },
  );
  const field = draftFields(draft, change, call.error);
  return (
    <CallForm call={call} onSubmit={() => call.mutate()} label={fleet.action[action]} tone="danger">
      <p>{fleet.action.sure[action]}</p>
      <TextArea label={fleet.action.reason} required maxLength={500} {...field('reason')} />
    </CallForm>
  );
}
