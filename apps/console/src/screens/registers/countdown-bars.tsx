import type { ReactElement } from 'react';
import type { Device } from '../../api/api.js';
import { useWords, type Words } from '../../i18n/i18n.js';
import { Meter, Time, type BadgeTone } from '../../ui/shown.js';
import { Empty } from '../../ui/states.js';

type Countdowns = Device['countdowns'];

interface Bar {
  key: string;
  title: string;
  /** From 0 to 1. */
  used: number;
  text: string;
  until: string | null;
}

const FUSE_SECONDS = 48 * 3_600;
const SHIFT_SECONDS = 24 * 3_600;
const YEAR_DAYS = 365;
/** From these shares on a bar warns, and then alarms. */
const WARN = 0.5;
const ALARM = 0.8;

export function toneOf(used: number): BadgeTone {
  return used >= ALARM ? 'bad' : used >= WARN ? 'warn' : 'good';
}

/** What runs out at a register, how far it has run, and when it ends. */
export function barsOf({ subscription, memory, fuse, shift }: Countdowns, words: Words['fleet']['countdown']): Bar[] {
  const bars: Bar[] = [];
  if (fuse) {
    const left = Math.max(0, fuse.seconds_left);
    const unsent = (fuse.unsent_receipts ?? 0) + (fuse.unsent_z_reports ?? 0);
    const text = `${words.left(words.hours(Math.floor(left / 3_600)))} · ${words.unsent(unsent)}`;
    bars.push({ key: 'fuse', title: words.fuse, used: 1 - left / FUSE_SECONDS, text, until: fuse.deadline_at });
  }
  if (shift) {
    const hours = Math.floor(shift.age_seconds / 3_600);
    bars.push({
      key: 'shift',
      title: `${words.shift} ${shift.number}`,
      used: shift.age_seconds / SHIFT_SECONDS,
      text: words.hours(hours),
      until: shift.closes_at,
    });
    const all = shift.documents + shift.documents_left;
    const text = words.left(words.pieces(shift.documents_left));
    bars.push({
      key: 'documents',
      title: words.documents,
      used: all === 0 ? 0 : shift.documents / all,
      text,
      until: null,
    });
  }
  if (memory) {
    bars.push(memoryBar('memory', words.memory, memory.receipts_left, memory.receipts_max));
    bars.push(memoryBar('z-memory', words.zMemory, memory.z_reports_left, memory.z_reports_max));
  }
  if (subscription?.days_left !== null && subscription?.days_left !== undefined) {
    const days = Math.max(0, subscription.days_left);
    const used = 1 - Math.min(days, YEAR_DAYS) / YEAR_DAYS;
    const text = words.left(words.days(days));
    bars.push({ key: 'subscription', title: words.subscription, used, text, until: subscription.expires_at });
  }
  return bars;

  function memoryBar(key: string, title: string, left: number, max: number): Bar {
    return { key, title, used: max === 0 ? 1 : 1 - left / max, text: words.left(words.pieces(left)), until: null };
  }
}

export function CountdownBars({ countdowns }: { countdowns: Countdowns }): ReactElement {
  const { fleet } = useWords();
  const bars = barsOf(countdowns, fleet.countdown);
  if (bars.length === 0) return <Empty>{fleet.countdown.none}</Empty>;
  return (
    <ul className="plain-list bars">
      {bars.map(({ key, title, used, text, until }) => (
        <li key={key} className="bar">
          <div className="bar-head">
            <span>{title}</span>
            <span className="hint">{text}</span>
          </div>
          <Meter used={used} label={title} tone={toneOf(used)} />
          {until !== null && (
            <small className="hint">
              <Time at={until} />
            </small>
          )}
        </li>
      ))}
    </ul>
  );
}
