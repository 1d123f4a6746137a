import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { CallForm } from '../../ui/call-form.js';
import { CheckField, TextArea } from '../../ui/field.js';
import { faultAt } from '../../ui/states.js';
import { listOf } from '../../ui/typed-list.js';
import { useChange } from '../../ui/use-change.js';

interface Props {
  client: Schema<'ClientView'>;
  onDone: () => void;
}

/** From where a client may call. */
export function AllowList({ client: { id, ip_policy: policy, allowed_cidrs: cidrs }, onDone }: Props): ReactElement {
  const { clients, action } = useWords();
  const [isListed, setListed] = useState(policy === 'listed');
  const [text, setText] = useState(cidrs.join('\n'));
  const save = useChange(
    () => {
      const body = isListed
        ? { ip_policy: 'listed' as const, allowed_cidrs: listOf(text) }
        : { ip_policy: 'any' as const };
      return api('patch', '/v1/clients/{id}', { path: { id }, body });
    },
    { refreshes: [['clients']], onDone },
  );
  return (
    <CallForm call={save} onSubmit={() => save.mutate()} label={action.save}>
      <CheckField label={clients.onlyListed} checked={isListed} onValue={setListed} />
      {isListed && (
        <>
          <TextArea
            label={clients.addresses}
            rows={6}
            value={text}
            error={faultAt(save.error, '/allowed_cidrs')}
            onValue={setText}
          />
          <p className="hint">{clients.listHint}</p>
        </>
      )}
    </CallForm>
  );
}
