import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { DialogButton } from '../../ui/dialog-button.js';
import { Badge, PageHead, Time } from '../../ui/shown.js';
import { Empty, Loaded, withScope } from '../../ui/states.js';
import { NewWebhook } from './new-webhook.js';

export const WebhooksScreen = withScope('webhooks:read', Webhooks);

function Webhooks(): ReactElement {
  const { nav, hooks } = useWords();
  const { can } = useSession();
  const query = useGet(['webhooks'], '/v1/webhooks', { query: { limit: 100 } });
  return (
    <div className="page">
      <PageHead title={nav.webhooks}>
        {can('webhooks:admin') && (
          <DialogButton label={hooks.add} tone="primary">
            {(close) => <NewWebhook onDone={close} />}
          </DialogButton>
        )}
      </PageHead>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty />
          ) : (
            <ul className="tiles tiles-wide">
              {data.map((webhook) => (
                <Tile key={webhook.id} webhook={webhook} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  );
}

function Tile({ webhook }: { webhook: Schema<'WebhookView'> }): ReactElement {
  const { hooks } = useWords();
  return (
    <li className="tile">
      <div className="tile-head">
        <Link to="/webhooks/$id" params={{ id: webhook.id }} className="tile-link wrap">
          {webhook.url}
        </Link>
        <WebhookBadge webhook={webhook} />
      </div>
      <p className="hint wrap">{webhook.description || webhook.events.join(', ')}</p>
      {webhook.failing_since !== null && (
        <p className="hint">
          {hooks.failingSince} <Time at={webhook.failing_since} />
        </p>
      )}
    </li>
  );
}

export function WebhookBadge({
  webhook,
}: {
  webhook: Pick<Schema<'WebhookView'>, 'enabled' | 'failing_since'>;
}): ReactElement {
  const { hooks } = useWords();
  if (!webhook.enabled) return <Badge tone="bad">{hooks.disabled}</Badge>;
  return <Badge tone={webhook.failing_since === null ? 'good' : 'warn'}>{hooks.enabled}</Badge>;
}
