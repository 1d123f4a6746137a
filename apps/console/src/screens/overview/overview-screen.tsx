import { useCallback, useState, type ReactElement } from 'react';
import type { Schema } from '../../api/api.js';
import type { LiveEvent } from '../../api/live-events.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { Badge, PageHead, Time } from '../../ui/shown.js';
import { Loaded, withScope } from '../../ui/states.js';
import { useLiveEvents } from '../../ui/use-live-events.js';
import { Charts, Happened, Places, RunsOut, Speed } from './overview-cards.js';
import { InTrouble } from './in-trouble.js';
import { PeriodCard, UnderWay } from './overview-sums.js';

export const OverviewScreen = withScope('receipts:read', Now);

/** The gateway keeps its sums for ten seconds, so that the first answer after an event may still be older than it. */
const REFRESH_MS = 4_000;
const IDLE_REFRESH_MS = 30_000;
/** An event has the time at which its transaction began. */
const COMMITTED_WITHIN_MS = 1_000;
const EVENTS_SHOWN = 12;

/** What runs, what is due, what needs a person; after an event the numbers are read until they are younger than it. */
function Now(): ReactElement {
  const { nav, overview: words } = useWords();
  const { events, isOpen } = useHappened();
  const query = useGet(['overview'], '/v1/overview', {
    refetchInterval: ({ state }) => (isBehind(state.data, events[0]) ? REFRESH_MS : IDLE_REFRESH_MS),
  });
  return (
    <div className="page">
      <PageHead title={nav.overview}>
        <span className="hint" role="status">
          <Badge tone={isOpen ? 'good' : 'neutral'}>{isOpen ? words.live : words.connecting}</Badge>{' '}
          {query.data && (
            <>
              {words.asOf} <Time at={query.data.generated_at} />
            </>
          )}
        </span>
      </PageHead>
      <Loaded query={query}>{(now) => <Numbers now={now} events={events} />}</Loaded>
    </div>
  );
}

/** The newest events, newest first. */
function useHappened(): { events: LiveEvent[]; isOpen: boolean } {
  const [events, setEvents] = useState<LiveEvent[]>([]);
  const take = useCallback((event: LiveEvent) => {
    setEvents((before) => [event, ...before].slice(0, EVENTS_SHOWN));
  }, []);
  const isOpen = useLiveEvents(take);
  return { events, isOpen };
}

function isBehind(shown: Schema<'Overview'> | undefined, newest: LiveEvent | undefined): boolean {
  if (!shown || !newest) return false;
  return Date.parse(shown.generated_at) < Date.parse(newest.timestamp) + COMMITTED_WITHIN_MS;
}

function Numbers({ now, events }: { now: Schema<'Overview'>; events: readonly LiveEvent[] }): ReactElement {
  const { overview: words } = useWords();
  return (
    <>
      <UnderWay now={now} />
      <div className="columns-even">
        <PeriodCard title={words.today} sums={now.today} days={1} />
        <PeriodCard title={words.days30} sums={now.last_30_days} days={30} />
      </div>
      <div className="columns">
        <div className="column-main">
          <Charts now={now} />
          <Places now={now} />
        </div>
        <div className="column-side">
          <InTrouble />
          <RunsOut countdowns={now.countdowns} />
          <Speed latency={now.latency} />
          <Happened events={events} />
        </div>
      </div>
    </>
  );
}
