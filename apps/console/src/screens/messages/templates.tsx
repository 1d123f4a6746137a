import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { draftFields } from '../../ui/draft-fields.js';
import { TextArea, TextField } from '../../ui/field.js';
import { Badge, Card } from '../../ui/shown.js';
import { faultAt, Loaded, ProblemNote } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';

type Template = Schema<'TemplateView'>;

/** One text for each channel and language; what was not changed is ours. */
export function Templates(): ReactElement {
  const { messages: words } = useWords();
  const query = useGet(['templates'], '/v1/message-templates');
  return (
    <>
      <p className="hint">{words.names}</p>
      <Loaded query={query}>
        {({ data }) => (
          <div className="columns-even">
            {data.map((template) => (
              <TemplateCard key={`${template.channel} ${template.language}`} template={template} />
            ))}
          </div>
        )}
      </Loaded>
    </>
  );
}

function TemplateCard({ template }: { template: Template }): ReactElement {
  const { messages: words } = useWords();
  const { channel, language } = template;
  return (
    <Card
      title={`${words.channel[channel]} · ${language}`}
      actions={
        <Badge tone={template.is_default ? 'neutral' : 'good'}>{template.is_default ? words.ours : words.own}</Badge>
      }
    >
      <TemplateForm key={`${template.subject} ${template.text}`} template={template} />
    </Card>
  );
}

function TemplateForm({ template }: { template: Template }): ReactElement {
  const { messages: words, action } = useWords();
  const { channel, language } = template;
  const [draft, change, clear] = useDraft(`template:${channel}:${language}`, {
    subject: template.subject,
    text: template.text,
  });
  const save = useChange(
    (isOurs: boolean) => {
      const own = channel === 'email' ? draft : { text: draft.text };
      const body = isOurs ? { subject: null, text: null } : own;
      return api('put', '/v1/message-templates', { body: { channel, language, ...body } });
    },
    { clear, refreshes: [['templates']] },
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(false);
  };
  const field = draftFields(draft, change, save.error);
  return (
    <form className="stack" onSubmit={submit}>
      {channel === 'email' && <TextField label={words.subject} maxLength={200} {...field('subject')} />}
      <TextArea label={words.text} rows={5} required {...field('text')} />
      <ProblemNote problem={save.error} />
      <div className="row-actions">
        <Button type="submit" tone="primary" busy={save.isPending}>
          {action.save}
        </Button>
        {!template.is_default && (
          <Button onClick={() => save.mutate(true)} disabled={save.isPending}>
            {words.toOurs}
          </Button>
        )}
      </div>
      <Preview template={{ ...draft, channel, language }} />
    </form>
  );
}

/** As the gateway would fill it in for one receipt. */
function Preview({
  template,
}: {
  template: Pick<Template, 'channel' | 'language' | 'subject' | 'text'>;
}): ReactElement {
  const { messages: words } = useWords();
  const [receipt, setReceipt] = useState('');
  const { channel, language, subject, text } = template;
  const preview = useMutation({
    mutationFn: () =>
      api('post', '/v1/message-templates/preview', {
        body: { receipt_id: receipt.trim(), channel, language, text, ...(channel === 'email' && { subject }) },
      }),
  });
  return (
    <details>
      <summary>{words.preview}</summary>
      <div className="stack">
        <TextField
          label={words.previewOf}
          placeholder="rcp_…"
          value={receipt}
          error={faultAt(preview.error, '/receipt_id')}
          onValue={setReceipt}
        />
        <div className="row-actions">
          <Button onClick={() => preview.mutate()} busy={preview.isPending} disabled={receipt.trim() === ''}>
            {words.preview}
          </Button>
        </div>
        <ProblemNote problem={preview.error} />
        {preview.data && (
          <>
            {preview.data.subject !== '' && <strong className="wrap">{preview.data.subject}</strong>}
            <pre className="json" tabIndex={0}>
              {preview.data.text}
            </pre>
            {channel === 'sms' && <p className="hint">{words.parts(String(preview.data.parts))}</p>}
          </>
        )}
      </div>
    </details>
  );
}
