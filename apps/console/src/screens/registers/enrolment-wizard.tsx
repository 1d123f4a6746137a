import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useState, type ReactElement } from 'react';
import { api, type Device, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { draftFields } from '../../ui/draft-fields.js';
import { RadioField, SelectField, TextField } from '../../ui/field.js';
import { Copyable, Facts, Time } from '../../ui/shown.js';
import { faultAt, ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { usePlaces } from '../receipts/use-places.js';
import { RegisterState } from './register-state.js';

const QrCode = lazy(async () => ({ default: (await import('../../ui/qr.js')).QrCode }));

/** From nothing to a register that answers: its facts, then the code with which it dials in. */
export function EnrolmentWizard({ onDone }: { onDone: () => void }): ReactElement {
  const { fleet } = useWords();
  const navigate = useNavigate();
  const [device, setDevice] = useState<Device | null>(null);
  const show = (id: string): void => {
    onDone();
    void navigate({ to: '/registers/$id', params: { id } });
  };
  const made = (next: Device): void => {
    if (next.transport === 'link') setDevice(next);
    else show(next.id);
  };
  return (
    <div className="stack">
      <p className="hint">{fleet.wizard.step(device === null ? 1 : 2, 2)}</p>
      {device === null ? (
        <NewRegister onMade={made} />
      ) : (
        <EnrolmentCode deviceId={device.id} wasEnrolled={false} onDone={() => show(device.id)} />
      )}
    </div>
  );
}

type Transport = 'link' | 'http';

interface NewRegisterDraft {
  name: string;
  branch: string;
  transport: Transport;
  baseUrl: string;
}

/** Most registers in shops have no address of their own. */
const EMPTY_REGISTER: NewRegisterDraft = { name: '', branch: '', transport: 'link', baseUrl: '' };

export function NewRegister({ onMade }: { onMade: (device: Device) => void }): ReactElement {
  const { fleet, receipts } = useWords();
  const { branches } = usePlaces();
  const { me } = useSession();
  // Registers of a sandbox are emulated: no address, no key.
  const isSandbox = (me.merchant?.id ?? me.merchant_id ?? '').startsWith('mer_test_');
  const [draft, change, clear] = useDraft('new-register', EMPTY_REGISTER);
  // Never kept: it is a secret.
  const [apiKey, setApiKey] = useState('');
  const create = useChange(
    () =>
      api('post', '/v1/devices', {
        body: {
          branch_id: draft.branch || (branches[0]?.value ?? ''),
          name: draft.name,
          ...(!isSandbox && { transport: draft.transport, api_key: apiKey }),
          ...(!isSandbox && draft.transport === 'http' && { base_url: draft.baseUrl }),
        },
      }),
    { clear, refreshes: [['devices']], onDone: onMade },
  );
  const fault = (name: string): string | null => faultAt(create.error, `/${name}`);
  const field = draftFields(draft, change, create.error);
  return (
    <CallForm call={create} onSubmit={() => create.mutate()} label={fleet.wizard.create}>
      <TextField label={fleet.register.name} required maxLength={128} {...field('name')} />
      <SelectField label={receipts.column.branch} options={branches} {...field('branch', '/branch_id')} />
      {!isSandbox && (
        <>
          <Way transport={draft.transport} baseUrl={draft.baseUrl} fault={fault('base_url')} change={change} />
          <TextField
            label={fleet.wizard.apiKey}
            type="password"
            autoComplete="off"
            required
            value={apiKey}
            error={fault('api_key')}
            onValue={setApiKey}
          />
        </>
      )}
    </CallForm>
  );
}

interface WayProps {
  transport: Transport;
  baseUrl: string;
  fault: string | null;
  change: (part: { transport?: Transport; baseUrl?: string }) => void;
}

function Way({ transport, baseUrl, fault, change }: WayProps): ReactElement {
  const { fleet } = useWords();
  return (
    <>
      <RadioField
        legend={fleet.wizard.how}
        name="transport"
        value={transport}
        options={[
          { value: 'link', label: fleet.wizard.byLink },
          { value: 'http', label: fleet.wizard.byAddress },
        ]}
        onValue={(next) => change({ transport: next })}
      />
      {transport === 'http' && (
        <TextField
          label={fleet.wizard.baseUrl}
          required
          value={baseUrl}
          error={fault}
          onValue={(next) => change({ baseUrl: next })}
        />
      )}
    </>
  );
}

interface CodeProps {
  deviceId: string;
  /** It had a link before: its API key has to come with the code. */
  wasEnrolled: boolean;
  onDone: () => void;
}

export function EnrolmentCode({ deviceId, wasEnrolled, onDone }: CodeProps): ReactElement {
  const { fleet } = useWords();
  const [apiKey, setApiKey] = useState('');
  const enrol = useMutation({
    mutationFn: () =>
      api('post', '/v1/devices/{id}/enrolments', {
        path: { id: deviceId },
        body: apiKey === '' ? {} : { api_key: apiKey },
      }),
  });
  if (enrol.data) return <ShownCode deviceId={deviceId} enrolment={enrol.data} onDone={onDone} />;
  return (
    <CallForm call={enrol} onSubmit={() => enrol.mutate()} label={fleet.action.enrol}>
      {wasEnrolled && (
        <TextField
          label={fleet.wizard.keyAgain}
          type="password"
          value={apiKey}
          error={faultAt(enrol.error, '/api_key')}
          onValue={setApiKey}
        />
      )}
    </CallForm>
  );
}

interface ShownProps {
  deviceId: string;
  enrolment: Schema<'EnrolmentView'>;
  onDone: () => void;
}

/** Shown once; the state below it changes when the register dials in. */
function ShownCode({ deviceId, enrolment, onDone }: ShownProps): ReactElement {
  const { fleet } = useWords();
  const words = fleet.wizard;
  const query = useGet(['device', deviceId], '/v1/devices/{id}', { path: { id: deviceId }, refetchInterval: 2_000 });
  const isLinked = query.data !== undefined && ['online', 'degraded'].includes(query.data.state);
  const text = JSON.stringify({ LINK_URL: enrolment.link_url, LINK_ENROLMENT_CODE: enrolment.code });
  return (
    <div className="stack">
      <h3>{words.codeTitle}</h3>
      <p>{words.codeText}</p>
      <Suspense fallback={null}>
        <QrCode text={text} label={words.code} />
      </Suspense>
      <Facts
        rows={[
          [words.code, <Copyable text={enrolment.code} />],
          [words.linkUrl, <Copyable text={enrolment.link_url} />],
          ['', <Time at={enrolment.expires_at} />],
        ]}
      />
      <p role="status" className="inline-note">
        {isLinked ? words.linked : words.waiting} {query.data && <RegisterState state={query.data.state} />}
      </p>
      <ProblemNote problem={query.error} />
      <Button tone={isLinked ? 'primary' : 'plain'} onClick={onDone}>
        {words.finish}
      </Button>
    </div>
  );
}
