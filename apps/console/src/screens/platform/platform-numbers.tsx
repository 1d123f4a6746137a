import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { formatCount } from '../../format/money.js';
import { useWords } from '../../i18n/i18n.js';
import { NumberTable } from '../../ui/number-table.js';
import { Card, Facts, Money } from '../../ui/shown.js';
import { Loaded } from '../../ui/states.js';

const MERCHANTS_SHOWN = 10;

/** All live merchants together: the gateway reads today anew once a minute. */
export function PlatformNumbers(): ReactElement {
  const { overview } = useWords();
  const query = useGet(['platform-overview'], '/v1/platform/overview', { refetchInterval: 60_000 });
  return (
    <Loaded query={query}>
      {(now) => (
        <div className="columns-even">
          <Period title={overview.today} sums={now.today} />
          <Period title={overview.days30} sums={now.last_30_days} />
          <ByMerchant now={now} />
        </div>
      )}
    </Loaded>
  );
}

function Period({ title, sums }: { title: string; sums: Schema<'OverviewSums'> }): ReactElement {
  const { overview: words } = useWords();
  const shown = ({ count, total }: Schema<'CountAndTotal'>): ReactElement => (
    <>
      <Money tiyin={total} /> · {words.pieces(count)}
    </>
  );
  return (
    <Card title={title}>
      <Facts
        rows={[
          [words.sales, shown(sums.sales)],
          [words.refunds, shown(sums.refunds)],
          [words.rejected, formatCount(sums.by_status.rejected.count)],
        ]}
      />
    </Card>
  );
}

function ByMerchant({ now }: { now: Schema<'PlatformOverview'> }): ReactElement {
  const { platform: words, overview } = useWords();
  const { live, sandbox, suspended } = now.merchants;
  return (
    <Card title={words.byMerchant}>
      <p className="hint">{words.allMerchants(formatCount(live), formatCount(sandbox), formatCount(suspended))}</p>
      <Facts rows={[[overview.unknown, formatCount(now.waiting_for_person)]]} />
      {now.by_merchant.length > 0 && (
        <NumberTable
          label={words.byMerchant}
          titles={[words.merchants, overview.today, overview.days30]}
          rows={now.by_merchant.slice(0, MERCHANTS_SHOWN).map((one) => ({
            key: one.merchant_id,
            head: (
              <Link to="/platform/$id" params={{ id: one.merchant_id }}>
                {one.name}
              </Link>
            ),
            cells: [<Money tiyin={one.today.total} />, <Money tiyin={one.last_30_days.total} />],
          }))}
        />
      )}
    </Card>
  );
}
